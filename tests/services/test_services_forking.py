"""A fork is a whole conversation of its own: the model gets the same context, and the source may go."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from services.talking import MODEL, Talk, fill, talk, without_ids
from sqlalchemy import func, select, text
from support.model_server import Call, ModelServer, Turn

from backend.errors import Conflict, NotFound
from backend.ids import utc_now
from backend.models import Conversation, Message, Run, Step, ToolCall, User
from backend.services import drafts, stats
from backend.services.chat import ChatService, NewMessage
from backend.services.conversation_lists import Filter, list_conversations
from backend.services.conversations import delete_conversation, update_conversation
from backend.services.forking import fork, forked_title
from backend.services.messages import PathQuery, list_messages
from backend.services.paging import Page
from backend.services.runs import RunFilter, list_runs, open_result
from backend.services.runtime import Runtime
from backend.services.search import search
from backend.services.settling import continue_run
from backend.services.upkeep import Housekeeping

SUM = Call("calculator", {"expression": "6*7"}, id="same-id")


@pytest.fixture
def talking(tmp_path: Path, migrated: Path, model: ModelServer) -> Iterator[Talk]:
    with talk(tmp_path / "talking", migrated, model) as found:
        yield found


def calculated(talking: Talk, conversation: str) -> None:
    """Two turns with calls whose ids are the same."""
    first = Turn(reasoning="I count.", text="Let me see.", tool_calls=[SUM, Call("calculator", {"expression": "1+1"})])
    talking.say(conversation, "What is six by seven?", first, Turn(text="It is 42."))
    talking.say(conversation, "And nine by nine?", Turn(tool_calls=[Call("calculator", {"expression": "9*9"}, id="same-id")]), Turn(text="81."))  # fmt: skip


def test_the_model_gets_the_same_context_in_a_fork(talking: Talk) -> None:
    conversation = talking.begin(title="Sums", tags=["maths"], temperature=0.5)
    calculated(talking, conversation)
    path = talking.path(conversation)
    made = fork(talking.runtime, talking.owner, conversation, path[3]["id"])
    assert (made["title"], made["tags"], made["temperature"], made["active_run_id"]) == (
        "Sums (fork)",
        ["maths"],
        0.5,
        None,
    )
    assert made["forked_from"] == {"conversation_id": conversation, "message_id": path[3]["id"]}
    copy = talking.path(made["id"])
    assert [without_ids(m) for m in copy] == [without_ids(m) for m in path]
    assert not {m["id"] for m in copy} & {m["id"] for m in path}
    assert [m["run_id"] for m in copy] == [copy[1]["run_id"]] * 2 + [copy[3]["run_id"]] * 2

    # The source is gone for good, with its runs: the fork does not need it.
    delete_conversation(talking.runtime, talking.owner, conversation)
    with talking.runtime.db.write() as session:
        session.get_one(Conversation, conversation).deleted_at = utc_now() - timedelta(days=40)
    assert Housekeeping(talking.runtime, threading.Event()).purge() == 1
    talking.say(made["id"], "Go on.", Turn(text="Done."))
    context = talking.context()
    assert [m["role"] for m in context] == [
        "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert '"expression": "6*7"' in context[1]["tool_calls"][0]["function"]["arguments"]
    assert "42" in context[2]["content"]
    assert "81" in context[7]["content"]
    assert talking.model.violations == []


def test_a_fork_at_an_earlier_message_ends_there(talking: Talk) -> None:
    conversation = talking.begin()
    calculated(talking, conversation)
    path = talking.path(conversation)
    at_question = fork(talking.runtime, talking.owner, conversation, path[2]["id"])
    assert [m["content"] for m in talking.path(at_question["id"])] == [m["content"] for m in path[:3]]
    with talking.runtime.db.read() as session:
        [run] = session.scalars(select(Run).where(Run.conversation_id == at_question["id"])).all()
        assert session.scalar(select(func.count()).select_from(ToolCall).where(ToolCall.run_id == run.id)) == 2
        assert session.scalars(select(Step.index).where(Step.run_id == run.id).order_by(Step.index)).all() == [0, 1]
        assert (run.kind, run.prompt_tokens, run.cost_micros) == ("copy", 0, 0)
    # The other question goes on in the source: nothing of the fork is there.
    assert [m["id"] for m in talking.path(conversation)] == [m["id"] for m in path]


def test_a_fork_counts_as_no_run_and_is_found(talking: Talk) -> None:
    conversation = talking.begin()
    calculated(talking, conversation)
    before = stats.runs(talking.runtime, talking.owner, "daily"), stats.tokens(talking.runtime, talking.owner, "daily")
    made = fork(talking.runtime, talking.owner, conversation, talking.path(conversation)[-1]["id"])
    after = stats.runs(talking.runtime, talking.owner, "daily"), stats.tokens(talking.runtime, talking.owner, "daily")
    assert before == after
    assert len(list_runs(talking.runtime, talking.owner, Page(), RunFilter())["items"]) == 2
    hits = search(talking.runtime, talking.owner, "six by seven", Page())["items"]
    assert {hit["conversation_id"] for hit in hits if hit["type"] == "message"} == {conversation, made["id"]}


def test_a_cut_result_is_whole_in_the_fork_too(talking: Talk) -> None:
    runtime, owner = talking.runtime, talking.owner
    conversation = talking.begin()
    talking.say(conversation, "sum", Turn(tool_calls=[SUM]), Turn(text="ok"))
    source = talking.path(conversation)[1]
    whole = b'{"result": 42, "more": "' + b"x" * 100_000 + b'"}'
    with runtime.db.write() as session:  # as the writer stores a result that is cut for the model
        session.get_one(ToolCall, (source["run_id"], "same-id")).result_blob = runtime.blobs.put(whole)
    copy = talking.path(fork(runtime, owner, conversation, source["id"])["id"])[1]
    assert copy["run_id"] != source["run_id"]
    stream = open_result(runtime, owner, copy["run_id"], "same-id")
    assert not isinstance(stream, bytes)
    with stream:
        assert stream.read() == whole


def test_a_conversation_is_forked_while_its_run_goes_on(talking: Talk) -> None:
    conversation = talking.begin()
    gate = threading.Event()
    turn = Turn(text="late", gate=gate)
    talking.model.script(MODEL, [turn])
    sent = ChatService(talking.runtime).send_message(talking.owner, conversation, NewMessage("first"))
    assert turn.started.wait(30)
    waiting = ChatService(talking.runtime).send_message(talking.owner, conversation, NewMessage("second"))
    with pytest.raises(Conflict, match="waits"):
        fork(talking.runtime, talking.owner, conversation, waiting["message"]["id"])
    made = fork(talking.runtime, talking.owner, conversation, sent["message"]["id"])
    assert made["active_run_id"] is None
    assert [(m["content"], m["run_id"]) for m in talking.path(made["id"])] == [("first", None)]
    found = list_messages(talking.runtime, talking.owner, made["id"], PathQuery(Page()))
    assert found["queued"] == []
    gate.set()
    events = [e for e in talking.runtime.events.subscribe(sent["run"]["id"], 0) if e is not None]
    assert events[-1].type == "run.finished"


def test_a_run_that_was_cut_short_is_continued_in_the_fork(talking: Talk) -> None:
    conversation = talking.begin()
    from backend.services.runs import RunRequest

    request = RunRequest(limits={"max_steps": 1})
    talking.say(conversation, "sum", Turn(tool_calls=[SUM]), Turn(text="so far"), request=request)
    path = talking.path(conversation)
    made = fork(talking.runtime, talking.owner, conversation, path[-1]["id"])
    run_id = talking.path(made["id"])[-1]["run_id"]
    talking.model.script(MODEL, [Turn(text="went on")])
    answer = continue_run(talking.runtime, talking.owner, run_id, {"max_steps": 5})
    for _ in talking.runtime.events.subscribe(answer["run"]["id"], 0):
        pass
    assert talking.path(made["id"])[-1]["content"] == "went on"
    assert len(talking.path(conversation)) == len(path)


@pytest.mark.timeout(400)  # on a busy machine
def test_ten_thousand_messages_are_forked_in_small_transactions(
    runtime: Runtime, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fill(runtime, owner, 10_000)
    largest = []
    add = drafts.Draft.add

    def watched(self: drafts.Draft, rows: drafts.Rows) -> None:
        largest.append(len(rows.messages))
        assert [c["id"] for c in list_conversations(runtime, owner, Page(), Filter(archived=None))["items"]] == [source]
        add(self, rows)

    monkeypatch.setattr(drafts.Draft, "add", watched)
    made = fork(runtime, owner, source, "m9999")
    assert max(largest) <= drafts.PART_MESSAGES
    with runtime.db.read() as session:
        rows = session.execute(
            select(Message.id, Message.parent_id, Message.content).where(Message.conversation_id == made["id"])
            .order_by(Message.position)
        ).all()  # fmt: skip
    assert [row.content for row in rows] == [f"number {i}" for i in range(10_000)]
    assert [row.parent_id for row in rows[1:]] == [row.id for row in rows[:-1]]
    assert made["active_leaf_id"] == rows[-1].id


def test_a_fork_that_fails_leaves_nothing(runtime: Runtime, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = fill(runtime, owner, 250)
    add = drafts.Draft.add

    def failing(self: drafts.Draft, rows: drafts.Rows) -> None:
        if self.last_position >= 200:
            raise Conflict("the disk is full")
        add(self, rows)

    monkeypatch.setattr(drafts.Draft, "add", failing)
    with pytest.raises(Conflict):
        fork(runtime, owner, source, "m249")
    with runtime.db.read() as session:
        assert session.scalars(select(Conversation.id)).all() == [source]
        assert session.scalar(select(func.count()).select_from(Message)) == 250
        assert session.scalar(text("SELECT count(*) FROM search_index")) == 0


def test_what_a_killed_server_left_of_a_fork_is_removed(runtime: Runtime, owner: str) -> None:
    draft = drafts.Draft(runtime, owner, {"title": "half"})
    draft.begin()
    draft.add(drafts.Rows(messages=[{"id": "half-1", "role": "user", "content": "half"}]))
    house = Housekeeping(runtime, threading.Event())
    assert house.purge() == 0  # it may still be under way
    for deleted in (False, True):
        assert list_conversations(runtime, owner, Page(), Filter(archived=None, deleted=deleted))["items"] == []
    assert search(runtime, owner, "half", Page())["items"] == []
    with runtime.db.write() as session:
        session.get_one(Conversation, draft.id).deleted_at -= timedelta(hours=2)  # type: ignore[operator]
    assert house.purge() == 1
    with pytest.raises(Conflict), runtime.db.write() as session:
        draft.show(session)


def test_only_ones_own_messages_are_forked(runtime: Runtime, owner: str, other: str) -> None:
    source = fill(runtime, owner, 4)
    for user, conversation, message in ((other, source, "m1"), (owner, source, "m9"), (owner, "nowhere", "m1")):
        with pytest.raises(NotFound):
            fork(runtime, user, conversation, message)
    with runtime.db.write() as session:
        elsewhere = Conversation(owner_id=owner, updated_at=utc_now())
        session.add(elsewhere)
        session.flush()
        session.get_one(Message, "m3").state = "withdrawn"
    with pytest.raises(NotFound):
        fork(runtime, owner, elsewhere.id, "m1")
    with pytest.raises(Conflict, match="taken back"):
        fork(runtime, owner, source, "m3")


def test_a_fork_of_a_branch_holds_that_branch_alone(talking: Talk) -> None:
    conversation = talking.begin(title="题目")
    with talking.runtime.db.write() as session:
        session.get_one(User, talking.owner).settings = {"language": "zh-CN"}
    talking.say(conversation, "one", Turn(text="A"))
    first = talking.path(conversation)
    talking.say(conversation, "other", Turn(text="B"), parent_id=None)
    made = fork(talking.runtime, talking.owner, conversation, first[1]["id"])
    assert made["title"] == "题目（分支）"
    assert [m["content"] for m in talking.path(made["id"])] == ["one", "A"]
    assert all(m["siblings"] == [m["id"]] for m in talking.path(made["id"]))


def test_a_forked_title_says_so_once_within_its_limit() -> None:
    assert forked_title("x" * 300, " (fork)") == "x" * 293 + " (fork)"
    assert forked_title("a (fork)", " (fork)") == "a (fork)"
    assert forked_title("", " (fork)") == "(fork)"


def test_a_temporary_conversation_goes_a_day_after_its_last_message(runtime: Runtime, owner: str) -> None:
    old, fresh, kept, busy = (fill_one(runtime, owner, name) for name in ("old", "fresh", "kept", "busy"))
    update_conversation(runtime, owner, kept, {"temporary": False})
    with runtime.db.write() as session:
        session.get_one(Message, "fresh-m").created_at = utc_now() - timedelta(hours=23)
        session.add(Run(kind="chat", status="running", owner_id=owner, conversation_id=busy))
    house = Housekeeping(runtime, threading.Event())
    assert house.expire() == 1
    assert house.expire() == 0
    with runtime.db.read() as session:
        assert set(session.scalars(select(Conversation.id))) == {fresh, kept, busy}
        assert session.get(Message, "old-m") is None
        assert session.execute(text("PRAGMA foreign_key_check")).all() == []
    assert old


def fill_one(runtime: Runtime, owner: str, name: str) -> str:
    """A temporary conversation with one message, both three days old."""
    then = utc_now() - timedelta(days=3)
    with runtime.db.write() as session:
        row = Conversation(
            id=name, owner_id=owner, temporary=True, created_at=then, updated_at=then, title=name, last_position=1
        )  # fmt: skip
        session.add(row)
        session.flush()
        session.add(
            Message(id=f"{name}-m", conversation_id=name, position=1, role="user", content=name, created_at=then)
        )
    return name
