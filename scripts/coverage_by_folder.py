"""Print how much of each folder of the package the tests have run, from the data of `coverage`."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coverage import Coverage

ROOT = Path(__file__).parents[1]
PACKAGE = PurePosixPath("src/memolith")
REPORT = ROOT / ".cache" / "coverage.json"


@dataclass
class Folder:
    """What was counted in the files of one folder."""

    files: int = 0
    statements: int = 0
    run: int = 0

    def add(self, statements: int, run: int) -> None:
        self.files += 1
        self.statements += statements
        self.run += run

    @property
    def percent(self) -> float:
        if self.statements == 0:
            return 100.0
        return 100.0 * self.run / self.statements


def by_folder(report: dict[str, dict[str, dict[str, dict[str, int]]]]) -> dict[str, Folder]:
    """The folders of the package in the order of their names; "." is the package itself."""
    folders: defaultdict[str, Folder] = defaultdict(Folder)
    for name, file in report["files"].items():
        folder = PurePosixPath(name.replace("\\", "/")).relative_to(PACKAGE).parent
        summary = file["summary"]
        folders[str(folder)].add(summary["num_statements"], summary["covered_lines"])
    return dict(sorted(folders.items()))


def table(folders: dict[str, Folder]) -> str:
    total = Folder()
    lines = [f"{'folder':32} {'files':>6} {'statements':>11} {'run':>7}"]
    for name, folder in folders.items():
        lines.append(row(name, folder))
        total.files += folder.files
        total.statements += folder.statements
        total.run += folder.run
    lines.append(row("all", total))
    return "\n".join(lines)


def row(name: str, folder: Folder) -> str:
    return f"{name:32} {folder.files:6} {folder.statements:11,} {folder.percent:5.1f} %"


def main() -> None:
    """Read the data and print the table."""
    coverage = Coverage()
    coverage.load()
    coverage.json_report(outfile=str(REPORT))
    report = json.loads(REPORT.read_text(encoding="utf-8"))
    print(table(by_folder(report)))


if __name__ == "__main__":
    main()
