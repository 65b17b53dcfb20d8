"""Attachments of a message: files of the conversation's project, checked and described when it is sent."""

import mimetypes
from pathlib import PurePosixPath

from ..agent.types import JsonObject
from ..errors import InvalidInput, NanoClawError
from .conversations import get_conversation
from .runtime import Runtime
from .workspaces import Workspaces

UNKNOWN_TYPE = "application/octet-stream"


def describe(runtime: Runtime, user_id: str, conversation_id: str, paths: tuple[str, ...]) -> list[JsonObject]:
    """`[{type, path, name, size, media_type}]`. Raises InvalidInput for what is no file of the project."""
    if not paths:
        return []
    with runtime.db.read() as session:
        project_id = get_conversation(session, user_id, conversation_id).project_id
    if project_id is None:
        raise _wrong("only a conversation in a project can have attachments")
    workspace = Workspaces(runtime).open(project_id, user_id=user_id)
    found = []
    for path in dict.fromkeys(paths):
        try:
            entry = workspace.stat(path)
        except NanoClawError as e:
            raise _wrong(f"{path!r}: {e.message}") from e
        if entry is None or entry.type != "file":
            raise _wrong(f"there is no file {path!r} in the project")
        found.append(
            {
                "type": "file",
                "path": entry.path,
                "name": entry.name,
                "size": entry.size,
                "media_type": mimetypes.guess_type(PurePosixPath(path).name)[0] or UNKNOWN_TYPE,
            }
        )
    return found


def _wrong(why: str) -> InvalidInput:
    return InvalidInput("Some attachments cannot be used.", {"attachments": [why]})
