"""Values as text: JSON by the standard library's own encoder without the detour of `json.dumps`, and `str` that never fails."""

import json
import json.encoder
from collections.abc import Callable
from typing import Any


def fast_encoder(*, sort_keys: bool, default: Callable[[Any], Any] | None = None) -> Callable[[Any], str]:
    """A function from a value to its JSON text: readable letters, no NaN, compact where keys are sorted.

    Raises TypeError, ValueError or RecursionError for what JSON cannot carry.
    """
    between, after = (",", ":") if sort_keys else (", ", ": ")
    plain = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(between, after), default=default
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    # JSONEncoder.encode makes this object anew for every call, which takes longer than a small result
    write = make(None, plain.default, json.encoder.encode_basestring, None, after, between, sort_keys, False, False)
    join = "".join

    def encode(value: Any) -> str:
        return join(write(value, 0))

    return encode


def text_of(value: Any) -> str:
    """`str(value)`, also of an object that cannot tell."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a tool's own class
        return f"(a {type(value).__name__} that cannot be shown)"
