"""Starting: clear words for everything that can go wrong, one server per instance, a clean stop."""

import ast
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.server import ROOT, Server

from backend.bootstrap import environment, main
from backend.bootstrap.process import run
from backend.bootstrap.report import SetupError

OLD_PYTHON = (3, 4)


def serve(server: Server, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `serve` to its end (it is expected not to serve)."""
    argv = [sys.executable, "-m", "backend.cli", "serve", "--no-browser", *args]
    environ = {**server.environment(), **env}
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=120, cwd=server.instance.parent)


def test_an_old_python_can_read_the_entry_script() -> None:
    source = (ROOT / "run.py").read_text()
    ast.parse(source, feature_version=OLD_PYTHON)
    assert source.index("sys.version_info <") < source.index("from backend")


def test_help_and_unknown_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    assert "serve" in capsys.readouterr().out
    assert main.main(["frobnicate"]) == 2
    assert "'frobnicate'" in capsys.readouterr().err


def test_a_program_that_cannot_reach_the_registry_gives_the_remedy(tmp_path: Path) -> None:
    words = "import sys; print('ERROR: Temporary failure in name resolution'); sys.exit(1)"
    with pytest.raises(SetupError) as caught:
        run([sys.executable, "-c", words], "Installing packages", tmp_path)
    assert "Installing packages failed" in caught.value.what
    assert "HTTPS_PROXY" in caught.value.remedy


def test_requirements_are_installed_again_only_when_they_change() -> None:
    before = environment._digest(environment.RUN_FILES)
    assert before == environment._digest(environment.RUN_FILES)
    assert before != environment._digest(environment.TEST_FILES)


def test_a_second_start_opens_the_running_server(tmp_path: Path) -> None:
    with Server(tmp_path / "instance") as server:
        second = serve(server)
        assert second.returncode == 0, second.stderr
        assert f"{server.url}/auth/" in second.stderr
        link = subprocess.run(
            [sys.executable, "-m", "backend.cli", "link"],
            env=dict(server.environment()), capture_output=True, text=True, timeout=120, cwd=tmp_path,
        ).stdout.strip()  # fmt: skip
        server.session.headers.pop("Authorization")
        answer = server.session.get(link, allow_redirects=False, timeout=5)
        assert answer.status_code == 303
        assert server.session.get(f"{server.url}/api/auth/me", timeout=5).status_code == 200
        server.session.cookies.clear()
        assert server.session.get(link, allow_redirects=False, timeout=5).status_code == 401


def test_a_taken_port_is_an_error_when_it_was_asked_for(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = serve(Server(tmp_path / "instance"), "--port", str(port))
    assert done.returncode == 1
    assert f"Port {port} is in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    done = serve(Server(tmp_path / "instance"), NANOCLAW_RUNS="many", NANOCLAW_SANDBOX="none")
    assert done.returncode == 1
    assert "NANOCLAW_RUNS" in done.stderr
    assert "NANOCLAW_SANDBOX" in done.stderr
    assert "Traceback" not in done.stderr


def test_listening_beyond_this_machine_needs_the_public_address(tmp_path: Path) -> None:
    done = serve(Server(tmp_path / "instance"), "--host", "0.0.0.0")
    assert done.returncode == 1
    assert "NANOCLAW_PUBLIC_URL" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = serve(Server(tmp_path / "instance"))
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(tmp_path: Path, sign: signal.Signals) -> None:
    with Server(tmp_path / "instance") as server:
        os.kill(server.pid, sign)
        assert server.wait_end() == 0
        said = server.log.read_text()
        assert "Traceback" not in said
        assert "sandbox" not in said  # it was still starting, which is no failure


def test_the_instance_folder_is_private(tmp_path: Path) -> None:
    with Server(tmp_path / "instance") as server:
        assert server.instance.stat().st_mode & 0o777 == 0o700
        for name in ("nanoclaw.db", "secret.key", "server.lock"):
            assert (server.instance / name).stat().st_mode & 0o077 == 0, name
