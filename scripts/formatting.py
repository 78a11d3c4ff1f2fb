"""Python source in the format of the project."""

import subprocess
import sys


def formatted(source: str) -> str:
    """The source as `ruff` writes it, with imports that are used, in order."""
    for arguments in (["check", "--fix-only", "--select", "F401,I"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", "a.py", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        )
        source = done.stdout
    return source
