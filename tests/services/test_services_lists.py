"""Lists of conversations read an index in the order they need, and cost the same few queries whatever they hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event, insert
from sqlalchemy.dialects import sqlite

from backend.ids import utc_now
from backend.models import Conversation, ConversationTag
from backend.services import conversation_lists
from backend.services.conversation_lists import Filter, list_conversations, list_tags
from backend.services.paging import Page
from backend.services.runtime import Runtime


def plan(runtime: Runtime, wanted: Filter, sort: str = "updated") -> str:
    """How SQLite answers the list's own query."""
    order, _ = conversation_lists._order("deleted" if wanted.deleted else sort)  # type: ignore[arg-type]
    query = order(conversation_lists._which("some-user", wanted), Page(50))
    sql = str(query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True}))
    with runtime.db.engine.connect() as connection:
        return "\n".join(row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}"))


@pytest.mark.parametrize(
    ("wanted", "sort", "index"),
    [
        (Filter(), "updated", "owner_archived"),
        (Filter(archived=True), "updated", "owner_archived"),
        (Filter(archived=None), "updated", "owner_updated"),
        (Filter(pinned=True), "updated", "owner_pinned"),
        (Filter(pinned=False), "updated", "owner_archived"),
        (Filter(archived=None), "created", "owner_created"),
        (Filter(words="two words"), "updated", "owner_archived"),
        (Filter(deleted=True), "updated", "owner_deleted"),
    ],
    ids=str,
)
def test_a_list_walks_an_index_in_order(runtime: Runtime, wanted: Filter, sort: str, index: str) -> None:
    steps = plan(runtime, wanted, sort)
    assert f"SEARCH conversations USING INDEX ix_conversations_{index} (owner_id=?" in steps
    # Those of one moment are put in order by id, all others come in order.
    assert "USE TEMP B-TREE FOR ORDER BY" not in steps


@pytest.mark.parametrize("wanted", [Filter(project_id="p"), Filter(tag="t"), Filter(project_id="none")], ids=str)
@pytest.mark.parametrize("sort", ["updated", "created", "title"])
def test_no_list_reads_the_whole_table(runtime: Runtime, wanted: Filter, sort: str) -> None:
    steps = plan(runtime, wanted, sort)
    assert "SCAN conversations" not in steps
    assert "SCAN conversation_tags" not in plan(runtime, replace(wanted, tag="t"), sort)


@contextmanager
def counted(runtime: Runtime) -> Iterator[list[str]]:
    """The statements that were sent meanwhile."""
    sent: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    event.listen(runtime.db.engine, "before_cursor_execute", note)
    yield sent
    event.remove(runtime.db.engine, "before_cursor_execute", note)


def fill(runtime: Runtime, owner: str, count: int) -> None:
    """Conversations of one user, each with two tags."""
    now = utc_now()
    rows = [
        {"id": f"c{i}", "owner_id": owner, "title": f"t{i}", "updated_at": now - timedelta(seconds=i)}
        for i in range(count)
    ]
    words = [
        {"conversation_id": f"c{i}", "folded": f"{kind}{i % 3}", "tag": f"{kind}{i % 3}", "position": at}
        for i in range(count) for at, kind in enumerate("ab")
    ]  # fmt: skip
    with runtime.db.write() as session:
        session.execute(insert(Conversation), rows)
        session.execute(insert(ConversationTag), words)


def test_a_page_of_many_costs_four_queries(runtime: Runtime, owner: str) -> None:
    fill(runtime, owner, 120)
    with counted(runtime) as sent:
        page = list_conversations(runtime, owner, Page(100))
    assert len(page["items"]) == 100
    assert page["items"][4]["tags"] == ["a1", "b1"]
    assert len([s for s in sent if s.startswith("SELECT")]) == 4


def test_tags_are_counted_in_one_query(runtime: Runtime, owner: str, other: str) -> None:
    fill(runtime, owner, 10)
    with counted(runtime) as sent:
        found = list_tags(runtime, owner)["items"]
    assert {item["tag"]: item["count"] for item in found} == {"a0": 4, "a1": 3, "a2": 3, "b0": 4, "b1": 3, "b2": 3}
    assert len([s for s in sent if s.startswith("SELECT")]) == 1
    assert list_tags(runtime, other) == {"items": []}


def test_a_cursor_by_title_tells_nothing_of_another_users_titles(runtime: Runtime, owner: str, other: str) -> None:
    fill(runtime, owner, 3)
    with runtime.db.write() as session:
        session.add(Conversation(id="theirs", owner_id=other, title="t1", updated_at=utc_now()))
    cursor = conversation_lists.encode_cursor("theirs")
    assert list_conversations(runtime, owner, Page(10, cursor), sort="title")["items"] == []
