"""Makes the tables and the plots of docs/why/scale.md from the files in bench/results.

python -m scripts.scale
"""

import json
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "why" / "scale.md"
BEGIN = "<!-- made by scripts/scale.py from bench/results: begin -->"
END = "<!-- made by scripts/scale.py from bench/results: end -->"
STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
COLOURS = {"sqlite": "#1f6f8b", "postgres": "#b5502b"}


class Row(NamedTuple):
    """A line of the table: what it says, the figure, and how many digits count."""

    title: str
    figure: str
    digits: int


ROWS = (
    Row("import without vectors, items/s", "import_per_s", 0),
    Row("vectors stored, 1/s", "vectors_per_s", 0),
    Row("bytes per passage", "bytes_per_passage", 0),
    Row("open to first result, s", "open_to_first_result_s", 2),
    Row("hybrid search p50, ms", "hybrid_p50_ms", 1),
    Row("hybrid search p95, ms", "hybrid_p95_ms", 1),
    Row("with a tag of 1 %, p50, ms", "filtered_p50_ms", 1),
    Row("with a tag of 1 %, p95, ms", "filtered_p95_ms", 1),
    Row("durable write p50, ms", "write_p50_ms", 1),
    Row("unshared memory, with mapped pages of the store, MB", "private_memory_mb", 0),
    Row("of it what the system cannot take back, MB", "own_memory_mb", 0),
    Row("verify, s", "verify_s", 1),
    Row("backup, s", "backup_s", 1),
    Row("erase one item, s", "erase_s", 2),
    Row("compact, s", "vacuum_s", 2),
    Row("rebuild, s", "rebuild_s", 1),
)


class Plot(NamedTuple):
    """A figure that is drawn against the size."""

    file: str
    title: str
    figure: str


PLOTS = (
    Plot("scale-search.svg", "hybrid search, p50 in ms", "hybrid_p50_ms"),
    Plot("scale-write.svg", "durable write, p50 in ms", "write_p50_ms"),
)
WIDTH = 560
HEIGHT = 300
LEFT = 60
BOTTOM = 40


class Result(NamedTuple):
    """What was measured of a store at a size, and how busy the machine was."""

    store: str
    size: int
    took_s: float
    load: float
    figures: dict[str, float]
    cores: int = 2


def results(folder: Path = RESULTS) -> list[Result]:
    """Every result, the smallest first."""
    found = [
        Result(**json.loads(file.read_text(encoding="utf-8")))
        for file in folder.glob("curve-*.json")
    ]
    return sorted(found, key=lambda result: (list(STORES).index(result.store), result.size))


def table(measured: Sequence[Result]) -> str:
    """The results side by side."""
    titles = [f"{STORES[result.store]} {result.size:,}" for result in measured]
    lines = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    for row in ROWS:
        cells = [_cell(result, row) for result in measured]
        lines.append(f"| {row.title} | " + " | ".join(cells) + " |")
    loads = [f"{result.load:.1f} of {result.cores}" for result in measured]
    lines.append("| load of the machine, of its cores | " + " | ".join(loads) + " |")
    took = [f"{result.took_s:,.0f}" for result in measured]
    lines.append("| the whole run, s | " + " | ".join(took) + " |")
    return "\n".join(lines)


def _cell(result: Result, row: Row) -> str:
    value = result.figures.get(row.figure)
    return "–" if value is None else f"{value:,.{row.digits}f}"


def growth(measured: Sequence[Result]) -> str:
    """How the cost of a search grows with the size, in words."""
    lines = []
    for store, name in STORES.items():
        own = [result for result in measured if result.store == store]
        if len(own) > 1:
            first, last = own[0], own[-1]
            factor = last.figures["hybrid_p50_ms"] / first.figures["hybrid_p50_ms"]
            lines.append(
                f"- {name}: {last.size // first.size:,} times the passages cost {factor:.1f} times "
                "the time of a hybrid search."
            )
    return "\n".join(lines)


def svg(plot: Plot, measured: Sequence[Result]) -> str:
    """A plot with logarithmic axes."""
    values = [result.figures[plot.figure] for result in measured] or [1.0]
    sizes = [result.size for result in measured] or [1]
    low, high = log10(min(sizes)), max(log10(max(sizes)), log10(min(sizes)) + 1)
    bottom = log10(min(values)) - 0.1
    top = max(log10(max(values)), bottom + 1) + 0.1

    def at(size: float, value: float) -> str:
        x = LEFT + (log10(size) - low) / (high - low) * (WIDTH - LEFT - 20)
        y = HEIGHT - BOTTOM - (log10(value) - bottom) / (top - bottom) * (HEIGHT - BOTTOM - 30)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{plot.title}, by the number of passages</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18">{plot.title}</text>',
    ]
    for size in sorted(set(sizes)):
        x = at(size, 10**bottom).split(",")[0]
        parts.append(
            f'<text x="{x}" y="{HEIGHT - 15}" text-anchor="middle">{size:,} passages</text>'
        )
    for store, colour in COLOURS.items():
        own = [result for result in measured if result.store == store]
        points = [at(result.size, result.figures[plot.figure]) for result in own]
        if points:
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" '
                'stroke-width="2"/>'
            )
        for result, point in zip(own, points, strict=True):
            x, y = point.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
            parts.append(
                f'<text x="{x}" y="{float(y) - 8:.1f}" text-anchor="middle" fill="{colour}">'
                f"{result.figures[plot.figure]:.1f}</text>"
            )
    for n, (store, colour) in enumerate(COLOURS.items()):
        parts.append(
            f'<text x="{WIDTH - 100}" y="{18 + 16 * n}" fill="{colour}">{STORES[store]}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def section(measured: Sequence[Result]) -> str:
    """What stands between the marks of the page."""
    pictures = "\n".join(f"![{plot.title}]({plot.file})" for plot in PLOTS)
    parts = [BEGIN, table(measured), growth(measured), pictures, END]
    return "\n\n".join(part for part in parts if part)


def page(text: str, measured: Sequence[Result]) -> str:
    """The page with the present section."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + section(measured) + after


def files() -> dict[Path, str]:
    """Every file that follows from the results, with its content."""
    measured = results()
    made = {PAGE: page(PAGE.read_text(encoding="utf-8"), measured)}
    for plot in PLOTS:
        made[PAGE.with_name(plot.file)] = svg(plot, measured)
    return made


def main() -> None:
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
