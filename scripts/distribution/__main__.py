"""`make dist`: build everything that is released, check it, and print what each validator said."""

from __future__ import annotations

import subprocess
import sys

from scripts.distribution.build import Release, build
from scripts.distribution.checks import CHECKS, run_check
from scripts.distribution.programs import CheckFailed
from scripts.distribution.project import project

MEGABYTE = 1_000_000


def print_files(release: Release) -> None:
    for file in sorted(release.folder.iterdir()):
        print(f"{file.stat().st_size / MEGABYTE:8.2f} MB  {file.name}")


def main() -> int:
    """Build, check, report; the number of checks that failed."""
    release = build()
    print_files(release)
    failures = 0
    for check in CHECKS:
        try:
            print(f"ok      {check.name}: {run_check(check, release)}", flush=True)
        except (CheckFailed, OSError, subprocess.SubprocessError) as error:
            failures += 1
            print(f"FAILED  {check.name}: {error}", flush=True)
    print(f"{len(CHECKS) - failures} of {len(CHECKS)} checks passed")
    if not project().is_publishable:
        print("Not to be published as it is: release/project.toml has addresses of nobody.")
    return failures


if __name__ == "__main__":
    sys.exit(main())
