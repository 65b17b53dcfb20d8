"""The tables. One file a subject; times are UTC, ids UUIDv7 strings, order by integer position, money in micro-units."""

from .accounts import ApiToken, LoginCode, User
from .base import Base
from .chat import Conversation, ConversationTag, Message
from .files import FileChange
from .projects import Project
from .runs import GOING_ON, Run, RunEvent, Step, ToolCall
from .settings import ModelProvider, Setting, ToolSetting

__all__ = [
    "GOING_ON", "ApiToken", "Base", "Conversation", "ConversationTag", "FileChange", "LoginCode", "Message", "ModelProvider",
    "Project", "Run", "RunEvent", "Setting", "Step", "ToolCall", "ToolSetting", "User",
]  # fmt: skip
