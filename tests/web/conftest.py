"""One server a module, with a model that answers each prompt as the tests told it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.browser import Opener
from support.model_server import ModelServer, Turn
from support.server import Server

MODEL = "scripted-model"
REQUESTS = 1_000


class Answers:
    """What the model says: `answers["prompt"] = [Turn, …]`, one turn for each step after that prompt."""

    def __init__(self) -> None:
        self._turns: dict[str, list[Turn]] = {}
        self._tries: dict[str, list[Turn]] = {}

    def __setitem__(self, prompt: str, turns: list[Turn]) -> None:
        self._turns[prompt] = turns

    def by_try(self, prompt: str, turns: list[Turn]) -> None:
        """One turn for each request after this prompt, whatever the steps: for runs that are taken up again."""
        self._tries[prompt] = list(turns)

    def __call__(self, body: dict[str, Any]) -> Turn:
        """The turn for the last message of the person, by how many steps followed it."""
        steps = 0
        for message in reversed(body["messages"]):
            if message["role"] == "user":
                break
            steps += message["role"] == "assistant"
        said = str(message["content"])
        for prompt, left in self._tries.items():
            if prompt in said and left:
                return left.pop(0)
        known = [turns for prompt, turns in self._turns.items() if prompt in said]
        turns = known[-1] if known else [Turn(text="Well.")]
        return turns[min(steps, len(turns) - 1)]


class Web:
    """A server, the model behind it, and ways to make what a test needs."""

    def __init__(self, server: Server, model: ModelServer, answers: Answers) -> None:
        self.server = server
        self.model = model
        self.answers = answers

    def conversation(self, project: str | None = None) -> str:
        """A new conversation; its id."""
        return str(self.server.post("/api/conversations", {"project_id": project})["id"])

    def project(self, name: str) -> str:
        """A new project; its id."""
        return str(self.server.post("/api/projects", {"name": name})["id"])

    def ask(self, conversation: str, prompt: str, turns: list[Turn] | None = None, wait: bool = True) -> str:
        """Say something by the API; the run's id."""
        if turns is not None:
            self.answers[prompt] = turns
        sent = self.server.post(f"/api/conversations/{conversation}/messages", {"content": prompt})
        if wait:
            self.server.wait_run(sent["run"]["id"])
        return str(sent["run"]["id"])

    def messages(self, conversation: str) -> list[dict[str, Any]]:
        """What is stored on the active branch, oldest first."""
        return list(self.server.get(f"/api/conversations/{conversation}/messages")["items"])


@pytest.fixture(scope="module")
def more_settings() -> dict[str, str]:
    """What a module wants set beside the model; nothing by default."""
    return {}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, more_settings: dict[str, str]) -> Iterator[Web]:
    """A running server for the whole module."""
    answers = Answers()
    with ModelServer() as model:
        model.script("*", [answers] * REQUESTS)
        settings = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": MODEL}
        with Server(tmp_path_factory.mktemp("web") / "instance", **settings, **more_settings) as server:
            yield Web(server, model, answers)


@pytest.fixture
def open_conversation(web: Web, open_page: Opener) -> Callable[..., Page]:
    """Open a conversation's page, by its id."""

    def open_one(conversation: str, **options: Any) -> Page:
        page: Page = open_page(web.server, f"/c/{conversation}", **options)
        expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        return page

    return open_one
