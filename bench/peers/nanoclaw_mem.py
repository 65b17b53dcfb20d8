"""NanoClaw's engine as a library: the loop, guards and tools, recorded in memory only; no database is imported.

What is on: guardrails, the legal-request check, validation, cache, de-duplication, context injection.
"""

import json
import os
import sys
from pathlib import Path

from . import base

sys.path.insert(0, os.environ.get("NANOCLAW_ROOT", str(Path(__file__).resolve().parents[2])))

from backend.agent.core import AgentCore
from backend.agent.guardrails import GuardrailConfig
from backend.agent.types import Message, RunSpec, ToolCallRequest
from backend.cancel import CancelToken
from backend.channels.memory import MemoryChannel
from backend.ids import new_id
from backend.llm.openai_compat import OpenAICompatible
from backend.llm.server import ServerSettings
from backend.stores.memory import MemoryStore
from backend.tools.core import ToolRegistry
from backend.tools.executor import ToolExecutor
from backend.tools.factory import define

LIMITS = GuardrailConfig(max_steps=200, run_timeout_seconds=3600)
TOKEN_BUDGET = 2_000_000


class Watch:
    """An observer that hands deltas on as they arrive."""

    def __init__(self, on_delta):
        self.on_delta = on_delta

    def notify(self, moment, data):
        if moment == "model.delta" and data["kind"] == "text":
            self.on_delta(data["text"])


class Adapter(base.Adapter):
    packages = ["jsonschema-rs"]
    async_tools = False
    always_streams = True
    dispatch_measures = "one call through ToolExecutor: parse, validate, cast, inject, execute, CALL record; cache and de-duplication off"

    def __init__(self, base_url, model):
        self.model = model
        self.provider = OpenAICompatible(ServerSettings(id="bench", base_url=base_url, api_key="x"))
        self.open_store()

    def open_store(self):
        self.channel = MemoryChannel()

    def store(self, run_id):
        return MemoryStore()

    def prepare(self, tools, threads=None):
        definitions = [self.definition(t) for t in tools if not t.is_async]
        self.executor = ToolExecutor(registry=ToolRegistry(definitions))
        self.plain = ToolExecutor(registry=ToolRegistry(definitions), enable_cache=False, dedup_history=False)

    def definition(self, t):
        return define(
            t.name, t.description, t.parameters, lambda arguments: {"success": True, "data": t.fn(**arguments)},
            read_only=True, inline=t.name == "noop",
        )  # fmt: skip

    def history(self, messages):
        return tuple(self.message(i, m) for i, m in enumerate(messages))

    def message(self, i, m):
        calls = tuple(
            ToolCallRequest(c["id"], c["function"]["name"], c["function"]["arguments"])
            for c in m.get("tool_calls") or ()
        )
        return Message(
            m["role"],
            m.get("content"),
            calls,
            tool_call_id=m.get("tool_call_id"),
            name="noop" if m["role"] == "tool" else None,
            key=str(i),
        )

    def run(self, prompt, history=None, on_delta=None, max_turns=100):
        run_id = new_id()
        spec = RunSpec(
            run_id=run_id, kind="task", transcript=(*(history or ()), Message("user", prompt, key="prompt")),
            system_prompt="You are a benchmark.", model=self.model, tools=tuple(self.executor.registry.names()),
            limits=LIMITS, token_budget=TOKEN_BUDGET,
        )  # fmt: skip
        observer = Watch(on_delta) if on_delta else None
        core = AgentCore(self.provider, self.executor, self.store(run_id), self.channel, observer)
        outcome = core.run(spec, CancelToken())
        if outcome.status != "completed":
            raise RuntimeError(f"{outcome.status}: {outcome.error}")
        return outcome.output

    def dispatch(self, name, arguments_json, n):
        execute = self.plain.process_tool_calls
        function = {"name": name, "arguments": arguments_json}
        for i in range(n):
            out = execute([{"id": f"c{i}", "type": "function", "function": function}])
        return json.loads(out[0]["result"])["data"]
