"""The tool by which an agent gives tasks to child agents that work side by side."""

from typing import Any, Protocol

from ...agent.children import CHILD_TOOL, MAX_CHILD_STEPS, MAX_TASKS, ChildRequest, ChildTask
from ...agent.guardrails import GuardrailConfig
from ...cancel import CancelToken
from ...errors import InvalidArguments
from ..core import JsonObject
from ..factory import tool
from ..locator import get_service

TIMEOUT_SECONDS = 240.0


class Runs(Protocol):
    """The service `runs`."""

    def run_children(self, request: ChildRequest) -> list[JsonObject]:
        """Run the tasks to their end; one `{task_name, success, response | error, …}` each, in order."""


def _summarize(_arguments: JsonObject, data: Any) -> str:
    results = data["results"]
    return f"{sum(r['success'] for r in results)} of {len(results)} tasks done"


@tool(
    name=CHILD_TOOL,
    description="Give up to 5 independent tasks to child agents that work at the same time, and get their answers. "
    f"Each child sees only its instruction, so put everything it needs there; it has at most {MAX_CHILD_STEPS} rounds "
    "of tool calls. Use it for work that falls into parts that do not need each other; do small things yourself.",
    parameters={
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_TASKS,
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "minLength": 1, "description": "A short name for the task."},
                        "instruction": {
                            "type": "string",
                            "minLength": 1,
                            "description": "What to do, complete in itself.",
                        },
                        "tools": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Names of the tools the child may use; all of yours if left out.",
                        },
                    },
                    "required": ["name", "instruction"],
                },
            }
        },
        "required": ["tasks"],
    },
    category="agent",
    needs={
        "model": "_model",
        "project_id": "_project_id",
        "user_id": "_user_id",
        "run_id": "_run_id",
        "call_id": "_call_id",
        "cancelled": "_cancelled",
        "tools": "_tools",
        "policy": "_policy",
        "limits": "_limits",
        "token_budget": "_token_budget",
        "announce": "_announce",
    },
    timeout=TIMEOUT_SECONDS,
    summarize=_summarize,
)
def multi_agent(arguments: JsonObject) -> JsonObject:
    """`{success, results, total}`; it is a success if any task was done."""
    request = _request(arguments)
    runs: Runs = get_service("runs")
    results = runs.run_children(request)
    answer: JsonObject = {"success": any(r["success"] for r in results), "results": results, "total": len(results)}
    if not answer["success"]:
        answer |= {
            "tool": CHILD_TOOL,
            "status": "error",
            "code": "tasks_failed",
            "error": "No task was done.",
            "retryable": False,
        }
    return answer


def _request(arguments: JsonObject) -> ChildRequest:
    tasks = tuple(_task(entry) for entry in arguments["tasks"])
    names = [t.name for t in tasks]
    if len(set(names)) != len(names):
        raise InvalidArguments("Two tasks have the same name.", suggestion="Give every task a name of its own.")
    return ChildRequest(
        tasks=tasks,
        model=arguments.get("_model") or "",
        project_id=arguments.get("_project_id"),
        user_id=arguments.get("_user_id"),
        run_id=arguments.get("_run_id"),
        call_id=arguments.get("_call_id"),
        cancelled=arguments.get("_cancelled") or CancelToken(),
        tools=tuple(arguments.get("_tools") or ()),
        policy=arguments.get("_policy") or {},
        limits=arguments.get("_limits") or GuardrailConfig(),
        token_budget=arguments.get("_token_budget"),
        announce=arguments.get("_announce"),
    )


def _task(entry: JsonObject) -> ChildTask:
    tools = entry.get("tools")
    return ChildTask(entry["name"], entry["instruction"], None if tools is None else tuple(tools))
