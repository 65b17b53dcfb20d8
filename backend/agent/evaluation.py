"""Batch evaluation: a file of prompts with what is expected, run one by one, and a report of what came of it."""

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidInput
from .types import JsonObject, RunOutcome, Usage

CASE_FIELDS = {"id", "input", "contains", "excludes", "matches", "tools", "status", "max_steps"}


@dataclass(frozen=True, slots=True)
class EvalCase:
    """One prompt and what is expected of the run; a case without expectations passes if the run has that status.

    `contains` and `excludes` are texts, `matches` is a regular expression, all for the output; `tools` must
    all have been used with success; `max_steps` is the most steps it may take.
    """

    id: str
    input: str
    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    matches: re.Pattern[str] | None = None
    tools: tuple[str, ...] = ()
    status: str = "completed"
    max_steps: int | None = None


@dataclass(frozen=True, slots=True)
class EvalRun:
    """What came of one case: the run's outcome, and the names of the tools that succeeded."""

    outcome: RunOutcome
    tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EvalResult:
    """A case, its outcome and why it failed (nothing: it passed)."""

    case: EvalCase
    outcome: RunOutcome
    failures: tuple[str, ...]
    seconds: float

    def to_json(self) -> JsonObject:
        """One line of a report."""
        usage = self.outcome.usage.to_json()
        return {
            "id": self.case.id,
            "passed": not self.failures,
            "failures": list(self.failures),
            "status": self.outcome.status,
            "stop_reason": self.outcome.stop_reason,
            "output": self.outcome.output,
            "steps": self.outcome.step_count,
            "seconds": round(self.seconds, 3),
            **usage,
        }


@dataclass(slots=True)
class EvalReport:
    """All results and their sums."""

    results: list[EvalResult] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """`{passed, total, pass_rate, steps, seconds, usage, results}`."""
        passed = sum(not r.failures for r in self.results)
        total = len(self.results)
        return {
            "passed": passed,
            "total": total,
            "pass_rate": round(passed / total, 4) if total else None,
            "steps": sum(r.outcome.step_count for r in self.results),
            "seconds": round(sum(r.seconds for r in self.results), 3),
            "usage": sum((r.outcome.usage for r in self.results), Usage()).to_json(),
            "results": [r.to_json() for r in self.results],
        }

    def to_text(self) -> str:
        """A table for people, the sums last."""
        lines = [_line(r.to_json()) for r in self.results]
        whole = self.to_json()
        usage = whole["usage"]
        lines.append(
            f"{whole['passed']} of {whole['total']} passed, {whole['steps']} steps, {usage['total_tokens']} tokens, "
            f"{usage['cost_micros'] / 1_000_000:.4f} {usage['currency']}, {whole['seconds']:.1f} s"
        )
        return "\n".join(lines)


def load_cases(lines: Iterable[str]) -> list[EvalCase]:
    """Cases from JSON lines; blank lines and lines that begin with # are left out. Raises InvalidInput with the line's number."""
    cases = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            cases.append(_case(number, line))
    ids = [c.id for c in cases]
    if len(set(ids)) != len(ids):
        raise InvalidInput("Two cases have the same id.")
    return cases


def evaluate(
    cases: Sequence[EvalCase], run: Callable[[EvalCase], EvalRun], tell: Callable[[EvalResult], None] | None = None
) -> EvalReport:
    """Run every case with `run`; `tell` hears of each result as it comes."""
    report = EvalReport()
    for case in cases:
        began = time.perf_counter()
        done = run(case)
        result = EvalResult(case, done.outcome, tuple(_failures(case, done)), time.perf_counter() - began)
        report.results.append(result)
        if tell is not None:
            tell(result)
    return report


def _case(number: int, line: str) -> EvalCase:
    try:
        data = json.loads(line)
    except ValueError as problem:
        raise InvalidInput(f"Line {number} is not JSON: {problem}") from problem
    if not isinstance(data, dict) or not isinstance(data.get("input"), str):
        raise InvalidInput(f"Line {number} must be an object with the text `input`.")
    if unknown := sorted(set(data) - CASE_FIELDS):
        raise InvalidInput(f"Line {number} has unknown fields: {', '.join(unknown)}")
    try:
        matches = re.compile(data["matches"], re.DOTALL) if data.get("matches") else None
    except re.error as problem:
        raise InvalidInput(f"Line {number}: `matches` is no regular expression: {problem}") from problem
    return EvalCase(
        id=str(data.get("id", number)),
        input=data["input"],
        contains=_texts(number, data, "contains"),
        excludes=_texts(number, data, "excludes"),
        matches=matches,
        tools=_texts(number, data, "tools"),
        status=str(data.get("status", "completed")),
        max_steps=data.get("max_steps"),
    )


def _texts(number: int, data: JsonObject, name: str) -> tuple[str, ...]:
    value: Any = data.get(name, ())
    value = [value] if isinstance(value, str) else value
    if not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"Line {number}: `{name}` must be a text or a list of texts.")
    return tuple(value)


def _failures(case: EvalCase, done: EvalRun) -> Iterable[str]:
    outcome = done.outcome
    if outcome.status != case.status:
        why = (outcome.error or {}).get("message", outcome.stop_reason)
        yield f"the run ended as {outcome.status}, not {case.status}: {why}"
    yield from (f"{text!r} is missing" for text in case.contains if text not in outcome.output)
    yield from (f"{text!r} is there" for text in case.excludes if text in outcome.output)
    if case.matches is not None and not case.matches.search(outcome.output):
        yield f"nothing matches {case.matches.pattern!r}"
    yield from (f"the tool {name} was not used" for name in case.tools if name not in done.tools)
    if case.max_steps is not None and outcome.step_count > case.max_steps:
        yield f"it took {outcome.step_count} steps, more than {case.max_steps}"


def _line(result: JsonObject) -> str:
    mark = "pass" if result["passed"] else "FAIL"
    why = "".join(f"\n      {failure}" for failure in result["failures"])
    return f"{mark}  {result['id']}: {result['steps']} steps, {result['total_tokens']} tokens, {result['seconds']:.1f} s{why}"
