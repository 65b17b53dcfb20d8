"""docs/api.md names every address, method, error code and event."""

import inspect
import re
from pathlib import Path

from flask import Flask

from backend import errors
from backend.routes.problems import HTTP_CODES
from backend.stores.grouping import DELTAS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EVENT = re.compile(r'(?:event|emit|Event)\(\s*"([a-z_]+\.[a-z]+)"')
# Pages and files of the web app are no part of the interface.
NOT_API = ("pages.",)


def test_every_address_is_named_with_its_methods(app: Flask) -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `/")]
    for rule in app.url_map.iter_rules():
        if rule.endpoint.startswith(NOT_API):
            continue
        path = rule.rule.replace("<path:", "<")
        row = next((row for row in rows if f"`{path}`" in row), "")
        for method in rule.methods - {"HEAD", "OPTIONS"}:
            assert method in row, f"{method} {path}"


def test_every_error_code_is_named() -> None:
    ours = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.NanoClawError)]
    for code in {kind.code for kind in ours} | set(HTTP_CODES.values()):
        assert f"`{code}`" in TEXT, code


def test_every_event_is_named() -> None:
    found = {
        name for path in (ROOT / "backend").rglob("*.py") for name in EVENT.findall(path.read_text(encoding="utf-8"))
    }
    assert {"run.finished", "step.started", "message.completed"} <= found
    for name in found | set(DELTAS):
        assert f"`{name}`" in TEXT, name
