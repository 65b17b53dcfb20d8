"""Import of conversations from a file: read a conversation at a time, checked, built out of sight, shown when all is read."""

import threading
from dataclasses import dataclass, field
from typing import BinaryIO

from ...agent.types import JsonObject
from ...errors import Conflict, InvalidInput
from ..conversations import show_conversation
from ..drafts import PART_CHARS, PART_MESSAGES, Draft, Rows, building
from ..projects import get_project
from ..runtime import Runtime
from .checking import Entry, Refused, checked
from .reading import Reader
from .rows import Copied, Maker

MAX_TOLD = 100
_one_at_a_time = threading.Lock()


@dataclass(slots=True)
class _Outcome:
    """What became of each conversation of the file."""

    drafts: list[Draft]
    skipped: list[JsonObject] = field(default_factory=list)

    def skip(self, index: int, refused: Refused) -> None:
        """Note why a conversation is left out."""
        told = {"index": index, "title": refused.title, "code": "validation_failed", "detail": refused.detail}
        if len(self.skipped) < MAX_TOLD:
            self.skipped.append(told)


def import_file(runtime: Runtime, user_id: str, stream: BinaryIO, project_id: str | None = None) -> JsonObject:
    """`{items: [CONVERSATION], skipped: [{index, title, code, detail}]}`: the conversations of an exported file, as new ones.

    Nothing is changed unless the file can be read to its end and holds at least one good conversation. Raises
    NotFound, InvalidInput (which tells what is wrong, and where), Conflict while another import goes on.
    """
    with runtime.db.read() as session:
        if project_id is not None:
            get_project(session, user_id, project_id)
    # Reading takes memory: of one file at a time only.
    if not _one_at_a_time.acquire(blocking=False):
        raise Conflict("Another import goes on; try again when it is done.")
    try:
        ids, skipped = _import(runtime, user_id, stream, project_id)
    finally:
        _one_at_a_time.release()
    for conversation_id in ids[:MAX_TOLD]:
        runtime.tabs.publish(user_id, "conversation", conversation_id)
    return {"items": [show_conversation(runtime, user_id, one) for one in ids], "skipped": skipped}


def _import(
    runtime: Runtime, user_id: str, stream: BinaryIO, project_id: str | None
) -> tuple[list[str], list[JsonObject]]:
    with building(runtime) as drafts:
        outcome = _Outcome(drafts)
        for index, value in Reader(stream).conversations():
            try:
                entry = checked(value)
            except Refused as refused:
                outcome.skip(index, refused)
            else:
                _build(Maker(runtime, user_id, project_id), entry, drafts)
        if outcome.skipped and not drafts:
            raise _none_good(outcome.skipped)
        with runtime.db.write() as session:
            for draft in drafts:
                draft.show(session)
    return [draft.id for draft in drafts], outcome.skipped


def _build(maker: Maker, entry: Entry, drafts: list[Draft]) -> None:
    draft = maker.draft(entry)
    drafts.append(draft)
    draft.begin()
    rows, size = Rows(), 0
    for copied in maker.messages(draft, entry):
        if rows.messages and (len(rows.messages) == PART_MESSAGES or size + copied.size > PART_CHARS):
            draft.add(rows)
            rows, size = Rows(), 0
        _put(rows, copied)
        size += copied.size
    if rows.messages:
        draft.add(rows)
    draft.leaf_id = maker.leaf_id(entry)


def _put(rows: Rows, copied: Copied) -> None:
    rows.messages.append(copied.message)
    if copied.run is not None:
        rows.runs.append(copied.run)
    rows.steps += copied.steps
    rows.calls += copied.calls


def _none_good(skipped: list[JsonObject]) -> InvalidInput:
    errors = {f"conversations.{one['index']}": [one["detail"]] for one in skipped}
    first = skipped[0]
    return InvalidInput(f"No conversation of the file is right. The first: {first['detail']}", errors)


__all__ = ["import_file"]
