"""`chat` and `eval` as a person types them: a project by its name, and files that cannot be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.server import ROOT

from backend.app import build, prepare
from backend.services.auth import ensure_owner
from backend.services.projects import NewProject, create_project
from backend.settings import Settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An instance with two projects of one name, and one of another."""
    folder = tmp_path / "instance"
    folder.mkdir()
    instance = build(prepare(Settings(instance=folder, secret_key="a-key-of-the-tests", sandbox="off")))
    owner = ensure_owner(instance.runtime.db)
    for name in ("Twins", "Twins", "Reisebericht 旅行"):
        create_project(instance.runtime, owner, NewProject(name))
    instance.close()
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command to its end."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = {**kept, "PYTHONPATH": str(ROOT), "NANOCLAW_INSTANCE": str(folder), "NANOCLAW_SANDBOX": "off"}
    argv = [sys.executable, "-m", "backend.cli", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=50, cwd=folder.parent)


def test_a_project_is_found_by_its_name(folder: Path) -> None:
    done = run(folder, "chat", "/file_list .", "--project", "reisebericht 旅行")
    assert done.returncode == 0, done.stderr
    assert "file_list" in done.stderr


def test_two_projects_of_one_name_are_listed_with_their_ids(folder: Path) -> None:
    done = run(folder, "chat", "/file_list .", "--project", "Twins")
    assert done.returncode == 1
    assert "2 projects are called 'Twins'" in done.stderr
    ids = [line.split()[0] for line in done.stderr.splitlines() if line.endswith("  Twins")]
    assert len(ids) == 2
    assert run(folder, "chat", "/file_list .", "--project", ids[0]).returncode == 0


def test_an_unknown_project_names_those_there_are(folder: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"input": "/calculator 1+1"}\n')
    done = run(folder, "eval", str(cases), "--project", "Nope")
    assert done.returncode == 1
    assert "no project 'Nope'" in done.stderr
    assert "Reisebericht 旅行" in done.stderr


def test_a_file_of_cases_that_is_not_there_is_named_as_it_was_given(folder: Path) -> None:
    done = run(folder, "eval", "/nope/cases.jsonl")
    assert done.returncode == 1
    assert done.stderr.startswith("/nope/cases.jsonl cannot be read (No such file or directory).")
