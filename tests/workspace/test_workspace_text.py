"""Reading page by page, encodings and line ends kept, exact edits, lists and searches, through the tools."""

import codecs
import json
import os
import random
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.workspace.encodings import detect
from backend.workspace.listing import matches
from backend.workspace.searching import Query

CHINESE = "港口物流是供应链的重要环节。上海港的集装箱吞吐量连续多年居世界第一。\n"


# ---------------------------------------------------------------- reading
def read_all(tools, path: str, **first) -> tuple[str, int]:
    """Follow next_offset to the end, as a model does."""
    content, pages, more = "", 0, first
    while True:
        call = tools.call("file_read", {"path": path, **more})
        assert not call["result_truncated"]
        page = json.loads(call["result"])["data"]
        content += page["content"]
        pages += 1
        if not page["truncated"]:
            return content, pages
        more = {"offset": page["next_offset"], "column": page.get("next_column", 1)}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("".join(f"line {n}\n" for n in range(5000)), "utf-8"),
        ("".join(f"line {n}\r\n" for n in range(3000)) + "no end", "utf-8"),
        (CHINESE * 700, "gbk"),
        (CHINESE * 700, "utf-16"),
        ("é" * 50_000 + "\nsecond", "utf-8"),
        ('"quoted\\path"\t' * 4000 + "\n" + "x\n" * 10, "utf-8"),
        ("\x1b[31mred\x1b[0m\n" * 3000, "utf-8"),
        ("😀" * 30_000, "utf-8"),
        ("\n" * 30_000, "utf-8"),
    ],
)
def test_following_the_pages_gives_the_whole_file_and_each_page_fits_a_result(tools, root, text, encoding):
    (root / "f").write_bytes(text.encode(encoding))
    content, pages = read_all(tools, "f")
    assert content == text
    assert pages > 1


def test_random_pages_are_what_the_lines_say(tools, root):
    rng = random.Random(5)
    lines = ["x" * rng.randint(0, 40) + rng.choice(["", "é", "港"]) + "\n" for _ in range(300)]
    for encoding in ("utf-8", "utf-16", "gb18030"):
        (root / "f").write_bytes("".join(lines).encode(encoding))
        for _ in range(15):
            offset, limit = rng.randint(1, 310), rng.randint(1, 60)
            page = tools.data("file_read", path="f", offset=offset, limit=limit, encoding=encoding)
            assert page["content"] == "".join(lines[offset - 1 : offset - 1 + limit])
            assert page["truncated"] == (offset - 1 + limit < 300)
            assert page["total_lines"] == 300


def test_an_offset_past_the_end_says_how_many_lines_there_are(tools, root):
    (root / "f").write_text("a\nb\n")
    page = tools.data("file_read", path="f", offset=9)
    assert (page["content"], page["truncated"]) == ("", False)
    assert "2 lines" in page["note"]


def test_an_empty_file_is_no_error(tools, root):
    (root / "f").write_bytes(b"")
    page = tools.data("file_read", path="f")
    assert (page["content"], page["lines"], page["total_lines"], page["truncated"]) == ("", 0, 0, False)


def test_a_large_file_is_never_in_memory_as_a_whole(tools, root):
    with (root / "f").open("wb") as out:
        for number in range(40):
            out.write(f"{number:015}\n".encode() * 65_536)
    tracemalloc.start()
    page = tools.data("file_read", path="f", offset=39 * 65_536 + 5, limit=3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert page["content"] == f"{39:015}\n" * 3
    assert peak < 8 << 20


def test_a_file_of_one_huge_line_is_read_in_parts(tools, root):
    (root / "f").write_bytes(b"0123456789" * 3_000_000)
    page = tools.data("file_read", path="f", column=20_000_001)
    assert page["content"].startswith("0123456789")
    assert page["next_offset"] == 1
    assert page["next_column"] == 20_000_001 + len(page["content"])


def test_a_read_is_always_fresh_even_when_someone_edits_the_file_on_disk(tools, root):
    (root / "f").write_text("one")
    assert tools.data("file_read", path="f")["content"] == "one"
    (root / "f").write_text("two")
    assert tools.data("file_read", path="f")["content"] == "two"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\xff" * 90, "PNG image"),
        (b"\x7fELF" + bytes(200), "ELF program"),
        (b"PK\x03\x04" + bytes(range(256)), "ZIP archive or office document"),
        (b"SQLite format 3\0" + bytes(100), "SQLite database"),
        (bytes(range(256)) * 8, "unknown kind"),
        (random.Random(1).randbytes(5000), "unknown kind"),
    ],
)
def test_a_binary_file_is_named_as_such(tools, root, content, kind):
    (root / "b").write_bytes(content)
    data = tools.data("file_read", path="b")
    assert (data["binary"], data["kind"], data["size"]) == (True, kind, len(content))
    assert "binary" in tools.error("file_edit", path="b", old_text="a", new_text="b")["error"]


