"""Tools that look at the web: search it, read one page, read several at once."""

from collections.abc import Callable
from typing import Any, Protocol

from ...errors import InvalidArguments, ToolUnavailable
from ...net import default_fetcher, extract
from ...net.batch import Batch
from ...net.fetch import Fetcher
from ...net.lifeline import Cancel
from ...net.search import default_search
from ..core import JsonObject
from ..factory import tool
from ..locator import get_service, register_service

FETCH_SECONDS = 60.0
BATCH_SECONDS = 75.0
MAX_BATCH_URLS = 10
DEFAULT_RESULTS = 5
EXTRACT_TYPES = ("text", "links", "structured")
EXTRACTORS = {"text": extract.text, "links": extract.links, "structured": extract.structured}
EXTRACT_SCHEMA: JsonObject = {
    "type": "string",
    "enum": list(EXTRACT_TYPES),
    "default": "text",
    "description": "text: title and main text. links: every link with its label. structured: title, headings, "
    "tables, lists, JSON-LD and OpenGraph data.",
}


class Search(Protocol):
    """The service `search`."""

    def search(self, query: str, max_results: int = 5, cancelled: Cancel | None = None) -> JsonObject:
        """`{query, backend, results, tried}`."""


def _summarize_search(_arguments: JsonObject, data: Any) -> str:
    return f"{len(data['results'])} results for {data['query']!r} ({data['backend']})"


def _summarize_page(_arguments: JsonObject, data: Any) -> str:
    name = data.get("title") or data["final_url"]
    if "links" in data:
        return f"{len(data['links'])} links on {data['final_url']}"
    if "text" in data:
        return f"{name}: {len(data['text']):,} characters"
    return f"{name}: {len(data['headings'])} headings, {len(data['tables'])} tables"


def _summarize_batch(_arguments: JsonObject, data: Any) -> str:
    return f"{sum(result['success'] for result in data['results'])} of {data['total']} pages read"


@tool(
    name="web_search",
    description="Search the web. Gives titles, addresses and snippets; read a page with fetch_page before relying "
    "on it. Use it for facts that may have changed or that you do not know.",
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to search for, as one would type it."},
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "default": DEFAULT_RESULTS,
                "description": "How many results at most.",
            },
        },
        "required": ["query"],
    },
    category="web",
    read_only=True,
    egress=True,
    needs=("cancelled",),
    timeout=FETCH_SECONDS,
    summarize=_summarize_search,
)
def web_search(arguments: JsonObject) -> JsonObject:
    """`{query, backend, results: [{title, url, snippet}], tried: [{backend, outcome}]}`."""
    service: Search = _service("search", default_search)
    return service.search(arguments["query"], arguments.get("max_results", DEFAULT_RESULTS), arguments.get("cancelled"))


@tool(
    name="fetch_page",
    description="Read one page or file of the public web: HTML, text, JSON, XML and feeds, CSV, PDF. Pages that need "
    "JavaScript or a sign-in cannot be read.",
    parameters={
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "The full address, starting with http:// or https://."},
            "extract_type": EXTRACT_SCHEMA,
        },
        "required": ["url"],
    },
    category="web",
    read_only=True,
    egress=True,
    needs=("cancelled",),
    timeout=FETCH_SECONDS,
    summarize=_summarize_page,
)
def fetch_page(arguments: JsonObject) -> JsonObject:
    """The page's text, links or structure, with `url, final_url, status, media_type, charset, truncated`."""
    fetcher: Fetcher = _service("fetcher", default_fetcher)
    cancelled: Cancel | None = arguments.get("cancelled")
    extractor = _extractor(arguments)
    return extractor(fetcher.fetch(arguments["url"], cancelled), cancelled)


@tool(
    name="crawl_batch",
    description=f"Read up to {MAX_BATCH_URLS} pages of the public web at once; one result or error for each, in the "
    "order asked. Use it instead of several fetch_page calls.",
    parameters={
        "type": "object",
        "properties": {
            "urls": {
                "type": "array",
                "items": {"type": "string"},
                "description": f"At most {MAX_BATCH_URLS} full addresses.",
            },
            "extract_type": EXTRACT_SCHEMA,
        },
        "required": ["urls"],
    },
    category="web",
    read_only=True,
    egress=True,
    needs=("cancelled",),
    timeout=BATCH_SECONDS,
    summarize=_summarize_batch,
)
def crawl_batch(arguments: JsonObject) -> JsonObject:
    """`{results: [{url, success: true, …page} | {url, success: false, error, code, retryable, …}], total}`."""
    urls: list[str] = arguments["urls"]
    # said here and not by the schema, whose message would quote all the addresses
    if not 1 <= len(urls) <= MAX_BATCH_URLS:
        raise InvalidArguments(
            f"crawl_batch takes 1 to {MAX_BATCH_URLS} addresses, not {len(urls)}.", suggestion="Ask in several calls."
        )
    results = Batch(_service("fetcher", default_fetcher), _extractor(arguments), arguments.get("cancelled")).run(urls)
    return {"results": results, "total": len(results)}


def _service(name: str, make: Callable[[], Any]) -> Any:
    """The service, or one made from the process environment where no application has offered any."""
    try:
        return get_service(name)
    except ToolUnavailable:
        pass
    try:
        register_service(name, make())
    except ValueError as error:
        raise ToolUnavailable(f"The web tools are set up wrongly: {error}") from error
    return get_service(name)


def _extractor(arguments: JsonObject) -> extract.Extractor:
    name = arguments.get("extract_type") or "text"
    if name not in EXTRACTORS:
        raise InvalidArguments(f"extract_type {name!r} is none of {', '.join(EXTRACT_TYPES)}.")
    return EXTRACTORS[name]
