"""The text of PDF, DOCX and XLSX files, found by a bounded child process so that a hostile file harms nothing."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import FileProblem

MAX_SECONDS = 20.0
MAX_DOCUMENT_BYTES = 100 << 20
MAX_TEXT_BYTES = 4 << 20
_READER = Path(__file__).with_name("document_reader.py")
_HEADS = (b"%PDF-", b"PK\x03\x04")


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document; `kind` is pdf, docx or xlsx; `note` says what is missing."""

    kind: str
    text: str
    note: str | None = None


def may_be_document(head: bytes) -> bool:
    """True if a file that begins like this may be a PDF or an office document."""
    return head.startswith(_HEADS)


def read_document(stream: BinaryIO, path: str) -> Document | None:
    """The text of the document in `stream` (a real file); None if it is no document after all.

    FileProblem if it is one but cannot be read: damaged, protected, too large, or not done in time.
    """
    size = os.fstat(stream.fileno()).st_size
    if size > MAX_DOCUMENT_BYTES:
        raise FileProblem(f"{path!r} has {size} bytes; documents are read up to {MAX_DOCUMENT_BYTES}.")
    stream.seek(0)
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as report:
        stopped = _run(stream, text, report)
        text.seek(0)
        found = text.read(MAX_TEXT_BYTES).decode("utf-8", "ignore")
        said = _report(report)
    kind, error = said.get("kind"), said.get("error")
    if error == "not a document":
        return None
    if found.strip():
        return Document(str(kind or "document"), found, stopped or error or said.get("note"))
    if error or stopped:
        raise FileProblem(f"{path!r} could not be read. {error or stopped}")
    return Document(str(kind), "", "The document holds no text (it may be scanned pictures).")


def _run(stream: BinaryIO, text: Any, report: Any) -> str | None:
    """Run the child to its end or its limit; a sentence about the limit, or None."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    child = subprocess.Popen(  # noqa: S603  our own script under our own interpreter
        [sys.executable, "-I", "-X", "utf8", str(_READER)],
        stdin=stream,
        stdout=text,
        stderr=report,
        env={**kept, "OPENBLAS_NUM_THREADS": "1"},
        close_fds=True,
    )
    try:
        child.wait(MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return "Reading it took too long and was stopped."
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
    return "Reading it took too much time or memory and was stopped." if child.returncode else None


def _report(report: Any) -> dict[str, Any]:
    """The last line of what the child said; libraries may have warned before."""
    report.seek(0)
    lines = report.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
    try:
        said = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
