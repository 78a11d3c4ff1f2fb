"""Write `requirements-dev.lock`: the newest versions of memolith and everything its tests need.

Run it with `make lock`. pip only resolves, nothing is installed. The file holds names and versions,
no addresses, and is used as constraints: a package that another platform needs in addition stays
free, and one that it does not need is not installed.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"


def resolve(requirement: str) -> dict[str, str]:
    """The version of each package that pip would install into an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--editable", requirement]
        subprocess.run(command, check=True, cwd=ROOT)
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    versions = {}
    for install in installs:
        metadata = install["metadata"]
        versions[metadata["name"].lower()] = metadata["version"]
    versions.pop("memolith")
    return versions


def render(versions: dict[str, str]) -> str:
    python = platform.python_version()
    lines = [f"# Made by `make lock` with Python {python}. Used by `make test` and `make check`."]
    for name in sorted(versions):
        lines.append(f"{name}=={versions[name]}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Resolve and write."""
    versions = resolve(".[test]")
    LOCK.write_text(render(versions), encoding="utf-8", newline="\n")
    print(f"{LOCK.name}: {len(versions)} packages")


if __name__ == "__main__":
    main()
