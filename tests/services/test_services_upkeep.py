"""What was deleted long ago is removed with everything that hangs on it, and nothing else."""

import os
import threading
from datetime import timedelta

from sqlalchemy import func, select, text, update

from backend.app import Instance
from backend.ids import utc_now
from backend.models import Base, Conversation, Message, Project, Run, ToolCall
from backend.services import conversations, projects
from backend.services.conversations import update_conversation
from backend.services.projects import NewProject, create_project
from backend.services.upkeep import Housekeeping
from backend.services.workspaces import Workspaces
from backend.stores import search_index


def fill(instance: Instance, owner: str, project_id: str, name: str) -> None:
    """A conversation of a project, with a message, a run and a call."""
    with instance.runtime.db.write() as session:
        session.add(Conversation(id=name, owner_id=owner, project_id=project_id, title=name, updated_at=utc_now()))
        session.flush()
        session.add(Message(id=f"{name}-m", conversation_id=name, position=1, role="user", content=f"words of {name}"))
        search_index.add_message(session.connection(), f"{name}-m", name, project_id, f"words of {name}")
        session.add(Run(id=f"{name}-r", kind="chat", status="completed", owner_id=owner, conversation_id=name))
        session.flush()
        session.add(Run(id=f"{name}-c", kind="child", status="completed", owner_id=owner, parent_run_id=f"{name}-r"))
        blob = instance.runtime.blobs.put(f"result of {name}".encode())
        call = ToolCall(
            run_id=f"{name}-r", id="c", step=0, position=0, name="x", status="success", call={}, result_blob=blob
        )
        session.add(call)


def rows(instance: Instance) -> dict[str, int]:
    with instance.runtime.db.read() as session:
        names = ("conversations", "messages", "runs", "tool_calls", "file_changes", "projects")
        counts = {n: session.scalar(select(func.count()).select_from(Base.metadata.tables[n])) or 0 for n in names}
        return counts | {"index": session.scalar(text("SELECT count(*) FROM search_index WHERE kind = 'message'")) or 0}


def test_nb_per_04_what_was_deleted_is_removed_after_thirty_days_with_its_results(
    instance: Instance, owner: str
) -> None:
    runtime = instance.runtime
    gone, stays = (create_project(runtime, owner, NewProject(name))["id"] for name in ("gone", "stays"))
    for project_id, name in ((gone, "one"), (stays, "two"), (stays, "three"), (stays, "four")):
        fill(instance, owner, project_id, name)
    folder = Workspaces(runtime).open(gone, user_id=owner)
    folder.write("a.md", b"first")
    folder.write("a.md", b"second")
    with runtime.db.write() as session:
        session.get_one(Project, gone).deleted_at = utc_now() - timedelta(days=31)
        session.get_one(Conversation, "two").deleted_at = utc_now() - timedelta(days=31)
        session.get_one(Conversation, "three").deleted_at = utc_now() - timedelta(days=29)
    blobs = list(runtime.blobs.folder.glob("??/*"))
    assert len(blobs) == 5
    for blob in blobs:
        os.utime(blob, (0, 0))
    kept = runtime.blobs.put(b"result of one")  # put again, so it is young

    assert Housekeeping(runtime, threading.Event()).purge() == 2
    assert rows(instance) == {
        "conversations": 2, "messages": 2, "runs": 4, "tool_calls": 2, "file_changes": 0, "projects": 1, "index": 2,
    }  # fmt: skip
    assert not folder.root.real.exists()
    left = {path.parent.name + path.name for path in runtime.blobs.folder.glob("??/*")}
    assert left == {kept, *(runtime.blobs.put(f"result of {name}".encode()) for name in ("three", "four"))}
    with runtime.db.read() as session:
        assert session.execute(text("PRAGMA foreign_key_check")).all() == []


def test_a_conversation_that_was_moved_out_keeps_what_its_runs_did(instance: Instance, owner: str) -> None:
    runtime = instance.runtime
    gone, stays = (create_project(runtime, owner, NewProject(name))["id"] for name in ("gone", "stays"))
    for place, name in ((gone, "left"), (None, "out"), (stays, "moved")):
        fill(instance, owner, gone, name)
        update_conversation(runtime, owner, name, {"project_id": place})
    with runtime.db.write() as session:
        session.execute(update(Run).values(project_id=gone))
        session.add(Run(id="alone", kind="task", status="completed", owner_id=owner, project_id=gone))
        session.get_one(Project, gone).deleted_at = utc_now() - timedelta(days=31)

    assert Housekeeping(runtime, threading.Event()).purge() == 1
    with runtime.db.read() as session:
        places = {row.id: row.project_id for row in session.scalars(select(Run))}
        assert places == {"out-r": None, "out-c": None, "moved-r": stays, "moved-c": stays}
        assert sorted(session.scalars(select(ToolCall.run_id))) == ["moved-r", "out-r"]


def test_what_was_deleted_for_good_is_removed_in_the_next_round_of_the_hour(instance: Instance, owner: str) -> None:
    runtime = instance.runtime
    gone, stays = (create_project(runtime, owner, NewProject(name))["id"] for name in ("gone", "stays"))
    for project_id, name in ((gone, "one"), (stays, "two"), (stays, "three")):
        fill(instance, owner, project_id, name)
    folder = Workspaces(runtime).open(gone, user_id=owner)
    folder.write("a.md", b"first")
    projects.delete_project(runtime, owner, gone)
    projects.delete_for_good(runtime, owner, gone)
    for name in ("two", "three"):
        conversations.delete_conversation(runtime, owner, name)
    conversations.delete_for_good(runtime, owner, "two")
    assert Housekeeping(runtime, threading.Event()).expire() == 2
    left = rows(instance)
    assert (left["projects"], left["conversations"], left["messages"], left["file_changes"]) == (1, 1, 1, 0)
    assert not (runtime.settings.instance / "workspaces" / gone).exists()
    assert conversations.restore_conversation(runtime, owner, "three")["title"] == "three"
