"""How fast are files read and taken in, next to pypdf and openpyxl, and what do 1,000 small ones cost?"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.material import ME, fresh, texts
from memolith.bootstrap import App
from memolith.engine.documents import TASK
from memolith.ports.sandbox import Bounds

BARS = {"pdf": 5.0, "cells": 5.0}
BOUNDS = Bounds(60, 60, 1024, 131_072)
PYPDF = "import sys, pypdf; print(sum(len(page.extract_text()) for page in pypdf.PdfReader(sys.argv[1]).pages))"
OPENPYXL = (
    "import sys, openpyxl; book = openpyxl.load_workbook(sys.argv[1], read_only=True); "
    "print(sum(len(row) for sheet in book for row in sheet.values))"
)


def pdf(path: Path, pages: int) -> Path:
    """A PDF of plain text; every tenth page also has a ruled table."""
    source, objects = texts(pages * 40, 9), list[bytes]()
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(pages))
    objects += [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for n in range(pages):
        lines = "".join(f"({next(source)}) Tj T*\n" for _ in range(40))
        rules = (
            "".join(
                f"50 {y} m 350 {y} l S {x} 60 m {x} 120 l S\n"
                for x, y in zip((50, 150, 250, 350), (60, 80, 100, 120), strict=True)
            )
            if n % 10 == 0
            else ""
        )
        stream = f"BT /F1 9 Tf 12 TL 50 780 Td\n{lines}ET\n{rules}".encode()
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * n} 0 R>>".encode(),
            b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        ]
    body, offsets = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    path.write_bytes(
        body
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (len(objects) + 1, table, len(objects) + 1, len(body))
    )
    return path


def workbook(path: Path, rows: int) -> Path:
    """A workbook of one sheet with ten columns: three of text, seven of numbers."""
    namespace = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    content = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    text, number = '<c t="inlineStr"><is><t>{} {}</t></is></c>', "<c><v>{}</v></c>"
    cells = "".join(
        "<row>"
        + "".join(text.format(name, n % 97) for name in "abc")
        + "".join(number.format(n * k / 2) for k in range(7))
        + "</row>"
        for n in range(rows)
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{content}.sheet.main+xml"/><Override '
            f'PartName="/xl/worksheets/sheet1.xml" ContentType="{content}.worksheet+xml"/></Types>',
        )
        for name, target, kind in (
            ("_rels/.rels", "xl/workbook.xml", "officeDocument"),
            ("xl/_rels/workbook.xml.rels", "worksheets/sheet1.xml", "worksheet"),
        ):
            archive.writestr(
                name,
                f'<Relationships xmlns="{package}/relationships">'
                f'<Relationship Id="rId1" Type="{rel}/{kind}" Target="{target}"/></Relationships>',
            )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {namespace} xmlns:r="{rel}"><sheets>'
            '<sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f"<worksheet {namespace}><sheetData>{cells}</sheetData></worksheet>",
        )
    return path


def small(folder: Path, count: int) -> Iterator[Path]:
    """Small files of five kinds."""
    for n, text in enumerate(texts(count, 120)):
        first, rest = text[:40], text[40:]
        name, body = (
            ("md", f"# {first}\n\n{rest}"),
            ("txt", text),
            ("html", f"<html><h1>{first}</h1><p>{rest}</p></html>"),
            ("csv", "\n".join(f"{word},{k}" for k, word in enumerate(text.split()))),
            ("json", f'{{"{first}": "{rest}"}}'),
        )[n % 5]
        path = folder / f"{n}.{name}"
        path.write_text(body, encoding="utf-8")
        yield path


def timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def other(code: str, path: Path) -> float | None:
    """How long another library takes in a process of its own; None where it is not installed."""
    started = time.perf_counter()
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True)
    return None if ran.returncode else time.perf_counter() - started


def compare(app: App, name: str, path: Path, rival: str, code: str, bar: float) -> None:
    """Read in the sandbox, taken in whole, and the same file read by another library."""
    app.sandbox.read(TASK, path, BOUNDS)
    read = timed(lambda: app.sandbox.read(TASK, path, BOUNDS))
    taken = timed(lambda: app.engine.documents.ingest(ME, path, path.name))
    theirs = other(code, path)
    beside = (
        f"{rival} {theirs:.2f} s ({theirs / read:.1f} times as long)"
        if theirs
        else f"{rival} is not installed"
    )
    print(
        f"{name:24} read {read:6.2f} s   taken in {taken:6.2f} s   {beside}   bar {bar:g} s: "
        f"{'ok' if read < bar else 'MISSED'}",
        flush=True,
    )


def main() -> None:
    """The two large files, then the many small ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    chosen = parser.parse_args()
    with TemporaryDirectory() as name, fresh() as app:
        folder = Path(name)
        compare(
            app, "PDF of 500 pages", pdf(folder / "pages.pdf", 500), "pypdf", PYPDF, BARS["pdf"]
        )
        compare(
            app,
            "500,000 cells",
            workbook(folder / "cells.xlsx", 50_000),
            "openpyxl",
            OPENPYXL,
            BARS["cells"],
        )
        (folder / "small").mkdir()
        paths = list(small(folder / "small", chosen.files))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        took = timed(lambda: [app.engine.documents.ingest(ME, path, path.name) for path in paths])
        again = timed(lambda: [app.engine.documents.ingest(ME, path, path.name) for path in paths])
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(
            f"{len(paths):,} small files: {len(paths) / took:,.0f} a second, known ones {len(paths) / again:,.0f} a "
            f"second; the process grew by {grown / 1024:.0f} MB"
        )


if __name__ == "__main__":
    main()
