"""Finding a project by what a person calls it: its id or its name."""

from collections.abc import Sequence

from sqlalchemy import select

from ..errors import InvalidInput, NotFound
from ..models import Project
from .runtime import Runtime

LISTED = 20


def project_called(runtime: Runtime, user_id: str, called: str) -> str:
    """The id of the user's project with this id or name, in any case. Raises NotFound, and InvalidInput for several."""
    query = select(Project).where(Project.owner_id == user_id, Project.deleted_at.is_(None))
    with runtime.db.read() as session:
        projects = session.scalars(query.order_by(Project.updated_at.desc(), Project.id)).all()
    if any(project.id == called for project in projects):
        return called
    same = [p for p in projects if p.name == called] or [p for p in projects if p.name.casefold() == called.casefold()]
    if len(same) == 1:
        return same[0].id
    if same:
        raise InvalidInput(f"{len(same)} projects are called {called!r}.", suggestion=_choose("Give an id:", same))
    if not projects:
        raise NotFound(
            f"There is no project {called!r}.", suggestion="Make one in the web app, or leave --project out."
        )
    raise NotFound(f"There is no project {called!r}.", suggestion=_choose("Name one of these:", projects))


def _choose(intro: str, projects: Sequence[Project]) -> str:
    lines = [f"  {p.id}  {p.name}" for p in projects[:LISTED]]
    more = [f"  and {len(projects) - LISTED} more"] if len(projects) > LISTED else []
    return "\n".join([intro, *lines, *more])
