"""A scripted model and a workbench around the engine: real executor, real in-memory store, no mocks of our own code."""

import json
from collections import deque

from backend.agent.core import AgentCore
from backend.agent.guardrails import GuardrailConfig
from backend.agent.types import Delta, Message, ModelReply, RunSpec, ToolCallRequest
from backend.cancel import CancelToken
from backend.channels.memory import MemoryChannel
from backend.stores.memory import MemoryStore
from backend.tools.core import ToolRegistry
from backend.tools.executor import ToolExecutor
from backend.tools.factory import define

PIECE = 4  # characters a scripted model streams at once


class ScriptedModel:
    """Answers with prepared replies, in order; an exception is raised, a function is called like `chat` itself."""

    def __init__(self, *replies, forever=None):
        self.replies = deque(replies)
        self.forever = forever
        self.requests = []

    def chat(self, request, on_delta, cancelled):
        self.requests.append(request)
        reply = self.replies.popleft() if self.replies else self.forever
        assert reply is not None, "the model was asked more often than the script says"
        streams = not callable(reply)  # a function streams itself, as much as it likes
        if not streams:
            reply = reply(request, on_delta, cancelled)
        if isinstance(reply, Exception):
            raise reply
        if not streams:
            return reply
        stream(on_delta, "reasoning", reply.reasoning)
        stream(on_delta, "text", reply.text)
        return reply


def stream(on_delta, kind, text):
    for at in range(0, len(text), PIECE):
        on_delta(Delta(kind, text[at : at + PIECE]))


def call(name, arguments=None, id="call_1", **fields):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCallRequest(id, name, text, **fields)


def says(text, finish="stop", **fields):
    return ModelReply(text, finish_reason=finish, **fields)


def asks(*calls, text="", **fields):
    fields.setdefault("finish_reason", "tool_calls")
    return ModelReply(text, tool_calls=calls, **fields)


def problems(request):
    """What is wrong with a request, by the four rules that every server shares; empty if nothing."""
    found, waiting = [], []
    messages = request.messages
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"{at}: a result without its call")
            if not message["content"]:
                found.append(f"{at}: an empty result")
            continue
        if waiting:
            found.append(f"{at}: {waiting} not answered")
        calls = message.get("tool_calls") or []
        waiting = [c["id"] for c in calls]
        if len(set(waiting)) != len(waiting) or not all(waiting):
            found.append(f"{at}: ids {waiting}")
        for one in calls:
            if not one["function"]["name"] or not isinstance(json.loads(one["function"]["arguments"]), dict):
                found.append(f"{at}: malformed call")
        if not calls and not message["content"]:
            found.append(f"{at}: an empty message")
    if waiting:
        found.append(f"end: {waiting} not answered")
    turns = [m for m in messages if m["role"] != "system"]
    if not turns or turns[0]["role"] != "user" or turns[-1]["role"] == "assistant":
        found.append("the wrong roles at the ends")
    return found


class Workbench:
    """Everything around one engine. `run(*replies)` runs one turn; afterwards look at model, store and channel."""

    def __init__(self):
        self.registry = ToolRegistry()
        self.store = MemoryStore()
        self.channel = MemoryChannel()
        self.cancelled = CancelToken()
        self.observer = None
        self.model = ScriptedModel()
        self.executor_options = {}
        self.executed = []

    def tool(self, name, handler=None, **options):
        """Register a tool; the default one notes that it ran and returns its arguments."""

        def run(arguments):
            self.executed.append((name, arguments))
            return handler(arguments) if handler else {"ran": name}

        schema = options.pop("parameters", None)
        self.registry.register(define(name, f"The tool {name}.", schema, run, **options))

    def run(self, *replies, forever=None, question="What is it?", executor=None, **spec):
        self.model = ScriptedModel(*replies, forever=forever)
        executor = executor or ToolExecutor(self.registry, **self.executor_options)
        core = AgentCore(self.model, executor, self.store, self.channel, self.observer)
        spec.setdefault("transcript", (Message("user", question, key="question"),))
        spec.setdefault("tools", tuple(self.registry.names()))
        spec.setdefault("conversation_id", "conversation")
        spec.setdefault("parent_message_id", "question")
        limits = GuardrailConfig(**spec.pop("limits", {}))
        run_spec = RunSpec(
            **{"run_id": "run", "kind": "chat", "system_prompt": "You help.", "model": "m", "limits": limits, **spec}
        )
        outcome = core.run(run_spec, self.cancelled)
        for request in self.model.requests:
            assert problems(request) == []
        return outcome

    def types(self):
        return [t for t in self.channel.types() if not t.endswith(".delta")]

    def events(self, type_):
        return [e.data for e in self.channel.events if e.type == type_]

    def shown(self, kind="text", step=None):
        """The text a viewer has, put together by offsets as a client does it; `step.started` begins a step anew."""
        steps = {}
        for event in self.channel.events:
            if event.type == "step.started":
                steps.pop(event.data["step"], None)
            if event.type == f"{kind}.delta":
                have = steps.get(event.data["step"], "")
                assert event.data["offset"] == len(have)
                steps[event.data["step"]] = have + event.data["text"]
        return steps if step is None else steps.get(step, "")

    def answers(self):
        return [m for m in self.store.messages.values() if m.role == "assistant"]

    def sent(self, at=-1, role=None):
        """Messages of a request without the system message."""
        return [m for m in self.model.requests[at].messages if m["role"] != "system" and role in (None, m["role"])]

    def notices(self):
        return [data["code"] for data in self.events("run.notice")]
