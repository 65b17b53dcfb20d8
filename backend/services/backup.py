"""A whole instance in one file, and back: the database, project folders, contents, tools; keys only if asked for."""

import hashlib
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, cast

from .. import migrations
from ..agent.types import JsonObject
from ..errors import Conflict, InvalidInput, StorageError
from ..ids import iso_now, new_id
from ..settings import Settings
from ..workspace.names import TEMPORARY_PREFIX
from .instance import InstanceLock

FORMAT = 1
DATABASE = "nanoclaw.db"
MANIFEST = "manifest.json"
FOLDERS = ("workspaces", "blobs", "tools")
FILES = ("providers.toml", "models.toml")
# What opens doors: the instance key, and settings that may hold a model's key or the admin's token.
KEY_FILES = ("secret.key", "nanoclaw.env")
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
COMPRESSION = 3
CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class Report:
    """What a backup holds: files and bytes before compression; what was left out, and why."""

    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)


# ---------------------------------------------------------------- out
def back_up(settings: Settings, target: Path, with_keys: bool = False) -> Report:
    """Write the backup; the server may go on meanwhile. Raises Conflict if the file is there, StorageError if the database is damaged."""
    if target.exists():
        raise Conflict(f"{target} is there already.", suggestion="Choose another name, or remove it first.")
    if not (settings.instance / DATABASE).exists():
        raise InvalidInput("There is nothing to back up yet: this instance has no database.")
    part = target.with_name(target.name + ".part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb") as out:
            report = _write(settings, out, with_keys)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return report


def _write(settings: Settings, out: IO[bytes], with_keys: bool) -> Report:
    report, hashes = Report(), {}
    with (
        tempfile.TemporaryDirectory(dir=settings.instance) as scratch,
        tarfile.open(fileobj=out, mode="w:gz", compresslevel=COMPRESSION) as tar,
    ):
        # The database first: whatever it refers to lies in the folders by then, and nothing of it is removed soon.
        copy = Path(scratch) / DATABASE
        outside = _copy_database(settings, copy, with_keys)
        report.left_out += [f"{path}: a project's folder outside the instance" for path in outside]
        for name, path in [(DATABASE, copy), *_files(settings.instance, with_keys, report)]:
            try:
                hashes[name] = _add(tar, name, path)
            except FileNotFoundError:
                continue  # removed meanwhile
            report.files += 1
            report.size += path.lstat().st_size
            tar.members.clear()  # type: ignore[attr-defined]  # a million names need not be kept
        _add_manifest(tar, hashes, with_keys)
    return report


