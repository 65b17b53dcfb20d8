"""The file tools: read, write, edit, list, search, move and delete the files of the project a run works in."""

import io
import json
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import InvalidArguments, NoProject
from ...workspace import Workspace, trees
from ...workspace.documents import may_be_document, read_document
from ...workspace.encodings import SAMPLE_BYTES, UTF8, kind_of
from ...workspace.files import check_named
from ...workspace.listing import Bounds
from ...workspace.paths import split, validate_path_in_project
from ...workspace.reading import DEFAULT_LIMIT_LINES, TextPage, Window, encoding_of, read_page
from ...workspace.searching import DEFAULT_MAX_MATCHES, MAX_MATCHES, Found, Query
from ...workspace.texts import Edit, TextWritten, edit_text, write_text
from ..core import JsonObject
from ..factory import tool
from ..locator import get_service

MAX_ITEMS = 1_000
MAX_RESULT_JSON_CHARS = 14_000  # below the executor's limit for any result, so that nothing is cut from the middle
NEEDS = {"project_id": "project_id", "run_id": "_run_id", "call_id": "_call_id", "user_id": "_user_id"}
SEARCH_NEEDS = {**NEEDS, "cancelled": "_cancelled"}
MAX_QUERY_SHOWN_CHARS = 200
CATEGORY = "files"

PATH = {"type": "string", "description": "Path inside the project, such as 'src/main.py'."}
FOLDER = {"type": "string", "description": "Folder inside the project; '.' is the project folder.", "default": "."}
ENCODING = {
    "type": "string",
    "description": "Text encoding such as utf-8, gbk, utf-16. Leave it out: it is detected, and kept when a file is rewritten.",
}


def _schema(required: list[str], **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required}


def _workspace(arguments: JsonObject) -> Workspace:
    """The workspace of the project in the context; NoProject if there is none."""
    project_id = arguments.get("project_id")
    if not project_id:
        raise NoProject(
            "File tools work in a project, and this conversation has none.",
            suggestion="Ask the user to open a project, or to move this conversation into one.",
        )
    workspace: Workspace = get_service("workspaces").open(
        project_id,
        run_id=arguments.get("_run_id"),
        call_id=arguments.get("_call_id"),
        user_id=arguments.get("_user_id"),
    )
    return workspace


def _resolve_path(path: str, project_id: str | None = None) -> tuple[Path, Path]:
    """The real path that `path` leads to in a project, and the project's folder.

    Raises WorkspaceViolation ("Path is outside project directory") if it leads outside. For callers
    that only need to know where something lies; the tools act through open folders instead.
    """
    root = _workspace({"project_id": project_id}).root.real
    return validate_path_in_project(path, root), root


# ---------------------------------------------------------------- reading
def _say_read(_: JsonObject, data: Any) -> str:
    if data.get("binary"):
        return f"{data['path']}: {data['kind']}, {data['size']} bytes"
    last = data["offset"] + max(data["lines"] - 1, 0)
    of = f" of {data['total_lines']}" if data.get("total_lines") else ""
    return f"{data['path']}: lines {data['offset']}–{last}{of}"


@tool(
    name="file_read",
    description=(
        "Read a text file of the project, or the text of a PDF, DOCX or XLSX file. Returns some lines at a time; if "
        "next_offset is in the result, call again with that offset to go on. Use it before you edit a file."
    ),
    parameters=_schema(
        ["path"],
        path=PATH,
        encoding=ENCODING,
        offset={"type": "integer", "description": "First line to read, counted from 1.", "default": 1, "minimum": 0},
        limit={
            "type": "integer",
            "description": "How many lines at most.",
            "default": DEFAULT_LIMIT_LINES,
            "minimum": 1,
        },
        column={
            "type": "integer",
            "description": "Only to go on inside a very long line: the next_column of the last result.",
            "default": 1,
            "minimum": 0,
        },
    ),
    category=CATEGORY,
    read_only=True,
    cacheable=False,
    needs=NEEDS,
    summarize=_say_read,
)
def file_read(arguments: JsonObject) -> JsonObject:
    """`{path, content, encoding, offset, lines, size, truncated, …}`, or `{path, binary: true, kind, size}`."""
    opened = _workspace(arguments).open(arguments["path"])
    window = Window(arguments.get("offset", 1), arguments.get("limit", DEFAULT_LIMIT_LINES), arguments.get("column", 1))
    with opened.stream as stream:
        encoding = encoding_of(stream, arguments.get("encoding"), opened.size)
        if encoding is not None:
            return _page(opened.path, read_page(stream, encoding, opened.size, window))
        head = stream.read(SAMPLE_BYTES)
        document = read_document(stream, opened.path) if may_be_document(head) else None
    if document is not None:
        text = document.text.encode()
        page = read_page(io.BytesIO(text), UTF8, len(text), window)
        return {**_page(opened.path, page, document.note), "document": document.kind, "size": opened.size}
    kind = kind_of(head) or "unknown kind"
    return {
        "path": opened.path,
        "binary": True,
        "kind": kind,
        "size": opened.size,
        "content": f"(a binary file, {kind}, {opened.size} bytes: it has no text to show)",
    }


