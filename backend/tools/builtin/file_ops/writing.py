"""The file tools that change files: file_write, file_edit, file_mkdir, file_move, file_delete."""

from typing import Any

from ....errors import InvalidArguments
from ....workspace import trees
from ....workspace.texts import Edit, TextWritten, edit_text, write_text
from ...core import JsonObject
from ...factory import tool
from .common import CATEGORY, ENCODING, NEEDS, PATH, schema, shown_path, workspace_of


def _say_written(_: JsonObject, data: Any) -> str:
    return f"{'Created' if data.get('created') else 'Wrote'} {data['path']} ({data['bytes']} bytes)"


@tool(
    name="file_write",
    description=(
        "Create a file, replace all of its content, or add to its end (mode='append'). Missing folders are made. "
        "To change a part of a file use file_edit. Earlier content is kept and can be put back by the user."
    ),
    parameters=schema(
        ["path", "content"],
        path=PATH,
        content={"type": "string", "description": "The text, written exactly as given."},
        encoding=ENCODING,
        mode={
            "type": "string",
            "enum": ["overwrite", "append"],
            "description": "overwrite replaces the whole file, append adds to its end.",
            "default": "overwrite",
        },
    ),
    category=CATEGORY,
    needs=NEEDS,
    summarize=_say_written,
)
def file_write(arguments: JsonObject) -> JsonObject:
    """`{path, bytes, size, created, encoding, change_id, diff?, note?}`; bytes are those of the content given."""
    append = _mode(arguments.get("mode", "overwrite")) == "append"
    done = write_text(
        workspace_of(arguments), arguments["path"], arguments["content"], arguments.get("encoding"), append
    )
    return _written(done)


def _mode(mode: str) -> str:
    if mode not in ("overwrite", "append"):
        raise InvalidArguments(f"mode {mode!r} is not known; use 'overwrite' or 'append'.")
    return mode


def _written(done: TextWritten) -> JsonObject:
    written = done.written
    data: JsonObject = {
        "path": written.path,
        "bytes": done.added,
        "size": written.size,
        "created": written.created,
        "encoding": done.encoding,
        "change_id": written.change_id,
    }
    extra = {"diff": done.diff, "note": done.note}
    return data | {key: value for key, value in extra.items() if value is not None}


@tool(
    name="file_edit",
    description=(
        "Replace one exact piece of text in a file by another. The old text must occur exactly once (give enough of the "
        "text around it), unless replace_all is true. Read the file first. Encoding and line ends are kept."
    ),
    parameters=schema(
        ["path", "old_text", "new_text"],
        path=PATH,
        old_text={
            "type": "string",
            "description": "The text as it stands in the file, with its spaces.",
            "minLength": 1,
        },
        new_text={"type": "string", "description": "What to put in its place."},
        replace_all={"type": "boolean", "description": "Replace every occurrence.", "default": False},
    ),
    category=CATEGORY,
    needs=NEEDS,
    summarize=lambda _, data: f"Edited {data['path']} ({data['replacements']} places)",
)
def file_edit(arguments: JsonObject) -> JsonObject:
    """Like file_write's result, with `replacements`."""
    everywhere = bool(arguments.get("replace_all"))
    edit = Edit(arguments["path"], arguments["old_text"], arguments["new_text"], everywhere)
    done = edit_text(workspace_of(arguments), edit)
    return _written(done) | {"replacements": done.replacements}


@tool(
    name="file_mkdir",
    description="Make a folder, with those above it. It is no failure if it is there already.",
    parameters=schema(["path"], path=PATH),
    category=CATEGORY,
    needs=NEEDS,
    idempotent=True,
    summarize=lambda _, data: f"Folder {data['path']}",
)
def file_mkdir(arguments: JsonObject) -> JsonObject:
    """`{path, created}`."""
    workspace = workspace_of(arguments)
    created = workspace.mkdir(arguments["path"])
    return {"path": shown_path(workspace, arguments["path"]), "created": created}


@tool(
    name="file_move",
    description="Rename or move a file or folder inside the project. Nothing is ever replaced: the new path must be free.",
    parameters=schema(["path", "new_path"], path=PATH, new_path={**PATH, "description": "The full new path."}),
    category=CATEGORY,
    needs=NEEDS,
    summarize=lambda _, data: f"Moved {data['path']} to {data['new_path']}",
)
def file_move(arguments: JsonObject) -> JsonObject:
    """`{path, new_path, type, change_id}`."""
    done = trees.move(workspace_of(arguments), arguments["path"], arguments["new_path"])
    return {"path": done.path, "new_path": done.new_path, "type": done.type, "change_id": done.change_id}


@tool(
    name="file_delete",
    description=(
        "Delete a file or an empty folder; with recursive=true a folder with everything in it. "
        "What it held is kept, and the user can put it back."
    ),
    parameters=schema(
        ["path"],
        path=PATH,
        recursive={"type": "boolean", "description": "Delete a folder that is not empty.", "default": False},
    ),
    category=CATEGORY,
    needs=NEEDS,
    summarize=lambda _, data: f"Deleted {data['path']}",
)
def file_delete(arguments: JsonObject) -> JsonObject:
    """`{path, deleted: true, type, files, change_id}`."""
    done = trees.delete(workspace_of(arguments), arguments["path"], recursive=bool(arguments.get("recursive")))
    return {
        "path": done.path,
        "deleted": True,
        "type": done.type,
        "files": done.files,
        "change_id": done.change_ids[-1],
    }
