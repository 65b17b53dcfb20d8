"""Live streams: a run's events as they happen, again afterwards, and what changes for a whole tab."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from routes_client import BASE, Api, ok, problem
from werkzeug.test import TestResponse

from backend.app import Instance
from backend.errors import Unavailable
from backend.routes.schemas import answers, run_answers
from backend.routes.sse import Frame, Live, still_signed_in, texts
from backend.routes.state import StreamSlots, web_state

Event = tuple[int | None, str, dict[str, Any]]


def events(response: TestResponse) -> Iterator[Event]:
    """The events of an open stream, as they come; leaving the loop leaves the stream open."""
    rest = ""
    for piece in response.response:
        rest += piece if isinstance(piece, str) else piece.decode()
        while "\n\n" in rest:
            block, rest = rest.split("\n\n", 1)
            lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
            if "event" in lines:
                yield int(lines["id"]) if "id" in lines else None, lines["event"], json.loads(lines["data"])


def watch(api: Api, path: str, **headers: str) -> TestResponse:
    response = api.open("GET", path, headers=headers, buffered=False)
    assert response.status_code == 200, response.get_data(as_text=True)
    assert response.mimetype == "text/event-stream"
    return response


@pytest.mark.usefixtures("working")
def test_a_message_is_answered_live_and_the_same_afterwards(api: Api) -> None:
    conversation = api.conversation()
    sent = api.say(conversation, "/get_weather city=Lisbon")
    where = f"/api/runs/{sent['run']['id']}/events"
    seen = list(events(watch(api, where)))
    assert [e[0] for e in seen] == list(range(1, len(seen) + 1))
    kinds = [e[1] for e in seen]
    assert (kinds[0], kinds[-1]) == ("run.started", "run.finished")
    assert kinds.index("tool_call.started") < kinds.index("tool_call.finished") < kinds.index("message.completed")
    assert all(e[2]["run_id"] == sent["run"]["id"] for e in seen)
    told = next(e[2]["message"] for e in seen if e[1] == "message.completed")
    page = ok(api.get(f"/api/conversations/{conversation}/messages"))
    answers.MessagePage.model_validate(page)
    assert page["items"][1] == told
    assert page["items"][1]["parent_id"] == sent["message"]["id"]
    again = list(events(watch(api, where)))
    assert text_of(again) == text_of(seen) == "".join(b["text"] for b in told["blocks"] if b["type"] == "text")
    half = len(seen) // 2
    assert list(events(watch(api, where, **{"Last-Event-ID": str(half)})))[-1] == seen[-1]
    run = ok(api.get(f"/api/runs/{sent['run']['id']}"))
    run_answers.Run.model_validate(run)
    assert (run["status"], run["stop_reason"]) == ("completed", "completed")
    for step in ok(api.get(f"/api/runs/{run['id']}/steps"))["items"]:
        run_answers.Step.model_validate(step)
    assert ok(api.get(f"/api/conversations/{conversation}"))["active_run_id"] is None


def text_of(seen: list[Event]) -> str:
    """All visible text, put together by step and offset as a client does."""
    steps: dict[int, str] = {}
    for _, kind, data in seen:
        if kind == "text.delta":
            have = steps.setdefault(data["step"], "")
            steps[data["step"]] = have[: data["offset"]] + data["text"]
    return "".join(steps[step] for step in sorted(steps))


def test_a_tab_hears_of_files_that_a_run_changes(api: Api) -> None:
    project = api.project()
    stream = watch(api, "/api/events")
    body = {"arguments": {"path": "a.txt", "content": "x"}, "project_id": project}
    ok(api.post("/api/tools/file_write/execute", body))
    assert next(events(stream))[2] == {"type": "files", "id": project}
    stream.close()


def test_a_tab_hears_of_what_another_has_changed(api: Api) -> None:
    conversation = api.conversation()
    api.say(conversation, "first")
    waiting = f"/api/messages/{api.say(conversation, 'second')['message']['id']}"
    stream = watch(api, "/api/events")
    told = events(stream)
    ok(api.patch(waiting, {"content": "2"}))
    assert next(told)[2] == {"type": "conversation", "id": conversation}
    ok(api.delete(waiting), 204)
    assert next(told)[2] == {"type": "conversation", "id": conversation}
    ok(api.post("/api/tools/reload"))
    assert next(told)[2] == {"type": "tools", "id": ""}
    where = "/api/admin/providers"
    one = f"{where}/{ok(api.post(where, {'name': 'p', 'base_url': 'http://127.0.0.1:9/v1'}), 201)['id']}"
    ok(api.patch(one, {"name": "q"}))
    ok(api.delete(one), 204)
    assert [next(told)[2] for _ in range(3)] == [{"type": "models", "id": ""}] * 3
    stream.close()


@pytest.mark.usefixtures("working")
def test_a_task_runs_to_its_output(api: Api) -> None:
    task = ok(api.post("/api/tasks", {"input": "/get_weather city=Oslo"}), 202)
    assert list(events(watch(api, f"/api/tasks/{task['id']}/events")))[-1][1] == "run.finished"
    status = ok(api.get(f"/api/tasks/{task['id']}/status"))
    run_answers.TaskStatus.model_validate(status)
    assert status["status"] == "completed"
    assert "Oslo" in status["output"]


def test_a_queued_run_is_cancelled_with_a_receipt_once_and_again(api: Api) -> None:
    run = ok(api.post("/api/tasks", {"input": "work"}), 202)["id"]
    for _ in range(2):
        receipt = ok(api.post(f"/api/runs/{run}/cancel"))
        run_answers.Receipt.model_validate(receipt)
        assert receipt["usage"]["total_tokens"] == 0
        assert ok(api.get(f"/api/runs/{run}"))["status"] == "cancelled"
    assert list(events(watch(api, f"/api/runs/{run}/events")))[-1][1] == "run.finished"


def test_streams_beyond_the_limit_are_told_to_come_back(app: Flask, api: Api) -> None:
    with app.app_context():
        web_state().slots = StreamSlots(total=2)
        slots = web_state().slots
    run = ok(api.post("/api/tasks", {"input": "work"}), 202)["id"]
    where = f"/api/runs/{run}/events"
    first, second = watch(api, where), watch(api, "/api/events")
    refused = api.get(where)
    problem(refused, 503, "unavailable")
    assert int(refused.headers["Retry-After"]) >= 1
    first.close()
    assert slots.open() == 1
    third = watch(api, where)
    for response in (second, third):
        response.close()
    assert slots.open() == 0


def test_one_user_cannot_take_every_stream() -> None:
    slots = StreamSlots(total=10, per_user=1)
    give_back = slots.take("a")
    slots.take("b")
    with pytest.raises(Unavailable):
        slots.take("a")
    slots.take("a", automation=True)()
    give_back()
    give_back()
    slots.take("a")
    assert slots.open() == 2


def test_a_tab_hears_what_changes_of_its_own_user_only(api: Api, stranger: Api, instance: Instance) -> None:
    stream = watch(api, "/api/events")
    changes = events(stream)
    project = api.project()
    stranger.project()
    conversation = api.conversation(project_id=project)
    api.put(f"/api/projects/{project}/files/content", b"x", query_string={"path": "a"})
    run = api.say(conversation, "hello")["run"]["id"]
    wanted = [("project", project), ("conversation", conversation), ("files", project), ("run", run)]
    heard = [next(changes) for _ in wanted]
    assert [(data["type"], data["id"]) for _, _, data in heard] == wanted
    assert {kind for _, kind, _ in heard} == {"changed"}
    stream.close()


class Said:
    """A feed of what it is given; nothing more comes."""

    behind = ended = False

    def __init__(self, *items: list[int]) -> None:
        self._items = list(items)

    def page(self) -> list[int]:
        return []

    def take(self, timeout: float = 0.0) -> list[int]:
        items = self._items.pop(0)
        self.ended = not self._items
        return items

    def on_ready(self, notify: Callable[[], None]) -> None:
        """Nothing is published."""

    def close(self) -> None:
        """Nothing is open."""


def test_a_stream_ends_at_the_first_heartbeat_after_the_sign_in_ended() -> None:
    def frame(number: int) -> Frame:
        return Frame("changed", "{}", number)

    ended = texts(Live(Said([1], [], [2]), frame, lambda: False))
    assert list(ended) == [b"retry: 1000\n\n", b"id: 1\nevent: changed\ndata: {}\n\n"]
    goes_on = texts(Live(Said([], [7]), frame, lambda: True))
    assert list(goes_on)[1:] == [b": \n\n", b"id: 7\nevent: changed\ndata: {}\n\n"]


def test_signing_out_ends_the_question_behind_a_heartbeat(browser: Api, app: Flask) -> None:
    token = ok(browser.get("/api/auth/me"))["csrf_token"]
    cookie = "; ".join(f"{c.key}={c.value}" for c in browser.client._cookies.values())
    with app.test_request_context("/api/events", base_url=BASE, headers={"Cookie": cookie}):
        app.preprocess_request()
        ask = still_signed_in()
    assert ask() is True
    browser.post("/api/auth/logout", headers={"X-CSRF-Token": token})
    assert ask() is False