def _page(path: str, page: TextPage, note: str | None = None) -> JsonObject:
    data: JsonObject = {
        "path": path,
        "content": page.content,
        "encoding": page.encoding,
        "offset": page.offset,
        "lines": page.lines,
        "size": page.size,
        "truncated": page.next_offset is not None,
    }
    extra = {
        "total_lines": page.total_lines,
        "next_offset": page.next_offset,
        "next_column": page.next_column,
        "note": note or page.note,
    }
    return data | {key: value for key, value in extra.items() if value is not None}


@tool(
    name="file_list",
    description=(
        "List the files and folders in a folder of the project. With a pattern such as '*.py', only what matches; "
        "with '**/*.py' or recursive=true also in the folders below."
    ),
    parameters=_schema(
        [],
        path=FOLDER,
        pattern={"type": "string", "description": "Glob pattern: *, ?, [abc], and ** for any number of folders."},
        recursive={"type": "boolean", "description": "Also list what is in the folders below.", "default": False},
        offset={
            "type": "integer",
            "description": "How many items to pass over: the next_offset of the last result.",
            "default": 0,
            "minimum": 0,
        },
    ),
    category=CATEGORY,
    read_only=True,
    cacheable=False,
    needs=NEEDS,
    summarize=lambda _, data: f"{data['count']} items in {data['path']}",
)
def file_list(arguments: JsonObject) -> JsonObject:
    """`{path, items: [{name, path, type, size, modified_at}], count, truncated, next_offset?, note?}`."""
    workspace, path = _workspace(arguments), arguments.get("path") or "."
    pattern = arguments.get("pattern") or None
    bounds = Bounds()
    if arguments.get("recursive") or (pattern and ("/" in pattern or pattern == "**")):
        found = workspace.find(path, pattern, bounds)
    else:
        found = iter(workspace.list(path, pattern))
    start = arguments.get("offset", 0)
    items, more = _fitting((entry.to_dict() for entry in islice(found, start, None)), MAX_ITEMS)
    data: JsonObject = {"path": _shown(workspace, path), "items": items, "count": len(items), "truncated": more}
    if more:
        data |= {"next_offset": start + len(items), "note": "There is more: go on with next_offset, or use a pattern."}
    elif bounds.hit:
        data |= {"truncated": True, "note": f"There may be more ({bounds.hit}). Use a narrower path or pattern."}
    return data


def _fitting(items: Iterable[JsonObject], most: int) -> tuple[list[JsonObject], bool]:
    """As many items as fit a result, and whether there are more."""
    taken: list[JsonObject] = []
    chars = 0
    for item in items:
        chars += len(json.dumps(item, ensure_ascii=False)) + 2
        if (taken and chars > MAX_RESULT_JSON_CHARS) or len(taken) == most:
            return taken, True
        taken.append(item)
    return taken, False


def _shown(workspace: Workspace, path: str) -> str:
    """A path as asked, made relative if it was an absolute one of the project."""
    return "/".join(split(path, workspace.root)) or "."


@tool(
    name="file_exists",
    description="Tell whether a file or folder is there, and which of the two.",
    parameters=_schema(["path"], path=PATH),
    category=CATEGORY,
    read_only=True,
    cacheable=False,
    needs=NEEDS,
    summarize=lambda _, data: f"{data['path']}: {data['type'] or 'not there'}",
)
def file_exists(arguments: JsonObject) -> JsonObject:
    """`{path, exists, type: "file"|"dir"|"other"|null, size?}`."""
    check_named(arguments["path"])
    workspace = _workspace(arguments)
    entry = workspace.stat(arguments["path"])
    if entry is None:
        return {"path": _shown(workspace, arguments["path"]), "exists": False, "type": None}
    return {"path": entry.path or ".", "exists": True, "type": entry.type, "size": entry.size}


