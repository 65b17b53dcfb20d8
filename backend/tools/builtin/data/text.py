"""The text tool: counting, changing, searching, encoding and comparing texts."""

import base64
import binascii
import hashlib
import unicodedata
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any

import regex

from ....errors import InvalidArguments
from ...core import JsonObject
from ...factory import tool
from ...results import one_line, valid_text
from .compare import line_diff, similarity
from .counting import count, lines_of, reversed_text, stats
from .patterns import MAX_MATCHES, compile_pattern, matches, replace

MAX_TEXT_CHARACTERS = 10_000_000
MAX_PARTS = 200_000
SHOWN_BYTES = 64

WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*")
EMAIL = regex.compile(
    r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9_](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_%+-])?"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}(?![A-Za-z0-9-])"
)
URL = regex.compile(
    r"(?:(?:https?|ftp)://|(?<![A-Za-z0-9./@-])www\.)(?:[A-Za-z0-9._~%:@\[\]-]+|[\p{L}\p{N}.-]+)"
    r"(?:[/?#][^\s<>\"`{}|\\^，。；：！？、（）《》「」『』【】“”‘’]*)?",
    regex.IGNORECASE,
)
NUMBER = regex.compile(
    r"(?<![\w.])0(?:[xX][0-9a-fA-F]+|[bB][01]+|[oO][0-7]+)\b"
    r"|(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})(?![\d.,]\d)"
    r"|(?<!\d)(?<!\d\.)(?:(?<![\p{L}\p{N}_.)])[-+−])?(?:\d{1,3}(?:,\d{3})+(?![\d])|\d+)(?:\.\d+)?(?:[eE][-+−]?\d+(?!\w))?"
    r"|(?<![\w.])(?:[-+−])?\.\d+"
)
LATIN_MARKS = regex.compile(r"(\p{Latin})\p{Mn}+")
WHOLE_MATCH = regex.compile(r"(?<!\\)(?:\\\\)*+\K\\0(?!\d)")
DATA_URI = regex.compile(r"^\s*data:[^,]{0,200};base64,")
EDGE = "\ufeff\u200b\u2060"  # marks that no one sees
PAIRS = {")": "(", "]": "[", "}": "{"}
ESCAPED = {"\\n": "\n", "\\t": "\t", "\\r\\n": "\r\n", "\\r": "\r"}
HASHES = (
    "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b",
    "blake2s", "crc32",
)  # fmt: skip


def _text_result(change: Callable[[str], str]) -> Callable[[str, JsonObject], JsonObject]:
    return lambda text, arguments: {"result": change(text)}


def _counted(text: str, arguments: JsonObject) -> JsonObject:
    return {"result": count(text)}


def _stats(text: str, arguments: JsonObject) -> JsonObject:
    return {"result": stats(text)}


def _title(text: str) -> str:
    return WORD.sub(lambda word: word[0][:1].title() + word[0][1:].lower(), text)


def _dedupe_lines(text: str, arguments: JsonObject) -> JsonObject:
    lines = lines_of(text)
    kept = list(dict.fromkeys(lines))
    return {"result": "\n".join(kept), "removed": len(lines) - len(kept)}


def _sort_lines(text: str) -> str:
    lines = sorted(lines_of(text))
    lines.sort(key=_without_accents)
    return "\n".join(lines)


def _without_accents(line: str) -> str:
    if line.isascii():
        return line.casefold()
    return LATIN_MARKS.sub(r"\1", unicodedata.normalize("NFD", line)).casefold()


def _trim(text: str) -> str:
    while (bare := text.strip().strip(EDGE)) != text:
        text = bare
    return text


def _regex_find(text: str, arguments: JsonObject) -> JsonObject:
    pattern = compile_pattern(_needed(arguments, "pattern"))
    found: list[str] = []
    groups: list[JsonObject] = []
    for match in matches(pattern, text):
        if len(found) == MAX_MATCHES:
            note = f"Only the first {MAX_MATCHES:,} matches are given."
            return {"result": found, "count": len(found), "groups": groups, "note": note}
        found.append(match[0])
        if pattern.groups:
            groups.append({"start": match.start(), "groups": list(match.groups()), **_named(match.groupdict())})
    return {"result": found, "count": len(found), **({"groups": groups} if groups else {})}


def _named(groups: dict[str, Any]) -> JsonObject:
    return {"named": groups} if groups else {}


def _regex_replace(text: str, arguments: JsonObject) -> JsonObject:
    replacement = WHOLE_MATCH.sub(r"\\g<0>", arguments.get("replacement", ""))
    pattern = compile_pattern(_needed(arguments, "pattern"))
    changed, times = replace(pattern, replacement, text)
    result: JsonObject = {"result": changed, "count": times}
    if pattern.groups and "\\" not in replacement and regex.search(r"\$\d", replacement):
        result["note"] = r"$1 was taken as plain text; groups are written \1."
    return result


def _found(pattern: "regex.Pattern[str]", tidy: Callable[[str], str]) -> Callable[[str, JsonObject], JsonObject]:
    def find(text: str, arguments: JsonObject) -> JsonObject:
        found = [tidy(match[0]) for match in matches(pattern, text)]
        shown = found[:MAX_PARTS]
        return {"result": shown, "count": len(found)}

    return find


def _tidy_url(url: str) -> str:
    """Without the punctuation of the sentence around it; brackets stay where they are balanced."""
    while url:
        last = url[-1]
        opening = PAIRS.get(last)
        if last not in ".,;:!?…'\"*_" and (opening is None or url.count(opening) >= url.count(last)):
            break
        url = url[:-1]
    return url


