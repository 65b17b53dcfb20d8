"""Messages: pages of the path to a leaf of the conversation's tree, and what to do with one that waits."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, literal, or_, select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, NotFound
from ..models import GOING_ON, Conversation, Message, Run, ToolCall
from ..stores import search_index
from .conversations import get_conversation
from .paging import Page, decode_cursor, encode_cursor
from .runtime import Runtime
from .serializers import message_json

OLDER, NEWER = "older", "newer"
WHOLE_PATH = 10_000_000


@dataclass(frozen=True, slots=True)
class PathQuery:
    """Which page of which path: to `leaf` (default the active one), or around one message."""

    page: Page
    leaf: str | None = None
    around: str | None = None


@dataclass(frozen=True, slots=True)
class _Slice:
    """Ids of one page, oldest first, and whether the path goes on at either end."""

    ids: list[str]
    older: bool
    newer: bool


def list_messages(runtime: Runtime, user_id: str, conversation_id: str, query: PathQuery) -> JsonObject:
    """`{items, next_cursor, prev_cursor, leaf_id, queued}`.

    The first page holds the newest messages; within a page the oldest comes first. `next_cursor` leads to
    older messages, `prev_cursor` to newer ones. `queued` are messages that wait for a run, on the newest page.
    """
    with runtime.db.read() as session:
        conversation = get_conversation(session, user_id, conversation_id)
        leaf = _leaf(session, conversation, query)
        part = _slice(session, leaf, query) if leaf else _Slice([], False, False)
        ids = part.ids
        return {
            "items": load(session, conversation_id, ids),
            "next_cursor": encode_cursor(OLDER, leaf, ids[0]) if part.older else None,
            "prev_cursor": encode_cursor(NEWER, leaf, ids[-1]) if part.newer else None,
            "leaf_id": leaf,
            "queued": [] if part.newer else _queued(session, conversation_id),
        }


def load(session: Session, conversation_id: str, ids: Sequence[str]) -> list[JsonObject]:
    """These messages of a conversation as MESSAGE, in this order, with siblings and calls."""
    # By id alone: with the conversation in the query SQLite walks through all of it.
    found = {m.id: m for m in session.scalars(select(Message).where(Message.id.in_(ids)))}
    rows = [found[i] for i in ids if i in found and found[i].conversation_id == conversation_id]
    siblings = _siblings(session, conversation_id, {row.parent_id for row in rows})
    return [message_json(row, siblings[row.parent_id], calls) for row, calls in with_calls(session, rows)]


def with_calls(session: Session, rows: Sequence[Message]) -> list[tuple[Message, list[ToolCall]]]:
    """Each message with the calls that its blocks name, in order."""
    calls = _calls(session, rows)
    return [(row, [calls[key] for key in named_calls(row) if key in calls]) for row in rows]


def path_ids(session: Session, leaf_id: str) -> list[str]:
    """The ids of a whole path, the oldest first."""
    return _ids_up(session, leaf_id, WHOLE_PATH)[::-1]


# ---------------------------------------------------------------- the path
def _leaf(session: Session, conversation: Conversation, query: PathQuery) -> str | None:
    if query.page.cursor:
        _, leaf, edge = decode_cursor(query.page.cursor, (str, str, str))
        _check_here(session, conversation, edge)
    elif query.around:
        _check_here(session, conversation, query.around)
        return _newest_descendant(session, conversation, query.around)
    elif query.leaf:
        leaf = query.leaf
    else:
        return conversation.active_leaf_id
    _check_here(session, conversation, leaf)
    return str(leaf)


def _check_here(session: Session, conversation: Conversation, message_id: str) -> None:
    """Whatever a caller names, a cursor's content too, must be a message of this conversation."""
    found = session.execute(select(Message.conversation_id, Message.state).where(Message.id == message_id)).first()
    if found is None or found.conversation_id != conversation.id or found.state == "deleted":
        raise NotFound("There is no such message in this conversation.")


def _newest_descendant(session: Session, conversation: Conversation, message_id: str) -> str:
    """The end of the branch a message lies on: the active leaf if that is below it, else the newest below."""
    active = conversation.active_leaf_id
    if active and _ids_down_to(session, active, message_id) is not None:
        return active
    return newest_below(session, conversation.id, message_id)


def in_state(state: str) -> ColumnElement[bool]:
    """For walks down the tree: an expression, since the plain column (and a plain order) leads SQLite to an index
    over the whole conversation at each step."""
    return Message.state.concat("") == state


def newest_below(session: Session, conversation_id: str, message_id: str) -> str:
    """The end of the newest branch below a message; the message itself where nothing follows."""
    down = select(literal(message_id).label("id"), literal(0).label("depth")).cte("down", recursive=True)
    here = Message.conversation_id == conversation_id, Message.parent_id == down.c.id, in_state("sent")
    child = select(Message.id).where(*here).order_by((Message.position + 0).desc()).limit(1)
    down = down.union_all(select(child.scalar_subquery(), down.c.depth + 1).where(down.c.id.is_not(None)))
    query = select(down.c.id).where(down.c.id.is_not(None)).order_by(down.c.depth.desc()).limit(1)
    return str(session.scalars(query).one())


def _slice(session: Session, leaf: str, query: PathQuery) -> _Slice:
    limit = query.page.limit
    if query.page.cursor:
        direction, _, edge = decode_cursor(query.page.cursor, (str, str, str))
        if direction == NEWER:
            return _newer_than(session, leaf, edge, limit)
        return _cut_older(_ids_up(session, edge, limit + 2)[1:], limit, newer=True)
    if query.around:
        return _around(session, leaf, query.around, limit)
    return _cut_older(_ids_up(session, leaf, limit + 1), limit, newer=False)