def test_text_that_begins_like_a_binary_kind_is_still_text(tools, root):
    for number, text in enumerate(("MZ is a sign\n", "RIFF and Rar! and GIF89a", "BZh", "PK")):
        (root / f"t{number}").write_text(text)
        assert tools.data("file_read", path=f"t{number}")["content"] == text


# ---------------------------------------------------------------- encodings
@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("plain", "ascii", "utf-8"),
        ("naïve 港口", "utf-8", "utf-8"),
        ("naïve 港口", "utf-8-sig", "utf-8-sig"),
        ("naïve 港口", "utf-16", "utf-16"),
        ("naïve 港口", "utf-32", "utf-32"),
        ("plain text here\r\n" * 5, "utf-16-le", "utf-16-le"),
        ("plain text here\r\n" * 5, "utf-16-be", "utf-16-be"),
        ("姓名,年龄\r\n张三,30\r\n", "utf-16-le", "utf-16-le"),
        ("一二\n", "utf-16-le", "utf-16-le"),
        ("你好\n", "utf-16-be", "utf-16-be"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
        ("為了規範公司行為，保護股東權益，發展經濟。\r\n", "utf-16-le", "utf-16-le"),
        ("これは日本語のテキストです。漢字も含まれています。\n", "utf-16-be", "utf-16-be"),
        ("이것은 한국어 텍스트입니다. 안녕하세요.\n", "utf-16-le", "utf-16-le"),
        ("Привет, мир\n", "utf-16-le", "utf-16-le"),
        ("为了规范公司行为保护股东的合法权益国家发展经济社会", "utf-16-le", "utf-16-le"),
        ("港口", "gbk", "gb18030"),
        (CHINESE, "gbk", "gb18030"),
        ("Le café est très agréable, même en été à la plage.\n" * 5, "cp1252", "cp1252"),
    ],
)
def test_the_encoding_is_found(text, encoding, found):
    content = text.encode(encoding)
    encoded = detect(content, whole=True)
    assert encoded is not None
    assert encoded.name == found
    assert content[len(encoded.bom) :].decode(encoded.codec) == text


@pytest.mark.parametrize(
    "content",
    [
        b"PATH\0LANG\0HOME\0value of a name\0" * 9,
        struct.pack("<400h", *(n * 37 % 30_000 - 300 for n in range(400))),
        struct.pack("<400i", *(n * 7_919 % 90_000 for n in range(400))),
        bytes((n * n * 31 + n * 7) % 256 for n in range(4_000)),
    ],
)
def test_numbers_and_lists_of_words_are_no_utf_16(content):
    assert detect(content, whole=True) is None


