"""What only a real server shows: bodies without a length, live streams over sockets, readers that leave."""

import http.client
import json
from collections.abc import Iterator

import pytest
from support.server import TOKEN, Server
from support.sse import read_events

MEGABYTE = b"x" * (1 << 20)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of this module."""
    folder = tmp_path_factory.mktemp("server") / "instance"
    with Server(folder, NANOCLAW_UPLOAD_MAX="3 MB", NANOCLAW_THREADS="20") as started:
        yield started


@pytest.fixture
def content(server: Server) -> str:
    """The address of the files of a new project."""
    project = server.session.post(f"{server.url}/api/projects", json={"name": "p"}).json()["id"]
    return f"{server.url}/api/projects/{project}/files/content"


def test_a_body_without_a_length_is_written_or_refused_by_what_it_holds(server: Server, content: str) -> None:
    small = server.session.put(f"{content}?path=small", data=iter([MEGABYTE] * 2))
    assert (small.status_code, small.json()["size"]) == (201, 2 << 20)
    large = server.session.put(f"{content}?path=large", data=iter([MEGABYTE] * 4))
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    assert server.session.get(content, params={"path": "large"}).status_code == 404


def test_an_upload_passes_through_the_disk(server: Server, content: str) -> None:
    where = content.replace("content", "upload")
    sent = server.session.post(where, files={"file": ("data.bin", MEGABYTE * 2)}, params={"path": "in"})
    assert (sent.status_code, sent.json()["path"]) == (201, "in/data.bin")
    part = server.session.get(content, params={"path": "in/data.bin"}, headers={"Range": "bytes=-3"})
    assert (part.status_code, part.content) == (206, b"xxx")


def test_two_viewers_of_a_run_get_the_same(server: Server) -> None:
    session, url = server.session, server.url
    task = session.post(f"{url}/api/tasks", json={"input": "/get_weather city=Lisbon"}).json()
    where = f"{url}/api/runs/{task['id']}/events"
    with session.get(where, stream=True) as first, session.get(where, stream=True) as second:
        seen = list(read_events(first))
        assert list(read_events(second)) == seen
    assert [seq for seq, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] == "run.finished"


def test_the_host_is_checked_against_the_port_it_listens_on(server: Server) -> None:
    for host, status in ((f"127.0.0.1:{server.port}", 200), (f"localhost:{server.port}", 200), ("127.0.0.1:1", 400)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/api/projects", headers={"Host": host, "Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        assert answer.status == status
        assert isinstance(json.loads(answer.read()), dict)
        connection.close()


def test_a_viewer_that_left_makes_room_for_another(server: Server) -> None:
    where = f"{server.url}/api/events"  # 20 threads leave room for 4 streams
    streams = [server.session.get(where, stream=True) for _ in range(4)]
    assert [stream.status_code for stream in streams] == [200] * 4
    assert server.session.get(where, stream=True).status_code == 503
    for stream in streams:
        stream.close()
    kept = None
    while kept is None:  # the test's own time limit ends this
        tried = server.session.get(where, stream=True)
        kept = tried if tried.status_code == 200 else None
    kept.close()
