"""Looks for a local model server on the usual ports, and tells whether a provider answers."""

import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..agent.ports import LLMProvider
from ..agent.types import ModelRequest
from ..cancel import CancelToken
from ..errors import ModelError
from .openai_compat import OpenAICompatible
from .server import ServerProvider, ServerSettings

PROBE_SECONDS = 0.5
TEST_SECONDS = 30.0
TEST_TOKENS = 64
TEXT_CHARS = 200
USUAL_PORTS: tuple[tuple[int, str], ...] = (
    (11434, "Ollama"),
    (1234, "LM Studio"),
    (8080, "llama.cpp"),
    (8000, "vLLM"),
    (1337, "Jan"),
    (30000, "SGLang"),
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that was found, and the models it offers."""

    name: str
    base_url: str
    models: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For the settings page."""
        return {"name": self.name, "base_url": self.base_url, "models": list(self.models)}


def probe_local(
    ports: Sequence[tuple[int, str]] = USUAL_PORTS, skip: Collection[int] = (), timeout: float = PROBE_SECONDS
) -> list[LocalServer]:
    """OpenAI-compatible servers on this machine, in the order of `ports`; takes at most about `timeout` seconds.

    `skip` are ports that are known to be something else (our own).
    """
    found: dict[int, LocalServer] = {}

    def look(port: int, name: str) -> None:
        server = _look(port, name, timeout)
        if server is not None:
            found[port] = server

    wanted = [(port, name) for port, name in ports if port not in skip]
    threads = [threading.Thread(target=look, args=item, name=f"probe-{item[0]}", daemon=True) for item in wanted]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 2 * timeout
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return [found[port] for port, _ in wanted if port in found]


def _look(port: int, name: str, timeout: float) -> LocalServer | None:
    url = f"http://127.0.0.1:{port}/v1"
    provider = OpenAICompatible(ServerSettings(f"local-{port}", url))
    try:
        models = provider.list_models(timeout)
    except ModelError:
        return None
    finally:
        provider.close()
    return LocalServer(name, url, tuple(models)) if models else None


def try_model(provider: LLMProvider, model: str, timeout: float = TEST_SECONDS) -> dict[str, Any]:
    """One small request: `{ok, model, text, latency_ms, error, code, suggestion}`; never raises ModelError.

    Without a model's name the first one of the server's list is asked.
    """
    began = time.monotonic()
    answer: dict[str, Any] = {"ok": True, "model": model, "text": "", "error": None, "code": None, "suggestion": None}
    try:
        name = model or _first_model(provider)
        messages = [{"role": "user", "content": "Answer with the one word OK."}]
        request = ModelRequest(name, messages, max_tokens=TEST_TOKENS, total_timeout=timeout)
        reply = provider.chat(request, None, CancelToken())
        answer.update(model=name, text=(reply.text or reply.reasoning)[:TEXT_CHARS])
    except ModelError as e:
        answer.update(ok=False, error=e.message, code=e.code, suggestion=e.suggestion)
    answer["latency_ms"] = round((time.monotonic() - began) * 1000)
    return answer


def _first_model(provider: LLMProvider) -> str:
    names = provider.list_models() if isinstance(provider, ServerProvider) else []
    if not names:
        raise ModelError("The provider lists no models; name one.")
    return names[0]
