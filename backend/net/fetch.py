"""Fetches one page: every hop is checked, dialled, limited in time and size, and follows robots.txt."""

import contextlib
import http.client
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from ..errors import FetchError, FetchRetryable, SsrfViolation
from .body import Body, Cut, read_body
from .connect import Connection, Proxy, dial, dial_proxy
from .cookies import ChainCookies
from .lifeline import Cancel, Lifeline
from .robots import RobotsCache, RobotsRules
from .ssrf import AddressPolicy, AllowEntry, parse_allow
from .urls import Target, join, parse, shown

USER_AGENT = "Mozilla/5.0 (compatible; NanoClaw/1.0)"
ACCEPT = "text/html,application/xhtml+xml,application/json;q=0.9,application/pdf;q=0.8,text/*;q=0.8,*/*;q=0.5"
REDIRECTS = frozenset((301, 302, 303, 307, 308))
RETRYABLE_STATUSES = frozenset((408, 423, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))
ENDS_OR_KIND = {"content-length", "transfer-encoding", "content-type"}
MAX_ERROR_BODY_BYTES = 65_536
MAX_ROBOTS_BYTES = 512 * 1024
MAX_ROBOTS_REDIRECTS = 5
ROBOTS_SECONDS = 6.0
MAX_REMEMBERED_WAITS = 512
MAX_REMEMBERED_WAIT_SECONDS = 600.0
SECONDS_OF_A_DAY = 86_400
BOT_CHECK_MARKS = (
    b"cf-challenge",
    b"/cdn-cgi/challenge-platform",
    b"captcha-delivery.com",
    b"g-recaptcha",
    b"h-captcha",
)


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits and exceptions of a fetcher; seconds and bytes."""

    allow: tuple[AllowEntry, ...] = ()
    own_ports: frozenset[int] = frozenset()
    proxy: Proxy | None = None
    total_seconds: float = 30.0
    read_seconds: float = 15.0
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 10
    obey_robots: bool = True

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], own_ports: frozenset[int] = frozenset()) -> "FetchSettings":
        """Read NANOCLAW_FETCH_ALLOW and NANOCLAW_FETCH_PROXY; ValueError that names a bad entry."""
        proxy = environ.get("NANOCLAW_FETCH_PROXY", "").strip()
        return cls(
            allow=parse_allow(environ.get("NANOCLAW_FETCH_ALLOW", "")),
            own_ports=own_ports,
            proxy=Proxy.parse(proxy) if proxy else None,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered with status 2xx. `cut` says why the body is not whole, or None."""

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: Body
    set_cookies: list[str]


