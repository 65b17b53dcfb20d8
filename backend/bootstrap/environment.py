"""The private Python environment: made once, kept until the pinned requirements or the Python change."""

import hashlib
import os
import sys
from pathlib import Path

from .process import run
from .report import SetupError, step

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".venv"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
RUN_FILES = ("requirements.txt",)
TEST_FILES = ("requirements.txt", "requirements-dev.txt")


def ensure(files: tuple[str, ...]) -> None:
    """Make the environment hold what `files` pin. Raises SetupError with the remedy."""
    stamp = FOLDER / f"installed-{'-'.join(Path(f).stem for f in files)}"
    wanted = _digest(files)
    if PYTHON.exists() and _read(stamp) == wanted:
        return
    if not PYTHON.exists():
        with step("Making a private Python environment (.venv)"):
            _create()
    with step(f"Installing {'what the tests need' if len(files) > 1 else 'packages'}"):
        names = [part for file in files for part in ("-r", str(ROOT / file))]
        pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q", *names]
        run(pip, "Installing packages", ROOT)
    stamp.write_text(wanted, encoding="ascii")


def install(package: str) -> None:
    """Install one more package into the environment."""
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-q", package]
    run(pip, f"Installing {package}", ROOT)


def _create() -> None:
    try:
        import ensurepip  # noqa: F401 - a bare Debian lacks this, and others lack venv itself
        import venv
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            "This Python cannot make virtual environments: its `venv` or `ensurepip` is missing.",
            f"On Debian or Ubuntu: sudo apt install python{version}-venv   Then start again.",
        ) from None
    try:
        venv.EnvBuilder(with_pip=True, clear=FOLDER.exists(), symlinks=os.name != "nt").create(FOLDER)
    except PermissionError as fault:
        raise SetupError(
            "The folder of NanoClaw cannot be written.",
            f"Make it yours (for example: sudo chown -R $USER {ROOT}), or copy it to a folder of your own and start it there.",
        ) from fault
    except OSError as fault:
        raise SetupError(
            f"The environment could not be made: {fault.strerror}.", "Check the disk, then start again."
        ) from fault


def _digest(files: tuple[str, ...]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update((ROOT / file).read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
