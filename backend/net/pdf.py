"""Reads the text of a PDF in a child process, so that a hostile file costs seconds and never the server."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ..errors import FetchError, FetchRetryable, ToolCancelled
from . import clean
from .lifeline import Cancel

MAX_PAGES = 100
MAX_CHARS = 200_000
CPU_SECONDS = 10
WALL_SECONDS = 15.0
MAX_AT_ONCE = 4
CHILD = Path(__file__).with_name("pdf_child.py")
ENVIRONMENT = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # Windows cannot do without

_slots = threading.BoundedSemaphore(MAX_AT_ONCE)


def read(data: bytes, cancelled: Cancel | None = None) -> dict[str, Any]:
    """`{title, text, pages, read}`; FetchError that says why it cannot be read."""
    if not _slots.acquire(timeout=WALL_SECONDS):
        raise FetchRetryable("Too many PDFs are being read at the moment.")
    try:
        out = _run(data, cancelled)
    finally:
        _slots.release()
    if cancelled is not None and cancelled.is_set():
        raise ToolCancelled("The fetch was cancelled.")
    return _answer(out)


def _run(data: bytes, cancelled: Cancel | None) -> bytes:
    command = [sys.executable, "-I", str(CHILD), str(CPU_SECONDS), str(MAX_PAGES), str(MAX_CHARS)]
    with subprocess.Popen(  # noqa: S603 - our own file, fixed arguments
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    ) as child:
        forget = cancelled.on_cancel(child.kill) if cancelled else (lambda: None)
        try:
            out, _ = child.communicate(data, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            out, _ = b"", child.wait()
        finally:
            forget()
    return out


def _answer(out: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        raise FetchError(f"The PDF could not be read within {CPU_SECONDS} seconds and the memory allowed.") from None
    if "error" in answer:
        raise FetchError(f"The PDF {answer['error']}; its text cannot be read.")
    text = clean.tidy(answer["text"])
    if not text:
        raise FetchError("The PDF holds no text, only pictures of pages perhaps.")
    return {**answer, "text": text, "title": clean.one_line(answer["title"], 300)}
