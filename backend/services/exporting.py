"""Export of conversations as JSON: piece by piece, so that an account of any size needs no more memory than one page of messages."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from ..agent.types import JsonObject
from ..errors import FileMissing
from ..ids import iso_now
from ..models import Conversation, Message, Project, ToolCall
from ..workspace import BlobStore
from . import tags
from .conversations import conversation_json, get_conversation
from .messages import with_calls
from .runtime import Runtime
from .serializers import call_json, message_json

FORMAT = "nanoclaw.conversations"
VERSION = 1
PAGE_MESSAGES = 50
PAGE_CONVERSATIONS = 100
MAX_WHOLE_RESULT_BYTES = 1 << 20
# What says nothing outside of this moment and this list.
NOT_OF_CONVERSATION = ("active_run_id", "deleted_at")
NOT_OF_MESSAGE = ("siblings", "position", "conversation_id")


def conversation(runtime: Runtime, user_id: str, conversation_id: str) -> Iterator[str]:
    """One conversation with all its branches as the text of a file, in pieces. Raises NotFound."""
    with runtime.db.read() as session:
        get_conversation(session, user_id, conversation_id)
    return _file(runtime, user_id, iter([conversation_id]))


def everything(runtime: Runtime, user_id: str) -> Iterator[str]:
    """Every conversation of the user that stands in a list, archived ones too, in pieces."""
    return _file(runtime, user_id, _ids(runtime, user_id))


def _file(runtime: Runtime, user_id: str, ids: Iterator[str]) -> Iterator[str]:
    head = _text({"format": FORMAT, "version": VERSION, "exported_at": iso_now()})
    yield head[:-1] + ',"conversations":['
    between = ""
    for conversation_id in ids:
        for number, piece in enumerate(_conversation(runtime, user_id, conversation_id)):
            yield piece if number else between + piece
            between = ","
    yield "]}\n"


def _ids(runtime: Runtime, user_id: str) -> Iterator[str]:
    """By id, which is by age: what is changed meanwhile is neither left out nor told twice."""
    gone = select(Project.id).where(Project.owner_id == user_id, Project.deleted_at.is_not(None))
    mine = select(Conversation.id).where(
        Conversation.owner_id == user_id,
        Conversation.deleted_at.is_(None),
        Conversation.temporary.is_(False),
        Conversation.project_id.is_(None) | Conversation.project_id.not_in(gone),
    )
    last = ""
    while True:
        page = mine.where(Conversation.id > last).order_by(Conversation.id).limit(PAGE_CONVERSATIONS)
        with runtime.db.read() as session:
            ids = session.scalars(page).all()
        yield from ids
        if len(ids) < PAGE_CONVERSATIONS:
            return
        last = ids[-1]


def _conversation(runtime: Runtime, user_id: str, conversation_id: str) -> Iterator[str]:
    with runtime.db.read() as session:
        row = session.get(Conversation, conversation_id)
        if row is None or row.owner_id != user_id or row.deleted_at:  # deleted while others were told
            return
        shown = conversation_json(row, None, tags.of(session, [row.id]).get(row.id, []))
    yield _text(_without(shown, NOT_OF_CONVERSATION))[:-1] + ',"messages":['
    between = ""
    for page in pages(runtime, conversation_id):
        for message in page:
            yield between + _text(message)
            between = ","
    yield "]}"


def pages(runtime: Runtime, conversation_id: str) -> Iterator[list[JsonObject]]:
    """The messages that were sent, parents first, with calls and whole results."""
    position = 0
    sent = select(Message).where(Message.conversation_id == conversation_id, Message.state == "sent")
    while True:
        page = sent.where(Message.position > position).order_by(Message.position).limit(PAGE_MESSAGES)
        with runtime.db.read() as session:
            rows = session.scalars(page).all()
            found = with_calls(session, rows)
        yield [_message(runtime.blobs, row, calls) for row, calls in found]
        if len(rows) < PAGE_MESSAGES:
            return
        position = rows[-1].position


def _message(blobs: BlobStore, row: Message, calls: Sequence[ToolCall]) -> JsonObject:
    shown = _without(message_json(row), NOT_OF_MESSAGE)
    shown["tool_calls"] = [_call(blobs, call) for call in calls]
    return shown


def _call(blobs: BlobStore, row: ToolCall) -> JsonObject:
    """CALL; where the model got its result cut, `whole_result` is all of it, unless it is too large."""
    whole = _whole(blobs, row.result_blob) if row.result_blob else None
    return {**call_json(row), **({"whole_result": whole} if whole is not None else {})}


def _whole(blobs: BlobStore, digest: str) -> str | None:
    try:
        with blobs.open(digest) as stream:
            content = stream.read(MAX_WHOLE_RESULT_BYTES + 1)
    except FileMissing:
        return None
    return content.decode("utf-8", "replace") if len(content) <= MAX_WHOLE_RESULT_BYTES else None


def _without(value: JsonObject, names: Sequence[str]) -> JsonObject:
    return {name: one for name, one in value.items() if name not in names}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
