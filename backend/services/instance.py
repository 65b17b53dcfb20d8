"""The instance folder: made private, held by one server, with the key that signs and encrypts."""

import json
import logging
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from ..agent.types import JsonObject
from ..errors import StorageError, Unavailable
from ..settings import Settings

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
KEY_BYTES = 48
log = logging.getLogger(__name__)


class InstanceLock:
    """An OS lock on the instance folder: it dies with its process, so a crash leaves nothing to clean up."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "server.lock"
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Hold the folder; False if another server holds it."""
        file = open(self._path, "a+", encoding="utf-8")  # noqa: SIM115 - held as long as the server lives
        if not _lock(file):
            file.close()
            return False
        os.chmod(self._path, PRIVATE_FILE)
        self._file = file
        return True

    def release(self) -> None:
        """Let the folder go before the process ends."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def say(self, **facts: Any) -> None:
        """Leave word for a second start (`url`, `pid`)."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.write(json.dumps(facts))
            self._file.flush()

    def read(self) -> JsonObject:
        """What the holder said, or an empty dict."""
        try:
            facts = json.loads(self._path.read_text(encoding="utf-8") or "{}")
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}


def prepare(settings: Settings) -> Settings:
    """Make the folder and the instance key if they are missing; returns settings that hold the key."""
    try:
        for folder in (settings.instance, *(settings.instance / n for n in ("workspaces", "blobs", "tools"))):
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        settings.instance.chmod(PRIVATE_FOLDER)
        key = settings.secret_key or _key(settings.instance / "secret.key")
    except OSError as fault:
        raise Unavailable(
            f"The instance folder cannot be written ({fault.strerror}).",
            suggestion="Make it writable, or name another one with NANOCLAW_INSTANCE.",
        ) from fault
    return replace(settings, secret_key=key)


def protect_database(settings: Settings) -> None:
    """Only the owner of the process may read the database. Raises StorageError if it cannot be had for itself."""
    for name in ("nanoclaw.db", "nanoclaw.db-wal", "nanoclaw.db-shm"):
        path = settings.instance / name
        try:
            if path.exists():
                path.chmod(PRIVATE_FILE)
        except OSError as fault:
            raise StorageError(
                f"The database cannot be used: {path}: {fault.strerror}.",
                suggestion="Make the file and its folder writable for the user who starts NanoClaw.",
            ) from fault


def _key(path: Path) -> str:
    """The kept key, or a new one, which is there whole or not at all."""
    kept = _kept_key(path)
    if kept:
        return kept
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(KEY_BYTES))
    try:
        if kept is None:
            os.link(draft, path)  # unlike a rename, this leaves the key of another start that was faster
        else:
            log.error("secret.key held no key: a new one was made; the keys of model providers must be entered anew")
            os.replace(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
    return path.read_text(encoding="ascii")


def _kept_key(path: Path) -> str | None:
    """The key; "" for a file that holds none, since an empty key would protect nothing; None without a file."""
    try:
        key = path.read_bytes().decode("ascii", "ignore").strip()
    except FileNotFoundError:
        return None
    return key if len(key) >= KEY_BYTES else ""


def _lock(file: IO[str]) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
