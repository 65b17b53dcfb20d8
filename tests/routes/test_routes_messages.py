"""Conversations and messages over HTTP, with runs that stay queued."""

from typing import Any

import pytest
from flask import Flask
from routes_client import Api, ok, problem

from backend.app import Instance
from backend.models import Conversation, Message, Run
from backend.routes.limits import RateLimiter
from backend.routes.state import web_state
from backend.services.paging import encode_cursor


def finish(instance: Instance, run_id: str, text: str) -> str:
    """End a run as its worker would: with an answer. Returns the answer's id."""
    with instance.runtime.db.write() as session:
        run = session.get_one(Run, run_id)
        run.status, run.stop_reason = "completed", "completed"
        assert run.conversation_id
        conversation = session.get_one(Conversation, run.conversation_id)
        conversation.last_position += 1
        answer = Message(
            conversation_id=conversation.id, parent_id=run.message_id, position=conversation.last_position,
            role="assistant", content=text, blocks=[{"type": "text", "text": text}], run_id=run.id,
        )  # fmt: skip
        session.add(answer)
        session.flush()
        conversation.active_leaf_id = answer.id
        return answer.id


def dialogue(api: Api, instance: Instance, conversation: str, turns: int) -> list[str]:
    """Ids of a dialogue of so many questions and answers."""
    ids = []
    for i in range(turns):
        sent = api.say(conversation, f"question {i}")
        ids += [sent["message"]["id"], finish(instance, sent["run"]["id"], f"answer {i}")]
    return ids


def page(api: Api, conversation: str, **query: Any) -> dict[str, Any]:
    body: dict[str, Any] = ok(api.get(f"/api/conversations/{conversation}/messages", **query))
    return body


def ids_of(page: dict[str, Any]) -> list[str]:
    return [message["id"] for message in page["items"]]


def test_a_message_is_stored_and_starts_a_run(api: Api) -> None:
    project = api.project()
    conversation = api.conversation(project_id=project, model="some-model")
    sent = api.say(
        conversation, "Count the words in the report, please", tools=["get_weather"], limits={"max_steps": 7}
    )
    message, run = sent["message"], sent["run"]
    assert (message["role"], message["state"], message["position"], message["parent_id"]) == ("user", "sent", 1, None)
    assert message["siblings"] == [message["id"]]
    assert (message["blocks"], message["tool_calls"], message["run_id"]) == ([], [], run["id"])
    assert (run["kind"], run["status"], run["stop_reason"], run["model"]) == ("chat", "queued", None, "some-model")
    assert (run["limits"]["max_steps"], run["limits"]["run_timeout_seconds"]) == (7, 300)
    assert (run["project_id"], run["conversation_id"]) == (project, conversation)
    shown = ok(api.get(f"/api/conversations/{conversation}"))
    assert shown["title"] == "Count the words in the report, please"
    assert (shown["active_run_id"], shown["active_leaf_id"]) == (run["id"], message["id"])
    assert ok(api.get(f"/api/runs/{run['id']}"))["input"] == message["content"]


def test_the_same_client_id_is_the_same_message(api: Api) -> None:
    conversation = api.conversation()
    first = api.say(conversation, "hello", client_id="c1")
    again = api.say(conversation, "hello", client_id="c1")
    assert again == first
    assert len(page(api, conversation)["items"]) == 1
    other = api.post(f"/api/conversations/{conversation}/messages", {"content": "bye", "client_id": "c1"})
    problem(other, 409, "conflict")


def test_a_message_during_a_run_waits_and_can_be_changed_or_taken_back(api: Api) -> None:
    conversation = api.conversation()
    api.say(conversation, "first")
    waiting = api.say(conversation, "secnd")
    assert waiting["run"] is None
    assert (waiting["message"]["state"], waiting["message"]["parent_id"]) == ("queued", None)
    found = page(api, conversation)
    assert [m["content"] for m in found["items"]] == ["first"]
    assert [m["content"] for m in found["queued"]] == ["secnd"]
    where = f"/api/messages/{waiting['message']['id']}"
    assert ok(api.patch(where, {"content": "second"}))["content"] == "second"
    assert api.delete(where).status_code == 204
    assert page(api, conversation)["queued"] == []
    problem(api.patch(where, {"content": "third"}), 409, "conflict")
    sent = f"/api/messages/{found['items'][0]['id']}"
    problem(api.patch(sent, {"content": "other"}), 409, "conflict")


