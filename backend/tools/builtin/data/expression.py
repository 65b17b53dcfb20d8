"""Evaluates an arithmetic expression as it reads it: precedence, percent, implicit multiplication, functions."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from .arithmetic import (
    CONTEXT,
    MAX_EXPONENT_DIGITS,
    TOO_LARGE,
    CannotCalculate,
    Number,
    Work,
    add,
    divide,
    floor_divide,
    modulo,
    multiply,
    negate,
    power,
    subtract,
)
from .functions import CONSTANTS, FUNCTIONS, PI, double_factorial, factorial
from .notation import DECIMAL_COMMA, SHOWN_CHARACTERS, Token, normalised, tokens

MAX_DEPTH = 100
MAX_ARGUMENTS = 1_000

ADDING, TIMES, PREFIX, POWER = 10, 20, 30, 40
BINARY: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (ADDING, add), "-": (ADDING, subtract), "*": (TIMES, multiply), "/": (TIMES, divide),
    "//": (TIMES, floor_divide), "%": (TIMES, modulo), "mod": (TIMES, modulo), "of": (TIMES, multiply),
    "x": (TIMES, multiply), "^": (POWER, power), "**": (POWER, power),
}  # fmt: skip
COMPARISONS = frozenset("<>=&~")
GROUPING = str.maketrans("", "", ",_ '")
NOT_A_NUMBER = frozenset({"nan", "inf", "infinity"})


@dataclass(slots=True)
class Term:
    """A value and how it came about: `percent` holds what stood before a bare percent sign."""

    value: Number
    percent: Number | None = None
    degrees: bool = False


@dataclass(slots=True)
class Evaluated:
    """The value of an expression, and what the reader should know of how it was read."""

    value: Number
    notes: list[str] = field(default_factory=list)


def evaluate(expression: str) -> Evaluated:
    """The value; raises CannotCalculate with the place and what to do."""
    parser = _Parser(tokens(normalised(expression)))
    return Evaluated(parser.whole(), list(dict.fromkeys(parser.notes)))


class _Parser:
    """Precedence climbing over the tokens; values are worked out on the way."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._next = 0
        self._depth = 0
        self._bars = 0
        self._work = Work()
        self.notes: list[str] = []

    def whole(self) -> Number:
        """The value of all tokens."""
        term = self._expression(0)
        if self._peek().kind != "end":
            raise self._unexpected(self._peek())
        return term.value

    # ------------------------------------------------------------ tokens
    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._peek()
        self._next += 1
        return token

    def _expect(self, text: str, opened: Token) -> None:
        token = self._take()
        if token.text != text:
            if token.kind == "end":
                raise CannotCalculate(f"The bracket opened at position {opened.at} is not closed: {text!r} is missing.")
            raise self._unexpected(token)

    def _unexpected(self, token: Token) -> CannotCalculate:
        if token.kind == "end":
            return CannotCalculate(f"The expression ends where a value should follow (position {token.at}).")
        if token.text in COMPARISONS:
            return CannotCalculate(
                f"{token.text!r} at position {token.at}: only values can be calculated, not conditions."
            )
        after = self._peek(1) if self._peek() is token else self._peek()
        if token.text == "," and after.kind == "number":
            return CannotCalculate(
                f"The comma at position {token.at} does not fit here.",
                suggestion="Write decimals with a point (3.14) and thousands without a sign (1234).",
            )
        shown = token.text[:SHOWN_CHARACTERS]
        before = self._tokens[self._next - 2] if self._next > 1 else None
        missing = " (is an operator missing before it?)" if token.kind == "number" and before else ""
        return CannotCalculate(f"{shown!r} at position {token.at} does not fit here{missing}.")

    # ------------------------------------------------------------ grammar
    def _expression(self, least: int) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CannotCalculate(f"The expression is nested more than {MAX_DEPTH} deep.")
        left = self._postfix(self._prefix())
        while True:
            step = self._infix(left, least)
            if step is None:
                self._depth -= 1
                return left
            left = self._postfix(step)

    def _prefix(self) -> Term:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return self._named(token)
        if token.text in ("-", "+"):
            inner = self._expression(PREFIX)
            return inner if token.text == "+" else Term(negate(inner.value), None, inner.degrees)
        if token.text == "(":
            inner = self._expression(0)
            self._expect(")", token)
            return Term(inner.value, None, inner.degrees)
        if token.text == "|":
            return self._bars_value(token)
        raise self._unexpected(token)

    def _bars_value(self, opened: Token) -> Term:
        self._bars += 1
        inner = self._expression(0)
        self._bars -= 1
        self._expect("|", opened)
        return Term(FUNCTIONS["abs"].call(inner.value))

    def _postfix(self, term: Term) -> Term:
        while True:
            token = self._peek()
            if token.text in ("!", "!!"):
                self._take()
                work = factorial if token.text == "!" else double_factorial
                term = Term(self._work.check(work(term.value)))
            elif token.text == "°":
                self._take()
                term = Term(divide(multiply(term.value, CONTEXT.plus(PI)), 180), None, True)
            elif token.text == "‰":
                self._take()
                term = Term(divide(term.value, 1000))
            elif token.text == "%" and self._is_percent():
                self._take()
                term = Term(divide(term.value, 100), term.value)
            else:
                return term

    def _is_percent(self) -> bool:
        """Whether a % is a percent sign and not a remainder: no value follows it."""
        sign, after = self._peek(), self._peek(1)
        if after.text in ("+", "-"):  # 10% - 3 is a percent, 10 % -3 a remainder
            return not (sign.spaced and after.spaced and not self._peek(2).spaced)
        if after.kind == "name":
            return after.text in ("of", "off", "x", "mod")
        return after.kind == "end" or (after.kind == "sign" and after.text not in ("(", "|"))

    def _infix(self, left: Term, least: int) -> Term | None:
        token = self._peek()
        if token.text == "off" and left.percent is not None and least < TIMES:
            self._take()
            right = self._expression(ADDING)
            return Term(self._work.check(multiply(subtract(1, left.value), right.value)))
        known = BINARY.get(token.text) if token.kind in ("sign", "name") else None
        if known is None:
            return self._implicit(left, least)
        binding, work = known
        if binding < least or (binding == least and binding != POWER) or (binding == POWER and least > POWER):
            return None
        self._take()
        right = self._expression(PREFIX if binding == POWER else binding)
        if binding == ADDING and right.percent is not None and left.percent is None:
            return self._add_percent(token.text, left, right)
        value = self._work.check(work(left.value, right.value))
        both = left.percent is not None and right.percent is not None and binding == ADDING
        return Term(value, multiply(value, 100) if both else None, left.degrees or right.degrees)

    def _add_percent(self, sign: str, left: Term, right: Term) -> Term:
        """100 + 10% is 110: the percent is taken of what stands before it."""
        share = multiply(left.value, right.value)
        self.notes.append(f"The percent after {sign} is taken of the value before it, as in 100 + 10% = 110.")
        return Term(self._work.check(add(left.value, share) if sign == "+" else subtract(left.value, share)))

    def _implicit(self, left: Term, least: int) -> Term | None:
        """2(3 + 4), 2 pi, (1)(2): a value directly after a value multiplies."""
        token = self._peek()
        starts = token.text == "(" or (token.kind == "name" and token.text not in BINARY and token.text != "off")
        if least >= TIMES or not starts or (token.text == "|" and self._bars):
            return None
        right = self._expression(TIMES)
        return Term(self._work.check(multiply(left.value, right.value)), None, right.degrees)

    # ------------------------------------------------------------ values
    def _number(self, token: Token) -> Term:
        value = self._work.check(_read_number(token))
        if DECIMAL_COMMA.fullmatch(token.text):
            self.notes.append(f"{token.text} was read with the comma as decimal sign and what groups digits left out.")
        after = self._peek()
        if after.kind == "number" and after.text.startswith("`"):  # 3½
            self._take()
            value = add(value, _read_number(after))
        return Term(value)

    def _named(self, token: Token) -> Term:
        if token.text in CONSTANTS and self._peek().text != "(":
            return Term(CONSTANTS[token.text])
        if token.text in CONSTANTS:
            return Term(CONSTANTS[token.text])
        if token.text in FUNCTIONS:
            return self._call(token)
        raise _unknown_name(token)

    def _call(self, token: Token) -> Term:
        function = FUNCTIONS[token.text]
        exponent = self._exponent()
        terms = self._arguments(token)
        if len(terms) < function.least or (function.most is not None and len(terms) > function.most):
            raise CannotCalculate(f"{token.text} takes {_count(function.least, function.most)}, not {len(terms)}.")
        if function.angle and not terms[0].degrees and not isinstance(terms[0].value, Decimal) and terms[0].value != 0:
            self.notes.append(f"Angles are in radians; for degrees write {token.text}(30°).")
        if token.text == "log" and len(terms) == 1:
            self.notes.append("log(x) is the natural logarithm; for base 10 write log10(x) or log(x, 10).")
        value = self._work.check(function.call(*(term.value for term in terms)))
        return Term(value if exponent is None else self._work.check(power(value, exponent)))

    def _exponent(self) -> Number | None:
        """The 2 of sin^2(x), which is (sin x)^2; sin^-1 is left alone, since it means the arcus."""
        ahead = [self._peek(number) for number in range(4)]
        if ahead[0].text not in ("^", "**"):
            return None
        if ahead[1].kind == "number" and ahead[2].text == "(":
            self._next += 2
            return _read_number(ahead[1])
        if ahead[1].text == "(" and ahead[2].kind == "number" and ahead[3].text == ")":  # sin²(x)
            self._next += 4
            return _read_number(ahead[2])
        return None

    def _arguments(self, token: Token) -> list[Term]:
        if self._peek().text == "of":  # log10 of 1000
            self._take()
        if self._peek().text != "(":  # sqrt 16, √16
            return [self._expression(TIMES)]
        opened = self._take()
        if self._peek().text == ")":
            self._take()
            return []
        listed = self._take() if self._holds_list() else None  # sum([1, 2, 3])
        terms = [self._expression(0)]
        while self._peek().text in (",", ";"):
            self._take()
            terms.append(self._expression(0))
            if len(terms) > MAX_ARGUMENTS:
                raise CannotCalculate(f"{token.text} was given more than {MAX_ARGUMENTS:,} values.")
        if listed is not None:
            self._expect(")", listed)
        self._expect(")", opened)
        return terms

    def _holds_list(self) -> bool:
        """Whether the only argument is a bracket with commas in it."""
        depth, commas = 0, False
        for at in range(self._next, len(self._tokens)):
            text = self._tokens[at].text
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return commas and self._tokens[at + 1].text == ")"
            commas = commas or (depth == 1 and text == ",")
        return False


