"""What is measured: a server whose database holds very long conversations and a run of 5,000 calls."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from backend.extensions import Database
from backend.ids import iso, new_id, utc_now
from backend.models import Conversation, Message, Run, Step, ToolCall, User

STEPS = 250
CALLS_A_STEP = 20
ANSWER = """Answer {n}, with what was asked.

- first thing
- second thing with `code`

```python
print({n})
```

| name | value |
|---|---:|
| a | {n} |
"""


@dataclass(frozen=True)
class Place:
    """A conversation: its id and that of its last message."""

    id: str
    last: str


def fill(instance: Path) -> tuple[dict[int, Place], str]:
    """Write conversations of 40, 5,000 and 10,000 messages and a run of 5,000 calls; the server must not run."""
    database = Database()
    database.open(f"sqlite:///{instance / 'nanoclaw.db'}")
    with database.write() as session:
        owner = session.query(User).first()
        assert owner is not None
        places = {count: _conversation(session, owner.id, count) for count in (40, 41, 5_000, 10_000)}
        run = _run(session, owner.id)
    database.close()
    return places, run


def _conversation(session: Any, owner: str, count: int) -> Place:
    now = utc_now()
    place = new_id()
    ids = [new_id() for _ in range(count)]
    row = {"id": place, "owner_id": owner, "title": f"{count} messages", "active_leaf_id": ids[-1]}
    session.execute(insert(Conversation), [{**row, "last_position": count, "updated_at": now, "created_at": now}])
    rows = []
    for n in range(count):
        mine = n % 2 == 0
        text = f"Question {n}: what about it?" if mine else ANSWER.format(n=n)
        rows.append({
            "id": ids[n], "conversation_id": place, "parent_id": ids[n - 1] if n else None, "position": n + 1,
            "role": "user" if mine else "assistant", "state": "sent", "content": text, "reasoning": "",
            "blocks": [] if mine else [{"type": "text", "text": text}], "attachments": [], "model": "m",
            "created_at": now - timedelta(seconds=count - n),
        })  # fmt: skip
    session.execute(insert(Message), rows)
    return Place(place, ids[-1])


def _run(session: Any, owner: str) -> str:
    now = utc_now()
    run = new_id()
    begun = now - timedelta(seconds=STEPS)
    row = {"id": run, "kind": "task", "status": "completed", "stop_reason": "completed", "owner_id": owner}
    more = {"model": "m", "input": "A long task", "output": "Done.", "limits": {}, "options": {}, "step_count": STEPS}
    session.execute(insert(Run), [{**row, **more, "created_at": begun, "started_at": begun, "finished_at": now}])
    steps, calls = [], []
    for step in range(STEPS):
        start, end = begun + timedelta(seconds=step), begun + timedelta(seconds=step + 1)
        steps.append({
            "run_id": run, "index": step, "status": "completed", "reasoning": "", "text": f"Step {step}.", "model": "m",
            "finish_reason": "tool_calls", "model_calls": 1, "usage": {}, "started_at": iso(start), "finished_at": iso(end),
        })  # fmt: skip
        calls += [_call(run, step, k, iso(start) or "", iso(end) or "") for k in range(CALLS_A_STEP)]
    session.execute(insert(Step), steps)
    session.execute(insert(ToolCall), calls)
    return run


def _call(run: str, step: int, position: int, started: str, finished: str) -> dict[str, Any]:
    key = f"call_{step}_{position}"
    result = json.dumps({"success": True, "data": {"value": step * position, "text": "x" * 200}})
    call = {
        "id": key, "type": "function", "function": {"name": "calculator", "arguments": json.dumps({"expression": f"{step}*{position}"})},
        "success": True, "skipped": False, "execution_time": 0.4, "status": "success", "cached": False, "duplicate_of": None,
        "cached_at": None, "expires_at": None, "attempts": 1, "degraded": None, "summary": f"{step} × {position}", "queued_ms": 3,
        "result_truncated": False, "result_size": len(result), "provider_id": key, "step": step,
        "started_at": started, "finished_at": finished,
    }  # fmt: skip
    return {
        "run_id": run, "id": key, "step": step, "position": position, "name": "calculator", "status": "success",
        "cached": False, "execution_time": 0.4, "call": call, "result": result, "idempotent": True,
        "started_at": started, "finished_at": finished,
    }  # fmt: skip
