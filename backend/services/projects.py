"""Projects: a folder with a name, instructions and limits."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from ..agent.types import JsonObject
from ..errors import Conflict, Forbidden, InvalidInput, NotFound
from ..ids import iso, utc_now
from ..models import GOING_ON, Project, Run
from ..stores import retention, search_index
from . import limits
from .paging import Page, encode_cursor, list_json, newest_first
from .runtime import Runtime

# What the kernel shows as files, this process's own secrets among them.
KERNEL_FOLDERS = tuple(Path(name) for name in ("/proc", "/sys", "/dev"))
CHANGEABLE = ("name", "description", "instructions", "default_model", "allowed_tools", "limits", "retention_days")
# Where a project is kept says nothing of when it was used last.
KEEPING = ("pinned", "archived")


@dataclass(frozen=True, slots=True)
class NewProject:
    """What a project is made from; `path` opens an existing folder instead of making one."""

    name: str
    description: str = ""
    instructions: str = ""
    path: str | None = None


def project_json(project: Project) -> JsonObject:
    """A project as the API shows it."""
    return {
        "id": project.id,
        "name": project.name,
        "description": project.description,
        "instructions": project.instructions,
        "path": project.path,
        "default_model": project.default_model,
        "retention_days": project.retention_days,
        "allowed_tools": project.allowed_tools,
        "limits": project.limits,
        "pinned": project.pinned,
        "archived": project.archived,
        "created_at": iso(project.created_at),
        "updated_at": iso(project.updated_at),
        "deleted_at": iso(project.deleted_at),
    }


def list_projects(
    runtime: Runtime, user_id: str, page: Page, *, archived: bool | None = False, deleted: bool = False
) -> JsonObject:
    """The user's projects, the last used first; with `deleted` those that can be restored, the last deleted first."""
    query = select(Project).where(Project.owner_id == user_id)
    time: InstrumentedAttribute[Any] = Project.updated_at
    if deleted:
        time = Project.deleted_at
        query = query.where(time > utc_now() - timedelta(days=retention.DELETED_KEPT_DAYS))
    else:
        query = query.where(Project.deleted_at.is_(None))
        query = query if archived is None else query.where(Project.archived == archived)
    with runtime.db.read() as session:
        rows = session.scalars(newest_first(query, page, time, Project.id)).all()
    return list_json(rows, page, project_json, lambda p: encode_cursor(getattr(p, time.key), p.id))


def get_project(session: Session, user_id: str, project_id: str, *, deleted: bool = False) -> Project:
    """The user's project. Raises NotFound for another's, and for a deleted one unless asked for."""
    project = session.get(Project, project_id)
    if project is None or project.owner_id != user_id or not stands(project.deleted_at, deleted):
        raise NotFound("There is no such project.")
    return project


def stands(deleted_at: datetime | None, deleted: bool) -> bool:
    """Whether a thing is there; with `deleted`, whether it was deleted and can still be restored."""
    if not deleted:
        return deleted_at is None
    return deleted_at is not None and deleted_at > utc_now() - timedelta(days=retention.DELETED_KEPT_DAYS)


def show_project(runtime: Runtime, user_id: str, project_id: str) -> JsonObject:
    """One project."""
    with runtime.db.read() as session:
        return project_json(get_project(session, user_id, project_id))


def create_project(runtime: Runtime, user_id: str, new: NewProject) -> JsonObject:
    """Make a project. Raises InvalidInput or Forbidden when `path` cannot be opened."""
    path = str(_existing_folder(runtime, new.path)) if new.path is not None else None
    with runtime.db.write() as session:
        project = Project(
            owner_id=user_id, name=new.name, description=new.description, instructions=new.instructions,
            path=path, limits={}, updated_at=utc_now(),
        )  # fmt: skip
        session.add(project)
        session.flush()
        _index(session, project)
        answer = project_json(project)
    runtime.tabs.publish(user_id, "project", project.id)
    return answer


