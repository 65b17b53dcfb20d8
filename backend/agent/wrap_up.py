"""The last words of a run that reached its limit of steps: one request without tools that sums up."""

import re

from .guardrails import RunStopped
from .model_call import request
from .pairing import is_blank, text_of
from .recovery import SUM_UP, Attempt, note
from .state import RunState
from .state_write import close_step

_HAN = re.compile("[\u4e00-\u9fff]")


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
    """Our own words, in Chinese to a person who writes Chinese."""
    limit = run.spec.limits.max_steps
    if _HAN.search(_last_words(run)):
        return f"这次运行达到了 {limit} 步的上限，任务还没有完成，所以我停下来了。已完成的部分见上文；再发一条消息即可继续。"
    return (
        f"I stopped because this run reached its limit of {limit} steps before the task was finished. "
        "What was done so far is shown above; send a message to go on."
    )


def _last_words(run: RunState) -> str:
    return next((text_of(m) for m in reversed(run.transcript) if m.role == "user"), "")
