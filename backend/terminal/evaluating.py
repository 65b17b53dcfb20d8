"""`run.py eval FILE.jsonl`: every prompt of a file as a task, and a report of what came of it."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ..agent.evaluation import EvalCase, EvalResult, EvalRun, evaluate, load_cases
from ..agent.types import JsonObject, RunOutcome, Usage
from ..app import Instance
from ..channels.log import LoggedEvent
from ..errors import InvalidInput
from ..ids import iso_now
from ..services.auth import ensure_owner
from ..services.runs import NewTask, RunRequest, show_run
from ..settings import Settings
from .session import follow, opened, project_id


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """Where the cases come from, where the report goes, and what the runs are given; a project by its id or name."""

    file: Path
    project: str | None = None
    model: str | None = None
    report: Path | None = None


def run_file(settings: Settings, options: EvalOptions) -> int:
    """Run every case and print a line for each; 0 if all passed. Raises InvalidInput for a bad file."""
    try:
        with open(options.file, encoding="utf-8") as lines:
            cases = load_cases(lines)
    except OSError as fault:
        raise InvalidInput(f"{options.file} cannot be read ({fault.strerror}).") from fault
    with opened(settings) as instance:
        options = replace(options, project=project_id(instance, options.project))
        report = evaluate(cases, lambda case: _run(instance, case, options), _tell)
    if options.report is not None:
        options.report.write_text(json.dumps({"made_at": iso_now(), **report.to_json()}, indent=2, ensure_ascii=False))
    sys.stdout.write(report.to_text() + "\n")
    return 0 if all(not result.failures for result in report.results) else 1


def _run(instance: Instance, case: EvalCase, options: EvalOptions) -> EvalRun:
    used: set[str] = set()

    def show(event: LoggedEvent) -> None:
        if event.type == "tool_call.finished" and (call := json.loads(event.data)["call"])["success"]:
            used.add(call["function"]["name"])

    run_id = follow(instance, NewTask(case.input, options.project, RunRequest(model=options.model)), show)
    run = show_run(instance.runtime, ensure_owner(instance.runtime.db), run_id)
    return EvalRun(_outcome(run), frozenset(used))


def _outcome(run: JsonObject) -> RunOutcome:
    usage = {name: value for name, value in run["usage"].items() if name != "total_tokens"}
    return RunOutcome(
        run["id"],
        run["status"],
        run["stop_reason"],
        run["output"] or "",
        run["error"],
        Usage(**usage),
        run["step_count"],
    )


def _tell(result: EvalResult) -> None:
    mark = "." if not result.failures else "F"
    sys.stderr.write(mark)
    sys.stderr.flush()