def _copy_database(settings: Settings, copy: Path, with_keys: bool) -> list[str]:
    """A copy as of one moment, checked; returns the folders of projects that lie elsewhere."""
    with closing(sqlite3.connect(settings.instance / DATABASE)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
        _check(target)
        target.execute("PRAGMA journal_mode=DELETE")
        if not with_keys:
            target.execute("UPDATE model_providers SET encrypted_key = NULL")
            target.commit()
            target.execute("VACUUM")  # what was erased must not lie in free pages
        return [row[0] for row in target.execute("SELECT path FROM projects WHERE path IS NOT NULL")]


def _check(database: sqlite3.Connection) -> None:
    try:
        found = database.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.DatabaseError as fault:
        found = str(fault)
    if found != "ok":
        raise StorageError(f"The database is damaged: {str(found)[:200]}", suggestion="Restore the last good backup.")


def _files(instance: Path, with_keys: bool, report: Report) -> Iterator[tuple[str, Path]]:
    names = FILES + (KEY_FILES if with_keys else ())
    for name in names:
        if (instance / name).is_file():
            yield name, instance / name
    for folder in FOLDERS:
        for root, folders, files in os.walk(instance / folder):
            linked = [name for name in folders if (Path(root) / name).is_symlink()]
            for name in sorted(files + linked):
                path = Path(root) / name
                if name.startswith((TEMPORARY_PREFIX, "tmp-")) and folder != "tools":
                    continue
                shown = path.relative_to(instance).as_posix()
                if path.is_symlink() and not _stays_inside(path, instance / folder):
                    report.left_out.append(f"{shown}: a link that leads outside")
                elif path.is_symlink() or path.is_file():
                    yield shown, path
            if not folders and not files:
                yield Path(root).relative_to(instance).as_posix(), Path(root)


def _stays_inside(link: Path, folder: Path) -> bool:
    to = os.readlink(link)
    return not os.path.isabs(to) and (link.parent / to).resolve().is_relative_to(folder.resolve())


def _add(tar: tarfile.TarFile, name: str, path: Path) -> str:
    """Add one file as it is now, however it grows meanwhile; its SHA-256 ("" for links and folders)."""
    info = tar.gettarinfo(path, name)
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    if not info.isreg():
        tar.addfile(info)
        return ""
    info.type, info.linkname = tarfile.REGTYPE, ""  # two names of one file are two files in a backup
    with open(path, "rb") as file:
        info.size = os.fstat(file.fileno()).st_size
        reader = _Hashing(file, info.size)
        tar.addfile(info, cast(IO[bytes], reader))
    return reader.sha.hexdigest()


class _Hashing:
    """Reads exactly so many bytes, zeros for what was cut off meanwhile, and hashes them."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size
        self.sha = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        piece = self._file.read(wanted).ljust(wanted, b"\0")
        self._left -= len(piece)
        self.sha.update(piece)
        return piece


def _add_manifest(tar: tarfile.TarFile, hashes: dict[str, str], with_keys: bool) -> None:
    manifest = {
        "format": FORMAT,
        "made_at": iso_now(),
        "revision": migrations.head(),
        "with_keys": with_keys,
        "files": hashes,
    }
    content = json.dumps(manifest).encode()
    info = tarfile.TarInfo(MANIFEST)
    info.size = len(content)
    info.mode = PRIVATE_FILE
    tar.addfile(info, BytesIO(content))


# ---------------------------------------------------------------- back
def restore(settings: Settings, source: Path) -> JsonObject:
    """Put a backup in the place of what the instance holds; `{made_at, with_keys, files, kept_in}`.

    What was there is moved to `kept_in`, below backups/. The keys that are there stay unless the backup has its
    own. Nothing is touched unless the backup is whole. Raises InvalidInput for a file that is no whole backup or of
    a later version, Conflict while a server runs.
    """
    if not source.is_file():
        raise InvalidInput(f"There is no file {source}.")
    settings.instance.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    lock = InstanceLock(settings.instance)
    if not lock.take():
        raise Conflict("NanoClaw is running in this instance.", suggestion="Stop it first.")
    fresh = settings.instance / f"restore-{new_id()}"
    try:
        fresh.mkdir(mode=PRIVATE_FOLDER)
        manifest = _unpack(source, fresh)
        with closing(sqlite3.connect(fresh / DATABASE)) as database:
            _check(database)
        kept = _swap(settings.instance, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        lock.release()
    kept_in = kept.relative_to(settings.instance).as_posix()
    return {
        "made_at": manifest["made_at"], "with_keys": manifest["with_keys"], "files": len(manifest["files"]),
        "kept_in": kept_in,
    }  # fmt: skip


def _unpack(source: Path, folder: Path) -> JsonObject:
    try:
        with tarfile.open(source, "r:*") as tar:
            tar.extractall(folder, filter="data")
        manifest: JsonObject = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = dict(manifest["files"])
    except (tarfile.TarError, EOFError, OSError, ValueError, KeyError) as fault:
        raise InvalidInput(f"{source} is not a whole backup of NanoClaw ({type(fault).__name__}).") from fault
    if manifest.get("format") != FORMAT or str(manifest.get("revision")) > migrations.head():
        raise InvalidInput("This backup was made by a later version of NanoClaw.", suggestion="Update first.")
    for name, digest in files.items():
        if digest and _digest(folder / name) != digest:
            raise InvalidInput(f"The backup is damaged: {name} is not what was put in.")
    if DATABASE not in files:
        raise InvalidInput("The backup holds no database.")
    return manifest


def _digest(path: Path) -> str:
    sha = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while piece := file.read(CHUNK_BYTES):
                sha.update(piece)
    except OSError:
        return ""
    return sha.hexdigest()


def _swap(instance: Path, fresh: Path) -> Path:
    """Move what is there aside and the restored in its place; each move is a rename on the same file system."""
    aside = instance / "backups" / f"before-restore-{iso_now().replace(':', '')}"
    aside.mkdir(mode=PRIVATE_FOLDER, parents=True)
    names = [DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "fallback.jsonl", *FOLDERS, *FILES]
    names += [name for name in KEY_FILES if (fresh / name).exists()]
    for name in names:
        if (instance / name).exists():
            os.replace(instance / name, aside / name)
    for name in names:
        if (fresh / name).exists():
            os.replace(fresh / name, instance / name)
    for name in (DATABASE, *KEY_FILES):
        if (instance / name).exists():
            (instance / name).chmod(PRIVATE_FILE)
    for name in FOLDERS:
        (instance / name).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        (instance / name).chmod(PRIVATE_FOLDER)
    return aside
