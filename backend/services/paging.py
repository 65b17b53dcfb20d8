"""Lists by keyset: opaque cursors that name the last row seen, so that page 500 costs what page 1 costs."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from ..agent.types import JsonObject
from ..errors import InvalidInput

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
MAX_CURSOR_CHARS = 500


@dataclass(frozen=True, slots=True)
class Page:
    """What a list is asked for: at most `limit` rows after `cursor`."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


def encode_cursor(*values: Any) -> str:
    """Pack strings, numbers and times into an opaque text."""
    packed = [v.isoformat() if isinstance(v, datetime) else v for v in values]
    return base64.urlsafe_b64encode(json.dumps(packed).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, kinds: Sequence[type]) -> list[Any]:
    """Unpack a cursor whose values have these types. Raises InvalidInput for one that is not ours."""
    try:
        text = base64.urlsafe_b64decode(cursor[:MAX_CURSOR_CHARS] + "=" * (-len(cursor) % 4))
        values = json.loads(text)
        if not isinstance(values, list) or len(values) != len(kinds):
            raise ValueError
        return [_value(v, kind) for v, kind in zip(values, kinds, strict=True)]
    except (ValueError, TypeError, binascii.Error, RecursionError) as e:
        raise InvalidInput("The cursor is not one of this list.", {"cursor": ["not a cursor of this list"]}) from e


def newest_first(
    statement: Select[*tuple[Any, ...]], page: Page, time: InstrumentedAttribute[Any], key: InstrumentedAttribute[Any]
) -> Select[*tuple[Any, ...]]:
    """Order by time and id, newest first, one row more than asked for, after the cursor."""
    if page.cursor:
        moment, last = decode_cursor(page.cursor, (datetime, str))
        statement = statement.where(tuple_(time, key) < tuple_(moment, last, types=[time.type, key.type]))
    return statement.order_by(time.desc(), key.desc()).limit(page.limit + 1)


def list_json(
    rows: Sequence[Any], page: Page, to_json: Callable[[Any], Any], cursor_of: Callable[[Any], str]
) -> JsonObject:
    """`{items, next_cursor}` from one row more than asked for."""
    more = len(rows) > page.limit
    shown = rows[: page.limit]
    return {"items": [to_json(row) for row in shown], "next_cursor": cursor_of(shown[-1]) if more else None}


def _value(value: Any, kind: type) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(value)
    if type(value) is not kind or (isinstance(value, int) and abs(value) >= 1 << 62):
        raise ValueError
    return value