@pytest.mark.parametrize("encoding", ["gbk", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030"])
def test_overwriting_appending_and_editing_keep_the_encoding(tools, root, encoding):
    (root / "f").write_bytes(CHINESE.encode(encoding))
    tools.data("file_edit", path="f", old_text="上海港", new_text="宁波港")
    edited = CHINESE.replace("上海港", "宁波港")
    assert (root / "f").read_bytes() == edited.encode(encoding)
    tools.data("file_write", path="f", content="第二行\n", mode="append")
    assert (root / "f").read_bytes() == (edited + "第二行\n").encode(encoding)
    tools.data("file_write", path="f", content="新的内容\n")
    assert (root / "f").read_bytes() == "新的内容\n".encode(encoding)


def test_a_big_endian_utf_16_file_stays_one(tools, root):
    (root / "f").write_bytes(codecs.BOM_UTF16_BE + "old\n".encode("utf-16-be"))
    tools.data("file_write", path="f", content="new 港\n", mode="append")
    assert (root / "f").read_bytes() == codecs.BOM_UTF16_BE + "old\nnew 港\n".encode("utf-16-be")


def test_an_encoding_asked_for_is_used_and_read_back(tools, root):
    tools.data("file_write", path="f", content="港口", encoding="gbk")
    assert (root / "f").read_bytes() == "港口".encode("gbk")
    assert tools.data("file_read", path="f", encoding="gbk")["content"] == "港口"
    tools.data("file_write", path="g", content="港口", encoding="utf-16")
    assert (root / "g").read_bytes() == codecs.BOM_UTF16_LE + "港口".encode("utf-16-le")


def test_new_text_that_the_old_encoding_lacks_makes_the_file_utf8_and_says_so(tools, root):
    (root / "f").write_bytes(("Le café est très agréable, même en été.\n" * 5).encode("cp1252"))
    data = tools.data("file_write", path="f", content="港口 😀")
    assert (root / "f").read_text(encoding="utf-8") == "港口 😀"
    assert "UTF-8 now" in data["note"]


def test_an_append_that_cannot_be_encoded_changes_nothing(tools, root):
    before = ("Le café est très agréable, même en été.\n" * 5).encode("cp1252")
    (root / "f").write_bytes(before)
    assert "'\\u6e2f'" in tools.error("file_write", path="f", content="港", mode="append")["error"]
    assert (root / "f").read_bytes() == before


@pytest.mark.parametrize("name", ["rot13", "hex", "zip", "idna", "unicode_escape", "no-such", "../x", "x" * 100])
def test_an_encoding_that_is_none_for_text_is_an_error(tools, root, name):
    (root / "f").write_text("x")
    assert "no text encoding" in tools.error("file_read", path="f", encoding=name)["error"]
    assert "no text encoding" in tools.error("file_write", path="f", content="y", encoding=name)["error"]
    assert (root / "f").read_text() == "x"


def test_bytes_that_are_not_of_the_encoding_are_shown_and_an_edit_refuses(tools, root):
    content = b"good\n" * 60_000 + b"bad \xff\xfe end\n"
    (root / "f").write_bytes(content)
    assert tools.data("file_read", path="f", offset=60_001)["content"] == "bad \\xff\\xfe end\n"
    assert "not valid utf-8" in tools.error("file_edit", path="f", old_text="bad", new_text="x")["error"]
    assert (root / "f").read_bytes() == content


@pytest.mark.parametrize(
    ("before", "encoding", "content", "allowed"),
    [
        ("港口\n".encode("gbk"), "utf-8", "港\n", False),
        ("港口\n".encode("gbk"), "utf-8", "plain\n", True),
        ("港口\n".encode("gbk"), "gbk", "港\n", True),
        ("港口\n".encode(), "gbk", "港\n", False),
        (b"plain\n", "gbk", "港\n", True),
        (b"plain\n", "utf-16", "港\n", False),
        ("港口\n".encode("utf-16"), "utf-8", "plain\n", False),
        ("港口\n".encode("utf-16"), "utf-16", "港\n", True),
        ("港口\n".encode("utf-8-sig"), "utf-8", "港\n", True),
    ],
)
def test_an_append_never_mixes_two_encodings_in_one_file(tools, root, before, encoding, content, allowed):
    (root / "f").write_bytes(before)
    result = tools("file_write", path="f", content=content, encoding=encoding, mode="append")
    assert result["success"] is allowed, result
    if not allowed:
        assert (root / "f").read_bytes() == before
    else:
        assert tools.data("file_read", path="f")["content"].endswith(content)


def test_a_file_marked_read_only_is_not_changed(tools, root):
    (root / "f").write_text("keep")
    (root / "f").chmod(0o444)
    assert "read-only" in tools.error("file_write", path="f", content="x")["error"]
    assert "read-only" in tools.error("file_edit", path="f", old_text="k", new_text="x")["error"]
    assert (root / "f").read_text() == "keep"


def test_a_lone_surrogate_cannot_be_written(tools, root):
    (root / "f").write_text("old")
    assert "'\\ud800'" in tools.error("file_write", path="f", content="a\ud800b")["error"]
    assert (root / "f").read_text() == "old"


def test_permissions_stay_when_a_file_is_rewritten(tools, root):
    (root / "run.sh").write_text("#!/bin/sh\n")
    os.chmod(root / "run.sh", 0o750)
    tools.data("file_write", path="run.sh", content="#!/bin/sh\necho\n")
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o750


# ---------------------------------------------------------------- edits
def test_an_edit_replaces_the_one_place_and_shows_the_difference(tools, root):
    (root / "f").write_text("a = 1\nb = 2\n")
    data = tools.data("file_edit", path="f", old_text="b = 2", new_text="b = 3")
    assert (root / "f").read_text() == "a = 1\nb = 3\n"
    assert data["replacements"] == 1
    assert "-b = 2\n+b = 3\n" in data["diff"]


def test_an_edit_that_fits_several_places_names_the_lines_and_changes_nothing(tools, root):
    (root / "f").write_text("x\ny\nx\n")
    error = tools.error("file_edit", path="f", old_text="x", new_text="z")
    assert "2 times" in error["error"]
    assert "lines 1, 3" in error["error"]
    assert (root / "f").read_text() == "x\ny\nx\n"
    assert tools.data("file_edit", path="f", old_text="x", new_text="z", replace_all=True)["replacements"] == 2
    assert (root / "f").read_text() == "z\ny\nz\n"


def test_an_edit_of_text_that_is_not_there_points_at_the_like(tools, root):
    (root / "f").write_text("def f():\n    return 1\n")
    error = tools.error("file_edit", path="f", old_text="\treturn 1", new_text="x")["error"]
    assert "does not occur" in error
    assert "Line 2" in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"old_text": "", "new_text": "x"}, ""),
        ({"old_text": "a", "new_text": "a"}, "the same"),
        ({"path": "none", "old_text": "a", "new_text": "b"}, "no file"),
        ({"path": "d", "old_text": "a", "new_text": "b"}, "folder"),
    ],
)
def test_an_edit_that_makes_no_sense_is_a_clear_error(tools, root, arguments, said):
    (root / "f").write_text("a")
    (root / "d").mkdir()
    assert said in tools.error("file_edit", **{"path": "f", **arguments})["error"]


