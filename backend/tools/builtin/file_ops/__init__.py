"""The file tools: read, write, edit, list, search, move and delete the files of the project a run works in."""

from .common import _resolve_path
from .proof import Outcome, prove_call
from .reading import file_exists, file_list, file_read, file_search
from .writing import file_delete, file_edit, file_mkdir, file_move, file_write

__all__ = [
    "Outcome",
    "_resolve_path",
    "file_delete",
    "file_edit",
    "file_exists",
    "file_list",
    "file_mkdir",
    "file_move",
    "file_read",
    "file_search",
    "file_write",
    "prove_call",
]