def _split(text: str, arguments: JsonObject) -> JsonObject:
    if arguments.get("pattern"):
        parts, end = [], 0
        for match in matches(compile_pattern(arguments["pattern"]), text):
            if match.end() > match.start():
                parts.append(text[end : match.start()])
                end = match.end()
        parts.append(text[end:])
    else:
        separator = _separator(arguments, "\n")
        if not separator:
            raise InvalidArguments("The separator is empty: name what stands between the parts.")
        parts = lines_of(text) if separator == "\n" else text.split(separator)
    if len(parts) > MAX_PARTS:
        raise InvalidArguments(f"That makes more than {MAX_PARTS:,} parts.")
    return {"result": parts, "count": len(parts)}


def _join(text: str, arguments: JsonObject) -> JsonObject:
    return {"result": _separator(arguments, " ").join(lines_of(text))}


def _separator(arguments: JsonObject, default: str) -> str:
    separator: str = arguments.get("separator", default)
    return ESCAPED.get(separator, separator)


def _base64_encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _base64_decode(text: str, arguments: JsonObject) -> JsonObject:
    """Standard and URL-safe alphabets, with or without padding and line breaks."""
    packed = "".join(DATA_URI.sub("", text).split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidArguments(f"The text is not Base64: {error}.") from None
    try:
        return {"result": data.decode(), "bytes": len(data)}
    except UnicodeDecodeError:
        shown = data[:SHOWN_BYTES].hex()
        return {"result": None, "bytes": len(data), "hex": shown, "note": "The decoded bytes are not UTF-8 text."}


def _url_decode(text: str, arguments: JsonObject) -> JsonObject:
    try:
        decoded = urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InvalidArguments("The percent-encoded bytes are not UTF-8 text.") from None
    note = {"note": "+ was kept; in form data it stands for a blank."} if "+" in text else {}
    return {"result": decoded, **note}


def _hash(text: str, arguments: JsonObject) -> JsonObject:
    asked = arguments.get("algorithm", "sha256")
    name = regex.sub(r"^sha3[_-]?(?=\d{3}$)", "sha3_", asked.strip().lower())
    name = name if name in HASHES else regex.sub(r"[-_]", "", name)
    data = text.encode()
    if name not in HASHES:
        raise InvalidArguments(f"The algorithm {asked!r} is not known. Known: {', '.join(HASHES)}.")
    if name == "crc32":
        return {"result": f"{zlib.crc32(data):08x}", "algorithm": name}
    return {"result": hashlib.new(name, data, usedforsecurity=False).hexdigest(), "algorithm": name}


def _similarity(text: str, arguments: JsonObject) -> JsonObject:
    return {"result": similarity(text, _needed(arguments, "other"))}


def _diff(text: str, arguments: JsonObject) -> JsonObject:
    return line_diff(text, _needed(arguments, "other"))


def _needed(arguments: JsonObject, name: str) -> str:
    value = arguments.get(name)
    if value is None:
        raise InvalidArguments(f"The operation {arguments['operation']!r} needs {name!r}.")
    return valid_text(value)


OPERATIONS: dict[str, Callable[[str, JsonObject], JsonObject]] = {
    "count": _counted,
    "stats": _stats,
    "upper": _text_result(str.upper),
    "lower": _text_result(str.lower),
    "title": _text_result(_title),
    "trim": _text_result(_trim),
    "dedupe_lines": _dedupe_lines,
    "sort_lines": _text_result(_sort_lines),
    "reverse": _text_result(reversed_text),
    "regex_find": _regex_find,
    "regex_replace": _regex_replace,
    "extract_emails": _found(EMAIL, str),
    "extract_urls": _found(URL, _tidy_url),
    "extract_numbers": _found(NUMBER, str),
    "split": _split,
    "join": _join,
    "base64_encode": _text_result(_base64_encode),
    "base64_decode": _base64_decode,
    "url_encode": _text_result(lambda text: urllib.parse.quote(text, safe="")),
    "url_decode": _url_decode,
    "hash": _hash,
    "similarity": _similarity,
    "diff": _diff,
}


@tool(
    name="text_process",
    description=(
        "Works on a text exactly: count characters, words and lines (Chinese too), change case, sort or dedupe lines, "
        "find or replace by regular expression, extract e-mails, URLs or numbers, split, join, encode, hash, compare. "
        "Use it instead of counting or rewriting by hand."
    ),
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text to work on"},
            "operation": {"type": "string", "enum": list(OPERATIONS), "description": "What to do"},
            "pattern": {"type": "string", "description": "Regular expression for regex_find, regex_replace, split"},
            "replacement": {"type": "string", "description": r"For regex_replace; groups are \1 or \g<name>"},
            "separator": {
                "type": "string",
                "description": "For split (default: line breaks) and join (default: blank)",
            },
            "other": {"type": "string", "description": "The second text for similarity and diff"},
            "algorithm": {"type": "string", "description": "For hash: sha256 (default), md5, sha1, sha512, crc32 …"},
        },
        "required": ["text", "operation"],
        "additionalProperties": False,
    },
    category="data",
    read_only=True,
    pure=True,
    summarize=lambda arguments, data: f"{arguments['operation']}: {one_line(str(data['result']))}",
)
def text_process(arguments: JsonObject) -> JsonObject:
    """`{operation, result}` with `count`, `note` and the like where they say something."""
    text = valid_text(arguments["text"])
    if len(text) > MAX_TEXT_CHARACTERS:
        raise InvalidArguments(f"The text is longer than {MAX_TEXT_CHARACTERS:,} characters.")
    return {"operation": arguments["operation"], **OPERATIONS[arguments["operation"]](text, arguments)}
