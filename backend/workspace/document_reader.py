"""The child process that turns one untrusted PDF, DOCX or XLSX into text; run as a script, it imports nothing of ours.

The document is standard input, the text goes to standard output as it is found (so that a limit
keeps what was read), and one line of JSON to standard error: {"kind"} or {"error"}, perhaps {"note"}.
"""

import json
import sys
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

NO_DOCUMENT = "not a document"  # the parent knows these words
MAX_TEXT_CHARS = 2_000_000
MAX_PAGES = 1_000
MAX_CELLS = 300_000
MAX_ZIP_ENTRIES = 5_000
MAX_UNPACKED_BYTES = 256 << 20
MAX_MEMORY_BYTES = 1 << 30
MAX_CPU_SECONDS = 12
MAX_OUTPUT_BYTES = 16 << 20


class Unreadable(Exception):
    """The document cannot be read; the message is for people."""


def limit() -> None:
    """Bound memory, time and output of this very process, where the system can."""
    try:
        import resource
    except ImportError:
        return  # Windows: the parent's clock and our own counts remain
    for what, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(what, (most, most))


def pdf(stream: BinaryIO) -> Iterator[str]:
    """The text of each page under a heading with its number."""
    from pypdf import PdfReader

    reader = PdfReader(stream)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("The PDF is protected by a password.")
    for number, page in enumerate(reader.pages, 1):
        if number > MAX_PAGES:
            yield f"\n[only the first {MAX_PAGES} pages are shown]\n"
            return
        yield f"--- Page {number} ---\n{page.extract_text().strip()}\n\n"


def docx(stream: BinaryIO) -> Iterator[str]:
    """Paragraphs and tables in their order; cells are parted by tabs."""
    from docx import Document
    from docx.table import Table

    for block in Document(stream).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield "\t".join(_flat(cell.text) for cell in row.cells) + "\n"
            yield "\n"
        else:
            yield block.text + "\n"


def xlsx(stream: BinaryIO) -> Iterator[str]:
    """Each sheet under its name; cells parted by tabs, values as last computed, empty rows left out."""
    from openpyxl import load_workbook

    book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    cells = 0
    for sheet in book.worksheets:
        yield f"--- Sheet {sheet.title} ---\n"
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            values = ["" if value is None else _flat(str(value)) for value in row]
            while values and not values[-1]:
                values.pop()
            cells += len(values)
            if values:
                yield "\t".join(values) + "\n"
            if cells > MAX_CELLS:
                yield f"\n[only the first {MAX_CELLS} cells are shown]\n"
                return
        yield "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def office_kind(stream: BinaryIO) -> str:
    """`docx` or `xlsx`; Unreadable for another archive, or one that unpacks to too much."""
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile:
        raise Unreadable(NO_DOCUMENT) from None
    names = {entry.filename for entry in entries}
    kind = "docx" if "word/document.xml" in names else "xlsx" if "xl/workbook.xml" in names else ""
    if not kind:
        raise Unreadable(NO_DOCUMENT)
    if len(entries) > MAX_ZIP_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise Unreadable(f"The document unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB; it is not opened.")
    stream.seek(0)
    return kind


def write_out(pieces: Iterator[str]) -> str | None:
    """Write the text as it comes; a note if it was cut."""
    used = 0
    for piece in pieces:
        clean = piece.replace("\0", "").encode("utf-8", "replace")
        sys.stdout.buffer.write(clean[: MAX_TEXT_CHARS - used] if used + len(clean) > MAX_TEXT_CHARS else clean)
        sys.stdout.buffer.flush()
        used += len(clean)
        if used > MAX_TEXT_CHARS:
            return f"only the first {MAX_TEXT_CHARS // 1_000_000} MB of its text are shown"
    return None


def main() -> None:
    """Read the document on standard input."""
    limit()
    stream = sys.stdin.buffer
    report: dict[str, Any] = {}
    try:
        head = stream.read(8)
        stream.seek(0)
        kind = "pdf" if head.startswith(b"%PDF-") else office_kind(stream)
        report["kind"] = kind
        report["note"] = write_out({"pdf": pdf, "docx": docx, "xlsx": xlsx}[kind](stream))
    except Unreadable as error:
        report["error"] = str(error)
    except MemoryError:
        report["error"] = "The document needs too much memory to read."
    except Exception as error:  # noqa: BLE001  the boundary of this process: any fault of a parser is "damaged"
        report["error"] = f"The document is damaged or not of a kind that can be read ({type(error).__name__})."
    sys.stderr.write("\n" + json.dumps(report))


if __name__ == "__main__":
    main()
