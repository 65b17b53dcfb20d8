"""Messages are deleted with what follows and put back; tools stay switched off; a text is found in one conversation."""

import threading
from datetime import timedelta
from typing import Any

from routes_client import Api, ok, problem
from sqlalchemy import event, text

from backend.app import Instance
from backend.ids import utc_now
from backend.models import Conversation, Message, Run
from backend.services.upkeep import Housekeeping


def answer(instance: Instance, run_id: str, *texts: str) -> str:
    """End a run as its worker would: texts with a call between them. The answer's id."""
    with instance.runtime.db.write() as session:
        run = session.get_one(Run, run_id)
        run.status, run.stop_reason = "completed", "completed"
        conversation = session.get_one(Conversation, run.conversation_id)
        conversation.last_position += 1
        row = Message(
            conversation_id=conversation.id, parent_id=run.message_id, position=conversation.last_position,
            role="assistant", content=texts[-1], run_id=run.id,
            blocks=[{"type": "reasoning", "text": "secret thought"}, *({"type": "text", "text": t} for t in texts)],
        )  # fmt: skip
        session.add(row)
        session.flush()
        conversation.active_leaf_id = row.id
        return row.id


def exchange(api: Api, instance: Instance, conversation: str, question: str, *texts: str, **more: Any) -> list[str]:
    """Ids of a question and its answer."""
    sent = api.say(conversation, question, **more)
    return [sent["message"]["id"], answer(instance, sent["run"]["id"], *texts)]


def shown(api: Api, conversation: str) -> list[str]:
    return [m["id"] for m in ok(api.get(f"/api/conversations/{conversation}/messages"))["items"]]


def found(api: Api, conversation: str, text: str, **more: Any) -> list[str]:
    return [hit["id"] for hit in ok(api.get("/api/search", q=text, conversation_id=conversation, **more))["items"]]


def indexed(instance: Instance) -> set[str]:
    """Ids of the messages that the full-text index holds."""
    with instance.runtime.db.read() as session:
        return set(session.scalars(text("SELECT object_id FROM search_index WHERE kind = 'message'")))