def _read_number(token: Token) -> Number:
    text = token.text
    if DECIMAL_COMMA.fullmatch(text):
        text = text.replace(".", "").replace(",", ".")
    text = text.translate(GROUPING)
    if text.startswith("`"):
        top, _, bottom = text.strip("`").partition("/")
        return Fraction(int(top), int(bottom))
    if text[:2] in ("0x", "0b", "0o"):
        return int(text, 0)
    mantissa, _, exponent = text.partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len(exponent) > 7 or abs(int(exponent or 0)) > MAX_EXPONENT_DIGITS:
        raise CannotCalculate(TOO_LARGE)
    return _scaled(Decimal(whole + decimals or "0"), int(exponent or 0) - len(decimals))


def _scaled(digits: Decimal, shift: int) -> Number:
    number = int(digits)
    scale: int = 10 ** abs(shift)
    return number * scale if shift >= 0 else Fraction(number, scale)


def _unknown_name(token: Token) -> CannotCalculate:
    shown = token.text[:SHOWN_CHARACTERS]
    if token.text in NOT_A_NUMBER:
        return CannotCalculate(f"{shown!r} is not a number that can be calculated with.")
    near = difflib.get_close_matches(shown, [*FUNCTIONS, *CONSTANTS], 1, 0.7)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    known = "sqrt, exp, ln, log10, sin, cos, tan, factorial, round, min, max, mean, gcd; constants pi, e, tau"
    return CannotCalculate(
        f"{shown!r} at position {token.at} is not known.", suggestion=f"{hint}Known: {known} and more."
    )


def _count(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more values"
    return f"{least} value{'s' if least > 1 else ''}" if least == most else f"{least} to {most} values"
