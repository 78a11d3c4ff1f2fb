"""The command `memolith`; it imports only what the command at hand needs."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    # A client waits for the stdio server, and argparse, pydantic and the engine would make it wait longer.
    from memolith.doors.cli import run
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
