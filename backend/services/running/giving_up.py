"""The end of a run that cannot go on: what was done of it is kept, without asking a model or a tool again."""

from ...agent.guardrails import GuardrailConfig, TerminationResult, failed
from ...agent.types import RunSpec
from ...errors import NanoClawError, NotFound
from ...models import Run
from ...stores.leases import Lease
from ..runtime import Runtime
from . import resuming
from .assembly import kind_of, resume_of


def crashed_too_often(lease: Lease) -> TerminationResult:
    """The reason of a run over which one worker after the other has died."""
    return failed(
        "error",
        "crash_loop",
        f"The server was killed {lease.deaths} times in a row while it was at the same step of this run.",
        suggestion="Look at the server's log and its memory. Then let the run go on, or ask in another way.",
        retryable=True,
    )


def cannot_start(error: NanoClawError) -> TerminationResult:
    """The reason of a run that could not be assembled."""
    return failed("error", error.code, error.message, suggestion=error.suggestion, retryable=error.retryable)


def given_up(runtime: Runtime, lease: Lease, why: TerminationResult) -> RunSpec:
    """What the engine needs to end it. Raises NotFound."""
    resume = resume_of(runtime, lease.run_id) if lease.again else None
    with runtime.db.read() as session:
        run = session.get(Run, lease.run_id)
    if run is None:
        raise NotFound("This run does not exist.")
    return RunSpec(
        run_id=run.id,
        kind=kind_of(run.kind),
        transcript=(),
        system_prompt="",
        model=run.model,
        limits=GuardrailConfig(**run.limits),
        user_id=run.owner_id,
        project_id=run.project_id,
        conversation_id=run.conversation_id,
        parent_message_id=resuming.last_injected(resume) or run.message_id,
        resume=resume,
        given_up=why,
    )