@tool(
    name="file_search",
    description=(
        "Find a text (or, with regex=true, a regular expression) in the text files of the project. Returns the lines "
        "with their numbers. Use it to find where something is before you read whole files."
    ),
    parameters=_schema(
        ["query"],
        query={"type": "string", "description": "The text to look for."},
        path={**FOLDER, "description": "Folder or file to search in; '.' is the whole project."},
        pattern={"type": "string", "description": "Only files whose path matches this glob, such as '*.py'."},
        regex={"type": "boolean", "description": "The query is a regular expression.", "default": False},
        case_sensitive={"type": "boolean", "description": "Upper and lower case differ.", "default": False},
        max_results={
            "type": "integer",
            "description": "How many lines at most.",
            "default": DEFAULT_MAX_MATCHES,
            "minimum": 1,
            "maximum": MAX_MATCHES,
        },
    ),
    category=CATEGORY,
    read_only=True,
    cacheable=False,
    needs=SEARCH_NEEDS,
    summarize=lambda arguments, data: f"{len(data['matches'])} lines with {str(arguments.get('query'))[:40]!r}",
)
def file_search(arguments: JsonObject) -> JsonObject:
    """`{query, matches: [{path, line, column, text}], files_searched, truncated, note?}`."""
    query = Query(
        text=arguments["query"],
        path=arguments.get("path") or ".",
        pattern=arguments.get("pattern") or None,
        regex=bool(arguments.get("regex")),
        case_sensitive=bool(arguments.get("case_sensitive")),
        max_matches=arguments.get("max_results", DEFAULT_MAX_MATCHES),
    )
    cancelled = arguments.get("_cancelled")
    found = _workspace(arguments).search(query, cancelled.is_set if cancelled is not None else lambda: False)
    return _found(query, found)


def _found(query: Query, found: Found) -> JsonObject:
    matches, more = _fitting((asdict(match) for match in found.matches), MAX_MATCHES)
    why = "too many matches" if more else found.incomplete
    data: JsonObject = {
        "query": query.text[:MAX_QUERY_SHOWN_CHARS],
        "matches": matches,
        "files_searched": found.files,
        "truncated": why is not None,
    }
    if why:
        data["note"] = f"There may be more ({why}). Use a narrower query, path or pattern."
    return data


# ---------------------------------------------------------------- writing
def _say_written(_: JsonObject, data: Any) -> str:
    return f"{'Created' if data.get('created') else 'Wrote'} {data['path']} ({data['bytes']} bytes)"


@tool(
    name="file_write",
    description=(
        "Create a file, replace all of its content, or add to its end (mode='append'). Missing folders are made. "
        "To change a part of a file use file_edit. Earlier content is kept and can be put back by the user."
    ),
    parameters=_schema(
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
    done = write_text(_workspace(arguments), arguments["path"], arguments["content"], arguments.get("encoding"), append)
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
    parameters=_schema(
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
    done = edit_text(_workspace(arguments), edit)
    return _written(done) | {"replacements": done.replacements}


@tool(
    name="file_mkdir",
    description="Make a folder, with those above it. It is no failure if it is there already.",
    parameters=_schema(["path"], path=PATH),
    category=CATEGORY,
    needs=NEEDS,
    idempotent=True,
    summarize=lambda _, data: f"Folder {data['path']}",
)
def file_mkdir(arguments: JsonObject) -> JsonObject:
    """`{path, created}`."""
    workspace = _workspace(arguments)
    created = workspace.mkdir(arguments["path"])
    return {"path": _shown(workspace, arguments["path"]), "created": created}


@tool(
    name="file_move",
    description="Rename or move a file or folder inside the project. Nothing is ever replaced: the new path must be free.",
    parameters=_schema(["path", "new_path"], path=PATH, new_path={**PATH, "description": "The full new path."}),
    category=CATEGORY,
    needs=NEEDS,
    summarize=lambda _, data: f"Moved {data['path']} to {data['new_path']}",
)
def file_move(arguments: JsonObject) -> JsonObject:
    """`{path, new_path, type, change_id}`."""
    done = trees.move(_workspace(arguments), arguments["path"], arguments["new_path"])
    return {"path": done.path, "new_path": done.new_path, "type": done.type, "change_id": done.change_id}


@tool(
    name="file_delete",
    description=(
        "Delete a file or an empty folder; with recursive=true a folder with everything in it. "
        "What it held is kept, and the user can put it back."
    ),
    parameters=_schema(
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
    done = trees.delete(_workspace(arguments), arguments["path"], recursive=bool(arguments.get("recursive")))
    return {
        "path": done.path,
        "deleted": True,
        "type": done.type,
        "files": done.files,
        "change_id": done.change_ids[-1],
    }
