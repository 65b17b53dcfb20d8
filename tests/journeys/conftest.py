"""The real parts of a journey: a server process, a model server, a web site."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from net.cases import web_server
from support.model_server import ModelServer
from support.server import Server


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """A web site on loopback; its address."""
    servers, base = web_server.start()
    yield base
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def start_server(tmp_path: Path, model: ModelServer, site: str) -> Iterator[Callable[..., Server]]:
    """Start NanoClaw with the scripted model; settings may be added."""
    started: list[Server] = []

    def start(**settings: str) -> Server:
        given = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_MODEL": "scripted-model",
            "NANOCLAW_FETCH_ALLOW": site.removeprefix("http://"),
            **settings,
        }
        server = Server(tmp_path / f"instance{len(started)}", **given)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()
        server.session.close()


@pytest.fixture(scope="session")
def sales_csv() -> bytes:
    """A few thousand rows: day, city, units, price."""
    rng = random.Random(20260131)
    rows = ["day,city,units,price"]
    for i in range(4000):
        city = rng.choice(["Lisbon", "Oslo", "上海", "Quito"])
        rows.append(
            f"2026-{i % 12 + 1:02d}-{i % 28 + 1:02d},{city},{rng.randint(1, 40)},{rng.randint(100, 9900) / 100:.2f}"
        )
    return ("\n".join(rows) + "\n").encode()
