"""The built files of the web app: compressed once, and sent so to who takes it."""

import gzip
from pathlib import Path

import pytest
from routes_client import Api

from backend.bootstrap.frontend import compress

SCRIPT = "export const words = 'words'\n" * 200


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A build as the bootstrap leaves it."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "assets/app-1a2b.js").write_text(SCRIPT)
    (folder / "assets/tiny-1a2b.css").write_text("a{}")
    (folder / "assets/face-1a2b.woff2").write_bytes(b"wOF2" * 500)
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'>" + "<g/>" * 100 + "</svg>")
    compress(folder)
    return folder


def test_only_what_gets_smaller_is_compressed(dist: Path) -> None:
    assert sorted(path.name for path in dist.rglob("*.gz")) == ["app-1a2b.js.gz", "icon.svg.gz"]


@pytest.mark.parametrize(("path", "kind"), [("/assets/app-1a2b.js", "text/javascript"), ("/icon.svg", "image/svg+xml")])
def test_a_browser_gets_the_compressed_file(dist: Path, api: Api, path: str, kind: str) -> None:
    answer = api.open("GET", path, headers={"Accept-Encoding": "gzip, deflate, br, zstd"})
    assert answer.status_code == 200
    assert answer.mimetype == kind
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert gzip.decompress(answer.data) == (dist / path.removeprefix("/")).read_bytes()
    assert int(answer.headers["Content-Length"]) == len(answer.data) < len(gzip.decompress(answer.data))
    again = api.open("GET", path, headers={"Accept-Encoding": "gzip", "If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("headers", [{}, {"Accept-Encoding": "identity"}, {"Accept-Encoding": "gzip;q=0"}])
def test_others_get_the_file_as_it_is(dist: Path, api: Api, headers: dict[str, str]) -> None:
    answer = api.open("GET", "/assets/app-1a2b.js", headers=headers)
    assert "Content-Encoding" not in answer.headers
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.get_data(as_text=True) == SCRIPT


def test_a_part_of_a_file_is_of_the_file_itself(dist: Path, api: Api) -> None:
    answer = api.open("GET", "/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip", "Range": "bytes=7-11"})
    assert (answer.status_code, answer.data) == (206, b"const")


@pytest.mark.parametrize("path", ["/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/none.js"])
def test_nothing_else_is_served_as_an_asset(dist: Path, api: Api, path: str) -> None:
    assert api.open("GET", path, headers={"Accept-Encoding": "gzip"}).status_code in (400, 404)
