"""Conversations go out as files and come in again: the same, but for ids and times, and legal for the model."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from services.talking import MODEL, Talk, fill, talk
from sqlalchemy import func, select, text
from support.model_server import Call, ModelServer, Turn

from backend.errors import Conflict, InvalidInput, NotFound
from backend.ids import utc_now
from backend.models import Conversation, Message, Project, Run, Step, ToolCall
from backend.services import drafts, exporting, importing, markdown
from backend.services.importing import reading
from backend.services.paging import Page
from backend.services.projects import NewProject, create_project
from backend.services.runs import open_result
from backend.services.runtime import Runtime
from backend.services.search import search

pytestmark = pytest.mark.timeout(300)  # on a busy machine
TIMES = {"created_at", "updated_at", "exported_at", "cached_at", "expires_at", "started_at", "finished_at"}
# Whose it is and which runs said it is not the file's to say.
NOT_KEPT = {"project_id", "forked_from", "run_id", "provider_id"}
MARKDOWN = MarkdownIt("commonmark")


@pytest.fixture
def talking(tmp_path: Path, migrated: Path, model: ModelServer) -> Iterator[Talk]:
    with talk(tmp_path / "talking", migrated, model) as found:
        yield found


# ---------------------------------------------------------------- helpers
def exported(runtime: Runtime, owner: str, conversation: str | None = None) -> dict[str, Any]:
    """The file, read."""
    pieces = (
        exporting.everything(runtime, owner)
        if conversation is None
        else exporting.conversation(runtime, owner, conversation)
    )
    found: dict[str, Any] = json.loads("".join(pieces))
    return found


def imported(runtime: Runtime, owner: str, file: Any, project_id: str | None = None) -> dict[str, Any]:
    """Import a file, given as JSON or as bytes."""
    content = file if isinstance(file, bytes) else json.dumps(file).encode()
    return importing.import_file(runtime, owner, io.BytesIO(content), project_id)


def file_of(*conversations: Any, **more: Any) -> dict[str, Any]:
    return {"format": exporting.FORMAT, "version": 1, "conversations": list(conversations), **more}


def conversation_of(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"title": "t", "messages": list(messages), **more}


def said(name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": name, "parent_id": parent, "role": "user", "content": f"says {name}", **more}


def plain(conversation: dict[str, Any]) -> Any:
    """A conversation of a file without times, ids replaced by their order."""
    numbers: dict[str, str] = {}

    def walk(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: walk(one, key) for key, one in value.items() if key not in TIMES | NOT_KEPT}
        if isinstance(value, list):
            return [walk(one) for one in value]
        if name in {"id", "parent_id", "call_id", "active_leaf_id", "duplicate_of"} and value:
            return numbers.setdefault(value, f"id{len(numbers)}")
        return value

    ordered = {**conversation, "active_leaf_id": None}
    shown = walk(ordered)
    shown["active_leaf_id"] = numbers.get(conversation["active_leaf_id"])
    return shown


def counts(runtime: Runtime) -> dict[str, int]:
    with runtime.db.read() as session:
        found = {
            t.__tablename__: session.scalar(select(func.count()).select_from(t)) or 0
            for t in (Conversation, Message, Run, Step, ToolCall)
        }
        return found | {"index": session.scalar(text("SELECT count(*) FROM search_index")) or 0}


# ---------------------------------------------------------------- round trip
def test_what_was_exported_comes_in_the_same_and_the_model_is_given_the_same(talking: Talk) -> None:
    runtime, owner = talking.runtime, talking.owner
    conversation = talking.begin(title="Sums 和", tags=["maths"], temperature=0.5, system_prompt="Be brief.")
    two = Turn(
        reasoning="Hm.",
        text="Let me see.",
        tool_calls=[Call("calculator", {"expression": "6*7"}, id="a/b\n"), Call("calculator", {"expression": "6*7"})],
    )
    talking.say(conversation, "six by seven", two, Turn(text="42"))
    first = talking.path(conversation)
    talking.say(
        conversation,
        "on another branch",
        Turn(tool_calls=[Call("no_such_tool", {})]),
        Turn(text="no"),
        parent_id=first[1]["id"],
    )
    talking.say(conversation, "root", Turn(text="B"), parent_id=None)
    file = exported(runtime, owner, conversation)
    assert len(file["conversations"][0]["messages"]) == 6

    made = imported(runtime, owner, file)
    assert made["skipped"] == []
    [new] = made["items"]
    assert new["id"] != conversation
    assert (new["title"], new["tags"], new["system_prompt"], new["active_run_id"]) == (
        "Sums 和",
        ["maths"],
        "Be brief.",
        None,
    )
    again = exported(runtime, owner, new["id"])
    assert plain(again["conversations"][0]) == plain(file["conversations"][0])
    old_ids = {m["id"] for m in file["conversations"][0]["messages"]}
    assert not old_ids & {m["id"] for m in again["conversations"][0]["messages"]}

    leaf = again["conversations"][0]["messages"][3]["id"]
    with runtime.db.write() as session:
        session.get_one(Conversation, new["id"]).active_leaf_id = leaf
    talking.say(new["id"], "Go on.", Turn(text="Done."))
    context = talking.context()
    assert [m["role"] for m in context] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert "42" in context[2]["content"]
    assert context[1]["content"] == "Let me see."
    assert "no_such_tool" in context[6]["tool_calls"][0]["function"]["name"]
    assert talking.model.violations == []
    hits = search(runtime, owner, "another branch", Page())["items"]
    assert new["id"] in {hit["conversation_id"] for hit in hits}


def test_whole_results_are_carried_along(talking: Talk) -> None:
    runtime, owner = talking.runtime, talking.owner
    conversation = talking.begin()
    talking.say(
        conversation, "sum", Turn(tool_calls=[Call("calculator", {"expression": "1+1"}, id="c")]), Turn(text="ok")
    )
    source = talking.path(conversation)[1]
    whole = "ganz: " + "字" * 50_000
    with runtime.db.write() as session:
        row = session.get_one(ToolCall, (source["run_id"], "c"))
        row.result_blob, row.call = runtime.blobs.put(whole.encode()), {**row.call, "result_truncated": True}
    [new] = imported(runtime, owner, exported(runtime, owner, conversation))["items"]
    copy = talking.path(new["id"])[1]
    assert copy["tool_calls"][0]["result"] == source["tool_calls"][0]["result"]
    stream = open_result(runtime, owner, copy["run_id"], copy["tool_calls"][0]["id"])
    assert not isinstance(stream, bytes)
    with stream:
        assert stream.read().decode() == whole


def test_an_account_is_exported_whole_without_what_is_deleted_or_temporary(
    runtime: Runtime, owner: str, other: str
) -> None:
    gone = create_project(runtime, owner, NewProject("gone"))["id"]
    with runtime.db.write() as session:
        for name, more in {
            "kept": {}, "archived": {"archived": True}, "temporary": {"temporary": True}, "deleted": {"deleted_at": utc_now()},
            "foreign": {"owner_id": other}, "in-project": {"project_id": gone},
        }.items():  # fmt: skip
            session.add(Conversation(**{"id": name, "title": name, "owner_id": owner, "updated_at": utc_now(), **more}))
        session.flush()
        session.get_one(Project, gone).deleted_at = utc_now()
    assert {c["title"] for c in exported(runtime, owner)["conversations"]} == {"kept", "archived"}
    with pytest.raises(NotFound):
        exporting.conversation(runtime, other, "kept")
    with pytest.raises(NotFound):
        markdown.conversation(runtime, other, "kept")


def test_a_long_conversation_is_exported_page_by_page(runtime: Runtime, owner: str) -> None:
    conversation = fill(runtime, owner, 2_000)
    pieces = list(exporting.conversation(runtime, owner, conversation))
    assert max(map(len, pieces)) < 2_000
    file = json.loads("".join(pieces))
    [new] = imported(runtime, owner, file)["items"]
    assert plain(exported(runtime, owner, new["id"])["conversations"][0])["messages"][1999]["content"] == "number 1999"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
BLOCKS = st.lists(st.tuples(st.sampled_from(["text", "reasoning", "call"]), TEXTS.filter(bool)), max_size=5)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """A conversation of a file, as an export writes it."""
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        parent = draw(st.sampled_from([None, *(m["id"] for m in messages)]))
        message: dict[str, Any] = {
            "id": f"m{number}", "parent_id": parent, "role": draw(st.sampled_from(["user", "assistant"])), "state": "sent",
            "content": draw(TEXTS), "reasoning": "", "blocks": [], "tool_calls": [], "attachments": [],
            "model": draw(st.sampled_from(["", "m"])), "usage": draw(st.sampled_from([None, {"prompt_tokens": 3}])),
            "error": draw(st.sampled_from([None, {"code": "x", "message": "y", "retryable": True}])),
        }  # fmt: skip
        if message["role"] == "assistant":
            for at, (kind, words) in enumerate(draw(BLOCKS)):
                if kind == "call":
                    message["blocks"].append({"type": "tool_call", "call_id": f"c{at}"})
                    message["tool_calls"].append(
                        {
                            "id": f"c{at}",
                            "function": {"name": "n", "arguments": words},
                            "result": words,
                            "status": "success",
                        }
                    )
                else:
                    message["blocks"].append({"type": kind, "text": words})
        messages.append(message)
    leaf = draw(st.sampled_from([m["id"] for m in messages])) if messages else None
    return {"title": "t", "tags": ["a"], "pinned": draw(st.booleans()), "active_leaf_id": leaf, "messages": messages}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_a_second_round_changes_nothing(runtime: Runtime, owner: str, tree: dict[str, Any]) -> None:
    [first] = imported(runtime, owner, file_of(tree))["items"]
    once = exported(runtime, owner, first["id"])
    kept = [(m["role"], m["model"], m["usage"], m["error"]) for m in once["conversations"][0]["messages"]]
    assert kept == [(m["role"], m["model"], m["usage"], m["error"]) for m in tree["messages"]]
    [second] = imported(runtime, owner, once)["items"]
    assert plain(exported(runtime, owner, second["id"])["conversations"][0]) == plain(once["conversations"][0])


# ---------------------------------------------------------------- files that are wrong
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "ends too early"),
        (b"no json", "must be a JSON object"),
        (b"[]", "must be a JSON object"),
        (b"{}", "must be a JSON object"),
        (b'{"format": "other", "version": 1, "conversations": []}', "must be a JSON object"),
        (b'{"format": "nanoclaw.conversations", "version": 2, "conversations": []}', "reads version 1"),
        (b'{"format": "nanoclaw.conversations", "version": true, "conversations": []}', "reads version 1"),
        (b'{"format": "nanoclaw.conversations", "version": 1}', "is missing"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": {}}', "must be a list"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [], "conversations": []}', "two lists"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": []} more', "follows its end"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [}', "JSON at character 70"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [' + b"[" * 100_000, "nested too deeply"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [' + b"[" * 200 + b"]" * 200 + b"]}", "nested deeper"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [[' + b"[]," * 1_100_000, "more than 2,000,000 values"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": ["\xff"]}', "not UTF-8"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [1e999]}', "JSON"),
        (b'{"format": "nanoclaw.conversations", "version": 1, "conversations": [NaN]}', "JSON"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_says_why(runtime: Runtime, owner: str, content: bytes, why: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        imported(runtime, owner, content)
    assert why in refused.value.message
    assert refused.value.errors
    assert set(counts(runtime).values()) == {0}


def test_half_a_file_changes_nothing_wherever_it_is_cut(runtime: Runtime, owner: str) -> None:
    whole = json.dumps(file_of(conversation_of(said("a"), said("b", "a")), conversation_of(said("c")))).encode()
    for end in range(1, len(whole), 7):
        with pytest.raises(InvalidInput):
            imported(runtime, owner, whole[:end])
    assert set(counts(runtime).values()) == {0}
    assert len(imported(runtime, owner, b"\xef\xbb\xbf" + whole + b"\n")["items"]) == 2


def answer(blocks: list[Any], calls: list[Any]) -> dict[str, Any]:
    return {"id": "a", "role": "assistant", "content": "", "blocks": blocks, "tool_calls": calls}


CALL = {"id": "c", "function": {"name": "n", "arguments": "{}"}, "status": "success"}
NAMED = {"type": "tool_call", "call_id": "c"}


@pytest.mark.parametrize(
    ("conversation", "where"),
    [
        (3, "conversation"),
        ({}, "messages"),
        (conversation_of(title=3), "title"),
        (conversation_of(title="\ud800"), "title"),
        (conversation_of(title="x" * 301), "title"),
        (conversation_of(tags=["x"] * 21), "tags"),
        (conversation_of(temperature=float(10)), "temperature"),
        (conversation_of(created_at="yesterday"), "created_at"),
        (conversation_of(said("a", content="\udfff")), "messages.0.content"),
        (conversation_of(said("a", role="system")), "messages.0.role"),
        (conversation_of(said("a", role="tool")), "messages.0.role"),
        (conversation_of(said("a", state="queued")), "messages.0.state"),
        (conversation_of(said("a"), said("a")), "messages.1.id"),
        (conversation_of(said("a", "nowhere")), "messages.0.parent_id: there is no such"),
        (conversation_of(said("a", "a")), "circle"),
        (conversation_of(said("r"), said("a", "c"), said("b", "a"), said("c", "b")), "messages.1.parent_id: the messages go in a circle"),
        (conversation_of(said("a"), active_leaf_id="b"), "active_leaf_id"),
        (conversation_of(said("a", tool_calls=[CALL])), "only an answer"),
        (conversation_of(answer([NAMED], [])), "blocks"),
        (conversation_of(answer([NAMED, NAMED], [CALL])), "blocks"),
        (conversation_of(answer([NAMED], [CALL, CALL])), "same id"),
        (conversation_of(answer([{"type": "image"}], [])), "blocks"),
        (conversation_of(answer([NAMED], [CALL | {"status": "great"}])), "status"),
        (conversation_of(answer([NAMED], [CALL | {"execution_time": -1}])), "execution_time"),
        (conversation_of(said("a", usage={"prompt_tokens": {"deep": 1}})), "usage"),
        (conversation_of(said("a", usage={"prompt_tokens": 2**80})), "usage"),
        (conversation_of(said("a", attachments=[{"path": "../../etc/passwd", "name": "x"}])), "attachments.0.path"),
        (conversation_of(said("a", attachments=[{"path": "/etc/passwd", "name": "x"}])), "attachments.0.path"),
        (conversation_of(said("a", attachments=[{"path": "a\0b", "name": "x"}])), "attachments.0.path"),
    ],
)  # fmt: skip
def test_a_conversation_that_is_wrong_is_left_out_and_says_where(
    runtime: Runtime, owner: str, conversation: Any, where: str
) -> None:
    good = conversation_of(said("good"))
    made = imported(runtime, owner, file_of(good, conversation, good))
    assert len(made["items"]) == 2
    [skipped] = made["skipped"]
    assert (skipped["index"], skipped["code"]) == (1, "validation_failed")
    assert where in skipped["detail"]
    with pytest.raises(InvalidInput) as refused:
        imported(runtime, owner, file_of(conversation))
    assert list(refused.value.errors) == ["conversations.0"]
    assert counts(runtime)["conversations"] == 2


def test_nothing_of_a_file_is_taken_on_trust(runtime: Runtime, owner: str, other: str) -> None:
    mine = fill(runtime, owner, 2)
    theirs = create_project(runtime, other, NewProject("theirs"))["id"]
    with runtime.db.write() as session:
        session.add(Run(id="their-run", kind="chat", status="completed", owner_id=other, input="secret"))
        session.flush()
        session.add(
            ToolCall(
                run_id="their-run", id="c", step=0, position=0, name="n", status="success", call=CALL, result="secret"
            )
        )
    message = answer(
        [NAMED], [CALL | {"result": "mine", "result_blob": "0" * 64, "run_id": "their-run", "position": -5}]
    )
    entry = conversation_of(
        {**message, "id": "m0", "run_id": "their-run", "conversation_id": mine, "position": 10**30, "client_id": "x"},
        id=mine, owner_id=other, project_id=theirs, deleted_at="2020-01-01T00:00:00Z", temporary=True,
        created_at="0001-01-01T00:00:00+14:00", updated_at="9999-12-31T23:59:59-14:00", frontier={"x": 1},
        forked_from={"conversation_id": mine, "message_id": "m0"},
    )  # fmt: skip
    [new] = imported(runtime, owner, file_of(entry))["items"]
    assert new["id"] != mine
    assert (new["project_id"], new["deleted_at"], new["temporary"], new["forked_from"]) == (None, None, False, None)
    assert new["updated_at"] <= exporting.iso_now()
    [shown] = exported(runtime, owner, new["id"])["conversations"][0]["messages"]
    assert shown["tool_calls"][0]["result"] == "mine"
    with runtime.db.read() as session:
        row = session.get_one(Message, shown["id"])
        assert row.id != "m0"
        assert row.run_id != "their-run"
        assert session.get_one(Run, row.run_id).owner_id == owner
        assert session.get_one(Message, "m0").conversation_id == mine
        [call] = session.scalars(select(ToolCall).where(ToolCall.run_id == row.run_id)).all()
        assert call.result_blob is None
    with pytest.raises(NotFound):
        imported(runtime, owner, file_of(entry), theirs)
    into = create_project(runtime, owner, NewProject("mine"))["id"]
    assert imported(runtime, owner, file_of(entry), into)["items"][0]["project_id"] == into


def test_messages_may_stand_in_any_order_and_deep_below_each_other(runtime: Runtime, owner: str) -> None:
    chain = [said(f"m{i}", f"m{i - 1}" if i else None) for i in range(3_000)]
    [new] = imported(runtime, owner, file_of(conversation_of(*chain[::-1], active_leaf_id="m2999")))["items"]
    with runtime.db.read() as session:
        rows = session.execute(
            select(Message.id, Message.parent_id, Message.content)
            .where(Message.conversation_id == new["id"])
            .order_by(Message.position)
        ).all()
    assert [row.content for row in rows] == [f"says m{i}" for i in range(3_000)]
    assert [row.parent_id for row in rows[1:]] == [row.id for row in rows[:-1]]
    assert new["active_leaf_id"] == rows[-1].id


def test_an_answer_that_has_its_words_alone_reaches_the_model(talking: Talk) -> None:
    pair = said("q"), {"id": "a", "parent_id": "q", "role": "assistant", "content": "by hand"}
    [new] = imported(talking.runtime, talking.owner, file_of(conversation_of(*pair)))["items"]
    talking.say(new["id"], "next", Turn(text="ok"))
    assert [(m["role"], m["content"]) for m in talking.context()] == [
        ("user", "says q"),
        ("assistant", "by hand"),
        ("user", "next"),
    ]


def test_an_import_that_fails_leaves_nothing(runtime: Runtime, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    show = drafts.Draft.show

    def failing(self: drafts.Draft, session: Any) -> None:
        if self.values["title"] == "bad":
            raise Conflict("gone")
        show(self, session)

    monkeypatch.setattr(drafts.Draft, "show", failing)
    with pytest.raises(Conflict):
        imported(runtime, owner, file_of(conversation_of(said("a")), conversation_of(said("b"), title="bad")))
    assert set(counts(runtime).values()) == {0}


def test_one_file_is_read_at_a_time(runtime: Runtime, owner: str) -> None:
    refused: list[Conflict] = []

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if not refused:
                try:
                    imported(runtime, owner, file_of(conversation_of()))
                except Conflict as e:
                    refused.append(e)
            return super().read(size)

    importing.import_file(runtime, owner, Slow(json.dumps(file_of(conversation_of())).encode()))
    assert len(refused) == 1
    assert counts(runtime)["conversations"] == 1


def test_a_large_conversation_is_read_with_bounds(
    runtime: Runtime, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_CONVERSATION_CHARS", 200_000)
    monkeypatch.setattr(reading, "MAX_CONVERSATIONS", 3)
    with pytest.raises(InvalidInput, match="more than 200,000 characters"):
        imported(runtime, owner, file_of(conversation_of(said("a", content="x" * 900_000))))
    with pytest.raises(InvalidInput, match="more than 3 conversations"):
        imported(runtime, owner, file_of(*[conversation_of()] * 4))
    assert set(counts(runtime).values()) == {0}


# ---------------------------------------------------------------- Markdown
HOSTILE = [
    "```python\nprint(1)", "~~~\nopen", "````\n```\nstill open", "- item\n\n  ```\n  code", "- a\n```\nx", "1. ```\n   x",
    "> ```\n> x", "<!-- open", "<div>\n```\n\ntext\n```", "<script>", "<pre>\nx", "<?php", "<![CDATA[ x", "text\n\n<details>",
    "```\n  ```\ntext\n```", "`` ` unbalanced", "[link](", "a\r```\rb", "a\n=", "| a |\n|---|", "    indented\n```", "\t```\n",
    "```a`b\n```", "```\nclosed\n```", "~~~\n```\n~~~", "# Heading\n\ntext", "***", "\\", "x\n---", "[a]: /url 'open",
]  # fmt: skip


def headings(source: str) -> list[str]:
    tokens = MARKDOWN.parse(source)
    return [
        tokens[i + 1].content
        for i, t in enumerate(tokens)
        if t.type == "heading_open" and t.tag == "h2" and t.level == 0
    ]


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
def test_no_message_swallows_what_follows_in_markdown(runtime: Runtime, owner: str, hostile: str) -> None:
    calls = [{**CALL, "function": {"name": "x`y", "arguments": hostile}, "result": hostile}]
    blocks = [{"type": "text", "text": hostile}, NAMED, {"type": "text", "text": hostile}]
    messages = [
        said("q", content=hostile), {**answer(blocks, calls), "parent_id": "q", "error": {"code": "e", "message": hostile}},
        said("end", "a", content="the last words"),
    ]  # fmt: skip
    [new] = imported(runtime, owner, file_of(conversation_of(*messages, title=hostile)))["items"]
    source = "".join(markdown.conversation(runtime, owner, new["id"]))
    speakers = [h for h in headings(source) if " · " in h]
    assert [h.split(" · ")[0] for h in speakers] == ["You", "Assistant", "You"]
    assert MARKDOWN.render(source).rstrip().endswith("<blockquote>\n<p>the last words</p>\n</blockquote>")
    assert MARKDOWN.parse(source)[0].tag == "h1"


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(st.sampled_from(list("`~ \n\t>-<!a#1.)*=/[]:|\\")), max_size=40), min_size=1, max_size=3))
def test_any_answer_ends_where_it_ends(texts: list[str]) -> None:
    words = markdown.WORDS["en"]
    source = "\n\n".join([*(markdown.contained(text, words) for text in texts), "## end of all"])
    assert headings(source)[-1:] == ["end of all"], source


def test_an_answer_cannot_speak_as_somebody_else_in_markdown() -> None:
    words = markdown.WORDS["en"]
    for spoofed in ("## You · 2026-01-01 10:00 UTC\n\nsend it", "You · now\n---", "text\n\n  ### Assistant · x"):
        assert markdown.contained(spoofed, words) == markdown.quoted(spoofed)
    ordinary = "## Summary\n\n```sh\nls <dir>\n```\n\nDone."
    assert markdown.contained(ordinary, words) == ordinary


@pytest.mark.parametrize("text", ["", "`", "``a`", "plain", " ` ` ", "a\nb", "`" * 300, "x" * 500])
def test_a_call_stays_on_its_line(text: str) -> None:
    rendered = MARKDOWN.render(f"before {markdown.code(text)} after")
    assert rendered.count("<code>") == 1
    assert rendered.count("\n") == 1
    assert rendered.endswith("after</p>\n")


def test_a_conversation_reads_well_in_markdown(talking: Talk) -> None:
    conversation = talking.begin(title="Sums *and* more")
    talking.say(
        conversation,
        "six by seven",
        Turn(text="I see.", tool_calls=[Call("calculator", {"expression": "6*7"})]),
        Turn(text="It is **42**."),
    )
    lines = "".join(markdown.conversation(talking.runtime, talking.owner, conversation)).splitlines()
    assert lines[0] == "# Sums \\*and\\* more"
    assert "> six by seven" in lines
    assert "It is **42**." in lines
    [call] = [line for line in lines if line.startswith("🔧")]
    assert call.startswith('🔧 `calculator` `{"expression": "6*7"}` → success')
    assert any(line.startswith("## Assistant · ") and line.endswith(f"`{MODEL}`") for line in lines)
