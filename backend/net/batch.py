"""Reads several pages at once: hosts side by side, the pages of one host one after the other, politely."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..errors import FetchError, FetchRetryable, NanoClawError, ToolCancelled
from .extract import Extractor
from .fetch import Fetcher
from .lifeline import Cancel
from .urls import parse

BATCH_SECONDS = 70.0
PAUSE_SECONDS = 0.2
MIN_PAGE_SECONDS = 1.0
MAX_HOSTS_AT_ONCE = 10

Result = dict[str, Any]


class Batch:
    """One crawl: every address gets a result or an error of its own, in the order asked."""

    def __init__(self, fetcher: Fetcher, extractor: Extractor, cancelled: Cancel | None = None) -> None:
        self._fetcher = fetcher
        self._extractor = extractor
        self._cancelled = cancelled
        self._ends = time.monotonic() + BATCH_SECONDS

    def run(self, urls: Sequence[str]) -> list[Result]:
        """Results in the order of `urls`; an address given twice is fetched once. ToolCancelled if cancelled."""
        by_host: dict[str, list[str]] = {}
        results: dict[str, Result] = {}
        for url in dict.fromkeys(urls):
            try:
                by_host.setdefault(parse(url).host, []).append(url)
            except FetchError as error:
                results[url] = failed(url, error)
        with ThreadPoolExecutor(MAX_HOSTS_AT_ONCE, thread_name_prefix="crawl") as pool:
            for some in pool.map(self._host, by_host.values()):
                results.update(some)
        if self._cancelled is not None and self._cancelled.is_set():
            raise ToolCancelled("The crawl was cancelled.")
        return [results[url] for url in urls]

    def _host(self, urls: list[str]) -> dict[str, Result]:
        results: dict[str, Result] = {}
        for number, url in enumerate(urls):
            try:
                if number:
                    self._pause(url)
                results[url] = self._page(url)
            except NanoClawError as error:
                results[url] = failed(url, error)
        return results

    def _page(self, url: str) -> Result:
        left = self._ends - time.monotonic()
        if left < MIN_PAGE_SECONDS:
            raise FetchRetryable("The time for this batch was over before this page's turn.")
        page = self._fetcher.fetch(url, self._cancelled, min(left, self._fetcher.settings.total_seconds))
        return {**self._extractor(page, self._cancelled), "url": url, "success": True}

    def _pause(self, url: str) -> None:
        """Wait as long as the site's robots.txt asks; an error at once if that is longer than there is time."""
        seconds = max(PAUSE_SECONDS, self._fetcher.crawl_delay(url))
        if time.monotonic() + seconds + MIN_PAGE_SECONDS > self._ends:
            raise FetchRetryable(f"The site asks for {seconds:g} seconds between requests; there was no time left.")
        woken = threading.Event()
        forget = self._cancelled.on_cancel(woken.set) if self._cancelled is not None else (lambda: None)
        woken.wait(seconds)
        forget()


def failed(url: str, error: NanoClawError) -> Result:
    """A page's failure as a row of the batch."""
    row: Result = {
        "url": url,
        "success": False,
        "error": error.message,
        "code": error.code,
        "retryable": error.retryable,
    }
    if error.suggestion:
        row["suggestion"] = error.suggestion
    return row | {key: error.details[key] for key in ("status", "retry_after") if key in error.details}
