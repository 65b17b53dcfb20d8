"""The file tools that only look: file_read, file_list, file_exists, file_search."""

import io
from dataclasses import asdict
from itertools import islice
from typing import Any

from ....workspace.documents import may_be_document, read_document
from ....workspace.encodings import SAMPLE_BYTES, UTF8, kind_of
from ....workspace.files import check_named
from ....workspace.listing import Bounds
from ....workspace.reading import DEFAULT_LIMIT_LINES, TextPage, Window, encoding_of, read_page
from ....workspace.searching import DEFAULT_MAX_MATCHES, MAX_MATCHES, Found, Query
from ...core import JsonObject
from ...factory import tool
from .common import (
    CATEGORY,
    ENCODING,
    FOLDER,
    MAX_ITEMS,
    MAX_QUERY_SHOWN_CHARS,
    NEEDS,
    PATH,
    SEARCH_NEEDS,
    fitting,
    schema,
    shown_path,
    workspace_of,
)


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
    parameters=schema(
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
    opened = workspace_of(arguments).open(arguments["path"])
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
    parameters=schema(
        [],
        path=FOLDER,
        pattern={
            "type": "string",
            "description": "Glob pattern: *, ?, [abc], {a,b}, and ** for any number of folders.",
        },
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
    workspace, path = workspace_of(arguments), arguments.get("path") or "."
    pattern = arguments.get("pattern") or None
    bounds = Bounds()
    if arguments.get("recursive") or (pattern and ("/" in pattern or pattern == "**")):
        found = workspace.find(path, pattern, bounds)
    else:
        found = iter(workspace.list(path, pattern))
    start = arguments.get("offset", 0)
    items, more = fitting((entry.to_dict() for entry in islice(found, start, None)), MAX_ITEMS)
    data: JsonObject = {"path": shown_path(workspace, path), "items": items, "count": len(items), "truncated": more}
    if more:
        data |= {"next_offset": start + len(items), "note": "There is more: go on with next_offset, or use a pattern."}
    elif bounds.hit:
        data |= {"truncated": True, "note": f"There may be more ({bounds.hit}). Use a narrower path or pattern."}
    return data


@tool(
    name="file_exists",
    description="Tell whether a file or folder is there, and which of the two.",
    parameters=schema(["path"], path=PATH),
    category=CATEGORY,
    read_only=True,
    cacheable=False,
    needs=NEEDS,
    summarize=lambda _, data: f"{data['path']}: {data['type'] or 'not there'}",
)
def file_exists(arguments: JsonObject) -> JsonObject:
    """`{path, exists, type: "file"|"dir"|"other"|null, size?}`."""
    check_named(arguments["path"])
    workspace = workspace_of(arguments)
    entry = workspace.stat(arguments["path"])
    if entry is None:
        return {"path": shown_path(workspace, arguments["path"]), "exists": False, "type": None}
    return {"path": entry.path or ".", "exists": True, "type": entry.type, "size": entry.size}


@tool(
    name="file_search",
    description=(
        "Find a text (or, with regex=true, a regular expression) in the text files of the project. Returns the lines "
        "with their numbers. Use it to find where something is before you read whole files."
    ),
    parameters=schema(
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
    """`{query, matches: [{path, line, column, text}], files_searched, files_skipped, truncated, note?}`."""
    query = Query(
        text=arguments["query"],
        path=arguments.get("path") or ".",
        pattern=arguments.get("pattern") or None,
        regex=bool(arguments.get("regex")),
        case_sensitive=bool(arguments.get("case_sensitive")),
        max_matches=arguments.get("max_results", DEFAULT_MAX_MATCHES),
    )
    cancelled = arguments.get("_cancelled")
    found = workspace_of(arguments).search(query, cancelled.is_set if cancelled is not None else lambda: False)
    return _found(query, found)


def _found(query: Query, found: Found) -> JsonObject:
    matches, more = fitting((asdict(match) for match in found.matches), MAX_MATCHES)
    why = "too many matches" if more else found.incomplete
    data: JsonObject = {
        "query": query.text[:MAX_QUERY_SHOWN_CHARS],
        "matches": matches,
        "files_searched": found.files,
        "files_skipped": found.skipped,
        "truncated": why is not None,
    }
    if why:
        data["note"] = f"There may be more ({why}). Use a narrower query, path or pattern."
    return data
