"""Projects."""

from flask import Blueprint, Response

from ..services import projects
from .http import nothing, operation, reply, runtime, user_id
from .schemas import answers, requests

bp = Blueprint("projects", __name__, url_prefix="/api/projects")


@bp.get("")
@operation("List projects", query=requests.BinQuery, returns={200: answers.page_of(answers.Project)})
def list_projects(query: requests.BinQuery) -> Response:
    """The last used first, without those that are archived; `deleted=true`: those that can be restored."""
    page, wanted = query.page(), query.wanted()
    return reply(projects.list_projects(runtime(), user_id(), page, archived=wanted, deleted=query.deleted))


@bp.post("")
@operation("Make a project", body=requests.ProjectBody, returns={201: answers.Project})
def create_project(body: requests.ProjectBody) -> Response:
    """With a folder of its own, or over an existing one (`path`, single mode only)."""
    new = projects.NewProject(body.name, body.description, body.instructions, body.path)
    made = projects.create_project(runtime(), user_id(), new)
    return reply(made, 201, {"Location": f"/api/projects/{made['id']}"})


@bp.get("/<project_id>")
@operation("One project", returns={200: answers.Project}, errors=(404,))
def show_project(project_id: str) -> Response:
    """Its name, instructions and limits."""
    return reply(projects.show_project(runtime(), user_id(), project_id))


@bp.patch("/<project_id>")
@operation("Change a project", body=requests.ProjectPatch, returns={200: answers.Project}, errors=(404,))
def update_project(project_id: str, body: requests.ProjectPatch) -> Response:
    """Only the fields that are named."""
    return reply(projects.update_project(runtime(), user_id(), project_id, body.given()))


@bp.delete("/<project_id>")
@operation("Delete a project", query=requests.ForGoodQuery, returns={204: None}, errors=(404, 409))
def delete_project(project_id: str, query: requests.ForGoodQuery) -> Response:
    """Softly: it can be restored within 30 days. `for_good=true` takes what was deleted out of the bin, at once."""
    remove = projects.delete_for_good if query.for_good else projects.delete_project
    remove(runtime(), user_id(), project_id)
    return nothing()


@bp.post("/<project_id>/restore")
@operation("Restore a deleted project", returns={200: answers.Project}, errors=(404,))
def restore_project(project_id: str) -> Response:
    """With all that was in it."""
    return reply(projects.restore_project(runtime(), user_id(), project_id))
