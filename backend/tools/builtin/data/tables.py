"""JSON lists as CSV and back; cells keep the text they had."""

import csv
import io
from itertools import islice
from typing import Any

from ....errors import InvalidArguments
from ...core import JsonObject
from .strict_json import write

MAX_ROWS = 200_000
MAX_COLUMNS = 2_000
MAX_CELLS = 3_000_000
MAX_CELL_CHARACTERS = 10_000_000
csv.field_size_limit(MAX_CELL_CHARACTERS)  # the library's own limit is 131,072, for the whole process
DELIMITERS = (",", ";", "\t", "|")


def to_csv(value: Any) -> JsonObject:
    """`{result, rows, columns}`: a list of objects (columns in order of appearance), of lists, or of values."""
    rows = value if isinstance(value, list) else [value]
    if len(rows) > MAX_ROWS:
        raise InvalidArguments(f"More than {MAX_ROWS:,} rows.")
    if rows and all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        _check_size(len(rows), len(columns))
        table = [columns, *([_cell(row[key]) if key in row else "" for key in columns] for row in rows)]
    elif any(isinstance(row, dict) for row in rows):
        raise InvalidArguments("A table needs a list of objects, of lists or of values, not a mixture.")
    else:
        columns = []
        table = [[_cell(cell) for cell in row] if isinstance(row, list) else [_cell(row)] for row in rows]
    _check_size(1, max(map(len, table), default=0))
    out = io.StringIO(newline="")
    csv.writer(out).writerows(table)
    return {"result": out.getvalue(), "rows": len(rows), "columns": columns}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else write(value)


def from_csv(text: str) -> JsonObject:
    """`{result, rows, columns}`: a list of objects by the names of the first row; every cell stays text."""
    text = text.removeprefix("\ufeff")
    delimiter = _delimiter(text)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = list(islice((row for row in lines if row), MAX_ROWS + 2))
    except csv.Error as error:
        raise InvalidArguments(f"The CSV text cannot be read: {error}.") from None
    if not rows:
        raise InvalidArguments("The CSV text is empty.")
    width = max(map(len, rows))
    _check_size(len(rows) - 1, width)
    columns = _names(rows[0], width)
    records = [dict(zip(columns, row + [""] * (len(columns) - len(row)), strict=True)) for row in rows[1:]]
    return {"result": records, "rows": len(records), "columns": columns, "delimiter": delimiter}


def _check_size(rows: int, columns: int) -> None:
    """InvalidArguments for more than fits; every row is filled up to the width of the widest."""
    if rows > MAX_ROWS or columns > MAX_COLUMNS:
        raise InvalidArguments(f"A table has at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns.")
    if rows * columns > MAX_CELLS:
        raise InvalidArguments(f"A table has at most {MAX_CELLS:,} cells; this one would have {rows * columns:,}.")


def _delimiter(text: str) -> str:
    """What separates the cells of the first line."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max(DELIMITERS, key=lambda sign: (first.count(sign), -DELIMITERS.index(sign)))


def _names(header: list[str], width: int) -> list[str]:
    """Unique names for all columns; blank and missing ones are numbered."""
    names: list[str] = []
    for number in range(width):
        name = header[number].strip() if number < len(header) else ""
        name = name or f"column_{number + 1}"
        names.append(name if name not in names else f"{name}_{number + 1}")
    return names
