"""Search by a SearXNG-compatible endpoint that the owner named."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from ..errors import FetchError, FetchRetryable
from . import urls
from .charset import decode
from .fetch import Fetcher, FetchSettings, Page
from .lifeline import Cancel
from .search import Found, captcha_mark, distinct, found
from .ssrf import AllowEntry, parse_allow

TOTAL_SECONDS = 20.0
MAX_BYTES = 4 * 1024 * 1024
MAX_NAMED_ENGINES = 8
JSON_OFF = "The SearXNG endpoint does not give JSON. Its owner must add `json` to `search.formats` in its settings.yml."


class SearxngBackend:
    """One endpoint; `url` with or without the final /search."""

    name = "searxng"

    def __init__(self, url: str, settings: FetchSettings | None = None) -> None:
        self._url = (
            url.rstrip("/") if urlsplit(url).path.rstrip("/").endswith("/search") else url.rstrip("/") + "/search"
        )
        given = settings or FetchSettings()
        self._fetcher = Fetcher(
            replace(
                given,
                allow=(*given.allow, _allowed(self._url)),
                obey_robots=False,  # the owner's own endpoint, made to be asked
                total_seconds=TOTAL_SECONDS,
                max_bytes=MAX_BYTES,
            )
        )

    @classmethod
    def from_environment(cls, url: str, environ: Mapping[str, str]) -> "SearxngBackend":
        """The endpoint with the process's fetch settings; ValueError for an address that is none."""
        try:
            return cls(url if "://" in url else f"http://{url}", FetchSettings.from_environment(environ))
        except FetchError as error:
            raise ValueError(f"NANOCLAW_SEARCH_URL: {error.message}") from error

    def search(self, query: str, max_results: int, cancelled: Cancel | None = None) -> list[Found]:
        """See SearchBackend."""
        address = f"{self._url}?{urlencode({'q': query, 'format': 'json'})}"
        try:
            page = self._fetcher.fetch(address, cancelled)
        except FetchError as error:
            raise _explained(error) from error
        answer = _json(page)
        results = answer.get("results")
        if not isinstance(results, list):
            raise FetchError("The search endpoint's answer holds no list of results; it may not be SearXNG.")
        rows = [found(r.get("title"), r.get("url"), r.get("content")) for r in results if isinstance(r, dict)]
        if not any(rows) and (silent := _unresponsive(answer)):
            raise FetchRetryable(f"The engines behind the search endpoint did not answer: {silent}.")
        return distinct(rows, max_results)


def _allowed(url: str) -> AllowEntry:
    target = urls.parse(url)
    host = f"[{target.host}]" if ":" in target.host else target.host
    return parse_allow(f"{host}:{target.port}")[0]


def _explained(error: FetchError) -> FetchError:
    """403 is how SearXNG says that JSON is switched off; everything else speaks for itself."""
    if error.details.get("status") == 403:
        return FetchError(f"HTTP 403 from the search endpoint. {JSON_OFF}", status=403)
    if error.details.get("no_address"):
        return FetchRetryable("The search endpoint has no address now; this machine may be without internet access.")
    return error


def _json(page: Page) -> dict[str, Any]:
    text = decode(page.body, page.headers.get("content-type", ""), page.cut is not None).text.strip()
    if page.cut is not None:
        raise FetchRetryable("The search endpoint's answer did not arrive whole.")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise _not_json(text) from None
    if not isinstance(answer, dict):
        raise FetchError("The search endpoint's answer is not a SearXNG answer.")
    if isinstance(answer.get("error"), str) and "results" not in answer:
        raise FetchRetryable(f"The search endpoint reports an error: {answer['error'][:200]}")
    return answer


def _not_json(text: str) -> FetchError:
    if mark := captcha_mark(text):
        return FetchRetryable(f"The search endpoint answered with a robot check ({mark!r}) instead of results.")
    if not text:
        return FetchRetryable("The search endpoint answered with nothing.")
    if text.startswith("<"):
        return FetchError(f"The search endpoint answered with a web page. {JSON_OFF}")
    return FetchRetryable("The search endpoint's answer is not valid JSON.")


def _unresponsive(answer: dict[str, Any]) -> str:
    """Names of the engines that failed, with their reasons: `[["google", "CAPTCHA"], …]` in the answer."""
    listed = answer.get("unresponsive_engines")
    if not isinstance(listed, list):
        return ""
    parts = []
    for item in listed[:MAX_NAMED_ENGINES]:
        words = [str(word)[:60] for word in item] if isinstance(item, list) else [str(item)[:60]]
        parts.append(f"{words[0]} ({', '.join(words[1:])})" if len(words) > 1 else "".join(words))
    return ", ".join(part for part in parts if part)
