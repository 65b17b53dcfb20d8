"""What must be true of a database and a project folder after any number of crashes; each check names what it found wrong."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from faults.viewers import Seen
from faults.workload import LOG, arguments_of, lines_of

ENDED = ("completed", "cancelled", "max_steps", "timeout", "failed")
SETTLED = ("success", "error", "timeout", "permission_denied", "cancelled", "unknown")
DELTAS = ("text.delta", "reasoning.delta")
DONE, OPEN = "success", "unknown"


class Evidence:
    """One reading of the instance; `wrong` is filled by the checks."""

    def __init__(self, database: Path) -> None:
        self.wrong: list[str] = []
        with closing(sqlite3.connect(database)) as db:
            db.row_factory = sqlite3.Row
            self.integrity = db.execute("PRAGMA integrity_check").fetchone()[0]
            self.runs = {r["id"]: r for r in db.execute("SELECT * FROM runs")}
            self.calls = db.execute("SELECT * FROM tool_calls").fetchall()
            self.steps = db.execute("SELECT * FROM steps").fetchall()
            self.messages = db.execute("SELECT * FROM messages ORDER BY position").fetchall()
            self.changes = db.execute("SELECT * FROM file_changes ORDER BY position").fetchall()
            self.events: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
            for row in db.execute("SELECT run_id, seq, type, data FROM run_events ORDER BY run_id, seq"):
                self.events[row["run_id"]].append((row["seq"], row["type"], row["data"]))

    def check(self, seen: Iterable[Seen], folder: Path, tags: dict[str, str]) -> list[str]:
        """Everything that is wrong; `tags` maps run ids to the tag of their work."""
        if self.integrity != "ok":
            self._say(f"integrity_check: {self.integrity}")
        self.check_runs()
        self.check_logs()
        for one in seen:
            self.check_viewer(one)
        self.check_conversations()
        self.check_files(folder, tags)
        return self.wrong

    def _say(self, what: str) -> None:
        self.wrong.append(what)

    # ---------------------------------------------------------------- what is stored of runs
    def check_runs(self) -> None:
        """Every run has ended, and nothing in it is open."""
        for run in self.runs.values():
            if run["status"] not in ENDED or not run["stop_reason"] or not run["finished_at"]:
                self._say(f"run {run['id']} ({run['kind']}) is {run['status']}, {run['stop_reason']}")
        for call in self.calls:
            if call["status"] not in SETTLED:
                self._say(f"call {call['id']} of {call['run_id']} ({call['name']}) is {call['status']}")
            shown = json.loads(call["call"])
            if shown["status"] != call["status"] or (call["status"] == DONE and not call["result"]):
                self._say(f"call {call['id']} of {call['run_id']} does not agree with itself: {shown['status']}")
        for step in self.steps:
            if step["status"] == "running":
                self._say(f"step {step['index']} of {step['run_id']} is running")

    def check_logs(self) -> None:
        """Numbers rise to `last_seq`, the end is the last event, offsets have no holes, every call's end is told as stored."""
        for run in self.runs.values():
            log = self.events[run["id"]]
            numbers = [seq for seq, _, _ in log]
            if not log or numbers != sorted(set(numbers)) or numbers[-1] != run["last_seq"]:
                self._say(f"run {run['id']}: numbers {numbers[:3]}…{numbers[-3:]}, last_seq {run['last_seq']}")
                continue
            if [kind for _, kind, _ in log].count("run.finished") != 1 or log[-1][1] != "run.finished":
                self._say(f"run {run['id']} does not end with its only run.finished")
            for key, text in texts(log).items():
                if text is None:
                    self._say(f"run {run['id']}: a hole in {key}")
        for call in self.calls:
            told = [json.loads(d)["call"] for _, k, d in self.events[call["run_id"]] if k == "tool_call.finished"]
            last = [c for c in told if c["id"] == call["id"]][-1:]
            if last and (last[0]["status"], last[0]["result"]) != (call["status"], call["result"]):
                self._say(f"call {call['id']} of {call['run_id']} was told as {last[0]['status']}, is {call['status']}")

    def check_viewer(self, seen: Seen) -> None:
        """Every frame is in the log with the same bytes; deltas may have been folded into a later one since."""
        log = {seq: (kind, data) for seq, kind, data in self.events[seen.run_id]}
        for seq, kind, data in seen.frames:
            if log.get(seq) == (kind, data):
                continue
            if kind in DELTAS and self._folded(seen.run_id, seq, kind, json.loads(data)):
                continue
            self._say(f"run {seen.run_id}: a viewer saw {seq} {kind} {data[:200]}, the log has {log.get(seq)}")
        if not seen.ended.is_set():
            self._say(f"run {seen.run_id}: a viewer never saw its end")

    def _folded(self, run_id: str, seq: int, kind: str, data: dict[str, Any]) -> bool:
        for later, k, text in self.events[run_id]:
            if later >= seq and k == kind and (whole := json.loads(text))["step"] == data["step"]:
                at = data["offset"] - whole["offset"]
                return at >= 0 and whole["text"][at : at + len(data["text"])] == data["text"]
        return False

    # ---------------------------------------------------------------- conversations
    def check_conversations(self) -> None:
        """Every question is answered once, and the answer is what was shown."""
        answers = defaultdict(list)
        for message in self.messages:
            if message["role"] == "assistant":
                answers[message["run_id"]].append(message)
            elif message["state"] != "sent":
                self._say(f"message {message['id']} is {message['state']}")
        for run in self.runs.values():
            if run["kind"] != "chat":
                continue
            mine = answers[run["id"]]
            if not mine and run["status"] == "cancelled" and not any(texts(self.events[run["id"]]).values()):
                continue  # stopped before anything was said
            if len(mine) != 1 or mine[0]["parent_id"] != run["message_id"]:
                self._say(f"run {run['id']} has {len(mine)} answers")
                continue
            self._check_answer(run["id"], json.loads(mine[0]["blocks"]))

    def _check_answer(self, run_id: str, blocks: list[dict[str, Any]]) -> None:
        shown = texts(self.events[run_id])
        stored = [(b["type"], b["text"]) for b in blocks if b["type"] != "tool_call"]
        told = [(kind.split(".")[0], text) for (_, kind), text in sorted(shown.items(), key=lambda i: i[0]) if text]
        if sorted(stored) != sorted(told):
            self._say(f"run {run_id}: the answer has {stored}, shown was {told}")
        calls = {c["id"] for c in self.calls if c["run_id"] == run_id}
        named = [b["call_id"] for b in blocks if b["type"] == "tool_call"]
        if set(named) != calls or len(named) != len(calls):
            self._say(f"run {run_id}: the answer names {named}, the calls are {calls}")

    # ---------------------------------------------------------------- files
    def check_files(self, folder: Path, tags: dict[str, str]) -> None:
        """No line twice; what is told as done is there, what is told as not done is not."""
        log = folder / LOG
        lines = Counter(log.read_text().split()) if log.exists() else Counter()
        for line, count in lines.items():
            if count > 1:
                self._say(f"{line} was appended {count} times")
        allowed = {line for tag in tags.values() for line in lines_of(tag)}
        if strange := set(lines) - allowed:
            self._say(f"lines that nobody wrote: {sorted(strange)[:5]}")
        for call in self.calls:
            self._check_write(call, folder, lines)

    def _check_write(self, call: sqlite3.Row, folder: Path, lines: Counter[str]) -> None:
        abandoned = json.loads(call["call"])["degraded"] == "abandoned"  # it says itself that it may take effect
        if call["name"] != "file_write" or call["status"] == OPEN or abandoned:
            return
        wanted = arguments_of(json.loads(call["call"]))
        done = call["status"] == DONE
        if wanted["mode"] == "append":
            there = lines[wanted["content"].strip()] > 0
            if there != done:
                self._say(f"{wanted['content'].strip()} is {call['status']} but {'there' if there else 'not there'}")
        elif done and wanted["content"].startswith("second"):
            found = folder / wanted["path"]
            if not found.exists() or found.read_text() != wanted["content"]:
                self._say(f"{wanted['path']} is not what the last write left")


def texts(log: Iterable[tuple[int, str, str]]) -> dict[tuple[int, str], str | None]:
    """The text of each step and kind as a viewer ends with it: `step.started` begins anew; None where a piece is missing."""
    found: dict[tuple[int, str], str | None] = {}
    for _, kind, data in log:
        if kind == "step.started":
            step = json.loads(data)["step"]
            for delta in DELTAS:
                found.pop((step, delta), None)
        elif kind in DELTAS:
            piece = json.loads(data)
            before = found.get((piece["step"], kind), "")
            if before is None or piece["offset"] > len(before):
                found[(piece["step"], kind)] = None
            else:
                found[(piece["step"], kind)] = before[: piece["offset"]] + piece["text"]
    return found
