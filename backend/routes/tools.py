"""Tools: what there is, running one by hand, switching them on and off."""

from flask import Blueprint, Response

from ..services import manual, tools
from .http import operation, reply, runtime, user_id
from .schemas import answers, requests, run_answers

bp = Blueprint("tools", __name__, url_prefix="/api/tools")


@bp.get("")
@operation("Every tool", returns={200: answers.page_of(answers.Tool)})
def list_tools() -> Response:
    """With settings and figures; `file_errors` names files of tools that could not be loaded."""
    return reply(tools.list_tools(runtime(), user_id()))


@bp.post("/<name>/execute")
@operation("Run a tool by hand", body=requests.ExecuteBody, returns={200: run_answers.Call}, errors=(404,))
def execute(name: str, body: requests.ExecuteBody) -> Response:
    """CALL; a tool that fails is a CALL too, with success false."""
    asked = manual.HandRun(name, body.arguments, body.project_id, body.fresh)
    return reply(manual.execute(runtime(), user_id(), asked))


@bp.patch("/<name>")
@operation(
    "Switch a tool, or set its policy", body=requests.ToolPatch, returns={200: answers.Tool}, errors=(404,), admin=True
)
def change(name: str, body: requests.ToolPatch) -> Response:
    """`deny` binds hand-run tools too."""
    return reply(tools.change_tool(runtime(), user_id(), name, body.given()))


@bp.post("/reload")
@operation("Load the tools anew", returns={200: answers.Reloaded}, admin=True)
def reload() -> Response:
    """Those in the instance folder too; a broken file disables only itself."""
    return reply(tools.reload(runtime()))
