"""Settings: read from the environment and the file, checked all at once, secrets taken away."""

from pathlib import Path

import pytest

from backend import settings
from backend.bootstrap.handover import without_secrets
from backend.errors import InvalidInput


def test_defaults_are_those_of_the_contract(tmp_path: Path) -> None:
    got = settings.load({"NANOCLAW_INSTANCE": str(tmp_path)})
    assert (got.threads, got.runs, got.auth, got.llm_timeout, got.llm_idle_timeout) == (256, 16, "single", 300, 90)
    assert (got.upload_max, got.project_quota) == (100 * 2**20, 2 * 2**30)
    assert got.database == f"sqlite:///{tmp_path / 'nanoclaw.db'}"


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "nanoclaw.env").write_text('# mine\nexport NANOCLAW_RUNS="3"\nNANOCLAW_UPLOAD_MAX=1.5 MB\n')
    got = settings.load({"NANOCLAW_INSTANCE": str(tmp_path), "NANOCLAW_UPLOAD_MAX": "2K"})
    assert (got.runs, got.upload_max) == (3, 2048)


def test_every_wrong_setting_is_named(tmp_path: Path) -> None:
    environ = {
        "NANOCLAW_INSTANCE": str(tmp_path),
        "NANOCLAW_RUNS": "many",
        "NANOCLAW_AUTH": "x",
        "NANOCLAW_UPLOAD_MAX": "big",
    }
    with pytest.raises(InvalidInput) as caught:
        settings.load(environ)
    assert set(caught.value.errors) == {"NANOCLAW_RUNS", "NANOCLAW_AUTH", "NANOCLAW_UPLOAD_MAX"}


def test_secrets_leave_the_environment_and_the_printed_settings(tmp_path: Path) -> None:
    environ = {"NANOCLAW_INSTANCE": str(tmp_path), "OPENAI_API_KEY": "sk-hidden", "NANOCLAW_ADMIN_TOKEN": "tok-hidden"}
    got = settings.load(environ)
    assert got.openai_api_key == "sk-hidden"
    assert set(environ) == {"NANOCLAW_INSTANCE"}
    assert "hidden" not in repr(got)


def test_secrets_come_through_a_pipe_and_stand_in_no_environment(tmp_path: Path) -> None:
    environ = {"NANOCLAW_INSTANCE": str(tmp_path), "OPENAI_API_KEY": "sk-hidden", "PATH": "/bin"}
    given = without_secrets(environ)
    assert "sk-hidden" not in repr(given)
    assert settings.load(given).openai_api_key == "sk-hidden"
    assert set(given) == {"NANOCLAW_INSTANCE", "PATH"}
