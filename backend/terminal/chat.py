"""`run.py chat`: one agent turn in the terminal, streaming, recorded like any other run."""

import sys

from ..services.runs import NewTask, RunRequest
from ..settings import Settings
from .session import follow, opened, project_id
from .view import TerminalView


def chat(settings: Settings, question: str, project: str | None, model: str | None) -> int:
    """Ask one question and print the answer as it comes; 0 if the run completed. Raises NotFound, InvalidInput."""
    view = TerminalView(sys.stdout, sys.stderr)
    with opened(settings) as instance:
        task = NewTask(question, project_id(instance, project), RunRequest(model=model))
        follow(instance, task, view.show)
    return 0 if view.status == "completed" else 1