def test_an_edit_keeps_crlf_whatever_the_model_sends(tools, root):
    (root / "f").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    tools.data("file_edit", path="f", old_text="one\ntwo", new_text="1\n2\n2b")
    assert (root / "f").read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"
    tools.data("file_edit", path="f", old_text="2\r\n2b", new_text="two\r\n")
    assert (root / "f").read_bytes() == b"1\r\ntwo\r\n\r\nthree\r\n"
    tools.data("file_edit", path="f", old_text="three", new_text="3\n4")
    assert (root / "f").read_bytes() == b"1\r\ntwo\r\n\r\n3\r\n4\r\n"


def test_an_edit_of_an_lf_file_puts_exactly_what_it_was_given(tools, root):
    (root / "f").write_bytes(b"one\ntwo\n")
    tools.data("file_edit", path="f", old_text="one", new_text="1\r")
    assert (root / "f").read_bytes() == b"1\r\ntwo\n"


# ---------------------------------------------------------------- lists
@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.py", "*.py", True),
        ("d/a.py", "*.py", True),
        ("d/a.py", "d/*.py", True),
        ("d/e/a.py", "d/*.py", False),
        ("a.py", "**/*.py", True),
        ("d/e/a.py", "**/*.py", True),
        ("d/e/a.py", "d/**", True),
        ("x/d/e", "d/**", False),
        ("d/e/f/a.py", "d/**/a.py", True),
        ("A.PY", "*.py", False),
        ("a" * 200 + "b", "*a*a*a*a*a*a*a*a*a*a*a*a*c", False),
        ("/".join("a" * 60), "**/" * 30 + "b", False),
    ],
)
def test_patterns(path, pattern, fits):
    assert matches(path, pattern) is fits


