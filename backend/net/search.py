"""Web search: what a backend is, and the chain that asks several in order and tells what became of each."""

import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import FetchError, FetchRetryable, InvalidArguments, NanoClawError, ToolCancelled
from . import clean
from .lifeline import Cancel

MAX_RESULTS = 20
MAX_QUERY_CHARS = 400
MAX_TITLE_CHARS = 300
MAX_SNIPPET_CHARS = 600
MAX_URL_CHARS = 2000
MAX_UNREACHABLE = 2

# What engines write on a page, answered with 200, when they take us for a robot.
CAPTCHA_MARKS = (
    "unusual traffic",
    "captcha",
    "are you a robot",
    "not a robot",
    "verify you are human",
    "verify that you are human",
    "confirm you are human",
    "automated requests",
    "automated queries",
    "bots use duckduckgo too",
    "anomaly-modal",
    "anomaly in your network",
    "checking your browser",
    "just a moment...",
    "access denied",
    "enable javascript and cookies to continue",
    "异常流量",
    "验证码",
    "人机验证",
    "安全验证",
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    title: str
    url: str
    snippet: str


class SearchBackend(Protocol):
    """Anything that answers a query; `search` as a service is one of these or a chain of them."""

    name: str

    def search(self, query: str, max_results: int, cancelled: Cancel | None = None) -> list[Found]:
        """Results, best first; an empty list only if there truly are none. Raises FetchError or FetchRetryable."""


class SearchChain:
    """Asks backends in order until one answers; an empty answer counts as an answer only if no other has more."""

    def __init__(self, backends: Sequence[SearchBackend]) -> None:
        self.backends = list(backends)

    def search(self, query: str, max_results: int = 5, cancelled: Cancel | None = None) -> dict[str, Any]:
        """`{query, backend, results: [{title, url, snippet}], tried: [{backend, outcome}]}`.

        Raises InvalidArguments for an empty query, FetchError or FetchRetryable if no backend answered.
        """
        query = clean.one_line(query, MAX_QUERY_CHARS)
        if not query:
            raise InvalidArguments("The query is empty.", suggestion="Say what to search for.")
        wanted = max(1, min(max_results, MAX_RESULTS))
        tried: list[dict[str, str]] = []
        errors: list[FetchError] = []
        empty: str | None = None
        for backend in self.backends:
            if sum(bool(error.details.get("unreachable")) for error in errors) >= MAX_UNREACHABLE:
                tried.append({"backend": backend.name, "outcome": "Not asked, since the others cannot be reached."})
                continue
            try:
                found = backend.search(query, wanted, cancelled)
            except ToolCancelled:
                raise
            except FetchError as error:
                errors.append(error)
                tried.append({"backend": backend.name, "outcome": error.message})
                continue
            tried.append({"backend": backend.name, "outcome": f"{len(found)} results"})
            if found:
                return _answer(query, backend.name, found[:wanted], tried)
            empty = empty or backend.name
        if empty is not None:
            return _answer(query, empty, [], tried)
        raise _failed(errors, tried)


class EnvironmentSearch:
    """The chain that the environment names, read anew for each query."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def search(self, query: str, max_results: int = 5, cancelled: Cancel | None = None) -> dict[str, Any]:
        """As SearchChain.search."""
        return chain_from(self._environ).search(query, max_results, cancelled)


def chain_from(environ: Mapping[str, str]) -> SearchChain:
    """The SearXNG endpoint of NANOCLAW_SEARCH_URL alone if it is set, else the keyless engines in order.

    With an endpoint of one's own, queries are never sent to public engines instead.
    """
    proxy = environ.get("NANOCLAW_FETCH_PROXY", "").strip()
    if url := environ.get("NANOCLAW_SEARCH_URL", "").strip():
        from .searxng import SearxngBackend

        return SearchChain([SearxngBackend.from_environment(url, environ)])
    from .keyless import keyless_backends

    return SearchChain(keyless_backends(proxy or None))


def default_search() -> EnvironmentSearch:
    """The search service of a process that registered none."""
    return EnvironmentSearch(os.environ)


def found(title: Any, url: Any, snippet: Any) -> Found | None:
    """A result made of what a backend gave, or None if it leads nowhere."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")) or len(url) > MAX_URL_CHARS:
        return None
    text = without_markup(title, MAX_TITLE_CHARS)
    return Found(
        text or clean.one_line(url, MAX_TITLE_CHARS),
        clean.plain(url.strip()),
        without_markup(snippet, MAX_SNIPPET_CHARS),
    )


def without_markup(value: Any, limit: int) -> str:
    """Text of a title or snippet, without the tags that engines put around hits."""
    if not isinstance(value, str):
        return ""
    return clean.one_line(html.unescape(_TAG.sub("", value[: limit * 8])), limit)


def distinct(results: Sequence[Found | None], wanted: int) -> list[Found]:
    """The first `wanted` results with different addresses."""
    by_url = {result.url: result for result in reversed([r for r in results if r is not None])}
    return list(reversed(by_url.values()))[:wanted]


def captcha_mark(text: str) -> str | None:
    """The phrase that shows a robot check instead of results, or None."""
    lowered = text.lower()
    return next((mark for mark in CAPTCHA_MARKS if mark in lowered), None)


def _answer(query: str, backend: str, results: Sequence[Found], tried: list[dict[str, str]]) -> dict[str, Any]:
    rows = [{"title": r.title, "url": r.url, "snippet": r.snippet} for r in results]
    answer = {"query": query, "backend": backend, "results": rows, "tried": tried}
    return answer if rows else {**answer, "note": "The search worked and found nothing for this query."}


def _failed(errors: Sequence[NanoClawError], tried: list[dict[str, str]]) -> FetchError:
    said = "; ".join(f"{attempt['backend']}: {attempt['outcome']}" for attempt in tried)
    kind = FetchRetryable if any(error.retryable for error in errors) else FetchError
    return kind(
        f"No search engine answered. {said}" if said else "No search engine is set up.",
        suggestion="This does not mean that there are no results. Try again later, or fetch a known page directly.",
        tried=tried,
    )
