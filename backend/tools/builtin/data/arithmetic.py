"""Bounded arithmetic: exact with integers and fractions, 50 decimal digits where that cannot be."""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from ....errors import InvalidArguments

Number = int | Fraction | Decimal

MAX_INTEGER_BITS = 200_000  # 60,000 digits
MAX_FRACTION_BITS = 20_000
MAX_WORK_BITS = 4_000_000  # bits of all intermediate results of one expression together
MAX_ROOT_DEGREE = 1_000
MAX_ROOT_BITS = 4_096  # of what a root higher than the square root is looked for exactly
MAX_EXPONENT_DIGITS = 60_000
DIGITS = 50

TOO_LARGE = "The result is too large to work out: numbers are limited to 60,000 digits."

CONTEXT = decimal.Context(
    prec=DIGITS,
    rounding=decimal.ROUND_HALF_EVEN,
    Emax=999_999,
    Emin=-999_999,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)


class CannotCalculate(InvalidArguments):
    """The expression has no value that can be given."""


class Work:
    """Adds up the size of what one expression makes, so that many middling steps are bounded too."""

    def __init__(self) -> None:
        self._bits = 0

    def check(self, value: Number) -> Number:
        """`value`, simplified; raises CannotCalculate when it, or all so far, is too large."""
        if isinstance(value, Fraction):
            if value.denominator == 1:
                value = value.numerator
            elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_FRACTION_BITS:
                return approximate(value)
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise CannotCalculate(TOO_LARGE)
        self._bits += _bits(value)
        if self._bits > MAX_WORK_BITS:
            raise CannotCalculate("The expression takes too much work: its intermediate results are too large.")
        return value


def _bits(value: Number) -> int:
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return 4 * (value.numerator.bit_length() + value.denominator.bit_length())
    return DIGITS * 4


def approximate(value: Number) -> Decimal:
    """`value` in 50 digits."""
    if isinstance(value, Decimal):
        return value
    return bounded(lambda: CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator)))


def bounded(work: Callable[[], Decimal]) -> Decimal:
    """What `work` gives in decimals; their overflow and undefined cases become CannotCalculate."""
    try:
        return work()
    except decimal.Overflow:
        raise CannotCalculate(TOO_LARGE) from None
    except decimal.DivisionByZero:
        raise CannotCalculate("Division by zero.") from None
    except decimal.InvalidOperation:
        raise CannotCalculate("The result is undefined.") from None


def add(left: Number, right: Number) -> Number:
    """left + right."""
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return bounded(lambda: CONTEXT.add(approximate(left), approximate(right)))
    return left + right


def subtract(left: Number, right: Number) -> Number:
    """left - right."""
    return add(left, negate(right))


def negate(value: Number) -> Number:
    """-value."""
    return CONTEXT.minus(value) if isinstance(value, Decimal) else -value


def multiply(left: Number, right: Number) -> Number:
    """left * right; refused before it is worked out if the product would be too large."""
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return bounded(lambda: CONTEXT.multiply(approximate(left), approximate(right)))
    if left.numerator.bit_length() + right.numerator.bit_length() > MAX_INTEGER_BITS + 1:
        raise CannotCalculate(TOO_LARGE)
    return left * right


def divide(left: Number, right: Number) -> Number:
    """left / right, a fraction where both are exact."""
    if right == 0:
        raise CannotCalculate("Division by zero.")
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return bounded(lambda: CONTEXT.divide(approximate(left), approximate(right)))
    if max(left.numerator.bit_length(), right.numerator.bit_length()) > MAX_FRACTION_BITS:
        return _divide_large(Fraction(left), Fraction(right))
    return Fraction(left) / Fraction(right)


def _divide_large(left: Fraction, right: Fraction) -> Number:
    top, bottom = left.numerator * right.denominator, left.denominator * right.numerator
    whole, rest = divmod(top, bottom)
    return whole if rest == 0 else bounded(lambda: CONTEXT.divide(Decimal(top), Decimal(bottom)))


def floor_divide(left: Number, right: Number) -> Number:
    """The largest integer not above left / right."""
    if right == 0:
        raise CannotCalculate("Division by zero.")
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    return floor(divide(left, right))


def modulo(left: Number, right: Number) -> Number:
    """left - right * floor(left / right): the sign is that of `right`."""
    if right == 0:
        raise CannotCalculate("Remainder of a division by zero.")
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    return subtract(left, multiply(right, floor_divide(left, right)))


def floor(value: Number) -> int:
    """The largest integer not above `value`."""
    if isinstance(value, Decimal):
        if value.adjusted() > MAX_EXPONENT_DIGITS:
            raise CannotCalculate(TOO_LARGE)
        return int(value.to_integral_value(decimal.ROUND_FLOOR))
    return value.numerator // value.denominator


def power(base: Number, exponent: Number) -> Number:
    """base ** exponent: exact for integer exponents and for roots that come out even."""
    if base == 0:
        return _power_of_zero(exponent)
    if isinstance(exponent, int) and not isinstance(base, Decimal):
        return _whole_power(base, exponent)
    if isinstance(exponent, Fraction) and not isinstance(base, Decimal) and base > 0:
        root = exact_root(base, exponent.denominator)
        if root is not None:
            return _whole_power(root, exponent.numerator)
    if base < 0 and not isinstance(exponent, int):
        raise CannotCalculate(
            "A negative number has no real power with a fractional exponent.",
            suggestion="For the real root of an odd degree write root(x, 3) or cbrt(x).",
        )
    return bounded(lambda: CONTEXT.power(approximate(base), approximate(exponent)))


def _power_of_zero(exponent: Number) -> Number:
    if exponent < 0:
        raise CannotCalculate("Division by zero: 0 has no negative power.")
    return 1 if exponent == 0 else 0


def _whole_power(base: int | Fraction, exponent: int) -> Number:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if base not in (1, -1) and (bits - 1) * abs(exponent) > MAX_INTEGER_BITS:
        raise CannotCalculate(TOO_LARGE)
    if exponent < 0:
        return Fraction(1) / Fraction(base) ** -exponent
    if base in (1, -1):
        return 1 if base == 1 or exponent % 2 == 0 else -1
    if isinstance(base, int):
        whole: int = base**exponent
        return whole
    if (bits - 1) * exponent > MAX_FRACTION_BITS:
        return bounded(lambda: CONTEXT.power(approximate(base), Decimal(exponent)))
    return base**exponent


def exact_root(value: int | Fraction, degree: int) -> int | Fraction | None:
    """The root if it is rational, else None; `value` is not negative."""
    if degree < 1 or degree > MAX_ROOT_DEGREE:
        return None
    if degree > 2 and max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_ROOT_BITS:
        return None
    top, bottom = _integer_root(value.numerator, degree), _integer_root(value.denominator, degree)
    if top**degree != value.numerator or bottom**degree != value.denominator:
        return None
    return Fraction(top, bottom) if bottom != 1 else top


def _integer_root(value: int, degree: int) -> int:
    """The largest integer whose power is not above `value`, by Newton's method."""
    if value < 2 or degree == 1:
        return value
    if degree == 2:
        return math.isqrt(value)
    guess = 1 << -(-value.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + value // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
