"""Reads what people type as arithmetic: signs, words, digits of any script, phrases with percent."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from .arithmetic import CannotCalculate
from .spoken import numerals, without_currency

MAX_EXPRESSION_CHARACTERS = 10_000
MAX_PHRASE_CHARACTERS = 200
SHOWN_CHARACTERS = 60

SIGNS = str.maketrans({
    "×": "*", "✕": "*", "✖": "*", "⨯": "*", "·": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "＊": "*",
    "÷": "/", "∕": "/", "⁄": "/", "➗": "/", "：": "/",
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "➖": "-", "➕": "+",
    "π": " pi ", "τ": " tau ", "φ": " phi ", "√": " sqrt ", "∛": " cbrt ", "∞": " infinity ",
    "，": ",", "“": '"', "”": '"', "‘": "'", "’": "'", "【": "(", "】": ")", "[": "(", "]": ")", "{": "(", "}": ")",
    "⌊": " floor(", "⌋": ")", "⌈": " ceil(", "⌉": ")",
    "\u200b": " ", "\u200e": " ", "\u200f": " ", "\ufeff": " ", "\u2061": " ", "\u2062": "*",
})  # fmt: skip
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾", "0123456789+-()")
SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾]+")
QUOTED = re.compile(r"([\"'])([^\"']*)\1")

LATEX: tuple[tuple[str, str], ...] = (
    (r"\\(?:left|right|,|;|!|displaystyle)(?![a-z])", " "),
    (r"\\[dt]?frac ?\{([^{}]{1,200})\} ?\{([^{}]{1,200})\}", r"((\1)/(\2))"),
    (r"\\sqrt ?\[(\d{1,3})\] ?\{([^{}]{1,200})\}", r"root(\2, \1)"),
    (r"\\(?:times|cdot)(?![a-z])", "*"),
    (r"\\div(?![a-z])", "/"),
    (r"\\(?=%|(?:sqrt|pi|sin|cos|tan|ln|log|exp|min|max|gcd)(?![a-z]))", " "),
)
PERCENT = re.compile(r"\bper\s?cent\b|\bpct\b|％")
QUESTION = re.compile(
    r"^(?:please )?(?:what(?:'s| is| are)(?= (?!%|percent))|calculate\b|compute\b|evaluate\b|how much is\b"
    r"|原价|请?问?(?:帮我)?(?:计算|算)(?:一下)?|请问|求)[ :]*"
)
ASKED = re.compile(r" ?(?:是多少|等于多少|等于几|等于|得多少|得几|是几|equals?|,? please)$")
WORDS: tuple[tuple[str, str], ...] = (
    (r"\b(?:raised )?to the (?:power(?: of)?|power-of)\b|\braised to\b|的?次方(?=\d)", "^"),
    (r"\b(?:raised )?to the (\d{1,9})(?:st|nd|rd|th)?(?: power)?\b", r"^(\1)"),
    (r"\b(?:divided by|over)\b|除以", "/"),
    (r"\b(?:multiplied by|times)\b|乘以|乘上|乘", "*"),
    (r"\babsolute value(?: of)?\b|的?绝对值(?=\d)", " abs "),
    (r"\bnatural log(?:arithm)?(?: of)?\b", " ln "),
    (r"\b(sin|cos|tan)(?:e|ine|gent)(?: of)?\b", r" \1 "),
    (r"(?<=[\d)]) ?factorial\b", "!"),
    (r"\bnegative (?=[\d(])", "-"),
    (r"\b(?:double|twice)\b", "2 *"),
    (r"\btriple\b", "3 *"),
    (r"\bplus\b|加上|加", "+"),
    (r"\b(?:minus|less)\b|减去|减|減去|減", "-"),
    (r"\bsquared\b|的?平方(?!根)", "^2"),
    (r"\bcubed\b|的?立方(?!根)", "^3"),
    (r"\bsquare root(?: of)?\b", " sqrt "),
    (r"\bcube root(?: of)?\b", " cbrt "),
    (r"%\s*的\s*", "% of "),
    (r"(?<=[\d)])\s*的\s*(\(?[\d.]+(?:\*10\))?%)", r" * \1"),
    (r"(?<=\d)\s*的\s*(?=\()", " * "),
    (r"\b(?:degrees?|deg)\b(?!\s*\()|°|度", " ° "),
    (r"\b(\d{1,20}) and (\(\d{1,6}/\d{1,6}\)|\d{1,3}/\d{1,4}(?![\d./]))", r"(\1+\2)"),
    (r"\b(?:math|np|numpy|cmath)\.", ""),
    (r"\b(\d{1,9}) choose (\d{1,9})\b|(?<![\w.])(\d{1,9})c(\d{1,9})\b", r"comb(\1\3, \2\4)"),
    (r"\blog_(2|10)(?= ?\()", r"log\1"),
    (r"\blog_(\d{1,9}) ?\(([^(),]{1,60})\)", r"log(\2, \1)"),
    (r"\blog base (\d{1,9}) of (\d[\d.]{0,40})", r"log(\2, \1)"),
    (r"(?<![\d.,/^*)\w])(?<!\d )(\d{1,20}) (\d{1,2})/(\d{1,4})(?![\d./])", r"(\1+\2/\3)"),
)
_N = r"([-+]?\d[\d.,]{0,40})"
PHRASES: tuple[tuple[str, str], ...] = (
    (rf"\bwhat (?:%|percentage) of {_N} is {_N}", r"(\2) / (\1) * 100"),
    (rf"{_N} is what (?:%|percentage) of {_N}", r"(\1) / (\2) * 100"),
    (rf"{_N} as an? (?:%|percentage) of {_N}", r"(\1) / (\2) * 100"),
    (rf"\b(?:%|percentage) (?:change|increase) from {_N} to {_N}|^% (?:change|increase) from {_N} to {_N}",
     r"((\2\4) - (\1\3)) / (\1\3) * 100"),
    (rf"(?:%|\bpercentage) decrease from {_N} to {_N}", r"((\1) - (\2)) / (\1) * 100"),
    (rf"{_N}\s*% (?:more|greater|higher|larger) than {_N}", r"(\2) * (1 + (\1) / 100)"),
    (rf"{_N}\s*% (?:less|lower|smaller|fewer|cheaper) than {_N}", r"(\2) * (1 - (\1) / 100)"),
    (rf"{_N} more than {_N}", r"(\2) + (\1)"),
    (rf"{_N} (?:less|fewer) than {_N}", r"(\2) - (\1)"),
    (rf"\bremainder of {_N} (?:divided by|/) {_N}", r"(\1) mod (\2)"),
    (rf"\b(?:square|second power) of {_N}", r"(\1)^2"),
    (rf"\bcube of {_N}", r"(\1)^3"),
    (rf"{_N}\s*占\s*{_N}\s*的?100分之(?:几|多少)|{_N}是{_N}的100分之(?:几|多少)", r"(\1\3) / (\2\4) * 100"),
    (rf"比{_N}多{_N}\s*%", r"(\1) * (1 + (\2) / 100)"),
    (rf"比{_N}少{_N}\s*%", r"(\1) * (1 - (\2) / 100)"),
    (rf"{_N}\s*(?:增加|增长|上涨|涨|提高)了?{_N}\s*%", r"(\1) * (1 + (\2) / 100)"),
    (rf"{_N}\s*(?:减少|下降|下跌|跌|降低|降)了?{_N}\s*%", r"(\1) * (1 - (\2) / 100)"),
    (rf"{_N}[和与跟]{_N}的和", r"(\1) + (\2)"),
    (rf"{_N}[和与跟]{_N}的差", r"(\1) - (\2)"),
    (rf"{_N}[和与跟]{_N}的(?:乘?积)", r"(\1) * (\2)"),
    (rf"\bdifference (?:of|between) {_N} and {_N}", r"(\1) - (\2)"),
    (rf"\b(?:increase|raise) {_N} by {_N}\s*%", r"(\1) * (1 + (\2) / 100)"),
    (rf"\b(?:decrease|reduce|lower) {_N} by {_N}\s*%", r"(\1) * (1 - (\2) / 100)"),
    (rf"{_N} (?:increased|raised) by {_N}\s*%", r"(\1) * (1 + (\2) / 100)"),
    (rf"{_N} (?:decreased|reduced) by {_N}\s*%", r"(\1) * (1 - (\2) / 100)"),
)  # fmt: skip

_ITEM = r"-?\d{1,40}(?:\.\d{1,40})?"
LISTED = re.compile(  # the sum of 1, 2 and 3
    r"\b(sum|product|average|mean|median|maximum|minimum|max|min|largest|smallest|gcd|lcm|greatest common divisor"
    rf"|least common multiple) of ({_ITEM}(?:(?:,? and |, |,(?!\d{{3}}\b)){_ITEM}){{1,50}})(?!,?\d)"
)
LIST_NAMES = {
    "product": "prod", "maximum": "max", "largest": "max", "minimum": "min", "smallest": "min",
    "greatest common divisor": "gcd", "least common multiple": "lcm",
}  # fmt: skip

Kind = Literal["number", "name", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the expression. `spaced` says whether blanks stand before it; `at` is its position from 1."""

    kind: Kind
    text: str
    at: int
    spaced: bool


