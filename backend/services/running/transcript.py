"""From stored messages to the engine's transcript: only as much of the newest history as the model can take."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from ...agent.tokens import of_message
from ...agent.types import JsonObject, ToolCallRequest
from ...agent.types import Message as ModelMessage
from ...models import Message, Step, ToolCall
from ...tools.core import ToolRegistry
from .pictures import Attachments

PAGE_MESSAGES = 100
# What is loaded beyond the budget, so that the place where the history was cut before is still found.
SLACK = 1.5


@dataclass(frozen=True, slots=True)
class _Acts:
    """The recorded calls and steps that stored answers refer to."""

    calls: dict[tuple[str, str], ToolCall]
    reasoning: dict[tuple[str, int], JsonObject]


@dataclass(frozen=True, slots=True)
class Reading:
    """How stored messages become messages to the model: within how many tokens, with which tools known, attachments shown how."""

    token_budget: int
    registry: ToolRegistry
    attachments: Attachments


def load(session: Session, leaf_id: str | None, reading: Reading) -> tuple[ModelMessage, ...]:
    """The path to `leaf_id` (inclusive) as the model gets it, oldest first, cut at the old end beyond the budget."""
    messages: list[ModelMessage] = []
    room = reading.token_budget * SLACK
    while leaf_id is not None and room > 0:
        page = _path(session, leaf_id, PAGE_MESSAGES)
        if not page:
            break
        acts = _acts(session, page)
        older = [message for row in reversed(page) for message in model_messages(row, acts, reading)]
        room -= sum(of_message(message) for message in older)
        messages = older + messages
        leaf_id = page[-1].parent_id
    return tuple(messages)


def _path(session: Session, leaf_id: str, limit: int) -> Sequence[Message]:
    """The leaf and its ancestors, newest first: each step is one look-up by primary key."""
    start = select(Message.id, Message.parent_id).where(Message.id == leaf_id).cte("path", recursive=True)
    parent = aliased(Message)
    path = start.union_all(select(parent.id, parent.parent_id).join(start, parent.id == start.c.parent_id))
    ids = select(path.c.id).limit(limit).subquery()
    rows = session.scalars(select(Message).join(ids, ids.c.id == Message.id)).all()
    by_id = {row.id: row for row in rows}
    ordered, at = [], by_id.get(leaf_id)
    while at is not None:
        ordered.append(at)
        at = by_id.get(at.parent_id) if at.parent_id else None
    return ordered


def _acts(session: Session, page: Sequence[Message]) -> _Acts:
    runs = {m.run_id for m in page if m.role == "assistant" and m.run_id}
    if not runs:
        return _Acts({}, {})
    calls = session.scalars(select(ToolCall).where(ToolCall.run_id.in_(runs))).all()
    steps = session.execute(
        select(Step.run_id, Step.index, Step.reasoning_fields).where(
            Step.run_id.in_(runs), Step.reasoning_fields.is_not(None)
        )
    )
    return _Acts(
        {(call.run_id, call.id): call for call in calls},
        {(run_id, index): fields for run_id, index, fields in steps if fields},
    )


def model_messages(message: Message, acts: _Acts, reading: Reading) -> list[ModelMessage]:
    """One stored message as messages to the model: of a user one, of an answer one for each step and each result."""
    if message.role == "user":
        return [ModelMessage("user", reading.attachments.content(message), key=message.id)]
    return list(_answer(message, acts, reading.registry))


def _answer(message: Message, acts: _Acts, registry: ToolRegistry) -> Iterable[ModelMessage]:
    for i, (text, calls) in enumerate(_steps(message, acts)):
        fields = acts.reasoning.get((message.run_id or "", calls[0].step)) if calls else None
        requests = tuple(_request(call) for call in calls)
        if text or requests:
            yield ModelMessage("assistant", text or None, requests, reasoning=fields, key=f"{message.id}:{i}")
        for call in calls:
            definition = registry.get(call.name)
            yield ModelMessage(
                "tool",
                call.result or "",
                tool_call_id=call.id,
                name=call.name,
                key=f"{call.run_id}:{call.id}",
                read_only=bool(definition and definition.read_only),
            )


def _steps(message: Message, acts: _Acts) -> Iterable[tuple[str, list[ToolCall]]]:
    """The blocks of an answer grouped by the step they came from: a text and the calls that followed it."""
    text, step = "", None
    calls: list[ToolCall] = []
    for block in message.blocks:
        if block["type"] == "text":
            if text or calls:
                yield text, calls
            text, calls, step = block["text"], [], None
        elif block["type"] == "tool_call":
            call = acts.calls.get((message.run_id or "", block["call_id"]))
            if call is None:
                continue
            if calls and call.step != step:
                yield text, calls
                text, calls = "", []
            calls.append(call)
            step = call.step
    if text or calls:
        yield text, calls


def _request(call: ToolCall) -> ToolCallRequest:
    function: JsonObject = call.call["function"]
    stored = call.request or {}
    known = {"id", "type", "function", "extra_content"}
    return ToolCallRequest(
        id=call.id,
        name=function["name"],
        arguments=function["arguments"] if _is_object(function["arguments"]) else "{}",
        extra_content=stored.get("extra_content"),
        provider_specific_fields={k: v for k, v in stored.items() if k not in known} or None,
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
