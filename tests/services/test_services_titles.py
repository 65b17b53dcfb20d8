"""Titles that the server gives to conversations: first words, and commands in the person's language."""

import json
from pathlib import Path

import pytest

from backend.models import Conversation, User
from backend.services.chat import ChatService, NewMessage
from backend.services.conversations import create_conversation
from backend.services.runtime import Runtime
from backend.services.titles import TOOL_NAMES, title_from
from backend.tools import builtin_names

WORDS = Path(__file__).resolve().parents[2] / "frontend" / "src" / "i18n"
LONG = "请把这份很长的季度报告总结成三句话" * 6


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("hello", "hello"),
        ("  two\n\nlines ", "two lines"),
        ("x" * 100, "x" * 60 + "…"),
        (LONG, LONG[:60] + "…"),
        ("word " * 30, ("word " * 12).strip() + "…"),
        ("/calculator 15% of 240", "Calculator: 15% of 240"),
        ("／calculator 15% of 240", "Calculator: 15% of 240"),
        ('/calculator {"expression": "2+2"}', "Calculator: 2+2"),
        ("/file_read path=notes/a.md limit=5", "Read file: notes/a.md"),
        ("/multi_agent", "Helpers"),
        ("/help", "Help"),
        ("/nothing of ours", "/nothing of ours"),
        ("/", "/"),
        ("/ 2", "/ 2"),
        ("/etc/hosts is a file", "/etc/hosts is a file"),
    ],
)
def test_a_title_says_what_the_first_message_is_about(runtime: Runtime, content: str, title: str) -> None:
    assert title_from(content, runtime.registry) == title


def test_a_command_is_titled_in_the_persons_language(runtime: Runtime, owner: str) -> None:
    with runtime.db.write() as session:
        session.get_one(User, owner).settings = {"language": "zh-CN"}
    conversation = create_conversation(runtime, owner, {})["id"]
    ChatService(runtime).send_message(owner, conversation, NewMessage("/calculator 15% of 240"))
    with runtime.db.read() as session:
        assert session.get_one(Conversation, conversation).title == "计算器：15% of 240"


def test_tools_are_named_as_the_web_app_names_them() -> None:
    for place, language in enumerate(("en", "zh-CN")):
        words = json.loads((WORDS / language / "builtin.json").read_text(encoding="utf-8"))
        shown = {name: words[f"title_{name}"] for name in builtin_names()}
        assert {name: names[place] for name, names in TOOL_NAMES.items()} == shown
