"""What must hold before a tool runs: it exists, the arguments fit, the run may use it."""

import difflib
import json
import re
from collections.abc import Callable
from typing import Any

from ..errors import InvalidArguments, ToolDenied, ToolError, ToolUnavailable, UnknownTool
from .arguments import plain_object, read_arguments
from .calls import Call
from .context import CallContext
from .core import ToolDefinition
from .plans import Plan, Plans
from .results import clean_text, to_text

MAX_NAMES_LISTED = 60
SHOWN_NAME_CHARACTERS = 80
NEAR_MISS = 0.72  # similarity from which a name is suggested


def check_call(call: Call, raw: Any, plans: Plans, context: CallContext) -> None:
    """Give the call its plan and arguments; raises ToolError and its kinds when it must not run."""
    if raw.__class__ is str:
        call.arguments_text = raw if raw.isascii() else clean_text(raw)
    plan = call.plan = find_plan(call.name, plans, context)
    arguments = plain_object(raw) if raw.__class__ is str else None
    if arguments is None:
        arguments = read_arguments(raw, plan.repairs)
        call.arguments_text = to_text(arguments)[0]
    if plan.injected and not plan.injected.isdisjoint(arguments):
        arguments = drop_injected(arguments, plan, call)
    call.arguments = plan.schema.prepare(arguments)
    if context.values or plan.definition.unavailable is not None:
        check_allowed(plan.definition, context)


def json_text(text: str) -> str:
    """`text` if it is JSON, else the JSON text that holds it: what is stored of a call can always be read."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False) if text.strip() else "{}"
    return text


def find_plan(name: str, plans: Plans, context: CallContext) -> Plan:
    """The plan of that tool; raises UnknownTool with the names there are, ToolUnavailable for a broken schema."""
    try:
        plan = plans.get(name)
    except ValueError as error:
        raise ToolUnavailable(f"The tool {name!r} is declared wrongly: {error}") from None
    if plan is None:
        raise _unknown(name, [known for known in plans.names() if context.granted(known)])
    return plan


def check_allowed(tool: ToolDefinition, context: CallContext) -> None:
    """Raises ToolDenied or ToolUnavailable if this run may not use the tool, or the tool cannot work here."""
    if context.values:
        _check_granted(tool, context)
    if tool.unavailable is not None:
        reason = _why_unavailable(tool.unavailable)
        if reason:
            raise ToolUnavailable(f"The tool {tool.name!r} is not available: {reason}", suggestion="Go on without it.")


def _why_unavailable(unavailable: Callable[[], str | None]) -> str | None:
    try:
        return unavailable()
    except Exception as error:  # noqa: BLE001 - a tool's own code; what it cannot say counts as no
        return f"its check failed ({type(error).__name__})"


def _check_granted(tool: ToolDefinition, context: CallContext) -> None:
    if not context.granted(tool.name):
        raise ToolDenied(f"The tool {tool.name!r} is not offered in this run.", suggestion="Use the tools offered.")
    missing = context.missing_scopes(tool)
    if missing:
        raise ToolDenied(f"This run was not granted {', '.join(missing)}, which {tool.name!r} needs.")
    policy = context.policy(tool)
    if policy == "deny":
        raise ToolDenied(f"The tool {tool.name!r} is switched off by policy.", suggestion="Go on without it.")
    if policy != "allow":
        raise ToolDenied(
            f"The tool {tool.name!r} needs a person's approval, which cannot be given within a run yet.",
            suggestion="Tell the user what you wanted to do; they can run the tool by hand or allow it in the settings.",
        )


def drop_injected(arguments: dict[str, Any], plan: Plan, call: Call) -> dict[str, Any]:
    """The arguments without values for keys that the executor fills in, which is noted."""
    dropped = sorted(plan.injected.intersection(arguments))
    call.note(f"The value given for {', '.join(dropped)} was ignored: the system fills this in itself.")
    return {name: value for name, value in arguments.items() if name not in plan.injected}


def _unknown(name: str, names: list[str]) -> ToolError:
    if not name:
        return InvalidArguments("The call names no tool.", suggestion=_listed(names))
    near = near_names(name, names)
    hint = f"Did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    shown = name if len(name) <= SHOWN_NAME_CHARACTERS else name[:SHOWN_NAME_CHARACTERS] + "…"
    return UnknownTool(f"There is no tool {shown!r}. {hint}{_listed(names)}", suggestion=hint.strip() or _listed(names))


def _listed(names: list[str]) -> str:
    if not names:
        return "No tools are available here."
    more = f" and {len(names) - MAX_NAMES_LISTED} more" if len(names) > MAX_NAMES_LISTED else ""
    return f"Available tools: {', '.join(names[:MAX_NAMES_LISTED])}{more}."


def near_names(name: str, names: list[str]) -> list[str]:
    """Up to three names that are almost `name`: other case, separators or order of words, small slips."""
    name = re.split(r"[.:/]", name)[-1] or name  # functions.read_file
    plain = _plain(name)
    same = [known for known in names if _plain(known) == plain]
    if same:
        return same
    words = sorted(_words(name))
    turned = [known for known in names if sorted(_words(known)) == words]
    by_plain = {_plain(known): known for known in names}
    close = difflib.get_close_matches(plain[:SHOWN_NAME_CHARACTERS], by_plain, 3, NEAR_MISS)
    return list(dict.fromkeys(turned + [by_plain[match] for match in close]))[:3]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)]
