"""A tool for `instance/tools/`: asks a SQLite file of the project, read-only by the engine and not by a look at the text."""

import sqlite3
import time
from urllib.parse import quote

from backend.errors import InvalidArguments, NoProject, ToolError, ToolTimeout
from backend.tools import get_service, tool
from backend.workspace.paths import validate_path_in_project

MAX_ROWS = 200
MAX_SECONDS = 5.0
MAX_VALUE_BYTES = 1_000_000
MAX_QUERY_BYTES = 20_000
STEPS_BETWEEN_CHECKS = 5_000

READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile"}


@tool(
    name="db_query",
    description=(
        "Asks a SQLite database file of the project with one SELECT. Read-only: nothing can be changed, attached or "
        f"configured. At most {MAX_ROWS} rows; use LIMIT and OFFSET for more. The tables are listed in sqlite_schema."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The database file, e.g. data/shop.db", "minLength": 1},
            "query": {"type": "string", "description": "One SELECT statement; values go into `values`, as ?"},
            "values": {"type": "array", "items": {"type": ["string", "number", "null"]}, "default": []},
        },
        "required": ["path", "query"],
        "additionalProperties": False,
    },
    category="data",
    read_only=True,
    cacheable=False,  # the file may change behind our back
    needs=("project_id", "cancelled"),
    timeout=MAX_SECONDS + 5,
    summarize=lambda arguments, data: f"{len(data['rows'])} rows from {arguments['path']}",
)
def db_query(arguments: dict) -> dict:
    """`{columns, rows, truncated}`."""
    if arguments["project_id"] is None:
        raise NoProject("db_query asks a file of a project, and this conversation stands outside of one.")
    connection = _connect(arguments["project_id"], arguments["path"])
    try:
        return _ask(connection, arguments)
    finally:
        connection.close()


def _connect(project_id: str, path: str) -> sqlite3.Connection:
    workspace = get_service("workspaces").open(project_id)
    workspace.open(path).stream.close()  # refuses links that lead out, folders, devices, and what is missing
    real = validate_path_in_project(path, workspace.root.given)
    connection = sqlite3.connect(f"file:{quote(str(real))}?mode=ro", uri=True, timeout=1.0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_QUERY_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Reading only: no write, no ATTACH, no PRAGMA, no function that reaches outside."""
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in FORBIDDEN_FUNCTIONS else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _ask(connection: sqlite3.Connection, arguments: dict) -> dict:
    deadline = time.monotonic() + MAX_SECONDS
    stop = arguments["cancelled"]
    connection.set_progress_handler(lambda: time.monotonic() > deadline or stop.is_set(), STEPS_BETWEEN_CHECKS)
    try:
        cursor = connection.execute(arguments["query"], arguments["values"])
        rows = cursor.fetchmany(MAX_ROWS + 1)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise ToolTimeout(f"The query took longer than {MAX_SECONDS:g} s.", suggestion="Narrow it.") from None
        raise InvalidArguments(f"SQLite says: {error}.") from None
    except sqlite3.DatabaseError as error:
        raise ToolError(f"SQLite says: {error}.", suggestion="Only one SELECT on a SQLite file is possible.") from None
    if cursor.description is None:
        raise InvalidArguments("The statement gives no rows: send one SELECT.")
    columns = [column[0] for column in cursor.description]
    return {"columns": columns, "rows": [list(row) for row in rows[:MAX_ROWS]], "truncated": len(rows) > MAX_ROWS}
