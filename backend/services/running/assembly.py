"""From a run's row to what the engine needs: its spec, its provider, its store."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from ...agent.guardrails import GuardrailConfig
from ...agent.ports import LLMProvider
from ...agent.transcripts import messages_of_steps
from ...agent.types import Message as ModelMessage
from ...agent.types import Resume, RunKind, RunSpec
from ...errors import NoProject, NotFound
from ...llm.catalogue import Resolved
from ...models import Conversation, Project, Run, User
from ...workspace import Workspace
from ..runtime import Runtime
from ..workspaces import Workspaces
from . import offers, resuming, transcript
from .pictures import Attachments
from .prompt import system_prompt
from .proving import Scene, prove
from .transcript import Reading

OFFLINE_MODEL = "offline"
SLASHES = ("/", "／")
# Room kept free in the model's window for its answer.
ANSWER_TOKENS = 8_000
LEAST_BUDGET_TOKENS = 4_000
# Without a model nobody looks at what was said long ago.
OFFLINE_BUDGET_TOKENS = 8_000
GO_ON = "Please go on."


@dataclass(frozen=True, slots=True)
class Assembled:
    """A run ready to be executed."""

    spec: RunSpec
    provider: LLMProvider
    owner_id: str
    conversation_id: str | None


def assemble(runtime: Runtime, run_id: str, again: bool) -> Assembled:
    """Read everything that the run needs in one short session. Raises NotFound or ModelError."""
    resume = resume_of(runtime, run_id) if again else None
    with runtime.db.read() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise NotFound("This run does not exist.")
        project = session.get(Project, run.project_id) if run.project_id else None
        conversation = session.get(Conversation, run.conversation_id) if run.conversation_id else None
        policy = offers.policies(session, runtime.registry)
        resolved = runtime.catalogue.resolve(_model(run, runtime))
        budget = token_budget(resolved)
        attachments = Attachments(_workspace(runtime, run), resolved.images)
        spec = RunSpec(
            run_id=run.id,
            kind=kind_of(run.kind),
            transcript=_transcript(session, run, Reading(budget, runtime.registry, attachments), runtime),
            system_prompt=system_prompt(session.get(User, run.owner_id), project, conversation),
            model=resolved.model,
            tools=offers.offered(
                runtime.registry, policy, project.allowed_tools if project else None, run.options.get("tools")
            ),
            limits=GuardrailConfig(**run.limits),
            policy=policy,
            user_id=run.owner_id,
            project_id=run.project_id,
            conversation_id=run.conversation_id,
            parent_message_id=resuming.last_injected(resume) or run.message_id,
            temperature=_option(run, "temperature", conversation),
            max_tokens=_option(run, "max_tokens", conversation),
            thinking=_option(run, "thinking", conversation),
            token_budget=budget,
            resume=resume,
        )
        return Assembled(spec, resolved.provider, run.owner_id, run.conversation_id)


def resume_of(runtime: Runtime, run_id: str) -> Resume | None:
    """What the earlier worker left, with the calls that it was at settled where that can be proved."""
    with runtime.db.read() as session:
        run = session.get(Run, run_id)
        if run is None:
            return None
        found = resuming.load(session, run)
    scene = Scene(run_id, run.project_id, run.owner_id)
    return replace(found, calls=prove(runtime, scene, found.calls))


def token_budget(resolved: Resolved) -> int:
    """The room that one request may take in the model's window."""
    budget = max(resolved.context_window - ANSWER_TOKENS, LEAST_BUDGET_TOKENS)
    return min(budget, OFFLINE_BUDGET_TOKENS) if resolved.model == OFFLINE_MODEL else budget


def is_command(text: str, runtime: Runtime) -> bool:
    """True for `/tool …` as typed by a person: it needs no model."""
    if not text.startswith(SLASHES):
        return False
    words = text[1:].split(None, 1)
    return bool(words) and (words[0] in ("help", "tools") or runtime.registry.get(words[0]) is not None)


def _model(run: Run, runtime: Runtime) -> str | None:
    return OFFLINE_MODEL if is_command(run.input, runtime) else (run.model or None)


def kind_of(kind: str) -> RunKind:
    return "task" if kind == "task" else "chat"


def _option(run: Run, name: str, conversation: Conversation | None) -> Any:
    """The request's own value, else the conversation's."""
    value = run.options.get(name)
    return value if value is not None else getattr(conversation, name, None)


def _task_transcript(session: Session, run: Run, runtime: Runtime) -> tuple[ModelMessage, ...]:
    """The task, and if it continues earlier runs, what they did."""
    earlier: list[Run] = []
    at: Run | None = run
    while at is not None and (before := at.options.get("continues")):
        at = session.get(Run, before)
        if at is not None:
            earlier.insert(0, at)
    messages = [ModelMessage("user", run.input, key=run.id)]
    for one in earlier:
        left = resuming.load(session, one)
        messages += messages_of_steps(left.steps, left.calls, lambda name: _is_read_only(runtime, name))
        messages.append(ModelMessage("user", GO_ON, key=f"{one.id}:go-on"))
    return tuple(messages)


def _is_read_only(runtime: Runtime, name: str) -> bool:
    definition = runtime.registry.get(name)
    return definition is not None and definition.read_only


def _workspace(runtime: Runtime, run: Run) -> Workspace | None:
    try:
        return Workspaces(runtime).open(run.project_id, user_id=run.owner_id)
    except NoProject:
        return None


def _transcript(session: Session, run: Run, reading: Reading, runtime: Runtime) -> tuple[ModelMessage, ...]:
    if run.message_id is None:
        return _task_transcript(session, run, runtime)
    return transcript.load(session, run.message_id, reading)
