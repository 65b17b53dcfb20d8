"""Full-text search."""

from flask import Blueprint, Response

from ..services import search
from ..services.paging import Page
from .http import operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("search", __name__, url_prefix="/api")


@bp.get("/search")
@operation(
    "Search messages, titles and projects", query=requests.SearchQuery, returns={200: answers.page_of(answers.Hit)}
)
def find(query: requests.SearchQuery) -> Response:
    """Every word must occur; Chinese is found too."""
    return reply(search.search(runtime(), user_id(), query.q, Page(query.limit, query.cursor or None)))