def update_project(runtime: Runtime, user_id: str, project_id: str, changes: JsonObject) -> JsonObject:
    """Change some of CHANGEABLE and KEEPING. Raises InvalidInput for unknown tools and limits beyond the ceilings."""
    limits.check(changes.get("limits") or {})
    check_tools(runtime, changes.get("allowed_tools"), "allowed_tools")
    with runtime.db.write() as session:
        project = get_project(session, user_id, project_id)
        for name in (*CHANGEABLE, *KEEPING):
            if name in changes:
                setattr(project, name, changes[name])
        project.limits = project.limits or {}
        if not changes.keys() <= set(KEEPING):
            project.updated_at = utc_now()
        _index(session, project)
        answer = project_json(project)
    runtime.tabs.publish(user_id, "project", project_id)
    return answer


def delete_project(runtime: Runtime, user_id: str, project_id: str) -> None:
    """Hide a project and what is in it, and stop its runs; files stay where they are. Raises NotFound."""
    with runtime.db.write() as session:
        project = get_project(session, user_id, project_id)
        project.deleted_at = utc_now()
        search_index.remove(session.connection(), "project", project_id)
        active = session.scalars(select(Run.id).where(Run.project_id == project_id, Run.status.in_(GOING_ON))).all()
    for run_id in active:
        runtime.queue.cancel(run_id)
    runtime.tabs.publish(user_id, "project", project_id)


def delete_for_good(runtime: Runtime, user_id: str, project_id: str) -> None:
    """Put a deleted project out of reach at once; housekeeping removes it, and its folder if it made that.

    Raises NotFound when it is not deleted, Conflict while a run of it ends.
    """
    with runtime.db.write() as session:
        project = get_project(session, user_id, project_id, deleted=True)
        if session.scalar(select(Run.id).where(Run.project_id == project_id, Run.status.in_(GOING_ON)).limit(1)):
            raise Conflict("A run of this project is just being stopped; try again in a moment.")
        project.deleted_at = retention.out_of_reach()
    runtime.tabs.publish(user_id, "project", project_id)


def restore_project(runtime: Runtime, user_id: str, project_id: str) -> JsonObject:
    """Take a deletion back. Raises NotFound when there is none."""
    with runtime.db.write() as session:
        project = get_project(session, user_id, project_id, deleted=True)
        project.deleted_at = None
        _index(session, project)
        answer = project_json(project)
    runtime.queue.look_again()  # for messages that wait in it
    runtime.tabs.publish(user_id, "project", project_id)
    return answer


def check_tools(runtime: Runtime, names: list[str] | None, field: str) -> None:
    """Raises InvalidInput when a name is no tool's."""
    unknown = [name for name in names or () if runtime.registry.get(name) is None]
    if unknown:
        listed = ", ".join(repr(name) for name in unknown)
        raise InvalidInput("Some tools do not exist.", {field: [f"no tool is named {listed}"]})


def _index(session: Session, project: Project) -> None:
    words = f"{project.name}\n{project.description}"
    search_index.put(session.connection(), "project", project.id, words, project_id=project.id)


def _existing_folder(runtime: Runtime, text: str) -> Path:
    if runtime.settings.auth != "single":
        raise Forbidden("Folders of the machine can be opened only by the single owner of an instance.")
    try:
        given = Path(text).expanduser()
    except RuntimeError:  # ~ of somebody who has no home here
        given = Path(text)
    if not given.is_absolute():
        raise InvalidInput("The folder cannot be opened.", {"path": ["give the whole path of the folder"]})
    try:
        folder = given.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        folder = None
    if folder is None or not folder.is_dir():
        raise InvalidInput("The folder cannot be opened.", {"path": ["there is no such folder"]})
    if any(folder.is_relative_to(place) for place in KERNEL_FOLDERS):
        raise InvalidInput("The folder cannot be opened.", {"path": ["it holds the system's own state, not files"]})
    instance = runtime.settings.instance.resolve()
    if folder == instance or folder.is_relative_to(instance) or instance.is_relative_to(folder):
        why = "NanoClaw's own instance folder can be neither inside nor around a project"
        raise InvalidInput("The folder cannot be opened.", {"path": [why]})
    return folder