def normalised(expression: str) -> str:
    """The expression in plain signs; raises CannotCalculate for what is too long or empty."""
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise CannotCalculate(f"The expression is longer than {MAX_EXPRESSION_CHARACTERS:,} characters.")
    if "\\" in expression:
        for pattern, put in LATEX:
            expression = re.sub(pattern, put, expression)
    text = SUPERSCRIPT_RUN.sub(lambda run: f"^({run[0].translate(SUPERSCRIPTS)})", expression)
    text = "".join(_plain_letter(letter) for letter in text)
    text = unicodedata.normalize("NFKC", text.translate(SIGNS)).translate(SIGNS)
    text = " ".join(text.lower().split())
    text = (quoted[2] if (quoted := QUOTED.fullmatch(text)) else text).lstrip("= ").rstrip("=?。 ")
    text = ASKED.sub("", QUESTION.sub("", text))
    text = PERCENT.sub("%", re.sub(r"\bthe (?!power\b|\d)", "", text))
    text = without_currency(numerals(text))
    if len(text) <= MAX_PHRASE_CHARACTERS:
        text = LISTED.sub(_listed, text)
        for pattern, put in PHRASES:
            text = re.sub(pattern, put, text)
    for pattern, put in WORDS:
        text = re.sub(pattern, put, text)
    if not text.strip():
        raise CannotCalculate("The expression is empty.", suggestion='Give something to calculate, e.g. "2 + 3 * 4".')
    return text


