"""Pages come out in the right letters, whatever their labels claim."""

import pytest

from backend.net import Page, extract
from backend.net.charset import CODECS, decode

CHINESE = "港口天气晴朗，渡轮准点。今天是个好日子。"
TRADITIONAL = "港口天氣晴朗，渡輪準點。"
JAPANESE = "港の天気は晴れ、フェリーは定刻です。"
KOREAN = "항구의 날씨는 맑음, 페리는 정시에 출발합니다"
RUSSIAN = "Паром отходит утром от причала номер пять"
FRENCH = "Où êtes-vous? Le café crème à la carte, déjà vu"
GERMAN = "Die Fähre fährt täglich über den großen Fluß"


def page(body: bytes, content_type: str = "text/html") -> Page:
    headers = {"content-type": content_type} if content_type else {}
    return Page("http://a.example/", "http://a.example/", 200, headers, body)


def document(text: str, head: str = "") -> str:
    return f"<html><head><title>{text[:3]}</title>{head}</head><body><p>{text}</p></body></html>"


def read(text: str, codec: str, content_type: str = "text/html", head: str = "") -> str:
    return extract.text(page(document(text, head).encode(codec), content_type))["text"]


@pytest.mark.parametrize(
    ("text", "codec", "label"),
    [
        (CHINESE, "gbk", "gbk"),
        (CHINESE, "gbk", "GB2312"),
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE, "gbk", '"GBK"'),
        (CHINESE, "gbk", "x-gbk"),
        (TRADITIONAL, "big5", "Big5"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (JAPANESE, "cp932", "x-sjis"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        (JAPANESE, "iso2022_jp", "ISO-2022-JP"),
        (KOREAN, "cp949", "euc-kr"),
        (KOREAN, "cp949", "ks_c_5601-1987"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8_r", "KOI8-R"),
        (RUSSIAN, "iso8859_5", "iso-8859-5"),
        (FRENCH, "latin-1", "ISO-8859-1"),
        (FRENCH, "cp1252", "us-ascii"),
        (GERMAN, "iso8859_15", "iso-8859-15"),
        (CHINESE, "utf-8", "utf8"),
        (CHINESE, "utf-16-le", "utf-16le"),
        (CHINESE, "utf-16", "utf-16"),
    ],
)
def test_a_true_label_is_believed(text: str, codec: str, label: str) -> None:
    assert read(text, codec, f"text/html; charset={label}") == text
    assert read(text, codec, f"text/html;charset={label}; x=y") == text


@pytest.mark.parametrize(
    ("text", "codec", "head"),
    [
        (CHINESE, "gbk", "<meta charset=gb2312>"),
        (CHINESE, "gbk", f"<style>{' ' * 3000}</style><meta charset='gbk'>"),
        (JAPANESE, "cp932", '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">'),
        (JAPANESE, "euc_jp", "<META CHARSET = EUC-JP>"),
        (JAPANESE, "iso2022_jp", "<meta charset=iso-2022-jp>"),
        (RUSSIAN, "cp1251", '<meta content="text/html; charset=windows-1251" http-equiv=content-type>'),
        (CHINESE, "utf-8", "<meta charset=utf-16>"),
    ],
)
def test_the_pages_own_label_is_found(text: str, codec: str, head: str) -> None:
    assert read(text, codec, head=head) == text


def test_the_declaration_of_xml_is_found() -> None:
    body = (
        '<?xml version="1.0" encoding="GBK"?><html xmlns="http://www.w3.org/1999/xhtml"><body>'
        + CHINESE
        + "</body></html>"
    )
    assert extract.text(page(body.encode("gbk"), "application/xhtml+xml"))["text"] == CHINESE


@pytest.mark.parametrize(
    ("text", "codec", "label", "head"),
    [
        (CHINESE, "utf-8", "ISO-8859-1", ""),
        (CHINESE, "utf-8", "gbk", ""),
        (CHINESE, "utf-8", "windows-1252", "<meta charset=gbk>"),
        (CHINESE, "gbk", "utf-8", "<meta charset=gbk>"),
        (CHINESE, "gbk", "utf-8", ""),
        (CHINESE, "gbk", "ISO-8859-1", "<meta charset=gb2312>"),
        (CHINESE, "gbk", "ISO-8859-1", ""),
        (JAPANESE * 2, "cp932", "utf-8", ""),
        (RUSSIAN, "cp1251", "utf-8", ""),
        (RUSSIAN, "utf-8", "koi8-r", ""),
        (FRENCH, "latin-1", "utf-8", ""),
        (GERMAN, "cp1252", "utf-8", "<meta charset=utf-8>"),
        (CHINESE, "utf-8", "no-such-charset", ""),
        (CHINESE, "utf-8", "zip", ""),
        (CHINESE, "utf-8", "unicode_escape", ""),
        (CHINESE, "utf-8", "idna", ""),
        (CHINESE, "utf-8-sig", "gbk", ""),
        (CHINESE, "utf-16", "utf-8", ""),
        (CHINESE, "utf-32", "gbk", ""),
    ],
)
def test_a_false_label_is_seen_through(text: str, codec: str, label: str, head: str) -> None:
    assert read(text, codec, f"text/html; charset={label}", head) == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (CHINESE, "utf-8"),
        (CHINESE * 3, "gbk"),
        (JAPANESE * 3, "cp932"),
        (RUSSIAN * 3, "cp1251"),
        (FRENCH, "latin-1"),
        (GERMAN, "cp1252"),
        (CHINESE, "utf-16-le"),
        (RUSSIAN, "utf-16-be"),
        ("plain words only", "ascii"),
    ],
)
def test_a_page_without_any_label_is_read(text: str, codec: str) -> None:
    assert read(text, codec) == text
    assert read(text, codec, "") == text


@pytest.mark.parametrize("label", ["utf-16le", "utf-16be"])
def test_two_byte_text_without_mark_or_markup_is_read_by_its_label(label: str) -> None:
    assert decode(CHINESE.encode(label), f"text/plain; charset={label}").text == CHINESE
    assert decode(b"plain words", f"text/plain; charset={label}").text == "plain words"


def test_a_few_bad_bytes_do_not_change_the_charset() -> None:
    decoded = decode(document(CHINESE * 20).encode() + b"\xff", "text/html; charset=utf-8")
    assert (decoded.charset, decoded.clean) == ("utf-8", False)
    assert CHINESE in decoded.text


def test_half_a_character_at_the_cut_is_no_error() -> None:
    decoded = decode(CHINESE.encode()[:-1], "text/plain", cut=True)
    assert decoded.text == CHINESE[:-1]


def test_only_character_sets_are_looked_up() -> None:
    assert {decode(b"abc", f"text/plain; charset={label}").text for label in CODECS if "utf-" not in label} == {"abc"}
    assert decode(b"+ADw-script+AD4-", "text/html; charset=utf-7").text == "+ADw-script+AD4-"


@pytest.mark.parametrize("kind", ["application/json", "text/csv", "text/plain", "application/xml"])
def test_a_byte_order_mark_is_no_part_of_the_text(kind: str) -> None:
    for codec in ("utf-8-sig", "utf-16"):
        assert extract.text(page("[1, 2]".encode(codec), kind))["text"] == "[1, 2]"