def test_an_edited_question_is_a_branch_with_siblings(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    question, answer = dialogue(api, instance, conversation, 1)
    edited = api.say(conversation, "question 0, better", parent_id=None)["message"]
    assert edited["parent_id"] is None
    assert edited["siblings"] == [question, edited["id"]]
    assert ids_of(page(api, conversation)) == [edited["id"]]
    assert ids_of(page(api, conversation, leaf=answer)) == [question, answer]
    ok(api.patch(f"/api/conversations/{conversation}", {"active_leaf_id": answer}))
    assert ids_of(page(api, conversation)) == [question, answer]


def test_another_answer_is_a_branch_too(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    question, answer = dialogue(api, instance, conversation, 1)
    again = ok(api.post(f"/api/messages/{answer}/regenerate"), 202)
    assert again["message"]["id"] == question
    second = finish(instance, again["run"]["id"], "another answer")
    shown = page(api, conversation)
    assert ids_of(shown) == [question, second]
    assert shown["items"][1]["siblings"] == [answer, second]


def test_no_branch_begins_while_a_run_goes_on(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    question, answer = dialogue(api, instance, conversation, 1)
    api.say(conversation, "more")
    where = f"/api/conversations/{conversation}/messages"
    problem(api.post(where, {"content": "x", "parent_id": question}), 409, "conflict")
    problem(api.post(f"/api/messages/{answer}/regenerate"), 409, "conflict")


def test_a_long_conversation_is_paged_both_ways(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    ids = dialogue(api, instance, conversation, 6)
    newest = page(api, conversation, limit=5)
    assert ids_of(newest) == ids[7:]
    assert newest["prev_cursor"] is None
    older = page(api, conversation, limit=5, cursor=newest["next_cursor"])
    assert ids_of(older) == ids[2:7]
    oldest = page(api, conversation, limit=5, cursor=older["next_cursor"])
    assert ids_of(oldest) == ids[:2]
    assert oldest["next_cursor"] is None
    back = page(api, conversation, limit=5, cursor=oldest["prev_cursor"])
    assert ids_of(back) == ids[2:7]
    front = page(api, conversation, limit=5, cursor=back["prev_cursor"])
    assert ids_of(front) == ids[7:]
    assert front["prev_cursor"] is None


def test_a_page_around_a_message_leads_on_in_both_directions(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    ids = dialogue(api, instance, conversation, 6)
    middle = page(api, conversation, limit=5, around=ids[6])
    assert ids_of(middle) == ids[4:9]
    assert ids_of(page(api, conversation, limit=5, cursor=middle["next_cursor"])) == ids[:4]
    assert ids_of(page(api, conversation, limit=5, cursor=middle["prev_cursor"])) == ids[9:]
    last = page(api, conversation, limit=4, around=ids[-1])
    assert (ids_of(last), last["prev_cursor"]) == (ids[-4:], None)
    first = page(api, conversation, limit=4, around=ids[0])
    assert (ids_of(first), first["next_cursor"]) == (ids[:3], None)


def test_around_finds_a_message_on_another_branch(api: Api, instance: Instance) -> None:
    conversation = api.conversation()
    old = dialogue(api, instance, conversation, 2)
    edited = api.say(conversation, "anew", parent_id=None)["message"]["id"]
    found = page(api, conversation, around=old[0])
    assert ids_of(found) == old
    assert found["leaf_id"] == old[-1]
    assert ids_of(page(api, conversation)) == [edited]


def test_a_forged_cursor_shows_nothing_of_another_conversation(api: Api, stranger: Api, instance: Instance) -> None:
    secret = dialogue(api, instance, api.conversation(), 2)
    own = stranger.conversation()
    mine = stranger.say(own, "hello")["message"]["id"]
    where = f"/api/conversations/{own}/messages"
    for direction in ("older", "newer"):
        for leaf, edge in ((mine, secret[2]), (secret[3], secret[2]), (secret[3], mine)):
            problem(stranger.get(where, cursor=encode_cursor(direction, leaf, edge)), 404, "not_found")
    problem(stranger.get(where, around=secret[0]), 404, "not_found")
    problem(stranger.get(where, leaf=secret[0]), 404, "not_found")
    again = stranger.post(where, {"content": "x", "parent_id": secret[0]})
    problem(again, 409, "conflict")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "x", "tools": ["no_such_tool"]}, "tools"),
        ({"content": "x", "limits": {"max_steps": 500}}, "limits.max_steps"),
        ({"content": "x", "parent_id": "no-message"}, "parent_id"),
        ({"content": "x", "attachments": ["a.txt"]}, "attachments"),
        ({"content": "x", "model": 3}, "model"),
    ],
)
def test_a_message_that_cannot_be_sent_names_the_field(api: Api, body: dict[str, Any], field: str) -> None:
    where = f"/api/conversations/{api.conversation()}/messages"
    assert field in problem(api.post(where, body), 422, "validation_failed")["errors"]
    assert ok(api.get(where))["items"] == []


def test_attachments_are_files_of_the_project(api: Api) -> None:
    project = api.project()
    api.put(f"/api/projects/{project}/files/content", b"a,b\n", query_string={"path": "data.csv"})
    conversation = api.conversation(project_id=project)
    (attached,) = api.say(conversation, "look", attachments=["data.csv"])["message"]["attachments"]
    assert attached == {"type": "file", "path": "data.csv", "name": "data.csv", "size": 4, "media_type": "text/csv"}
    for path in ("missing", "../outside"):
        wrong = api.post(f"/api/conversations/{conversation}/messages", {"content": "x", "attachments": [path]})
        assert "attachments" in problem(wrong, 422, "validation_failed")["errors"]


def test_conversations_move_are_renamed_deleted_and_restored(api: Api) -> None:
    project = api.project()
    conversation = api.conversation(title="Draft", temperature=1)
    where = f"/api/conversations/{conversation}"
    moved = ok(api.patch(where, {"project_id": project, "title": "Final"}))
    assert (moved["project_id"], moved["title"], moved["temperature"]) == (project, "Final", 1.0)
    assert [c["id"] for c in ok(api.get("/api/conversations", project_id=project))["items"]] == [conversation]
    assert ok(api.get("/api/conversations", project_id="none"))["items"] == []
    assert ok(api.patch(where, {"project_id": None}))["project_id"] is None
    problem(api.patch(where, {"project_id": "no-project"}), 404, "not_found")
    assert api.delete(where).status_code == 204
    problem(api.get(where), 404, "not_found")
    problem(api.get(f"{where}/messages"), 404, "not_found")
    assert ok(api.post(f"{where}/restore"))["title"] == "Final"


def test_deleting_a_conversation_stops_its_run(api: Api) -> None:
    conversation = api.conversation()
    run = api.say(conversation, "long work")["run"]["id"]
    api.delete(f"/api/conversations/{conversation}")
    assert ok(api.get(f"/api/runs/{run}"))["status"] == "cancelled"


def test_another_users_conversation_is_not_there(api: Api, stranger: Api, instance: Instance) -> None:
    conversation = api.conversation()
    question, _ = dialogue(api, instance, conversation, 1)
    run = ok(api.get("/api/runs"))["items"][0]["id"]
    where = f"/api/conversations/{conversation}"
    answers = [
        stranger.get(where), stranger.patch(where, {"title": "x"}), stranger.delete(where),
        stranger.get(f"{where}/messages"), stranger.post(f"{where}/messages", {"content": "x"}),
        stranger.post(f"/api/messages/{question}/regenerate"), stranger.delete(f"/api/messages/{question}"),
        stranger.get(f"/api/runs/{run}"), stranger.get(f"/api/runs/{run}/steps"),
        stranger.get(f"/api/runs/{run}/events"), stranger.post(f"/api/runs/{run}/cancel"),
    ]  # fmt: skip
    for answer in answers:
        problem(answer, 404, "not_found")


def test_a_long_first_message_gives_a_short_title(api: Api) -> None:
    conversation = api.conversation()
    api.say(conversation, "Please\n\nsummarise " + "the very long quarterly report " * 5)
    title = ok(api.get(f"/api/conversations/{conversation}"))["title"]
    assert title == "Please summarise the very long quarterly report the very…"


def test_too_many_messages_are_slowed_down(app: Flask, stranger: Api, api: Api) -> None:
    now = [0.0]
    with app.app_context():
        web_state().limiter = RateLimiter(lambda: now[0])
    where = f"/api/conversations/{stranger.conversation()}/messages"
    for i in range(30):
        assert stranger.post(where, {"content": str(i)}).status_code == 202
    limited = stranger.post(where, {"content": "one more"})
    assert problem(limited, 429, "rate_limited")["retryable"] is True
    assert limited.headers["Retry-After"] == "2"
    now[0] = 2.0
    assert stranger.post(where, {"content": "one more"}).status_code == 202
    assert stranger.post(where, {"content": "and more"}).status_code == 429


def test_the_operators_own_token_is_not_slowed_down(api: Api) -> None:
    conversation = api.conversation()
    for i in range(40):
        api.say(conversation, str(i))
