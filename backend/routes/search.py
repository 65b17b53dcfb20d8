"""Full-text search."""

from flask import Blueprint, Response

from ..services import finding, search
from ..services.paging import Page
from .http import operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("search", __name__, url_prefix="/api")


@bp.get("/search")
@operation(
    "Search messages, titles and projects",
    query=requests.SearchQuery,
    returns={200: answers.page_of(answers.Hit)},
    errors=(404,),
)
def find(query: requests.SearchQuery) -> Response:
    """Every word must occur; Chinese is found too. In one conversation the text is looked for as it is, the newest first."""
    page = Page(query.limit, query.cursor or None)
    if query.conversation_id is not None:
        return reply(finding.find_in_conversation(runtime(), user_id(), query.conversation_id, query.q, page))
    return reply(search.search(runtime(), user_id(), query.q, page))
