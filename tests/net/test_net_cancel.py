"""Cancel ends a fetch at once, wherever it stands; so does its time limit."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from net_sites import PAGE, Site, http

from backend.cancel import CancelToken
from backend.errors import FetchRetryable, ToolCancelled
from backend.net import Fetcher, FetchSettings, extract
from backend.net.batch import Batch
from backend.net.ssrf import parse_allow

# Far beyond what any of these may take: a cancel that does not work fails by this, not by a stopwatch.
LONG_SECONDS = 30.0
SOON_SECONDS = 5.0


@pytest.fixture
def patient() -> Fetcher:
    settings = FetchSettings(allow=parse_allow("127.0.0.1"), total_seconds=LONG_SECONDS, read_seconds=LONG_SECONDS)
    return Fetcher(settings)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def cancel_when(event: threading.Event, token: CancelToken, running: "Future[Any]") -> None:
    assert event.wait(SOON_SECONDS)
    token.set()
    with pytest.raises(ToolCancelled):
        running.result(SOON_SECONDS)


def part_then_silence(site: Site) -> Callable[[socket.socket, bytes], None]:
    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(http(PAGE * 9)[:-200])
        site.silence(connection)

    return answer


def test_cancel_while_the_server_is_silent(site: Site, patient: Fetcher, aside: ThreadPoolExecutor) -> None:
    token = CancelToken()
    site.answer = site.silence
    cancel_when(site.touched, token, aside.submit(patient.fetch, site.url + "/x", token))
    assert site.closed.wait(SOON_SECONDS)


def test_cancel_within_the_body(site: Site, patient: Fetcher, aside: ThreadPoolExecutor) -> None:
    token = CancelToken()
    site.answer = part_then_silence(site)
    cancel_when(site.touched, token, aside.submit(patient.fetch, site.url + "/x", token))
    assert site.closed.wait(SOON_SECONDS)


def test_cancel_within_the_tls_handshake(site: Site, patient: Fetcher, aside: ThreadPoolExecutor) -> None:
    token, reached = CancelToken(), threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as door:
        running = aside.submit(patient.fetch, f"https://127.0.0.1:{door.getsockname()[1]}/", token)
        connection, _ = door.accept()
        with connection:
            assert connection.recv(1)
            reached.set()
            cancel_when(reached, token, running)


def test_cancel_while_robots_txt_is_awaited(site: Site, patient: Fetcher, aside: ThreadPoolExecutor) -> None:
    token = CancelToken()
    site.pages["/robots.txt"] = site.silence
    cancel_when(site.touched, token, aside.submit(patient.fetch, site.url + "/x", token))


def test_cancel_while_a_name_is_looked_up(
    patient: Fetcher, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, asked, free = CancelToken(), threading.Event(), threading.Event()

    def resolve(*_: Any, **__: Any) -> list[Any]:
        asked.set()
        free.wait(LONG_SECONDS)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    cancel_when(asked, token, aside.submit(patient.fetch, "http://slow.example.com/", token))
    free.set()


def test_cancel_while_connecting(patient: Fetcher, aside: ThreadPoolExecutor) -> None:
    """A listener whose queue is full leaves a connection attempt hanging."""
    token = CancelToken()
    with socket.socket() as door, socket.socket() as first, socket.socket() as second:
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(door.getsockname())
        running = aside.submit(patient.fetch, f"http://127.0.0.1:{door.getsockname()[1]}/", token)
        with pytest.raises(TimeoutError):
            running.result(0.3)
        token.set()
        with pytest.raises(ToolCancelled):
            running.result(SOON_SECONDS)


def test_cancel_before_the_start(site: Site, patient: Fetcher) -> None:
    token = CancelToken()
    token.set()
    with pytest.raises(ToolCancelled):
        patient.fetch(site.url + "/x", token)
    assert site.requests == []


def test_cancel_of_a_batch_ends_all_its_fetches_and_pauses(
    site: Site, other_site: Site, patient: Fetcher, aside: ThreadPoolExecutor
) -> None:
    token = CancelToken()
    site.answer = site.silence
    other_site.pages["/robots.txt"] = http("User-agent: *\nCrawl-delay: 25\n", kind="text/plain")
    urls = [site.url + "/x", other_site.url + "/a", other_site.url + "/b"]
    running = aside.submit(Batch(patient, extract.text, token).run, urls)
    cancel_when(site.touched, token, running)


def test_cancel_while_a_pdf_is_read(aside: ThreadPoolExecutor) -> None:
    """The child that reads it is killed."""
    from backend.net import pdf

    token = CancelToken()
    token.set()
    with pytest.raises(ToolCancelled):
        pdf.read(b"%PDF-1.4 " + b"x" * 100_000, token)


def test_the_time_limit_counts_all_hops_and_ends_a_silent_server(site: Site) -> None:
    fetcher = Fetcher(FetchSettings(allow=parse_allow("127.0.0.1"), total_seconds=0.5))
    site.answer = site.silence
    with pytest.raises(FetchRetryable, match=r"within 0\.5 seconds"):
        fetcher.fetch(site.url + "/x")
    assert site.closed.wait(SOON_SECONDS)


def test_the_time_limit_ends_a_name_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: free.wait(LONG_SECONDS) and [])
    with pytest.raises(FetchRetryable, match="within"):
        Fetcher(FetchSettings(total_seconds=0.3)).fetch("http://slow.example.com/")
    free.set()


def test_a_fetch_leaves_no_timer_and_no_callback_behind(site: Site, patient: Fetcher) -> None:
    token = CancelToken()
    patient.fetch(site.url + "/x", token)
    assert token._callbacks == {}
    timers = [t for t in threading.enumerate() if isinstance(t, threading.Timer) and not t.finished.is_set()]
    assert timers == []
