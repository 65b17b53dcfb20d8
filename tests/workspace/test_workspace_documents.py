"""Text out of PDF, DOCX and XLSX files, also hostile ones, in bounded time and memory."""

import io
import json
import resource
import zipfile
import zlib

import pytest
from docx import Document
from openpyxl import Workbook

from backend.workspace import document_reader, documents

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str, extra: bytes = b"") -> bytes:
    """A small PDF with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = zlib.compress(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode() + extra)
        more = f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {more} >>".encode())
        objects.append(f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream")
    out, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, 2)
    for number, content in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + content + b"\nendobj\n")
    start = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write(b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets))
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def docx() -> bytes:
    document, out = Document(), io.BytesIO()
    document.add_heading("Quarterly report")
    document.add_paragraph("Revenue rose. 港口")
    table = document.add_table(rows=2, cols=2)
    for row, values in zip(table.rows, (("name", "value"), ("a\nb", "1")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("The end.")
    document.save(out)
    return out.getvalue()


def xlsx(rows: int = 3) -> bytes:
    book, out = Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = "Ports"
    sheet.append(["port", "TEU"])
    for number in range(rows):
        sheet.append([f"港 {number}", number])
    sheet["Z100"] = "far away"
    book.create_sheet("Empty")
    book.save(out)
    return out.getvalue()


def archive(parts: dict[str, bytes], base: bytes | None = None) -> bytes:
    """A ZIP of `parts`, in place of those of the same name in `base`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        if base is not None:
            with zipfile.ZipFile(io.BytesIO(base)) as old:
                for name in old.namelist():
                    if name not in parts:
                        made.writestr(name, old.read(name))
        for name, content in parts.items():
            made.writestr(name, content)
    return out.getvalue()


def test_a_pdf_is_read_page_by_page(tools, root):
    (root / "a.pdf").write_bytes(pdf("First page", "Second page"))
    data = tools.data("file_read", path="a.pdf")
    assert data["document"] == "pdf"
    assert data["content"] == "--- Page 1 ---\nFirst page\n\n--- Page 2 ---\nSecond page\n\n"
    assert tools.data("file_read", path="a.pdf", offset=4, limit=2)["content"] == "--- Page 2 ---\nSecond page\n"


def test_a_docx_is_read_in_its_order_with_tables(tools, root):
    (root / "a.docx").write_bytes(docx())
    data = tools.data("file_read", path="a.docx")
    assert data["document"] == "docx"
    assert data["content"] == "Quarterly report\nRevenue rose. 港口\nname\tvalue\na b\t1\n\nThe end.\n"


def test_an_xlsx_is_read_sheet_by_sheet(tools, root):
    (root / "a.xlsx").write_bytes(xlsx())
    data = tools.data("file_read", path="a.xlsx")
    assert data["document"] == "xlsx"
    assert "--- Sheet Ports ---\nport\tTEU\n港 0\t0\n港 1\t1\n" in data["content"]
    assert "far away" in data["content"]
    assert "--- Sheet Empty ---" in data["content"]


def test_a_long_document_is_read_in_pages(tools, root):
    (root / "a.xlsx").write_bytes(xlsx(4000))
    page = tools.data("file_read", path="a.xlsx")
    assert page["truncated"]
    following = tools.data("file_read", path="a.xlsx", offset=page["next_offset"])
    assert following["content"].startswith(f"港 {page['next_offset'] - 3}\t")


def test_another_archive_is_named_as_binary(tools, root):
    (root / "a.zip").write_bytes(archive({"x.txt": b"hello"}))
    data = tools.data("file_read", path="a.zip")
    assert data["binary"]
    assert "ZIP" in data["kind"]


def bomb() -> bytes:
    return archive({"word/document.xml": b" " * (300 << 20)}, docx())


def lying_sizes() -> bytes:
    """Unpacks to far more than it declares."""
    content = bytearray(archive({"word/document.xml": b"<a>" + b" " * (80 << 20) + b"</a>"}, docx()))
    real = (80 << 20) + 7
    return bytes(content).replace(real.to_bytes(4, "little"), (1000).to_bytes(4, "little"))


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "lol">{entities}]>'
    text += f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&l11;</w:t></w:r></w:p></w:body></w:document>'
    return archive({"word/document.xml": text.encode()}, docx())


def outside_entity() -> bytes:
    text = f"""<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>
    <w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>[&x;]</w:t></w:r></w:p></w:body></w:document>"""
    return archive({"word/document.xml": text.encode()}, docx())


def deep() -> bytes:
    inner = f'<w:document xmlns:w="{WORD}"><w:body>' + "<w:p>" * 200_000 + "</w:p>" * 200_000 + "</w:body></w:document>"
    return archive({"word/document.xml": inner.encode()}, docx())


HOSTILE = {
    "bomb.docx": bomb,
    "lying.docx": lying_sizes,
    "laughs.docx": laughs,
    "entity.docx": outside_entity,
    "deep.docx": deep,
    "cut.docx": lambda: docx()[:-400],
    "cut.pdf": lambda: pdf("x")[:120],
    "empty.pdf": lambda: b"%PDF-1.7\n",
    "noise.pdf": lambda: b"%PDF-1.7\n" + bytes(range(256)) * 200,
    "loop.pdf": lambda: pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
    "flate.pdf": lambda: pdf("x", extra=b" " * (400 << 20)),
    "many.zip": lambda: archive({f"{n}": b"" for n in range(6000)} | {"xl/workbook.xml": b"<x/>"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_ends_in_bounded_time_and_gives_away_nothing(tools, root, name):
    (root / name).write_bytes(HOSTILE[name]())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = tools("file_read", path=name)
    text = json.dumps(result, ensure_ascii=False)
    assert "root:" not in text
    assert str(root) not in text
    assert "Traceback" not in text
    assert len(text) < 20_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB


def test_a_document_that_needs_too_long_gives_what_was_read(tools, root, monkeypatch):
    slow = root / "slow.py"
    slow.write_text("import sys, time\nsys.stdout.write('first page')\nsys.stdout.flush()\ntime.sleep(600)\n")
    monkeypatch.setattr(documents, "_READER", slow)
    monkeypatch.setattr(documents, "MAX_SECONDS", 1.0)
    (root / "a.pdf").write_bytes(pdf("x"))
    data = tools.data("file_read", path="a.pdf")
    assert data["content"] == "first page"
    assert "too long" in data["note"]


def test_a_protected_pdf_says_so(tools, root):
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    with (root / "a.pdf").open("wb") as out:
        writer.write(out)
    assert "password" in tools.error("file_read", path="a.pdf")["error"]


def test_the_text_of_a_document_is_cut_at_its_limit(monkeypatch, capfdbinary):
    monkeypatch.setattr(document_reader, "MAX_TEXT_CHARS", 100)
    note = document_reader.write_out(iter(["x" * 60, "y" * 60, "z" * 60]))
    assert note is not None
    assert capfdbinary.readouterr().out == b"x" * 60 + b"y" * 40
