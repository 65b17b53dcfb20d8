"""What text from outside may hold although Python's reader takes it: numbers that are none, and nesting that no writer survives."""

import json
from typing import Any, NoReturn

# Python's own reader stops near 1,000 levels, its writers and everything that walks a value sooner.
MAX_DEPTH = 100


def finite(text: str) -> float:
    """A number with a point or exponent. Raises ValueError for one that overflows to infinity."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:20]} is too large for a number")
    return value


def no_constant(name: str) -> NoReturn:
    """Raises ValueError: NaN and Infinity are not JSON."""
    raise ValueError(f"{name} is not JSON")


def decoder(*, strict: bool = True) -> json.JSONDecoder:
    """A reader of JSON without NaN, Infinity and numbers that overflow; depth is `check_depth`'s part."""
    return json.JSONDecoder(strict=strict, parse_float=finite, parse_constant=no_constant)


class Reader(json.JSONDecoder):
    """A reader for what other programs send: whatever is wrong with a text, depth included, is a ValueError."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        """(value, where it ends). Raises json.JSONDecodeError, ValueError."""
        try:
            value, end = super().raw_decode(s, idx)
        except RecursionError:
            raise json.JSONDecodeError("nested too deeply", s, idx) from None
        check_depth(s, value)
        return value, end


def check_depth(text: str, value: Any) -> None:
    """Raises ValueError if `value`, read from `text`, is nested deeper than MAX_DEPTH levels."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_DEPTH} levels")


def _children(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list | tuple) else ()
