"""The documentation's examples work as written, and name every field and every built-in tool."""

import json
import re
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from backend.cancel import CancelToken
from backend.tools import ToolExecutor, builtin_names, init_tools, register_service, registry
from backend.tools.factory import ToolOptions
from backend.workspace import BlobStore, MemoryChangeLog, Workspace

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    made = tmp_path / "tools"
    made.mkdir(mode=0o700)
    yield made
    init_tools()


def test_the_first_example_works_and_is_tested_as_the_page_says(folder: Path) -> None:
    (folder / "word_count.py").write_text(BLOCKS[0])
    (folder / "word_count.py").chmod(0o600)
    exec(compile(BLOCKS[1], "docs/tools.md", "exec"), {"folder": folder})
    assert "word_count" in registry.names()


def test_every_field_of_the_decorator_and_every_built_in_tool_is_named() -> None:
    for name in (*ToolOptions.__annotations__, *builtin_names()):
        assert f"`{name}`" in PAGE, name


# ---------------------------------------------------------------- db_query
class Projects:
    def __init__(self, root: Path, blobs: Path) -> None:
        self._root = root
        self._blobs = BlobStore(blobs)

    def open(self, project_id: str, **_: Any) -> Workspace:
        return Workspace(project_id, self._root, MemoryChangeLog(), self._blobs)


@pytest.fixture
def query(folder: Path, tmp_path: Path) -> Any:
    shutil.copy(DOCS / "examples" / "db_query.py", folder / "db_query.py")
    (folder / "db_query.py").chmod(0o600)
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "blobs").mkdir()
    with sqlite3.connect(project / "shop.db") as made:
        made.execute("create table item (id integer primary key, name text, price real)")
        made.executemany("insert into item (name, price) values (?, ?)", [(f"n{k}", k / 2) for k in range(500)])
    made.close()
    (project / "notes.txt").write_text("no database")
    outside = tmp_path / "outside.db"
    shutil.copy(project / "shop.db", outside)
    (project / "link.db").symlink_to(outside)
    register_service("workspaces", Projects(project, tmp_path / "blobs"))
    report = init_tools(folder)
    assert report.errors == []
    executor = ToolExecutor()

    def run(sql: str, path: str = "shop.db", values: Any = None, **context: Any) -> dict[str, Any]:
        arguments = {"path": path, "query": sql, **({} if values is None else {"values": values})}
        return executor.execute_one("db_query", arguments, {"project_id": "p", **context})

    run.database = project / "shop.db"  # type: ignore[attr-defined]
    return run


def test_db_query_reads_rows_with_values(query: Any) -> None:
    result = query("select name, price from item where id = ?", values=[3])
    assert result["data"] == {"columns": ["name", "price"], "rows": [["n2", 1.0]], "truncated": False}


def test_db_query_stops_at_its_row_limit(query: Any) -> None:
    data = query("select * from item")["data"]
    assert (len(data["rows"]), data["truncated"]) == (200, True)


def test_db_query_sees_a_change_at_once(query: Any) -> None:
    before = query("select count(*) from item")["data"]["rows"]
    with sqlite3.connect(query.database) as change:
        change.execute("delete from item where id > 10")
    change.close()
    assert (before, query("select count(*) from item")["data"]["rows"]) == ([[500]], [[10]])


@pytest.mark.parametrize(
    "sql",
    [
        "insert into item (name) values ('x')", "delete from item", "drop table item", "update item set price = 0",
        "create table t (a)", "attach database '/tmp/other.db' as o", "pragma journal_mode = wal", "pragma table_info(item)",
        "vacuum into '/tmp/copy.db'", "select load_extension('x')", "select 1; delete from item", "begin immediate",
        "with x as (select 1) insert into item (name) select * from x", "", "select writefile('/tmp/x', 'y')",
        "explain insert into item (name) values ('x')", "select * from pragma_table_info('item')",
    ],
)  # fmt: skip
def test_db_query_cannot_change_attach_or_configure(query: Any, sql: str) -> None:
    before = query.database.read_bytes()
    assert query(sql)["success"] is False
    assert query.database.read_bytes() == before
    assert [path.name for path in query.database.parent.iterdir() if path.name.startswith("shop")] == ["shop.db"]


@pytest.mark.parametrize("path", ["link.db", "../outside.db", "missing.db", "notes.txt", ".", "/etc/passwd"])
def test_db_query_reads_databases_of_the_project_only(query: Any, path: str) -> None:
    assert query("select * from item", path=path)["success"] is False


def test_db_query_needs_a_project(query: Any) -> None:
    assert query("select 1", project_id=None)["code"] == "no_project"


def test_db_query_is_stopped_with_the_run(query: Any) -> None:
    token = CancelToken()
    endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n"
    threading.Timer(0.1, token.set).start()
    assert query(endless, cancelled=token)["status"] == "cancelled"


def test_db_query_reads_as_json(query: Any) -> None:
    result = query("select x'00ff' as raw, null as none, 1e999 as big")
    assert result["success"], result
    json.dumps(result["data"]["rows"], allow_nan=False)