def _listed(match: "re.Match[str]") -> str:
    items = re.sub(r",? and |, ", ",", match[2])
    return f"{LIST_NAMES.get(match[1], match[1])}({items})"


def _plain_letter(letter: str) -> str:
    """½ becomes a fraction that is added to a whole number before it; digits of any script become 0 to 9."""
    if letter.isascii():
        return letter
    decomposed = unicodedata.decomposition(letter)
    if decomposed.startswith("<fraction>"):
        top, _, bottom = unicodedata.normalize("NFKC", letter).partition("\u2044")
        return f"`{top}/{bottom or 1}`" if bottom else letter
    digit = unicodedata.decimal(letter, None)
    return letter if digit is None else str(digit)


NUMBER = re.compile(
    r"0x[0-9a-f]+|0b[01]+|0o[0-7]+"
    r"|(?:\d{1,3}(?:[ ]\d{3})+(?!\d)|\d+(?:_\d+)*)?(?:\.\d+(?:_\d+)*|\.(?![\d.]))?(?:e[+-]?\d+)?"
)
GROUPED = re.compile(
    r"(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d{1,3}(?:'\d{3})+)(?![\d,'])(?:\.\d+)?(?:e[+-]?\d+)?"
)
DECIMAL_COMMA = re.compile(  # 1.234,56 and 1 234,56 can be read in one way only; 1,234 and 1.234 are English
    r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?: \d{3})+,\d{1,2})(?![\d.,])"
)
FRACTION = re.compile(r"`(\d+)/(\d+)`")
NAME = re.compile(r"[^\W\d_]+[0-9]*(?:_?[^\W\d_]+[0-9]*)*")
SIGN = re.compile(r"\*\*|//|!!|[-+*/^%‰!(),;|°<>=&~?:'\"`@#\\]")


def tokens(text: str) -> list[Token]:
    """The tokens of normalised text, ended by one of kind "end"; raises CannotCalculate at what it cannot read."""
    found: list[Token] = []
    in_call: list[bool] = []  # whether each open bracket belongs to a function: there a comma separates
    at, spaced = 0, False
    while at < len(text):
        letter = text[at]
        if letter.isspace():
            at, spaced = at + 1, True
            continue
        token = _token(text, at, spaced, bool(in_call and in_call[-1]))
        if token.text == "(":
            in_call.append(bool(in_call and in_call[-1]) or (bool(found) and found[-1].kind == "name"))
        elif token.text == ")" and in_call:
            in_call.pop()
        at, spaced = at + len(token.text), False
        found += _split(token)
    found.append(Token("end", "", len(text) + 1, spaced))
    return found


def _token(text: str, at: int, spaced: bool, in_call: bool) -> Token:
    letter = text[at]
    if letter == "`" and (match := FRACTION.match(text, at)):
        return Token("number", match[0], at + 1, spaced)
    if letter.isdigit() or letter == ".":
        grouped = None if in_call else DECIMAL_COMMA.match(text, at) or GROUPED.match(text, at)
        match = grouped or NUMBER.match(text, at)
        if match and match[0] not in ("", "."):
            return Token("number", match[0], at + 1, spaced)
    if match := NAME.match(text, at):
        return Token("name", match[0], at + 1, spaced)
    if match := SIGN.match(text, at):
        return Token("sign", match[0], at + 1, spaced)
    raise CannotCalculate(f"{letter!r} at position {at + 1} is not understood.")


def _split(token: Token) -> list[Token]:
    """`x7`, as in 6x7, is a multiplication sign and a number."""
    match = re.fullmatch(r"x(\d+)", token.text) if token.kind == "name" else None
    if match is None:
        return [token]
    return [Token("sign", "*", token.at, token.spaced), Token("number", match[1], token.at + 1, False)]
