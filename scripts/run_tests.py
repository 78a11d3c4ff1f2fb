"""Run the tests with pytest, and the few that failed once more, alone.

Hundreds of tests start servers, browsers and databases, four at a time on two cores. A test that
fails there and passes alone is unsteady: it is named at the end, so that somebody mends it, and it
does not stop the others from being delivered. A test that fails alone fails the run, and so does
everything if many fail.

    python -m scripts.run_tests -m "not full" -n 4 tests
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAST_FAILED = ROOT / ".cache" / "pytest" / "v" / "cache" / "lastfailed"
"""Where pytest keeps the names of failed tests, as `cache_dir` in pyproject.toml says."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Each worker would compile all tests, which takes it ten seconds."""

MAX_UNSTEADY = 5
"""More failures than this are no accident, and are not run again."""


def failed_tests() -> list[str]:
    """What the last run kept as failed: tests, and files that could not be collected."""
    if not LAST_FAILED.exists():
        return []
    names: dict[str, bool] = json.loads(LAST_FAILED.read_text(encoding="utf-8"))
    return sorted(names)


def run_pytest(*arguments: str) -> int:
    """Run pytest and let it keep its compiled tests, also where the machine is told not to."""
    command = [sys.executable, "-m", "pytest", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: list[str]) -> int:
    LAST_FAILED.unlink(missing_ok=True)
    code = run_pytest(*arguments)
    failed = failed_tests()
    is_worth_another_run = code == 1 and 0 < len(failed) <= MAX_UNSTEADY
    if not is_worth_another_run or not all("::" in name for name in failed):
        return code
    print(f"\nOnce more, alone: {len(failed)} that failed.", flush=True)
    code = run_pytest(*failed)
    if code == 0:
        print("\nUNSTEADY, failed beside others and passed alone; mend them:")
        print("\n".join(failed), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
