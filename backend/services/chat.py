"""Talking: a message is stored, and a run answers it, or it waits for the run that goes on."""

from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from ..agent.types import JsonObject
from ..errors import Conflict, InvalidInput
from ..ids import utc_now
from ..models import Conversation, Message, Run
from ..stores import search_index
from ..tools.core import ToolRegistry
from .attachments import describe
from .conversations import active_runs, get_conversation, index_title
from .language import language_of
from .messages import get_message, load
from .runs import RunRequest, add_chat_run, check_request, place_of
from .runtime import Runtime
from .serializers import run_json
from .titles import title_from


class _Unset:
    """Stands for a parent that was not named, since null names the root."""


UNSET = _Unset()


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as a person sends it. `parent_id` makes a branch; None starts one at the root."""

    content: str
    attachments: tuple[str, ...] = ()
    parent_id: str | _Unset | None = UNSET
    client_id: str | None = None
    request: RunRequest = field(default_factory=RunRequest)


class ChatService:
    """Messages into runs."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def send_message(self, user_id: str, conversation_id: str, new: NewMessage) -> JsonObject:
        """Store a message and start its run: `{message, run}`; `run` is None while another run goes on.

        The same `client_id` again answers the same. Raises NotFound, InvalidInput, Conflict.
        """
        check_request(self._runtime, new.request)
        attachments = describe(self._runtime, user_id, conversation_id, new.attachments)
        with self._runtime.db.write() as session:
            conversation = get_conversation(session, user_id, conversation_id)
            if (earlier := _sent_before(session, conversation, new)) is not None:
                return _accepted(session, earlier)
            message = _store(session, conversation, new, attachments, self._runtime.registry)
            run = None
            if message.state == "sent":
                run = add_chat_run(session, conversation, message.id, new.content, new.request)
                message.run_id = run.id
            answer = _accepted(session, message)
        self._announce(user_id, conversation_id, run)
        return answer

    def regenerate(self, user_id: str, message_id: str, request: RunRequest) -> JsonObject:
        """Another answer to the same question, as a branch: `{message, run}`. Raises Conflict during a run."""
        check_request(self._runtime, request)
        with self._runtime.db.write() as session:
            message, conversation = get_message(session, user_id, message_id)
            question = session.get(Message, message.parent_id) if message.role == "assistant" else message
            if question is None or question.role != "user" or question.state != "sent":
                raise Conflict("There is no question before this message to answer again.")
            if active_runs(session, [conversation.id]):
                raise Conflict("A run of this conversation goes on; stop it or wait for its end.")
            conversation.active_leaf_id = question.id
            conversation.updated_at = utc_now()
            run = add_chat_run(session, conversation, question.id, question.content, request)
            answer = {"message": load(session, conversation.id, [question.id])[0], "run": run_json(run)}
        self._announce(user_id, conversation.id, run)
        return answer

    def _announce(self, user_id: str, conversation_id: str, run: Run | None) -> None:
        if run is not None:
            self._runtime.queue.submit(run.id)
            self._runtime.tabs.publish(user_id, "run", run.id)
        self._runtime.tabs.publish(user_id, "conversation", conversation_id)


def _sent_before(session: Session, conversation: Conversation, new: NewMessage) -> Message | None:
    if new.client_id is None:
        return None
    same = Message.conversation_id == conversation.id, Message.client_id == new.client_id
    earlier = session.scalar(select(Message).where(*same))
    if earlier is not None and earlier.content != new.content:
        raise Conflict("Another message was sent with this client_id.")
    return earlier


def _accepted(session: Session, message: Message) -> JsonObject:
    run = session.get(Run, message.run_id) if message.run_id else None
    session.flush()
    shown = load(session, message.conversation_id, [message.id])[0]
    return {"message": shown, "run": run_json(run) if run else None}


def _store(
    session: Session, conversation: Conversation, new: NewMessage, attachments: list[JsonObject], registry: ToolRegistry
) -> Message:
    place_of(session, conversation.project_id)  # a message that would wait in a deleted project would wait for ever
    waits = conversation.id in active_runs(session, [conversation.id])
    parent_id = _parent(session, conversation, new, waits)
    conversation.last_position += 1
    conversation.updated_at = utc_now()
    message = Message(
        conversation_id=conversation.id,
        parent_id=parent_id,
        position=conversation.last_position,
        role="user",
        state="queued" if waits else "sent",
        content=new.content,
        attachments=attachments,
        client_id=new.client_id,
        options=_kept(new.request),
    )
    session.add(message)
    session.flush()
    if not waits:
        conversation.active_leaf_id = message.id
    if not conversation.title:
        language = language_of(session, conversation.owner_id)
        conversation.title = title_from(new.content, registry, language)
        index_title(session, conversation)
    search_index.add_message(session.connection(), message.id, conversation.id, conversation.project_id, new.content)
    return message


def _parent(session: Session, conversation: Conversation, new: NewMessage, waits: bool) -> str | None:
    leaf = conversation.active_leaf_id
    if isinstance(new.parent_id, _Unset) or new.parent_id == leaf:
        return None if waits else leaf  # one that waits gets its parent when a run takes it
    if waits:
        raise Conflict("A run of this conversation goes on; stop it before you begin another branch.")
    if new.parent_id is None:
        return None
    parent = session.get(Message, new.parent_id)
    if parent is None or parent.conversation_id != conversation.id or parent.state != "sent":
        raise InvalidInput("The message has no such parent.", {"parent_id": ["no message of this conversation"]})
    return parent.id


def _kept(request: RunRequest) -> JsonObject:
    """What a waiting message asks of the run that will answer it."""
    tools = None if request.tools is None else list(request.tools)
    return {"tools": tools, "model": request.model, "limits": request.limits}