class Fetcher:
    """Fetches pages for tools; safe to use from many threads."""

    def __init__(self, settings: FetchSettings | None = None) -> None:
        self.settings = settings or FetchSettings()
        self._policy = AddressPolicy(self.settings.allow, set(self.settings.own_ports))
        self._robots = RobotsCache()
        self._waits: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._lock = threading.Lock()

    def refuse_own_port(self, port: int) -> None:
        """Name a port that NanoClaw listens on: it is never fetched on this machine's addresses."""
        self._policy.own_ports.add(port)

    def fetch(self, url: str, cancelled: Cancel | None = None, seconds: float | None = None) -> Page:
        """Fetch `url` and what it redirects to.

        Raises SsrfViolation (never to be tried otherwise), FetchError, FetchRetryable (details: status,
        retry_after in seconds) or ToolCancelled.
        """
        target = parse(url)
        self._check_wait(target)
        with Lifeline(seconds or self.settings.total_seconds, cancelled) as life:
            return self._follow(target, life)

    def crawl_delay(self, url: str) -> float:
        """Seconds that the site's robots.txt, if read lately, asks to wait between requests."""
        rules = self._robots.known(parse(url).origin)
        return rules.crawl_delay if rules else 0.0

    def _follow(self, first: Target, life: Lifeline) -> Page:
        cookies, target = ChainCookies(), first
        for _ in range(self.settings.max_redirects + 1):
            if self.settings.obey_robots:
                self._check_robots(target, life)
            answer = self._exchange(target, cookies, life, self.settings.max_bytes)
            if answer.status not in REDIRECTS:
                self._check_status(target, answer)
                return _page(first, target, answer)
            cookies.keep(target, answer.set_cookies)
            target = _next(target, answer)
        raise FetchError(f"{shown(first.url)} redirects more than {self.settings.max_redirects} times.")

    def _exchange(self, target: Target, cookies: ChainCookies, life: Lifeline, limit: int) -> _Answer:
        """One request and its answer, on a connection of its own."""
        life.check()
        sock = self._dial(target, life)
        try:
            sock.settimeout(self.settings.read_seconds)
            with self._send(Connection(target, sock), target, cookies) as response:
                headers = {name.lower(): value for name, value in reversed(response.getheaders())}
                body = _read(response, headers, limit, life)
                return _Answer(response.status, headers, body, response.headers.get_all("Set-Cookie") or [])
        except (http.client.HTTPException, OSError, ValueError) as error:
            life.check()
            raise _broken(target, error) from error
        finally:
            life.release()
            sock.close()

    def _dial(self, target: Target, life: Lifeline) -> socket.socket:
        proxy = self.settings.proxy
        if proxy is None:
            return dial(target, self._policy.addresses(target, life), life)
        self._policy.check_behind_proxy(target, life)
        return dial_proxy(proxy, target, life)

    def _send(self, connection: Connection, target: Target, cookies: ChainCookies) -> http.client.HTTPResponse:
        proxy = self.settings.proxy if target.scheme == "http" else None
        connection.putrequest("GET", target.url if proxy else target.path, skip_host=True, skip_accept_encoding=True)
        sent = {
            "Host": target.authority,
            "User-Agent": USER_AGENT,
            "Accept": ACCEPT,
            "Accept-Language": "en;q=0.8, *;q=0.5",
            "Accept-Encoding": "gzip, deflate",
            "Cookie": cookies.header(target),
            "Proxy-Authorization": proxy.authorization if proxy else "",
            "Connection": "close",
        }
        for name, value in sent.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse()

    def _check_status(self, target: Target, answer: _Answer) -> None:
        if 200 <= answer.status < 300:
            return
        seconds = _retry_after(answer.headers.get("retry-after", ""))
        if answer.status in RETRYABLE_STATUSES and seconds is not None:
            self._remember_wait(target, seconds, answer.status)
        raise _status_error(target, answer, seconds)

    def _check_wait(self, target: Target) -> None:
        """A page whose server asked to wait is not asked again before that."""
        with self._lock:
            until, status = self._waits.get(target.url, (0.0, 0))
        left = until - time.monotonic()
        if left > 0:
            raise _wait_error(target, status, left)

    def _remember_wait(self, target: Target, seconds: float, status: int) -> None:
        with self._lock:
            self._waits[target.url] = (time.monotonic() + min(seconds, MAX_REMEMBERED_WAIT_SECONDS), status)
            while len(self._waits) > MAX_REMEMBERED_WAITS:
                self._waits.popitem(last=False)

    def _check_robots(self, target: Target, life: Lifeline) -> None:
        rules = self._robots.known(target.origin)
        if rules is None:
            rules = self._read_robots(target, life)
            self._robots.keep(target.origin, rules)
        if rules.unavailable:
            raise FetchRetryable(
                f"{target.authority} answers {rules.unavailable} for its robots.txt, so its rules are not known now."
            )
        if not rules.allows(target.url):
            raise FetchError(
                f"The robots.txt of {target.authority} does not allow programs to fetch {shown(target.url)}.",
                suggestion="Use another source, or ask the user to open the page.",
            )

    def _read_robots(self, target: Target, life: Lifeline) -> RobotsRules:
        """The rules of the target's site; a robots.txt that is not there, or does not come, forbids nothing."""
        here = Target(target.scheme, target.host, target.port, "/robots.txt")
        with Lifeline(min(ROBOTS_SECONDS, life.left), life.cancelled) as short:
            try:
                return self._rules_at(here, short)
            except (FetchRetryable, SsrfViolation):
                life.check()
                if not short.timed_out:
                    raise  # the site itself cannot be reached or is refused, and so is the page
            except FetchError:
                life.check()
        return RobotsRules.none()

    def _rules_at(self, here: Target, life: Lifeline) -> RobotsRules:
        answer = self._exchange(here, ChainCookies(), life, MAX_ROBOTS_BYTES)
        for _ in range(MAX_ROBOTS_REDIRECTS):
            if answer.status not in REDIRECTS:
                return RobotsRules.from_answer(answer.status, answer.body.data)
            try:
                here = _next(here, answer)
                answer = self._exchange(here, ChainCookies(), life, MAX_ROBOTS_BYTES)
            except FetchError:
                life.check()
                break  # rules that lead elsewhere, and to nothing there, are none
        return RobotsRules.none()


