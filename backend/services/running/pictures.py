"""Attached files as the model gets them: pictures to a model that takes them, all others by name."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...agent.types import JsonObject
from ...errors import NanoClawError
from ...models import Message
from ...workspace import Workspace

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_PICTURE_BYTES = 5 * 1024 * 1024
# Pictures are sent anew with every request, so only the newest of a conversation go along.
MAX_PICTURES = 6
COMMAND_MARKS = ("/", "／")

Content = str | list[JsonObject]


@dataclass(slots=True)
class Attachments:
    """Turns user messages into the model's content; called for the newest message first.

    `workspace` is None outside a project, `sees` tells whether the model takes pictures.
    """

    workspace: Workspace | None = None
    sees: bool = False
    left: int = field(default=MAX_PICTURES)

    def content(self, message: Message) -> Content:
        """The text, with a note of attached files; a list of parts when pictures go along."""
        files = [a for a in message.attachments if isinstance(a, dict)]
        if not files or message.content.startswith(COMMAND_MARKS):  # a command's words are its arguments
            return message.content
        pictures = [part for file in files if (part := self._picture(file)) is not None]
        text = f"{message.content}\n\n{self._note(files, len(pictures))}"
        return [{"type": "text", "text": text}, *pictures] if pictures else text

    def _note(self, files: Sequence[JsonObject], shown: int) -> str:
        names = ", ".join(str(file.get("path") or file.get("name")) for file in files)
        blind = not self.sees and any(file.get("media_type") in PICTURE_TYPES for file in files)
        if blind:
            return f"[Attached project files: {names}. You cannot see pictures: say so if they matter.]"
        seen = " (the pictures are shown)" if shown else ""
        return f"[Attached project files: {names}{seen}]"

    def _picture(self, file: JsonObject) -> JsonObject | None:
        wanted = self.sees and self.workspace is not None and self.left > 0
        if not wanted or file.get("media_type") not in PICTURE_TYPES or file.get("size", 0) > MAX_PICTURE_BYTES:
            return None
        assert self.workspace is not None
        try:
            data = self.workspace.read_bytes(str(file["path"]), MAX_PICTURE_BYTES)
        except NanoClawError:  # gone or grown since it was attached: the note still names it
            return None
        self.left -= 1
        url = f"data:{file['media_type']};base64,{base64.b64encode(data).decode('ascii')}"
        return {"type": "image_url", "image_url": {"url": url}}