def test_a_walk_down_a_long_conversation_looks_at_children_only(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "one", "1")
    walks: list[tuple[str, Any]] = []
    db = instance.runtime.db

    def note(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
        if "RECURSIVE" in statement:
            walks.append((statement, values))

    event.listen(db.engine, "before_cursor_execute", note)
    ok(api.delete(f"/api/messages/{first[0]}?following=true"), 204)
    ok(api.post(f"/api/messages/{first[0]}/restore", {}))
    event.remove(db.engine, "before_cursor_execute", note)
    assert len(walks) == 3
    with db.read() as session:
        for statement, values in walks:
            plan = session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            used = " ".join(str(row[3]) for row in plan)
            assert "ix_messages_conversation_parent" in used, used
            assert "(conversation_id=? AND state=?" not in used, used


def test_a_message_is_deleted_with_what_follows_and_put_back(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "plant a tree", "planted")
    second = exchange(api, instance, conversation, "water the tree", "watered")
    ok(api.delete(f"/api/messages/{second[0]}?following=true"), 204)
    assert shown(api, conversation) == first
    assert found(api, conversation, "tree") == [first[0]]
    assert [
        hit["id"] for hit in ok(api.get("/api/search", q="water the tree"))["items"] if hit["type"] == "message"
    ] == []
    problem(api.get(f"/api/conversations/{conversation}/messages", around=second[1]), 404, "not_found")
    restored = ok(api.post(f"/api/messages/{second[0]}/restore", {}))
    assert (restored["id"], restored["state"]) == (second[0], "sent")
    assert shown(api, conversation) == first + second
    assert found(api, conversation, "tree") == [second[0], first[0]]


def test_another_version_is_shown_where_one_was_deleted(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    old = exchange(api, instance, conversation, "old question", "old answer")
    new = exchange(api, instance, conversation, "new question", "new answer", parent_id=None)
    assert shown(api, conversation) == new
    ok(api.delete(f"/api/messages/{new[0]}?following=true"), 204)
    assert shown(api, conversation) == old
    assert ok(api.get(f"/api/conversations/{conversation}/messages"))["items"][0]["siblings"] == [old[0]]
    ok(api.delete(f"/api/messages/{old[0]}?following=true"), 204)
    assert shown(api, conversation) == []


def test_what_was_deleted_before_stays_deleted(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "one", "1")
    second = exchange(api, instance, conversation, "two", "2")
    ok(api.delete(f"/api/messages/{second[1]}?following=true"), 204)
    ok(api.delete(f"/api/messages/{first[0]}?following=true"), 204)
    problem(api.post(f"/api/messages/{second[1]}/restore", {}), 409, "conflict")
    ok(api.post(f"/api/messages/{first[0]}/restore", {}))
    assert shown(api, conversation) == [*first, second[0]]
    ok(api.post(f"/api/messages/{second[1]}/restore", {}))
    assert shown(api, conversation) == first + second


def test_nothing_is_deleted_during_a_run_or_by_the_wrong_word(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "one", "1")
    problem(api.delete(f"/api/messages/{first[0]}"), 409, "conflict")
    problem(api.post(f"/api/messages/{first[0]}/restore", {}), 404, "not_found")
    api.say(conversation, "go on")
    problem(api.delete(f"/api/messages/{first[0]}?following=true"), 409, "conflict")
    assert shown(api, conversation)[:2] == first


def test_somebody_elses_message_cannot_be_deleted(api: Api, stranger: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "mine", "yes")
    problem(stranger.delete(f"/api/messages/{first[0]}?following=true"), 404, "not_found")
    problem(stranger.get("/api/search", q="mine", conversation_id=conversation), 404, "not_found")


def test_tools_stay_switched_off_with_the_conversation(api: Api) -> None:
    conversation = ok(api.post("/api/conversations", {"tools_off": ["web_search"]}), 201)
    assert conversation["tools_off"] == ["web_search"]
    ok(api.patch(f"/api/conversations/{conversation['id']}", {"tools_off": ["calculator", "file_write"]}))
    ok(api.patch(f"/api/conversations/{conversation['id']}", {"title": "Something else"}))
    assert ok(api.get(f"/api/conversations/{conversation['id']}"))["tools_off"] == ["calculator", "file_write"]
    problem(api.patch(f"/api/conversations/{conversation['id']}", {"tools_off": "all"}), 422, "validation_failed")


def test_a_text_is_found_in_the_whole_conversation(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "How was Lisbon?", "I look at Lisbon first.", "Fine; 上海 too.")
    second = exchange(api, instance, conversation, 'Say "quoted" things', "Said.")
    elsewhere = api.conversation()
    exchange(api, instance, elsewhere, "How was Lisbon?", "Elsewhere.")
    assert found(api, conversation, "lisbon") == [first[1], first[0]]
    assert found(api, conversation, "上海") == [first[1]]
    assert found(api, conversation, '"quoted"') == [second[0]]
    assert found(api, conversation, "was Lisbon") == [first[0]]
    assert found(api, conversation, "Lisbon was") == []
    assert found(api, conversation, "secret thought") == []
    third = exchange(api, instance, conversation, "ÉTÉ à\n  Lyon", "Über den\nWolken.", "Ça va ?")
    assert found(api, conversation, "été à lyon") == found(api, conversation, "Été À") == [third[0]]
    assert found(api, conversation, "üBER DEN wolken.") == [third[1]]
    assert found(api, conversation, "%") == []
    page = ok(api.get("/api/search", q="lisbon", conversation_id=conversation, limit=1))
    assert ([hit["id"] for hit in page["items"]], page["items"][0]["snippet"]) == (
        [first[1]],
        "I look at Lisbon first.",
    )
    assert found(api, conversation, "lisbon", limit=1, cursor=page["next_cursor"]) == [first[0]]


def test_a_deleted_message_is_gone_for_good_after_thirty_days(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    first = exchange(api, instance, conversation, "keep", "kept")
    second = exchange(api, instance, conversation, "forget", "forgotten")
    ok(api.delete(f"/api/messages/{second[0]}?following=true"), 204)
    housekeeping = Housekeeping(instance.runtime, threading.Event())
    assert housekeeping.purge() == 0
    assert indexed(instance) == {*first, *second} - {first[1], second[1]}
    with instance.runtime.db.write() as session:
        for message in second:
            session.get_one(Message, message).deleted_at = utc_now() - timedelta(days=31)
    assert housekeeping.purge() == 2
    assert indexed(instance) == {first[0]}
    problem(api.post(f"/api/messages/{second[0]}/restore", {}), 404, "not_found")
    assert shown(api, conversation) == first
