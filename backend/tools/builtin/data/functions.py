"""The functions and constants of the calculator."""

import decimal
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from .arithmetic import (
    CONTEXT,
    TOO_LARGE,
    CannotCalculate,
    Number,
    add,
    approximate,
    bounded,
    divide,
    exact_root,
    floor,
    modulo,
    multiply,
    negate,
    power,
    subtract,
)

MAX_FACTORIAL = 10_000
MAX_ANGLE_DIGITS = 30
MAX_ROUND_DIGITS = 1_000
MAX_CHOICES = 100_000

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328"
)
_FINE = decimal.Context(prec=100, Emax=999_999, Emin=-999_999)
ZERO_BELOW = Decimal("1e-45")  # what is smaller than the 50 digits can tell is zero


def _trig(value: Number) -> Decimal:
    angle = approximate(value)
    if angle.adjusted() > MAX_ANGLE_DIGITS:
        raise CannotCalculate("The angle is too large to say where on the circle it lies.")
    turn = _FINE.multiply(PI, Decimal(2))
    turns = _FINE.divide(angle, turn).to_integral_value()
    return _FINE.subtract(angle, _FINE.multiply(turns, turn))


def _tidy(value: Decimal) -> Decimal:
    return Decimal(0) if abs(value) < ZERO_BELOW else CONTEXT.plus(value)


def _sine_series(angle: Decimal) -> Decimal:
    square = _FINE.multiply(angle, angle)
    term = total = angle
    step = 1
    while abs(term) > Decimal("1e-80"):
        term = _FINE.divide(_FINE.multiply(term, square.copy_negate()), Decimal((step + 1) * (step + 2)))
        total = _FINE.add(total, term)
        step += 2
    return total


def sin(value: Number) -> Number:
    """Sine of an angle in radians."""
    return 0 if value == 0 else _tidy(_sine_series(_trig(value)))


def cos(value: Number) -> Number:
    """Cosine of an angle in radians."""
    return 1 if value == 0 else _tidy(_sine_series(_FINE.add(_trig(value), _FINE.divide(PI, Decimal(2)))))


def tan(value: Number) -> Number:
    """Tangent of an angle in radians."""
    bottom = cos(value)
    if bottom == 0:
        raise CannotCalculate("The tangent is undefined at this angle.")
    return divide(sin(value), bottom)


def atan(value: Number) -> Number:
    """The angle whose tangent is `value`."""
    if value == 0:
        return 0
    x = approximate(value)
    if abs(x) > 1:
        half = _FINE.divide(PI, Decimal(2))
        rest = _FINE.subtract(half, _atan_small(_FINE.divide(Decimal(1), x.copy_abs())))
        return CONTEXT.plus(rest.copy_sign(x))
    return CONTEXT.plus(_atan_small(x.copy_abs()).copy_sign(x))


def _atan_small(x: Decimal) -> Decimal:
    halvings = 0
    while x > Decimal("0.05"):  # atan(x) = 2 atan(x / (1 + sqrt(1 + x²)))
        x = _FINE.divide(x, _FINE.add(Decimal(1), _FINE.sqrt(_FINE.add(Decimal(1), _FINE.multiply(x, x)))))
        halvings += 1
    square, term, total, step = _FINE.multiply(x, x), x, x, 1
    while abs(term) > Decimal("1e-80"):
        term = _FINE.multiply(term, square.copy_negate())
        step += 2
        total = _FINE.add(total, _FINE.divide(term, Decimal(step)))
    return _FINE.multiply(total, Decimal(2**halvings))


def asin(value: Number) -> Number:
    """The angle whose sine is `value`."""
    if absolute(value) > 1:
        raise CannotCalculate("asin is defined from -1 to 1.")
    if absolute(value) == 1:
        return CONTEXT.multiply(CONTEXT.divide(PI, Decimal(2)), Decimal(int(value)))
    return atan(divide(value, sqrt(subtract(1, multiply(value, value)))))


