"""The folders of projects: where they lie, opened for a person or a run, with every change kept in the database."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, insert, select

from ..agent.types import JsonObject
from ..errors import NoProject
from ..models import FileChange, Project
from ..workspace import Actor, Change, Workspace
from .runtime import Runtime

FOLDER_MODE = 0o700


class SqlChangeLog:
    """File changes as rows; `position` rises within a project. What runs change is told to the owner's tabs."""

    def __init__(self, runtime: Runtime, owner_id: str) -> None:
        self._runtime = runtime
        self._owner_id = owner_id

    def keep(self, change: Change) -> None:
        """Store one change for good, before it happens."""
        self.keep_all([change])

    def keep_all(self, changes: Sequence[Change]) -> None:
        """Store changes of one project for good, before they happen."""
        if not changes:
            return
        first = changes[0]
        with self._runtime.db.write() as session:
            here = FileChange.project_id == first.project_id
            last = session.scalar(select(func.max(FileChange.position)).where(here)) or 0
            values = [_values(change, last + number) for number, change in enumerate(changes, 1)]
            session.execute(insert(FileChange), values)
        if first.run_id is not None:
            self._runtime.tabs.publish(self._owner_id, "files", first.project_id)


def _values(change: Change, position: int) -> JsonObject:
    return {
        "id": change.id, "project_id": change.project_id, "position": position, "run_id": change.run_id,
        "call_id": change.call_id, "user_id": change.user_id, "action": change.action, "path": change.path,
        "new_path": change.new_path, "before_hash": change.before_hash, "after_hash": change.after_hash,
        "before_size": change.before_size, "after_size": change.after_size,
    }  # fmt: skip


class Workspaces:
    """The `workspaces` service of the tools, and the door of everyone else to a project's folder."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def open(
        self,
        project_id: str | None,
        *,
        run_id: str | None = None,
        call_id: str | None = None,
        user_id: str | None = None,
    ) -> Workspace:
        """The project's folder; what is done in it is recorded as done by this run or person.

        Raises NoProject without a project, for an unknown or deleted one, and for another user's.
        """
        if not project_id:
            raise NoProject(
                "This conversation is outside a project, so there are no files.",
                suggestion="Move the conversation into a project.",
            )
        with self._runtime.db.read() as session:
            project = session.get(Project, project_id)
        if project is None or project.deleted_at or (user_id is not None and project.owner_id != user_id):
            raise NoProject("There is no such project.")
        return Workspace(
            project_id,
            self._root(project),
            SqlChangeLog(self._runtime, project.owner_id),
            self._runtime.blobs,
            self._runtime.settings.project_quota,
            Actor(run_id, call_id, user_id),
        )

    def _root(self, project: Project) -> Path:
        if project.path:
            folder = Path(project.path)
            if folder.resolve() != folder:  # it was checked when it was opened; a link could lead anywhere now
                raise NoProject("The project's folder was replaced by a link.", suggestion="Open it as a new project.")
            return folder
        root = self._runtime.settings.instance / "workspaces" / project.id
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        return root
