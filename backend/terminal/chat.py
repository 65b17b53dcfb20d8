"""`run.py chat`: one agent turn in the terminal, streaming, recorded like any other run."""

import sys

from ..services.runs import NewTask, RunRequest
from ..settings import Settings
from .session import follow, opened
from .view import TerminalView


def chat(settings: Settings, question: str, project_id: str | None, model: str | None) -> int:
    """Ask one question and print the answer as it comes; 0 if the run completed."""
    view = TerminalView(sys.stdout, sys.stderr)
    with opened(settings) as instance:
        follow(instance, NewTask(question, project_id, RunRequest(model=model)), view.show)
    return 0 if view.status == "completed" else 1
