"""Conversations."""

from flask import Blueprint, Response

from ..services import conversation_lists, conversations, forking
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("conversations", __name__, url_prefix="/api/conversations")


@bp.get("")
@operation(
    "List conversations",
    query=requests.ConversationsQuery,
    returns={200: answers.page_of(answers.ConversationSummary)},
)
def list_conversations(query: requests.ConversationsQuery) -> Response:
    """The last used first, without those that are archived or temporary; `deleted=true`: those that can be restored."""
    listed = conversation_lists.list_conversations(runtime(), user_id(), query.page(), query.filter(), query.sort)
    return reply(listed)


@bp.get("/tags")
@operation("The tags in use", query=requests.TagsQuery, returns={200: answers.TagCounts})
def list_tags(query: requests.TagsQuery) -> Response:
    """With the number of conversations that the list shows for each."""
    return reply(conversation_lists.list_tags(runtime(), user_id(), query.project_id))


@bp.post("")
@operation("Begin a conversation", body=requests.ConversationBody, returns={201: answers.Conversation}, errors=(404,))
def create_conversation(body: requests.ConversationBody) -> Response:
    """In a project or outside."""
    made = conversations.create_conversation(runtime(), user_id(), body.given())
    return reply(made, 201, {"Location": f"/api/conversations/{made['id']}"})


@bp.get("/<conversation_id>")
@operation("One conversation", returns={200: answers.Conversation}, errors=(404,))
def show_conversation(conversation_id: str) -> Response:
    """`active_run_id` is the run that goes on in it, or null."""
    return reply(conversations.show_conversation(runtime(), user_id(), conversation_id))


@bp.patch("/<conversation_id>")
@operation(
    "Change, move or turn to another branch",
    body=requests.ConversationPatch,
    returns={200: answers.Conversation},
    errors=(404,),
)
def update_conversation(conversation_id: str, body: requests.ConversationPatch) -> Response:
    """Only the fields that are named."""
    return reply(conversations.update_conversation(runtime(), user_id(), conversation_id, body.given()))


@bp.delete("/<conversation_id>")
@operation("Delete a conversation", query=requests.ForGoodQuery, returns={204: None}, errors=(404, 409))
def delete_conversation(conversation_id: str, query: requests.ForGoodQuery) -> Response:
    """Softly: it can be restored within 30 days. `for_good=true` takes what was deleted out of the bin, at once."""
    remove = conversations.delete_for_good if query.for_good else conversations.delete_conversation
    remove(runtime(), user_id(), conversation_id)
    return nothing()


@bp.post("/<conversation_id>/restore")
@operation("Restore a deleted conversation", returns={200: answers.Conversation}, errors=(404,))
def restore_conversation(conversation_id: str) -> Response:
    """With all its messages."""
    return reply(conversations.restore_conversation(runtime(), user_id(), conversation_id))


@bp.post("/<conversation_id>/fork")
@operation(
    "Fork a conversation at a message", body=requests.ForkBody, returns={201: answers.Conversation}, errors=(404, 409)
)
def fork_conversation(conversation_id: str, body: requests.ForkBody) -> Response:
    """A copy of the path up to and with the message, in the same project, with the same settings."""
    made = forking.fork(runtime(), user_id(), conversation_id, body.message_id)
    return reply(made, 201, {"Location": f"/api/conversations/{made['id']}"})
