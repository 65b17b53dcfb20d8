"""The agent's loop: MODEL_CALL, TOOL_CALL, STATE_WRITE, RESPONSE_OUT, until an answer or a limit."""

import logging

from ..cancel import CancelToken
from ..errors import LeaseLost, NanoClawError, StorageError
from .batches import act
from .guardrails import CANCELLED, COMPLETED, RunStopped, TerminationResult, failed
from .injection import drain
from .model_call import ask
from .observers import Observers
from .ports import CallExecutor, LLMProvider, Observer, OutputChannel, StateStore
from .recorder import error_json
from .resume import take_up
from .state import Doors, RunState, Step
from .state_write import begin, break_off, close_step, finish, outcome_of
from .transcripts import step_message
from .types import RunOutcome, RunSpec
from .wrap_up import sum_up

log = logging.getLogger(__name__)
LIMIT_NEAR_STEPS = 2
INTERRUPTED = TerminationResult("running", "interrupted")
LEASE_LOST = TerminationResult("running", "lease_lost")


class AgentCore:
    """The engine: give it a model, tools, a store and a listener; it holds no state between runs."""

    def __init__(
        self,
        provider: LLMProvider,
        executor: CallExecutor,
        store: StateStore,
        channel: OutputChannel,
        observer: Observer | None = None,
    ) -> None:
        self._doors = Doors(provider, executor, store, channel, Observers([observer] if observer else []))

    def run(self, spec: RunSpec, cancelled: CancelToken | None = None) -> RunOutcome:
        """Run until an answer or a limit; every end has a status and a reason.

        Raises LeaseLost when another worker has taken the run over: nothing more is written or told then.
        """
        run = RunState(self._doors, spec, cancelled or CancelToken())
        end = INTERRUPTED
        try:
            end = _loop_to_end(run)
            outcome = _write_end(run, end)
            self._doors.channel.send_final(spec.run_id, outcome)
            run.observe("run.after", status=outcome.status, stop_reason=outcome.stop_reason, error=outcome.error)
        except LeaseLost:
            end = LEASE_LOST
            raise
        finally:
            run.recorder.close()
            run.guard.close()
            self._doors.executor.forget_run(spec.run_id)
            run.observe("run.finally", status=end.status, stop_reason=end.stop_reason)
        return outcome


def _loop(run: RunState) -> TerminationResult:
    begin(run)
    step = take_up(run)
    if step is not None:
        close_step(run, step)
    while True:
        end = run.guard.check_before_step()
        if end is not None:
            if end.stop_reason == "max_steps":
                sum_up(run)
            return end
        step = run.open_step()
        calls = ask(run, step)
        if calls:
            act(run, step, calls)
        close_step(run, step)
        end = _respond(run, step)
        if end is not None:
            return end


def _respond(run: RunState, step: Step) -> TerminationResult | None:
    """RESPONSE_OUT: what waits is injected between steps; an answer with nothing waiting ends the run."""
    if step.calls:
        drain(run)
        _warn_of_limit(run)
        return None
    run.transcript.append(step_message(step.record, ()))
    if drain(run):
        return None
    return CANCELLED if run.guard.is_cancelled() else COMPLETED


def _warn_of_limit(run: RunState) -> None:
    if run.guard.steps_left() == LIMIT_NEAR_STEPS < run.spec.limits.max_steps // 2:
        run.recorder.notice("limit_near", f"{LIMIT_NEAR_STEPS} steps are left of {run.spec.limits.max_steps}.")


def _loop_to_end(run: RunState) -> TerminationResult:
    """The loop, with everything that can break it turned into a reason; what the broken step had shown is kept."""
    try:
        return _loop(run)
    except LeaseLost:
        raise
    except RunStopped as stopped:
        end = stopped.result
    except StorageError as problem:
        end = failed("storage", **error_json(problem.code, problem.message, problem.suggestion, retryable=True))
    except NanoClawError as problem:
        error = error_json(problem.code, problem.message, problem.suggestion, retryable=problem.retryable)
        end = failed("error", **error)
    except Exception:
        log.exception("run %s broke", run.spec.run_id)
        end = failed("error", "internal_error", "The run was stopped by an internal fault; the log has the details.")
    break_off(run)
    return end


def _write_end(run: RunState, end: TerminationResult) -> RunOutcome:
    try:
        return finish(run, end)
    except StorageError as problem:
        log.error("run %s: its end could not be stored: %s", run.spec.run_id, problem.message)
        return outcome_of(run, failed("storage", **error_json(problem.code, problem.message, retryable=True)))
