"""Deletes everything in a folder, in groups: all their contents are kept, then all are recorded, then they are removed."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from .blobs import BlobGroup
from .files import Workspace, version_of
from .history import Change
from .listing import close_folder, open_folder
from .paths import Folder, Place

GROUP_THINGS = 10_000
GROUP_BYTES = 64 << 20
# Every folder of a group stays open until it is removed.
GROUP_FOLDERS = 256

Record = Callable[[Workspace, Place, BlobGroup], tuple[Change, tuple[int, int, int]]]


@dataclass(frozen=True, slots=True)
class _Doomed:
    """Something that will be removed: a file or link of this version, or a folder that was emptied before it."""

    place: Place
    change: Change
    version: tuple[int, int, int] | None = None
    folder: Folder | None = None


class Emptying:
    """One deletion of a tree. `record` makes a thing's change, `delete_one` deletes one that somebody changed meanwhile."""

    def __init__(self, workspace: Workspace, record: Record, delete_one: Callable[[Workspace, Place], Change]) -> None:
        self.changes: list[Change] = []
        self._workspace = workspace
        self._record = record
        self._delete_one = delete_one
        self._contents = BlobGroup(workspace.blobs)
        self._group: list[_Doomed] = []
        self._bytes = self._folders = 0

    def empty(self, folder: Folder, path: str) -> None:
        """Delete what an open folder holds, folders from the inside out."""
        try:
            self._take(folder, path)
            self._remove_group()
        finally:
            self._contents.drop()
            for doomed in self._group:
                if doomed.folder is not None:
                    close_folder(doomed.folder)

    def _take(self, folder: Folder, path: str) -> None:
        with folder.scan() as scan:
            names = sorted(entry.name for entry in scan)
        for name in names:
            place = Place(folder, name, f"{path}/{name}")
            found = place.stat()
            if found is None:
                continue
            if stat.S_ISDIR(found.st_mode):
                self._take_folder(place)
            else:
                change, version = self._record(self._workspace, place, self._contents)
                self._add(_Doomed(place, change, version))

    def _take_folder(self, place: Place) -> None:
        inner = open_folder(place)
        try:
            self._take(inner, place.path)
        except BaseException:
            close_folder(inner)
            raise
        self._add(_Doomed(place, self._workspace.change("delete", place.path), folder=inner))

    def _add(self, doomed: _Doomed) -> None:
        self._group.append(doomed)
        self._bytes += doomed.change.before_size or 0
        self._folders += doomed.folder is not None
        full = len(self._group) >= GROUP_THINGS or self._folders >= GROUP_FOLDERS
        if full or self._bytes >= GROUP_BYTES:
            self._remove_group()

    def _remove_group(self) -> None:
        self._contents.settle()
        self._workspace.changes.keep_all([doomed.change for doomed in self._group])
        while self._group:
            self._remove(self._group[0])
            del self._group[0]
        self._bytes = self._folders = 0

    def _remove(self, doomed: _Doomed) -> None:
        place = doomed.place
        if doomed.folder is not None:
            os.rmdir(place.folder.at(place.name), dir_fd=place.folder.fd)
            close_folder(doomed.folder)
        elif (found := place.stat()) is None:
            return  # somebody was quicker
        elif version_of(found) == doomed.version:
            os.unlink(place.folder.at(place.name), dir_fd=place.folder.fd)
            self._workspace.usage.add(-(doomed.change.before_size or 0))
        else:
            self.changes.append(self._delete_one(self._workspace, place))
            return
        self.changes.append(doomed.change)