def test_recursion_goes_into_folders_but_not_into_what_tools_keep_there(tools, root):
    for name in ("a.py", "d/b.py", "d/e/c.py", ".git/x.py", "node_modules/m/y.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    found = [item["path"] for item in tools.data("file_list", pattern="**/*.py")["items"]]
    assert found == ["a.py", "d/b.py", "d/e/c.py"]
    names = {item["path"] for item in tools.data("file_list", recursive=True)["items"]}
    assert {"d", "d/e", ".git", "node_modules"} <= names
    assert tools.data("file_list", path="node_modules/m")["count"] == 1


def test_a_long_list_comes_in_parts_that_together_are_everything(tools, root):
    for number in range(450):
        (root / f"file {number:03}.txt").touch()
    for more in ({}, {"recursive": True}):
        seen, offset = [], 0
        while True:
            call = tools.call("file_list", {"offset": offset, **more})
            assert not call["result_truncated"]
            data = json.loads(call["result"])["data"]
            seen += [item["name"] for item in data["items"]]
            if not data["truncated"]:
                break
            assert "more" in data["note"]
            offset = data["next_offset"]
        assert seen == [f"file {number:03}.txt" for number in range(450)]


# ---------------------------------------------------------------- search
def test_a_search_names_file_line_and_column_and_skips_binary(tools, root):
    (root / "d").mkdir()
    (root / "d/a.txt").write_text("nothing\nhere is a Needle\n")
    (root / "g.txt").write_bytes("第一行\n港口 needle\n".encode("gbk"))
    (root / "b.bin").write_bytes(b"\0\1needle\0")
    found = tools.data("file_search", query="needle")
    assert [(m["path"], m["line"], m["column"]) for m in found["matches"]] == [("d/a.txt", 2, 11), ("g.txt", 2, 4)]
    assert tools.data("file_search", query="Needle", case_sensitive=True, pattern="*.txt")["matches"][0]["line"] == 2
    assert tools.data("file_search", query="needle", path="g.txt")["matches"][0]["text"] == "港口 needle"
    assert tools.data("file_search", query="港口")["matches"][0]["path"] == "g.txt"
    assert tools.data("file_search", query="n..dle$", regex=True)["matches"][0]["path"] == "d/a.txt"
    assert tools.data("file_search", query="n..dle")["matches"] == []


def test_a_search_ends_in_time_whatever_the_pattern(tools, root, monkeypatch):
    monkeypatch.setattr("backend.workspace.searching.MAX_SECONDS", 0.5)
    (root / "f").write_text("a" * 100_000 + "!")
    found = tools.data("file_search", query="(a+)+$x|(a|aa)+$b", regex=True)
    assert found["truncated"]
    assert "out of time" in found["note"]


def test_a_hard_search_does_not_hold_up_other_threads(workspace, root, monkeypatch):
    monkeypatch.setattr("backend.workspace.searching.MAX_STEP_SECONDS", 1.0)
    (root / "f").write_text("a" * 100_000 + "!")
    with ThreadPoolExecutor(1) as pool:
        search = pool.submit(workspace.search, Query("(a+)+$x|(a|aa)+$b", regex=True))
        turns = 0
        while not search.done():
            turns += 1
        assert search.result().incomplete == "out of time"
    assert turns > 1000


@pytest.mark.parametrize("query", ["(", "[", "(?P<", "a{999999999999}", "*", "\\"])
def test_a_faulty_expression_is_an_error_that_says_so(tools, query):
    assert "regular expression" in tools.error("file_search", query=query, regex=True)["error"]


def test_a_line_of_megabytes_is_shown_around_the_hit_only(tools, root):
    (root / "f").write_text("x" * 6_000_000 + "needle" + "y" * 100)
    match = tools.data("file_search", query="needle")["matches"][0]
    assert "needle" in match["text"]
    assert len(match["text"]) <= 300
    assert match["line"] == 1


def test_many_matches_are_cut_with_a_note(tools, root):
    (root / "f").write_text("needle and more text\n" * 5000)
    call = tools.call("file_search", {"query": "needle", "max_results": 1000})
    data = json.loads(call["result"])["data"]
    assert not call["result_truncated"]
    assert data["truncated"]
    assert "too many" in data["note"]
    assert len(tools.data("file_search", query="needle", max_results=7)["matches"]) == 7


def test_lines_are_counted_right_across_blocks(tools, root):
    lines = [f"{n} " + "x" * 50 for n in range(60_000)]
    lines[54_321] += " needle"
    (root / "f").write_text("\n".join(lines))
    assert tools.data("file_search", query="needle")["matches"][0]["line"] == 54_322
