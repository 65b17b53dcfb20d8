"""execute_python: runs Python for the model behind the sandbox's walls, with project files handed in by name."""

from typing import Any

from ... import sandbox
from ...errors import InvalidArguments, NoProject
from ...sandbox.inside import limits
from ..factory import tool
from ..locator import get_service

#: the sandbox answers by itself after its wall clock and its queue; this is only the last resort
TIMEOUT_SECONDS = 35.0
PREVIEW_MAX_CHARS = 400

DESCRIPTION = (
    "Run Python 3 code in a sandbox and get its output: for calculations, data work, dates, text and checking an "
    "answer. Print what you want to see; the value of a last expression is returned too. Each run starts afresh and "
    "may take 10 s. The standard library's calculation and data modules are there, numpy and pandas where installed. "
    "No network, no host files: name project files in `files` and read them with open('name') or "
    "pandas.read_csv('name'). Files the code writes come back as proposals; to keep one, save its text with file_write."
)
PARAMETERS = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "The Python source to run."},
        "files": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Project files the code may read, by their path in the project.",
        },
    },
    "required": ["code"],
}


def _summary(_: dict[str, Any], data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    if data.get("error_type"):
        return f"{data['error_type']} after {data.get('wall_seconds', 0):.2f} s"
    shown = data.get("value") or str(data.get("stdout", "")).strip().rpartition("\n")[2]
    return str(shown)[:120] or "no output"


@tool(
    name="execute_python",
    description=DESCRIPTION,
    parameters=PARAMETERS,
    category="code",
    concurrency_safe=True,
    idempotent=True,
    cacheable=False,
    needs=("project_id", "run_id", "call_id", "user_id", "cancelled"),
    scopes=(),
    timeout=TIMEOUT_SECONDS,
    summarize=_summary,
    unavailable=sandbox.unavailable,
)
def execute_python(arguments: dict[str, Any]) -> dict[str, Any]:
    """Run `code`; `files` are read through the workspace. Gives the fields of the contract."""
    code = arguments.get("code")
    if not isinstance(code, str) or not code.strip():
        raise InvalidArguments("`code` is empty: give the Python source to run.")
    request = sandbox.SandboxRequest(
        code=code,
        files=_read_files(arguments),
        owner=str(arguments.get("project_id") or arguments.get("user_id") or ""),
    )
    result = sandbox.run(request, arguments.get("cancelled"))
    return _with_previews(result)


def _read_files(arguments: dict[str, Any]) -> dict[str, bytes]:
    names = list(dict.fromkeys(arguments.get("files") or []))
    if not names:
        return {}
    if not arguments.get("project_id"):
        raise NoProject("`files` needs a project; this conversation has none.")
    if len(names) > limits.FILES_IN_MAX:
        raise InvalidArguments(f"`files` may name {limits.FILES_IN_MAX} files at most.")
    keys = {k: arguments.get(k) for k in ("run_id", "call_id", "user_id")}
    workspace = get_service("workspaces").open(arguments["project_id"], **keys)
    contents: dict[str, bytes] = {}
    left = limits.FILES_IN_MAX_BYTES
    for name in names:
        contents[name] = workspace.read_bytes(name, left)
        left -= len(contents[name])
    return contents


def _with_previews(result: sandbox.SandboxResult) -> dict[str, Any]:
    """The result with the beginning of each written text file, so that the model can judge or save it."""
    files = []
    for entry in result["files"]:
        content = result.contents.get(entry["name"], b"")
        files.append({**entry, **_preview(content)})
    return {**result, "files": files}


def _preview(content: bytes) -> dict[str, str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return {}
    return {"preview": text[:PREVIEW_MAX_CHARS]} if "\0" not in text else {}
