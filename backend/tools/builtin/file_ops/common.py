"""What the file tools share: the workspace they act in, pieces of their schemas, results that fit."""

import json
from collections.abc import Iterable
from pathlib import Path

from ....errors import NoProject
from ....workspace import Workspace
from ....workspace.paths import split, validate_path_in_project
from ...core import JsonObject
from ...locator import get_service

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


def schema(required: list[str], **properties: JsonObject) -> JsonObject:
    """A JSON Schema of an object."""
    return {"type": "object", "properties": properties, "required": required}


def workspace_of(arguments: JsonObject) -> Workspace:
    """The workspace of the project in the context; NoProject if there is none."""
    project_id = arguments.get("project_id")
    if not project_id:
        raise NoProject(
            "File tools work in a project, and none is chosen here.",
            suggestion="Move this conversation into a project (in its menu: Move to project), or start one there.",
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
    root = workspace_of({"project_id": project_id}).root.real
    return validate_path_in_project(path, root), root


def fitting(items: Iterable[JsonObject], most: int) -> tuple[list[JsonObject], bool]:
    """As many items as fit a result, and whether there are more."""
    taken: list[JsonObject] = []
    chars = 0
    for item in items:
        chars += len(json.dumps(item, ensure_ascii=False)) + 2
        if (taken and chars > MAX_RESULT_JSON_CHARS) or len(taken) == most:
            return taken, True
        taken.append(item)
    return taken, False


def shown_path(workspace: Workspace, path: str) -> str:
    """A path as asked, made relative if it was an absolute one of the project."""
    return "/".join(split(path, workspace.root)) or "."
