"""The smallest loop that answers tool calls: enough to drive a provider, far from being the engine."""

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backend.agent.types import Delta, ModelReply, ModelRequest
from backend.cancel import CancelToken
from backend.errors import ContextTooLong, ModelError

CALCULATOR = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
STEP_LIMIT = 10


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's form."""
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TOOLS = [tool("calculator", CALCULATOR), tool("get_weather", CITY), tool("file_list", NOTHING)]


def _product(expression: str) -> str:
    node = ast.parse(expression, mode="eval").body
    assert isinstance(node, ast.BinOp)
    assert isinstance(node.op, ast.Mult)
    return str(ast.literal_eval(node.left) * ast.literal_eval(node.right))


RUN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "calculator": lambda a: _product(a["expression"]),
    "get_weather": lambda a: f"sunny in {a['city']}",
    "file_list": lambda a: ["notes.txt"],
}


@dataclass
class Outcome:
    """What a user would have seen."""

    final: str = ""
    error: str = ""
    executed: list[tuple[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    streamed: str = ""
    said: str = ""
    reasoning: str = ""
    recalled: bool = False


class Loop:
    """Asks, runs the calls, asks again, until there is a text."""

    def __init__(self, provider: Any, model: str) -> None:
        self.provider = provider
        self.model = model
        self.outcome = Outcome()

    def run(self, filler: int = 0, tools: bool = True) -> Outcome:
        """One user message to its end."""
        messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
        for _ in range(filler):
            messages += [{"role": "user", "content": "x" * 400}, {"role": "assistant", "content": "y" * 400}]
        messages.append({"role": "user", "content": "Go."})
        try:
            for _ in range(STEP_LIMIT):
                reply = self._ask(messages, TOOLS if tools else [])
                if self._ended(reply, messages):
                    return self.outcome
        except ModelError as e:
            self.outcome.error = e.message
            return self.outcome
        raise AssertionError("no end")

    def _ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> ModelReply:
        request = ModelRequest(self.model, messages, tools, max_tokens=500)
        try:
            reply = self.provider.chat(request, self._on_delta, CancelToken())
        except ContextTooLong:
            del messages[1 : 1 + 2 * ((len(messages) - 2) // 2 * 3 // 4)]
            reply = self.provider.chat(ModelRequest(self.model, messages, tools), self._on_delta, CancelToken())
        self.outcome.prompt_tokens += reply.usage.prompt_tokens
        self.outcome.completion_tokens += reply.usage.completion_tokens
        self.outcome.said += reply.text
        return reply

    def _on_delta(self, delta: Delta) -> None:
        if delta.kind == "text":
            self.outcome.streamed += delta.text
        elif delta.kind == "reasoning":
            self.outcome.reasoning += delta.text
        else:
            self.outcome.notices.append(delta.code or "")
            self.outcome.recalled |= delta.code == "text_was_reasoning"

    def _ended(self, reply: ModelReply, messages: list[dict[str, Any]]) -> bool:
        if reply.finish_reason == "content_filter":
            self.outcome.error = "The provider's content filter stopped the answer."
            return True
        if reply.tool_calls:
            messages += self._answered(reply)
            return False
        if reply.finish_reason == "length":
            messages += [{"role": "assistant", "content": reply.text or "…"}, {"role": "user", "content": "Go on."}]
            return False
        self.outcome.final = reply.text
        return bool(reply.text.strip())

    def _answered(self, reply: ModelReply) -> list[dict[str, Any]]:
        calls = [call.to_openai_tool_call() for call in reply.tool_calls]
        said = {"role": "assistant", "content": reply.text, "tool_calls": calls, **(reply.reasoning_fields or {})}
        results = []
        for call in reply.tool_calls:
            if call.error:
                content = f"not run: {call.error}"
            elif call.name not in RUN:
                content = f"unknown tool; there are {sorted(RUN)}"
            else:
                arguments = json.loads(call.arguments)
                self.outcome.executed.append((call.name, arguments))
                content = json.dumps({"success": True, "data": RUN[call.name](arguments)}, ensure_ascii=False)
            results.append({"role": "tool", "tool_call_id": call.id, "content": content})
        return [said, *results]
