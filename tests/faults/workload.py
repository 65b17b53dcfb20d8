"""What runs do while they are killed: reads, writes, appends, code, children and streamed text, by a model without memory.

The model decides by the request alone (how many answers stand after the question), so a request that is
asked again after a crash gets the same turn, as with a real model.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from support.model_server import Call, ModelServer, Turn

MODEL = "scripted-model"
TURNS_SCRIPTED = 20_000
TAG = re.compile(r"\[(\w+)\]")
PIECES = [f"piece {i}: größer, 漢字, 👩‍💻; " for i in range(30)]
CODE = "print(sum(i * i for i in range(2000000)))"
LONG_CODE = "print(sum(i * i for i in range(100000000)))"
LOG = "log.md"


def script(model: ModelServer, code: str = CODE) -> None:
    """Play the workload for every request."""
    model.script(MODEL, [lambda body: play(body, code)] * TURNS_SCRIPTED)


def play(body: dict[str, Any], code: str = CODE) -> Turn:
    """The turn that belongs to this request."""
    question, answers = _position(body["messages"])
    tag = TAG.findall(question)[-1]
    turns = CHILD if question.startswith("Child") else MAIN
    turn = turns[min(answers, len(turns) - 1)](tag)
    for call in turn.tool_calls:
        if call.name == "execute_python":
            call.arguments = {"code": code}
    return turn


def _position(messages: list[dict[str, Any]]) -> tuple[str, int]:
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    return str(messages[last]["content"]), sum(m["role"] == "assistant" for m in messages[last:])


def _write(path: str, content: str, mode: str = "overwrite") -> Call:
    return Call("file_write", {"path": path, "content": content, "mode": mode})


def _children(tag: str) -> Turn:
    tasks = [{"name": n, "instruction": f"Child {n}: add your line [{tag}{n}]"} for n in ("a", "b")]
    return Turn(tool_calls=[Call("multi_agent", {"tasks": tasks})])


MAIN: list[Callable[[str], Turn]] = [
    lambda tag: Turn(
        reasoning=["First I ", "look."],
        text=["I will ", "read."],
        tool_calls=[Call("file_read", {"path": "base.txt"}), Call("file_list", {"path": ""})],
        delay=0.01,
    ),
    lambda tag: Turn(
        tool_calls=[_write(f"out/{tag}.md", f"first {tag}\n" * 2000), _write(LOG, f"{tag}-1\n", "append")]
    ),
    lambda tag: Turn(tool_calls=[Call("execute_python", {"code": CODE}), _write(LOG, f"{tag}-2\n", "append")]),
    _children,
    lambda tag: Turn(text="Now the rest.", tool_calls=[_write(f"out/{tag}.md", f"second {tag}\n" * 2000)]),
    lambda tag: Turn(tool_calls=[_write(LOG, f"{tag}-3\n", "append"), Call("file_mkdir", {"path": f"made/{tag}"})]),
    lambda tag: Turn(reasoning="Done.", text=PIECES, delay=0.01),
]
CHILD: list[Callable[[str], Turn]] = [
    lambda tag: Turn(tool_calls=[_write(LOG, f"{tag}\n", "append")]),
    lambda tag: Turn(text=[f"The line of {tag} ", "is there."], delay=0.02),
]


def lines_of(tag: str) -> list[str]:
    """Every line that the run of this tag may add to the log, once each."""
    return [f"{tag}-1", f"{tag}-2", f"{tag}-3", f"{tag}a", f"{tag}b"]


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a stored CALL."""
    found: dict[str, Any] = json.loads(call["function"]["arguments"])
    return found