def _around(session: Session, leaf: str, message_id: str, limit: int) -> _Slice:
    newer = _newer_than(session, leaf, message_id, limit // 2)
    older = _cut_older(_ids_up(session, message_id, limit - len(newer.ids) + 1), limit - len(newer.ids), newer=True)
    return _Slice(older.ids + newer.ids, older.older, newer.newer)


def _newer_than(session: Session, leaf: str, edge: str, limit: int) -> _Slice:
    below = _ids_down_to(session, leaf, edge)
    if below is None:
        raise NotFound("There is no such message in this conversation.")
    return _Slice(below[:limit], older=True, newer=len(below) > limit)


def _cut_older(up: list[str], limit: int, *, newer: bool) -> _Slice:
    return _Slice(up[:limit][::-1], older=len(up) > limit, newer=newer)


def _ids_up(session: Session, start: str, count: int) -> list[str]:
    """At most `count` ids from a message towards the root, that message first; costs nothing beyond them."""
    cte = (
        select(Message.id, Message.parent_id, literal(0).label("depth"))
        .where(Message.id == start)
        .cte("up", recursive=True)
    )
    cte = cte.union_all(
        select(Message.id, Message.parent_id, cte.c.depth + 1).where(
            Message.id == cte.c.parent_id, cte.c.depth < count - 1
        )
    )
    return list(session.scalars(select(cte.c.id).order_by(cte.c.depth)))


def _ids_down_to(session: Session, leaf: str, edge: str) -> list[str] | None:
    """Ids between `edge` (not included) and `leaf`, oldest first; None if `edge` is not above the leaf."""
    floor = session.scalar(select(Message.position).where(Message.id == edge))
    if floor is None:
        return None
    cte = select(Message.id, Message.parent_id, Message.position).where(Message.id == leaf).cte("up", recursive=True)
    cte = cte.union_all(
        select(Message.id, Message.parent_id, Message.position).where(
            Message.id == cte.c.parent_id, Message.position >= floor
        )
    )
    ids = list(session.scalars(select(cte.c.id).order_by(cte.c.position)))
    return ids[1:] if ids and ids[0] == edge else None


# ---------------------------------------------------------------- what belongs to the messages of a page
def _siblings(session: Session, conversation_id: str, parents: set[str | None]) -> dict[str | None, list[str]]:
    same = or_(Message.parent_id.in_([p for p in parents if p]), *([Message.parent_id.is_(None)] * (None in parents)))
    # State and order are for us: in the query they lead SQLite to an index over the whole conversation.
    query = select(Message.parent_id, Message.id, Message.state, Message.position)
    rows = session.execute(query.where(Message.conversation_id == conversation_id, same)).all()
    found: dict[str | None, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.position):
        if row.state == "sent":
            found[row.parent_id].append(row.id)
    return found


def named_calls(row: Message) -> list[tuple[str, str]]:
    """Run and id of each call that a message's blocks name, in order."""
    if row.run_id is None:
        return []
    return [(row.run_id, block["call_id"]) for block in row.blocks or [] if block.get("type") == "tool_call"]


def _calls(session: Session, rows: Iterable[Message]) -> dict[tuple[str, str], ToolCall]:
    named = {key for row in rows for key in named_calls(row)}
    if not named:
        return {}
    runs = {run_id for run_id, _ in named}
    calls = session.scalars(
        select(ToolCall).where(ToolCall.run_id.in_(runs), ToolCall.id.in_({call_id for _, call_id in named}))
    )
    return {(call.run_id, call.id): call for call in calls}


def _queued(session: Session, conversation_id: str) -> list[JsonObject]:
    waiting = select(Message).where(Message.conversation_id == conversation_id, Message.state == "queued")
    return [message_json(m) for m in session.scalars(waiting.order_by(Message.position))]


# ---------------------------------------------------------------- one that waits
def edit_queued(runtime: Runtime, user_id: str, message_id: str, content: str) -> JsonObject:
    """Change a message that waits. Raises Conflict when a run has taken it already."""
    with runtime.db.write() as session:
        message = _waiting(session, user_id, message_id)
        message.content = content
        search_index.put(session.connection(), "message", message.id, content, conversation_id=message.conversation_id)
        answer = message_json(message)
    runtime.tabs.publish(user_id, "conversation", message.conversation_id)
    return answer


def withdraw_queued(runtime: Runtime, user_id: str, message_id: str) -> None:
    """Take back a message that waits. Raises Conflict when a run has taken it already."""
    with runtime.db.write() as session:
        message = _waiting(session, user_id, message_id)
        message.state = "withdrawn"
        search_index.remove(session.connection(), "message", message.id)
    runtime.tabs.publish(user_id, "conversation", message.conversation_id)


def get_message(session: Session, user_id: str, message_id: str) -> tuple[Message, Conversation]:
    """The user's message and its conversation. Raises NotFound."""
    message = session.get(Message, message_id)
    if message is None:
        raise NotFound("There is no such message.")
    return message, get_conversation(session, user_id, message.conversation_id)


def _waiting(session: Session, user_id: str, message_id: str) -> Message:
    message, _ = get_message(session, user_id, message_id)
    run = session.get(Run, message.run_id) if message.run_id else None
    taken = run is not None and run.status in GOING_ON  # between its steps a run is just adding it
    if message.state != "queued" or taken:
        raise Conflict("Only a message that still waits for its run can be changed.")
    return message
