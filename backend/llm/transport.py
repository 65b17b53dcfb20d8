"""HTTP for model servers: bytes are handed on as they arrive, every wait has an end, and a cancel ends it at once."""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ..cancel import CancelToken
from ..errors import ModelCancelled, ModelError
from .connection import Call, Deadline
from .route import Proxy, proxy_for

if TYPE_CHECKING:
    from urllib3 import PoolManager

    from .pooled import Response

REDIRECT_LIMIT = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, as it is to be sent."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"


@dataclass(slots=True)
class Opened:
    """An answer under way; leave it by `finish` (connection kept) or `close`, exactly once."""

    response: "Response"
    forget: Callable[[], None]

    def finish(self) -> None:
        """The answer was read as far as it matters."""
        self.forget()
        self.response.release()

    def close(self) -> None:
        """Give the answer up."""
        self.forget()
        self.response.close()


@dataclass(frozen=True, slots=True)
class _Way:
    """How a server is reached."""

    host: str
    proxy: Proxy | None
    manager: "PoolManager"


class Transport:
    """The connections of one provider. Thread-safe; a connection serves one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ways: dict[tuple[str, str, int], _Way] = {}

    def send(self, exchange: Exchange, deadline: Deadline, cancelled: CancelToken) -> Opened:
        """Send and wait for the head of the answer.

        Raises ModelTransient for connection faults, ModelTimeout, ModelCancelled, ModelError for a bad address.
        """
        url = exchange.url
        for _ in range(REDIRECT_LIMIT + 1):
            opened = self._send_once(replace(exchange, url=url), deadline, cancelled)
            if opened.response.status not in REDIRECTS:
                return opened
            opened.close()
            url = _moved_to(url, opened.response)
        raise ModelError("The model's server redirects in a circle; check the base URL.")

    def _send_once(self, exchange: Exchange, deadline: Deadline, cancelled: CancelToken) -> Opened:
        from . import pooled

        parts = split_url(exchange.url)
        way, url, headers = self._way(parts), parts.geturl(), _headers(exchange)
        for fresh in (False, True):
            call = Call(deadline, cancelled, fresh)
            forget = cancelled.on_cancel(call.abort)
            try:
                response = pooled.ask(way.manager, exchange.method, url, exchange.body, headers, call)
            except BaseException as e:
                forget()
                if not isinstance(e, (*pooled.FAULTS, ModelError)):
                    raise
                if cancelled.is_set():
                    raise ModelCancelled("The request was cancelled.") from None
                if isinstance(e, ModelError):
                    raise
                # The server may have closed a kept connection just as we used it: that is no fault of the request.
                if call.reused and not call.received:
                    continue
                raise pooled.fault(e, way.host, way.proxy) from e
            return Opened(response, forget)
        raise AssertionError("a fresh connection is no kept one")

    def _way(self, parts: SplitResult) -> _Way:
        from . import pooled

        key = (parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        with self._lock:
            if key not in self._ways:
                proxy = proxy_for(*key)
                self._ways[key] = _Way(key[1], proxy, pooled.open_manager(key[0], proxy))
            return self._ways[key]

    def close(self) -> None:
        """Close the kept connections."""
        with self._lock:
            ways, self._ways = self._ways, {}
        if ways:
            from . import pooled

            for way in ways.values():
                pooled.close_manager(way.manager)


def split_url(url: str) -> SplitResult:
    """The parts of an http or https URL, without a user's name in it; ModelError otherwise."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelError(f"The provider's base URL {url!r} is not an http or https address.")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])


def _moved_to(url: str, response: "Response") -> str:
    """Where a redirect leads, if the request may be repeated there: the key goes to no other host."""
    target = response.headers.get("location", "")
    old, new = urlsplit(url), urlsplit(target)
    same = (not new.netloc or new.hostname == old.hostname) and new.scheme in ("", "https", old.scheme)
    if response.status not in (307, 308) or not same:
        raise ModelError(f"The model's server redirects to {target[:200]!r}; set that as the base URL.")
    if new.netloc:
        return target
    return f"{old.scheme}://{old.netloc}{target}"


def _headers(exchange: Exchange) -> dict[str, str]:
    """The headers in the form that http.client sends: it takes text for Latin-1, and we send UTF-8."""
    headers = {name: value.strip() for name, value in exchange.headers.items()}
    if any("\n" in text or "\r" in text for text in (*headers, *headers.values())):
        raise ModelError("The provider's key, address or headers hold a line break; enter them anew.")
    if not all(_HEADER_NAME.fullmatch(name) for name in headers):
        raise ModelError("One of the provider's headers has a name that is none; enter it anew.")
    return {name: value.encode("utf-8").decode("latin-1") for name, value in headers.items()}
