"""The last words of a run that reached its limit of steps: one request without tools that sums up."""

from .guardrails import RunStopped
from .model_call import request
from .pairing import is_blank
from .recovery import SUM_UP, Attempt, note
from .state import RunState
from .state_write import close_step


def sum_up(run: RunState) -> None:
    """Ask once for a summary; if none comes, say what happened ourselves. Raises RunStopped on cancel or time-out."""
    step = run.open_step()
    try:
        request(run, step, Attempt((note(SUM_UP),), tools=False, kind="final"))
    except RunStopped as stopped:
        if run.guard.interrupted():
            raise
        run.recorder.notice("summary_failed", (stopped.result.error or {}).get("message", ""))
    if is_blank(step.stream.text):
        step.stream.settle_partial(_fallback(run), "")
    close_step(run, step)


def _fallback(run: RunState) -> str:
    limit = run.spec.limits.max_steps
    return (
        f"I stopped because this run reached its limit of {limit} steps before the task was finished. "
        "What was done so far is shown above; send a message to go on."
    )
