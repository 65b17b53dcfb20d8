"""After a crash: whether a writing file call that was cut short took effect, judged by its recorded changes and the disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import ToolError
from ....workspace import Change, Workspace, prove_change
from ....workspace.restore import Proof
from ...core import JsonObject
from .common import workspace_of

WRITING_TOOLS = frozenset({"file_write", "file_edit", "file_mkdir", "file_move", "file_delete"})
NOTE = "The server was interrupted during this call; the files show that it was done."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a call: `result` is its data if it was done."""

    proof: Proof
    result: JsonObject | None = None


def prove_call(name: str, arguments: JsonObject, changes: Sequence[Change]) -> Outcome:
    """Judge a call of a file tool by the changes stored for it (same run and call, in their order).

    `arguments` are the model's, with the injected `project_id`. A change is stored before the act, so a
    call without one has done nothing.
    """
    if name not in WRITING_TOOLS:
        return Outcome("unknown")
    if not changes:
        return Outcome("not_done")
    try:
        workspace = workspace_of(arguments)
        proofs = {prove_change(workspace, change) for change in changes}
        if proofs == {"done"}:
            return Outcome("done", _result(name, workspace, changes))
    except ToolError:
        return Outcome("unknown")
    return Outcome("not_done" if proofs == {"not_done"} else "unknown")


def _result(name: str, workspace: Workspace, changes: Sequence[Change]) -> JsonObject:
    last = changes[-1]
    data: JsonObject = {"path": last.path, "change_id": last.id, "note": NOTE}
    if name == "file_mkdir":
        return data | {"created": True}
    if name == "file_move":
        entry = workspace.stat(last.new_path or "")
        return data | {"new_path": last.new_path, "type": entry.type if entry else None}
    if name == "file_delete":
        files = sum(change.before_hash is not None for change in changes)
        return data | {"deleted": True, "files": files, "type": "file" if last.before_hash else "dir"}
    size = last.after_size or 0
    added = size - (last.before_size or 0) if last.action == "append" else size
    return data | {"bytes": added, "size": size, "created": last.before_hash is None}
