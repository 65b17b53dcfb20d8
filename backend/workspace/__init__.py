"""A project's files: safe paths, whole writes, earlier contents kept. Knows nothing of HTTP, databases or tools."""

from .blobs import BlobStore
from .files import OpenFile, Workspace, Written
from .history import Actor, Change, ChangeLog, MemoryChangeLog
from .listing import Entry
from .restore import change_diff, prove_change, prove_written, restore
from .trees import delete, move

__all__ = [
    "Actor",
    "BlobStore",
    "Change",
    "ChangeLog",
    "Entry",
    "MemoryChangeLog",
    "OpenFile",
    "Workspace",
    "Written",
    "change_diff",
    "delete",
    "move",
    "prove_change",
    "prove_written",
    "restore",
]
