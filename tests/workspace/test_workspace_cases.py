"""The shared cases of the file tools, each through the executor, on a real disk."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from backend.workspace import paths

FOLDER = Path(__file__).parent / "cases"
CASES = [
    case
    for name in ("file_cases.json", "more_file_cases.json")
    for case in json.loads((FOLDER / name).read_text())["cases"]
]
REPEAT = re.compile(r"\{(.)\*(\d+)\}")


@pytest.fixture
def names(projects, tmp_path: Path) -> dict[str, str]:
    root = projects.root("p1")
    out, sibling = root.parent / "out", root.parent / "p1-evil"
    out.mkdir()
    sibling.mkdir()
    projects.create("p2")
    return {
        "$PROJ": str(root),
        "$OUTNAME": out.name,
        "$OUT": str(out),
        "$SIBNAME": sibling.name,
        "$SIB": str(sibling),
        "$OTHER": "p2",
    }


def filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if not isinstance(value, str):
        return value
    for name in sorted(names, key=len, reverse=True):
        value = value.replace(name, names[name])
    return REPEAT.sub(lambda m: m[1] * int(m[2]), value)


def prepare(step: dict[str, Any], root: Path, projects) -> None:
    base = projects.root("p2") if step["do"] == "other_project_file" else root
    path = base / step["path"]
    if step["do"] == "dir":
        path.mkdir(parents=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if step["do"] == "symlink":
        path.symlink_to(step["target"])
    elif step["do"] == "hardlink":
        path.hardlink_to(step["target"])
    elif step["do"] == "fifo":
        os.mkfifo(path)
    elif "hex" in step:
        path.write_bytes(bytes.fromhex(step["hex"]))
    elif "make" in step:
        with path.open("wb") as out:
            for piece, times in step["make"]:
                for _ in range(0, times, 65536):
                    out.write(piece.encode() * min(65536, times))
    else:
        path.write_bytes(step["text"].encode())


def check_step(step: dict[str, Any], call: dict[str, Any], names: dict[str, str]) -> None:
    expect = filled(step["expect"], names)
    text = json.dumps(json.loads(call["result"]), ensure_ascii=False)
    text.encode()  # valid UTF-8, no lone surrogates
    outcome = expect["outcome"]
    if outcome == "ok":
        assert call["success"], text
    elif outcome in ("error", "refused"):
        assert not call["success"], text
    if outcome == "refused":
        assert json.loads(call["result"])["code"] == "outside_workspace", text
        assert "Path is outside project directory" in text
    for wanted in expect.get("contains", []):
        assert wanted in text
    for unwanted in expect.get("absent", []):
        assert unwanted not in text
    assert len(call["result"]) <= expect.get("max_chars", 10_000_000)
    assert "Traceback" not in text
    asked = json.dumps(filled(step["arguments"], names), ensure_ascii=False)
    for name in ("$PROJ", "$OUT"):
        assert names[name] not in text or names[name] in asked


def check_disk(check: dict[str, Any], root: Path) -> None:
    path = root / check["path"]
    if check["check"] == "absent":
        assert not os.path.lexists(path)
    elif check["check"] == "dir":
        assert path.is_dir()
    elif check["check"] == "hex":
        assert path.read_bytes().hex() == check["hex"]
    else:
        assert path.read_bytes().decode() == check["text"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_shared_case_holds(case, tools, projects, names):
    run(case, tools, projects, names)


@pytest.mark.parametrize("case", [c for c in CASES if c["area"] not in ("size", "forms")], ids=lambda case: case["id"])
def test_a_shared_case_holds_where_the_system_has_no_folder_descriptors(case, tools, projects, names, monkeypatch):
    monkeypatch.setattr(paths, "HAS_DESCRIPTORS", False)
    run(case, tools, projects, names)


def run(case, tools, projects, names) -> None:
    root = projects.root("p1")
    for step in case["setup"]:
        prepare(filled(step, names), root, projects)
    started = time.process_time()
    for step in case["steps"]:
        call = tools.call(step["tool"], filled(step["arguments"], names), step.get("context"))
        check_step(step, call, names)
    assert time.process_time() - started < case["max_seconds"]
    for check in case["after"]:
        check_disk(filled(check, names), root)
