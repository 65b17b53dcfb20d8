"""Search without a key: the engines of the ddgs library, asked one by one, each answer looked at.

The library opens its own connections (the address guard does not cover it), so it is only ever given the engines'
fixed hosts, never an address from a model or a page.
"""

import importlib
import threading
from collections.abc import Callable
from typing import Any

from ..errors import FetchError, FetchRetryable
from .lifeline import Cancel, Lifeline
from .search import Found, SearchBackend, captcha_mark, distinct, found

ENGINE_SECONDS = 8.0
ENGINES = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo", "wikipedia")
# A look-up of article names: that it has nothing says nothing about the web.
NAMES_ONLY = frozenset(("wikipedia",))
NOTHING_MARKS = (
    "no results",
    "no more results",
    "not match any",
    "no web results",
    "not many great matches",
    "nothing found",
    "0 results",
    "没有找到",
    "未找到",
    "找不到",
)
Engine = Any  # ddgs.base.BaseSearchEngine
MakeEngine = Callable[[], Engine]


class _Watched:
    """Stands in for an engine's HTTP client and remembers how the last request went."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.client = client.client  # engines set cookies on it
        self.status: int | None = None
        self.text = ""

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self.status, self.text = None, ""
        response = self._client.request(*args, **kwargs)
        self.status, self.text = int(response.status_code), str(response.text)
        return response


class KeylessBackend:
    """One engine."""

    def __init__(self, name: str, make_engine: MakeEngine) -> None:
        self.name = name
        self._make_engine = make_engine

    def search(self, query: str, max_results: int, cancelled: Cancel | None = None) -> list[Found]:
        """See SearchBackend. The engine works on a thread that is left behind if it does not answer in time."""
        box: list[list[Found] | FetchError] = []
        done = threading.Event()

        def ask() -> None:
            try:
                box.append(self._ask(query, max_results))
            except FetchError as error:
                box.append(error)
            finally:
                done.set()

        with Lifeline(ENGINE_SECONDS, cancelled) as life:
            threading.Thread(target=ask, name=f"search-{self.name}", daemon=True).start()
            try:
                life.wait(done)
            except FetchRetryable:
                raise FetchRetryable(f"No answer within {ENGINE_SECONDS:g} seconds.", unreachable=True) from None
        answer = box[0] if box else FetchRetryable("The engine's page could not be read.")
        if isinstance(answer, FetchError):
            raise answer
        return answer

    def _ask(self, query: str, max_results: int) -> list[Found]:
        engine = self._make_engine()
        watched = engine.http_client = _Watched(engine.http_client)
        try:
            rows = engine.search(query, region=_region(query)) or []
        except Exception as error:
            raise _failure(watched, error) from error
        results = distinct([found(r.title, r.href, r.body) for r in rows], max_results)
        if not results:
            self._explain_nothing(watched)
        return results

    def _explain_nothing(self, watched: _Watched) -> None:
        """Return if there truly are no results; raise what happened instead."""
        if watched.status != 200:
            raise FetchRetryable(
                f"HTTP {watched.status}: the engine refuses requests from here.", status=watched.status
            )
        if mark := captcha_mark(watched.text):
            raise FetchRetryable(f"The engine answered with a robot check ({mark!r}) instead of results.")
        if self.name in NAMES_ONLY:
            raise FetchError("No article of that name.")
        if not any(mark in watched.text.lower() for mark in NOTHING_MARKS):
            raise FetchRetryable("The engine answered with a page that holds no results and does not say why.")


def keyless_backends(proxy: str | None) -> list[SearchBackend]:
    """The engines in the order in which they are asked; `proxy` as in NANOCLAW_FETCH_PROXY."""
    return [KeylessBackend(name, _maker(name, proxy)) for name in ENGINES]


def _maker(name: str, proxy: str | None) -> MakeEngine:
    def make() -> Engine:
        engines = importlib.import_module("ddgs.engines").ENGINES["text"]  # slow to import
        if name not in engines:
            raise FetchError("The search library no longer has this engine.")
        return engines[name](proxy=proxy, timeout=int(ENGINE_SECONDS) - 1)

    return make


def _failure(watched: _Watched, error: Exception) -> FetchError:
    if isinstance(error, FetchError):
        return error
    if watched.status is None:
        return FetchRetryable("It cannot be reached; this machine may be without internet access.", unreachable=True)
    return FetchRetryable("The engine's page has changed and could not be read.")


def _region(query: str) -> str:
    """The engines' market: Chinese for queries written in Chinese, else English."""
    return "cn-zh" if any("\u4e00" <= letter <= "\u9fff" for letter in query) else "us-en"
