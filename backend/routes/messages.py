"""Messages: reading a conversation, sending, answering anew, and changing one that waits."""

from flask import Blueprint, Response

from ..services import deleting, messages
from ..services.chat import UNSET, ChatService, NewMessage
from ..services.runs import RunRequest
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests
from .state import count_message

bp = Blueprint("messages", __name__, url_prefix="/api")


def run_request(body: requests.RunOptions) -> RunRequest:
    """What the caller chose for the run."""
    tools = None if body.tools is None else tuple(body.tools)
    limits = body.limits.model_dump(exclude_none=True) if body.limits else None
    return RunRequest(tools, body.model or None, limits)


@bp.get("/conversations/<conversation_id>/messages")
@operation(
    "The messages on the path to a leaf",
    query=requests.MessagesQuery,
    returns={200: answers.MessagePage},
    errors=(404,),
)
def list_messages(conversation_id: str, query: requests.MessagesQuery) -> Response:
    """The newest page first, oldest first within a page; `next_cursor` is older, `prev_cursor` newer."""
    wanted = messages.PathQuery(query.page(), query.leaf, query.around)
    return reply(messages.list_messages(runtime(), user_id(), conversation_id, wanted))


@bp.post("/conversations/<conversation_id>/messages")
@operation("Send a message", body=requests.MessageBody, returns={202: answers.Accepted}, errors=(404, 409, 429))
def send_message(conversation_id: str, body: requests.MessageBody) -> Response:
    """Starts a run, or waits for the one that goes on (`run` is null then)."""
    count_message()
    new = NewMessage(
        content=body.content,
        attachments=tuple(body.attachments),
        parent_id=body.parent_id if "parent_id" in body.model_fields_set else UNSET,
        client_id=body.client_id,
        request=run_request(body),
    )
    return reply(ChatService(runtime()).send_message(user_id(), conversation_id, new), 202)


@bp.post("/messages/<message_id>/regenerate")
@operation(
    "Another answer, as a branch", body=requests.RunOptions, returns={202: answers.Accepted}, errors=(404, 409, 429)
)
def regenerate(message_id: str, body: requests.RunOptions) -> Response:
    """For an answer or for the question before it."""
    count_message()
    return reply(ChatService(runtime()).regenerate(user_id(), message_id, run_request(body)), 202)


@bp.patch("/messages/<message_id>")
@operation("Change a message that waits", body=requests.MessagePatch, returns={200: answers.Message}, errors=(404, 409))
def edit(message_id: str, body: requests.MessagePatch) -> Response:
    """Only while no run has taken it."""
    return reply(messages.edit_queued(runtime(), user_id(), message_id, body.content))


@bp.delete("/messages/<message_id>")
@operation(
    "Take back a message that waits, or delete one that was sent",
    query=requests.DeleteMessageQuery,
    returns={204: None},
    errors=(404, 409),
)
def delete(message_id: str, query: requests.DeleteMessageQuery) -> Response:
    """Taken back only while no run has it; `following=true` deletes one that was sent, for 30 days, not during a run."""
    remove = deleting.delete_message if query.following else messages.withdraw_queued
    remove(runtime(), user_id(), message_id)
    return nothing()


@bp.post("/messages/<message_id>/restore")
@operation("Restore a deleted message", returns={200: answers.Message}, errors=(404, 409))
def restore(message_id: str) -> Response:
    """With all that was deleted together with it."""
    return reply(deleting.restore_message(runtime(), user_id(), message_id))
