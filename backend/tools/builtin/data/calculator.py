"""The calculator tool: exact where possible, bounded always, and clear about what it understood."""

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ...core import JsonObject
from ...factory import tool
from .arithmetic import CONTEXT, DIGITS, Number, approximate
from .expression import evaluate

SHOWN_DIGITS = 16
MAX_EXACT_DIGITS = 40  # digits of a decimal that is written out in full
MAX_INTEGER_CHARACTERS = 12_000
MAX_SAFE_INTEGER = 2**53 - 1  # beyond it, readers of JSON lose digits
PLAIN_EXPONENTS = range(-7, 21)

_shown = decimal.Context(prec=SHOWN_DIGITS, rounding=decimal.ROUND_HALF_EVEN)


@tool(
    name="calculator",
    description=(
        "Works out an arithmetic expression exactly where possible (integers of any size, fractions, decimals). Knows "
        "+ - * / // % ^ ** ! parentheses, percent (15% of 240, 20% off 50, 100 + 10%), sqrt, exp, ln, log(x, base), "
        "log10, sin, cos, tan (radians; 30° for degrees), round, floor, ceil, min, max, mean, gcd, lcm, comb, perm, "
        "factorial, pow(a, b, m), pi, e. Use it for every calculation instead of working it out in your head."
    ),
    parameters={
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "What to calculate, e.g. (2 + 3) * 4 or 15% of 240"}
        },
        "required": ["expression"],
        "additionalProperties": False,
    },
    category="data",
    read_only=True,
    pure=True,
    inline=True,
    timeout=10,
    summarize=lambda arguments, data: f"{data['expression'].strip()} = {data['text']}",
)
def calculator(arguments: JsonObject) -> JsonObject:
    """`{expression, value, text, exact}`, with `fraction`, `digits` and `note` where they say something.

    `value` is a number where JSON can carry it exactly or it is an approximation anyway, else the text.
    """
    expression: str = arguments["expression"]
    found = evaluate(expression)
    result: JsonObject = {"expression": expression, **present(found.value)}
    if found.notes:
        result["note"] = " ".join(found.notes)
    return result


def present(value: Number) -> JsonObject:
    """A value as the card shows it: `value`, `text`, `exact` and extras."""
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, Fraction):
        return _fraction(value)
    return _approximate(value)


def _integer(value: int) -> JsonObject:
    text = str(Decimal(value))  # unlike str(int), without a limit on digits
    if len(text) > MAX_INTEGER_CHARACTERS:
        shown = _plain(_shown.create_decimal(Decimal(value)))
        return {"value": shown, "text": shown, "exact": False, "digits": len(text.lstrip("-"))}
    return {"value": value if abs(value) <= MAX_SAFE_INTEGER else text, "text": text, "exact": True}


def _fraction(value: Fraction) -> JsonObject:
    exact = _terminating(value)
    if exact is None:
        fraction = f"{value.numerator}/{value.denominator}"
        extra = {"fraction": fraction} if len(fraction) <= 2 * MAX_EXACT_DIGITS else {}
        return {**_approximate(approximate(value)), **extra}
    text = _plain(exact)
    number = float(exact)
    same = Decimal(repr(number)) == exact
    return {"value": number if same else text, "text": text, "exact": True}


def _terminating(value: Fraction) -> Decimal | None:
    """The decimal that equals the fraction, if it ends within the digits shown."""
    digits = decimal.Context(prec=MAX_EXACT_DIGITS, traps=[decimal.Inexact])
    try:
        return digits.divide(Decimal(value.numerator), Decimal(value.denominator))
    except decimal.Inexact:
        return None


def _approximate(value: Decimal) -> JsonObject:
    rounded = _shown.create_decimal(value).normalize(_shown)
    text = _plain(rounded)
    number: Any = float(rounded)
    if number in (float("inf"), float("-inf")) or (number == 0 and rounded != 0):
        number = text
    whole = rounded == rounded.to_integral_value() and abs(rounded) <= MAX_SAFE_INTEGER
    return {"value": int(rounded) if whole else number, "text": text, "exact": False}


def _plain(value: Decimal) -> str:
    """Without an exponent where that is readable."""
    value = value.normalize(CONTEXT) if len(value.as_tuple().digits) <= DIGITS else value
    if value == 0:
        return "0"
    if value.adjusted() in PLAIN_EXPONENTS:
        return format(value, "f")
    return format(value, "e").replace("e+", "e")