def _read(response: http.client.HTTPResponse, headers: Mapping[str, str], limit: int, life: Lifeline) -> Body:
    if response.status in REDIRECTS:
        return Body(b"")
    if not 200 <= response.status < 300:
        limit = min(limit, MAX_ERROR_BODY_BYTES)
    body = read_body(response, limit, headers.get("content-encoding", ""))
    if not body.data and response.status == HTTPStatus.OK:
        life.check()
        if body.cut == "time":
            raise TimeoutError
        if body.cut or not headers.keys() & ENDS_OR_KIND:
            raise http.client.IncompleteRead(b"")  # it broke off before the body, or even within the headers
    if body.cut == "broken" and life.timed_out:
        return Body(body.data, "time")
    if body.cut == "broken":
        life.check()
    return body


def _page(first: Target, target: Target, answer: _Answer) -> Page:
    return Page(first.url, target.url, answer.status, answer.headers, answer.body.data, answer.body.cut)


def _next(target: Target, answer: _Answer) -> Target:
    location = answer.headers.get("location", "")
    if not location.strip():
        raise FetchError(f"HTTP {answer.status} from {target.authority} without the address to go to.")
    with contextlib.suppress(UnicodeError):  # header bytes arrive as latin-1; servers that send raw UTF-8 mean UTF-8
        location = location.encode("latin-1").decode("utf-8")
    return join(target, location)


def _broken(target: Target, error: Exception) -> FetchError:
    if isinstance(error, TimeoutError):
        return FetchRetryable(f"{target.authority} stopped answering.")
    if isinstance(error, (ConnectionError, http.client.IncompleteRead)):
        return FetchRetryable(f"{target.authority} closed the connection before it answered.")
    if isinstance(error, OSError):
        return FetchRetryable(f"The connection to {target.authority} broke off.")
    return FetchError(f"The answer of {target.authority} is not valid HTTP.")


def _retry_after(text: str) -> float | None:
    """Seconds from now, from a number or an HTTP date."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _phrase(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _wait_error(target: Target, status: int, seconds: float) -> FetchRetryable:
    wait = f"{seconds:.0f} seconds" if seconds < SECONDS_OF_A_DAY else "more than a day"
    return FetchRetryable(
        f"{_phrase(status)} from {target.authority}; the server asks to wait {wait}.",
        suggestion="Go on with other sources and come back later.",
        status=status,
        retry_after=round(seconds),
    )


def _status_error(target: Target, answer: _Answer, seconds: float | None) -> FetchError:
    status, said = answer.status, _phrase(answer.status)
    if status in RETRYABLE_STATUSES:
        if seconds is not None:
            return _wait_error(target, status, seconds)
        return FetchRetryable(f"{said} from {target.authority}.", status=status)
    if "cf-mitigated" in answer.headers or any(mark in answer.body.data for mark in BOT_CHECK_MARKS):
        return FetchError(f"{said} from {target.authority}: the site wants proof of a human visitor.", status=status)
    return FetchError(f"{said} from {target.authority} for {shown(target.url)}.", status=status)
