"""What can one caller cost the others? Every text field of every tool at its limit, filled with
repetitions that are hard on patterns and parsers, next to harmless text of the same size; and what
another tenant waits while one key floods a server, next to an idle one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests import hostile
from tests.conftest import ME
from tests.hostile import PIECES, Bench, Worst
from tests.tools.stock import fill

from bench.floods import floods
from memolith.settings import Settings

SIZE_BYTES = 200_000
MARGIN = 15
"""A call that takes this many times as long as harmless text is stopped soon after."""
SHOWN = 15


def text_fields(options: argparse.Namespace) -> None:
    """Print the fields with the worst CPU time next to harmless text."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder) / "template", embedder="none", runner_preload=())
        settings.data.mkdir()
        fill(settings)
        bench = Bench(settings.data, Path(folder) / "work", settings, ME)
        found: list[tuple[str, Worst]] = []
        for field in hostile.text_fields(hostile.all_tools()):
            if options.only in field.name:
                worst = hostile.worst_cost(bench, field, PIECES, options.size, MARGIN)
                found.append((field.name, worst))
        bench.close()
    found.sort(key=lambda entry: -entry[1].ratio)
    print(f"{len(found)} text fields, {len(PIECES)} repetitions each, up to {options.size:,} bytes")
    print(f"{'field':55} {'bytes':>9} {'harmless ms':>12} {'worst ms':>9} {'ratio':>6}  repeated")
    for name, worst in found[:SHOWN]:
        print(
            f"{name:55.55} {worst.size:9,} {worst.harmless.cpu_s * 1000:12.1f} "
            f"{worst.cost.cpu_s * 1000:9.1f} {worst.ratio:6.1f}  {worst.piece!r}"
        )
    if found:
        print(f"worst ratio: {found[0][1].ratio:.1f}   (bar {MARGIN})", flush=True)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "text-fields": text_fields,
    "floods": floods,
}
"""What can be measured, by name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--size",
        type=int,
        default=SIZE_BYTES,
        help="the size of a text in bytes, where a field takes so much",
    )
    parser.add_argument("--only", default="", help="only fields or floods with this in their name")
    options = parser.parse_args()
    for name in options.parts:
        PARTS[name](options)


if __name__ == "__main__":
    main()