def acos(value: Number) -> Number:
    """The angle whose cosine is `value`."""
    if absolute(value) > 1:
        raise CannotCalculate("acos is defined from -1 to 1.")
    return 0 if value == 1 else subtract(CONTEXT.divide(PI, Decimal(2)), asin(value))


def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y)."""
    if x == 0:
        if y == 0:
            raise CannotCalculate("atan2(0, 0) is undefined.")
        return CONTEXT.multiply(CONTEXT.divide(PI, Decimal(2)), Decimal(1 if y > 0 else -1))
    angle = atan(divide(y, x))
    return angle if x > 0 else add(angle, CONTEXT.plus(PI) if y >= 0 else CONTEXT.minus(PI))


def exp(value: Number) -> Number:
    """e to the power of `value`."""
    return 1 if value == 0 else bounded(lambda: CONTEXT.exp(approximate(value)))


def ln(value: Number) -> Number:
    """Natural logarithm."""
    if value <= 0:
        raise CannotCalculate("The logarithm is defined for numbers above zero.")
    return 0 if value == 1 else bounded(lambda: CONTEXT.ln(approximate(value)))


def log(value: Number, base: Number | None = None) -> Number:
    """Logarithm to a base, the natural one without."""
    if base is None:
        return ln(value)
    if base == 1:
        raise CannotCalculate("There is no logarithm to the base 1.")
    return _tidy(approximate(divide(ln(value), ln(base))))


def sqrt(value: Number) -> Number:
    """Square root, exact where it comes out even."""
    if value < 0:
        raise CannotCalculate("The square root of a negative number is not real.")
    if not isinstance(value, Decimal):
        root = exact_root(value, 2)
        if root is not None:
            return root
    return bounded(lambda: CONTEXT.sqrt(approximate(value)))


def root(value: Number, degree: Number) -> Number:
    """The real root of that degree."""
    if degree == 0:
        raise CannotCalculate("There is no root of degree 0.")
    if value < 0 and isinstance(degree, int) and degree % 2:
        return negate(power(negate(value), divide(1, degree)))
    if value < 0:
        raise CannotCalculate("An even root of a negative number is not real.")
    return power(value, divide(1, degree))


def hyperbolic(sign: int) -> Callable[[Number], Number]:
    """sinh for -1, cosh for +1: (e^x ± e^-x) / 2."""
    return lambda value: divide(add(exp(value), multiply(sign, exp(negate(value)))), 2)


def tanh(value: Number) -> Number:
    """Hyperbolic tangent."""
    if absolute(value) > 200:
        return 1 if value > 0 else -1
    return divide(hyperbolic(-1)(value), hyperbolic(1)(value))


def factorial(value: Number) -> Number:
    """value!"""
    number = _whole(value, "A factorial")
    if number < 0:
        raise CannotCalculate("A factorial is defined for whole numbers from 0 up.")
    if number > MAX_FACTORIAL:
        raise CannotCalculate(f"Factorials are worked out up to {MAX_FACTORIAL:,}.")
    return math.factorial(number)


def double_factorial(value: Number) -> Number:
    """value!! = value * (value - 2) * …"""
    number = _whole(value, "A double factorial")
    if not 0 <= number <= MAX_FACTORIAL:
        raise CannotCalculate(f"Double factorials are worked out from 0 to {MAX_FACTORIAL:,}.")
    return math.prod(range(number, 0, -2))


def combinations(total: Number, chosen: Number) -> Number:
    """Ways to choose `chosen` of `total`, order ignored."""
    n, k = _counts(total, chosen)
    return math.comb(n, k)


def permutations(total: Number, chosen: Number) -> Number:
    """Ways to choose `chosen` of `total`, in order."""
    n, k = _counts(total, chosen)
    if k * max(n.bit_length(), 1) > 200_000:
        raise CannotCalculate(TOO_LARGE)
    return math.perm(n, k)


def _counts(total: Number, chosen: Number) -> tuple[int, int]:
    n, k = _whole(total, "The first number"), _whole(chosen, "The second number")
    if n < 0 or k < 0:
        raise CannotCalculate("Counting needs numbers from 0 up.")
    if min(k, abs(n - k)) * max(n.bit_length(), 1) > MAX_CHOICES:
        raise CannotCalculate(TOO_LARGE)
    return n, k


def round_to(value: Number, digits: Number = 0) -> Number:
    """Rounded to so many decimals; a half goes away from zero, as people round."""
    places = _whole(digits, "The number of decimals")
    if abs(places) > MAX_ROUND_DIGITS:
        raise CannotCalculate("That many decimals cannot be asked for.")
    shift = Fraction(10) ** places
    exact: Fraction = Fraction(value) if not isinstance(value, Decimal) else _exact(value)
    scaled = (exact if exact >= 0 else -exact) * shift
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if exact >= 0 else -whole) / shift


def _exact(value: Decimal) -> Fraction:
    if abs(value.adjusted()) > MAX_ROUND_DIGITS:
        raise CannotCalculate("The number is too large or too small to round.")
    return Fraction(value)


def absolute(value: Number) -> Number:
    """The value without its sign."""
    return negate(value) if value < 0 else value


def truncate(value: Number) -> Number:
    """Without the decimals."""
    return floor(value) if value >= 0 else -floor(negate(value))


def mean(*values: Number) -> Number:
    """The average."""
    return divide(total(*values), len(values))


def total(*values: Number) -> Number:
    """The sum."""
    result: Number = 0
    for value in values:
        result = add(result, value)
    return result


def median(*values: Number) -> Number:
    """The middle one; of an even count the mean of the middle two."""
    ordered: list[Number] = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return divide(add(ordered[middle - 1], ordered[middle]), 2)


def hypot(*values: Number) -> Number:
    """The square root of the sum of squares."""
    return sqrt(total(*(multiply(value, value) for value in values)))


def variance(*values: Number) -> Number:
    """The sample variance (divided by n - 1)."""
    if len(values) < 2:
        raise CannotCalculate("The deviation of a sample needs two values or more.")
    middle = mean(*values)
    squares = [multiply(subtract(value, middle), subtract(value, middle)) for value in values]
    return divide(total(*squares), len(values) - 1)


def population_variance(*values: Number) -> Number:
    """The variance of all there is (divided by n)."""
    return divide(multiply(variance(*values), len(values) - 1), len(values)) if len(values) > 1 else 0


def integer_root(value: Number) -> Number:
    """The whole part of the square root of a whole number."""
    number = _whole(value, "isqrt")
    if number < 0:
        raise CannotCalculate("The square root of a negative number is not real.")
    return math.isqrt(number)


def gcd(*values: Number) -> Number:
    """Greatest common divisor."""
    return math.gcd(*(_whole(value, "gcd") for value in values))


def lcm(*values: Number) -> Number:
    """Least common multiple."""
    result = 1
    for value in values:
        number = _whole(value, "lcm")
        if result.bit_length() + number.bit_length() > 20_000:
            raise CannotCalculate(TOO_LARGE)
        result = math.lcm(result, number)
    return result


def power_of(base: Number, exponent: Number, modulus: Number | None = None) -> Number:
    """base ** exponent, or its remainder, which has no size limit on the power."""
    if modulus is None:
        return power(base, exponent)
    numbers = [_whole(value, "pow with three numbers") for value in (base, exponent, modulus)]
    if numbers[2] == 0:
        raise CannotCalculate("Remainder of a division by zero.")
    if max(number.bit_length() for number in numbers) > 4_096:
        raise CannotCalculate(TOO_LARGE)
    try:
        return pow(numbers[0], numbers[1], numbers[2])
    except ValueError:
        raise CannotCalculate("The base has no inverse for this modulus.") from None


def degrees(value: Number) -> Number:
    """Radians to degrees."""
    return divide(multiply(value, 180), CONTEXT.plus(PI))


def radians(value: Number) -> Number:
    """Degrees to radians."""
    return divide(multiply(value, CONTEXT.plus(PI)), 180)


def _whole(value: Number, what: str) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal) and value == value.to_integral_value() and value.adjusted() < 40:
        return int(value)
    raise CannotCalculate(f"{what} needs a whole number.")


@dataclass(frozen=True, slots=True)
class Function:
    """A function and how many arguments it takes (`most` None: any number)."""

    call: Callable[..., Number]
    least: int = 1
    most: int | None = 1
    angle: bool = False


FUNCTIONS = {
    "sqrt": Function(sqrt), "cbrt": Function(lambda x: root(x, 3)), "root": Function(root, 2, 2),
    "exp": Function(exp), "ln": Function(ln), "log": Function(log, 1, 2),
    "log10": Function(lambda x: log(x, 10)), "lg": Function(lambda x: log(x, 10)), "log2": Function(lambda x: log(x, 2)),
    "sin": Function(sin, angle=True), "cos": Function(cos, angle=True), "tan": Function(tan, angle=True),
    "asin": Function(asin), "arcsin": Function(asin), "acos": Function(acos), "arccos": Function(acos),
    "atan": Function(atan), "arctan": Function(atan), "atan2": Function(atan2, 2, 2),
    "cot": Function(lambda x: divide(cos(x), sin(x)), angle=True), "sec": Function(lambda x: divide(1, cos(x)), angle=True),
    "csc": Function(lambda x: divide(1, sin(x)), angle=True),
    "log1p": Function(lambda x: ln(add(1, x))), "expm1": Function(lambda x: subtract(exp(x), 1)),
    "isqrt": Function(integer_root), "prod": Function(lambda *x: functools.reduce(multiply, x), 1, None),
    "stdev": Function(lambda *x: sqrt(variance(*x)), 1, None), "variance": Function(variance, 1, None),
    "pstdev": Function(lambda *x: sqrt(population_variance(*x)), 1, None), "pvariance": Function(population_variance, 1, None),
    "sinh": Function(hyperbolic(-1)), "cosh": Function(hyperbolic(1)), "tanh": Function(tanh),
    "factorial": Function(factorial), "fact": Function(factorial),
    "comb": Function(combinations, 2, 2), "c": Function(combinations, 2, 2), "ncr": Function(combinations, 2, 2), "choose": Function(combinations, 2, 2),
    "perm": Function(permutations, 2, 2), "p": Function(permutations, 2, 2), "npr": Function(permutations, 2, 2),
    "gcd": Function(gcd, 1, None), "lcm": Function(lcm, 1, None),
    "abs": Function(absolute), "sign": Function(lambda x: (x > 0) - (x < 0)),
    "round": Function(round_to, 1, 2), "floor": Function(floor), "ceil": Function(lambda x: -floor(negate(x))),
    "trunc": Function(truncate), "int": Function(truncate), "float": Function(lambda x: x),
    "min": Function(min, 1, None), "max": Function(max, 1, None), "sum": Function(total, 1, None),
    "mean": Function(mean, 1, None), "avg": Function(mean, 1, None), "average": Function(mean, 1, None),
    "median": Function(median, 1, None), "hypot": Function(hypot, 1, None),
    "pow": Function(power_of, 2, 3), "mod": Function(modulo, 2, 2),
    "degrees": Function(degrees), "radians": Function(radians),
}  # fmt: skip

CONSTANTS: dict[str, Number] = {
    "pi": CONTEXT.plus(PI),
    "tau": CONTEXT.multiply(PI, Decimal(2)),
    "e": CONTEXT.exp(Decimal(1)),
    "phi": CONTEXT.divide(CONTEXT.add(Decimal(1), CONTEXT.sqrt(Decimal(5))), Decimal(2)),
}
