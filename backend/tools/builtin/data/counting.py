"""Counts what people call characters, words, lines and sentences, in any script."""

from collections import Counter
from itertools import islice

import regex

from ...core import JsonObject

TOP_WORDS = 10
GRAPHEMES_AT_ONCE = 10_000  # a list of all of them would take fifty times the room of the text

GRAPHEME = regex.compile(r"\X")
JOINING = regex.compile(  # without any of these each code point is a character of its own
    r"[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\p{GCB=Prepend}\p{GCB=L}\p{GCB=V}\p{GCB=T}\r]"
)
LINE_BREAK = regex.compile(r"\r\n|\n|\r")
SYLLABIC = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")  # written without blanks: each counts as a word
PIECE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|(?:(?![\p{Han}\p{Hiragana}\p{Katakana}])[\p{L}\p{M}\p{N}])+")
LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
EDGES = regex.compile(r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$")
SENTENCE_END = regex.compile(r"[.!?…]+(?=\s|$)|[。！？]+")


def reversed_text(text: str) -> str:
    """The text back to front by what a reader sees as single characters."""
    if not JOINING.search(text, concurrent=True):
        return text[::-1]
    blocks: list[str] = []
    found = GRAPHEME.finditer(text, concurrent=True)
    while block := [match[0] for match in islice(found, GRAPHEMES_AT_ONCE)]:
        blocks.append("".join(reversed(block)))
    return "".join(reversed(blocks))


def count_graphemes(text: str) -> int:
    """How many characters a reader sees."""
    if text.isascii():
        return len(text) - text.count("\r\n")
    if not JOINING.search(text, concurrent=True):
        return len(text)
    return sum(1 for _ in GRAPHEME.finditer(text, concurrent=True))


def lines_of(text: str) -> list[str]:
    """The lines, without their ends; a last line break ends a line and begins none."""
    lines = LINE_BREAK.split(text)
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def words_of(text: str) -> list[str]:
    """Words by blanks; Chinese characters and kana count one each, signs alone do not count."""
    found: list[str] = []
    for chunk in text.split():
        if chunk.isascii() or not SYLLABIC.search(chunk):
            if LETTER_OR_DIGIT.search(chunk):
                found.append(chunk)
        else:
            found += PIECE.findall(chunk)
    return found


def count(text: str) -> JsonObject:
    """`{characters, characters_without_spaces, words, lines, bytes}`."""
    characters = count_graphemes(text)
    spaces = len(text) - len("".join(text.split())) - text.count("\r\n")
    return {
        "characters": characters,
        "characters_without_spaces": characters - spaces,
        "words": len(words_of(text)),
        "lines": len(lines_of(text)),
        "bytes": len(text.encode()),
    }


def stats(text: str) -> JsonObject:
    """`count` and more: sentences, paragraphs, unique and most frequent words, longest line."""
    words, lines = words_of(text), lines_of(text)
    plain = [EDGES.sub("", word).casefold() for word in words]
    sentences = len(SENTENCE_END.findall(text))
    ended = not text.strip() or SENTENCE_END.search(text.rstrip()[-1:])
    paragraphs = [part for part in regex.split(r"(?:\r\n|\n|\r)\s*(?:\r\n|\n|\r)", text) if part.strip()]
    return {
        **count(text),
        "sentences": sentences if ended else sentences + 1,
        "paragraphs": len(paragraphs),
        "blank_lines": sum(not line.strip() for line in lines),
        "longest_line": max(map(len, lines), default=0),
        "average_word_length": round(sum(map(len, plain)) / len(plain), 2) if plain else 0,
        "unique_words": len(set(plain)),
        "top_words": [{"word": word, "count": times} for word, times in Counter(plain).most_common(TOP_WORDS)],
    }
