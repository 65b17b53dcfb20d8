"""Runs alone in a process with limits: reads a PDF from standard input, writes its text as JSON."""

import io
import json
import logging
import sys

MAX_MEMORY_BYTES = 768 * 1024 * 1024
NO_INDEX = b"\nstartxref\n0\n%%EOF\n"


def limit(cpu_seconds: int) -> None:
    """Bound this process; where the system has no such limits the parent's clock remains."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def read(data: bytes, max_pages: int, max_chars: int) -> dict[str, object]:
    """`{title, text, pages, read}`, or `{error}` for what cannot be read."""
    from pypdf import PdfReader
    from pypdf.errors import PdfReadError

    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
    except PdfReadError:  # many a PDF has lost its index; with an empty one pypdf looks for the objects itself
        reader = PdfReader(io.BytesIO(data + NO_INDEX), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "is protected by a password"}
    total, texts, size = len(reader.pages), list[str](), 0
    for number in range(min(total, max_pages)):
        try:
            texts.append(reader.pages[number].extract_text() or "")
        except Exception:  # as in main; the pages before this one are worth having
            if not texts:
                raise
            break
        size += len(texts[-1])
        if size > max_chars:
            break
    title = str((reader.metadata and reader.metadata.title) or "")
    return {"title": title, "text": "\n\n".join(texts)[:max_chars], "pages": total, "read": len(texts)}


def main() -> None:
    """Arguments: CPU seconds, pages, characters."""
    seconds, pages, chars = (int(word) for word in sys.argv[1:4])
    limit(seconds)
    logging.disable(logging.CRITICAL)
    try:
        answer = read(sys.stdin.buffer.read(), pages, chars)
    except Exception as error:  # noqa: BLE001 - a parser of strangers' files raises anything
        answer = {"error": "is damaged or of an unknown make", "kind": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
