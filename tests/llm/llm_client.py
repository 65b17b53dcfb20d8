"""The OpenAI-compatible provider as tests use it: with waits that take no time, and what it showed."""

from typing import Any

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.llm.lessons import QuirkMemory
from backend.llm.openai_compat import OpenAICompatible
from backend.llm.retrying import RetryPolicy
from backend.llm.server import ServerSettings, Shared

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."}]
TOOL = {
    "type": "function",
    "function": {"name": "calculator", "description": "", "parameters": {"type": "object", "properties": {}}},
}
KEY = "sk-very-secret-key-1234567890"


class Waits:
    """Waits that take no time; `seconds` are those asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.time = 0.0

    def policy(self) -> RetryPolicy:
        return RetryPolicy(wait=self._wait, chance=lambda: 0.0, now=lambda: self.time)

    def _wait(self, seconds: float, cancelled: CancelToken) -> bool:
        self.seconds.append(seconds)
        self.time += seconds
        return cancelled.is_set()


OPEN: list[OpenAICompatible] = []


class Client:
    """A provider with what it showed."""

    def __init__(self, url: str, *, memory: QuirkMemory | None = None, **settings: Any) -> None:
        self.waits = Waits()
        self.memory = memory or QuirkMemory()
        self.shown: list[Delta] = []
        self.cancel = CancelToken()
        shared = Shared(memory=self.memory, retry=self.waits.policy(), cost=lambda m, p, c: (p + 10 * c, "EUR"))
        self.provider = OpenAICompatible(ServerSettings("p", url, **{"api_key": KEY, **settings}), shared)
        OPEN.append(self.provider)

    def ask(self, model: str = "m", **fields: Any) -> ModelReply:
        request = ModelRequest(model, fields.pop("messages", MESSAGES), **fields)
        return self.provider.chat(request, self.shown.append, self.cancel)

    @property
    def notices(self) -> list[str]:
        return [d.code or "" for d in self.shown if d.kind == "notice"]
