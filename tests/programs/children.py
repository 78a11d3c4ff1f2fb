"""Starts the command line and small programs as real processes, in an environment that hides
nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import memolith
from memolith.errors import MemolithError

HERE = Path(__file__).parent
SRC = str(Path(memolith.__file__).parents[1])
CLI = [sys.executable, "-m", "memolith.doors.main"]
TIMEOUT_S = 120.0
READ_LATE = ("HOME", "XDG_DATA_HOME")
KEPT = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "HOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")


def environment(**more: str) -> dict[str, str]:
    """What a child gets to see: nothing of ours, and no PYTHONUNBUFFERED, which would hide faults
    of the last flush.
    """
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": SRC,
        "PYTHONDONTWRITEBYTECODE": "1",
        "MEMOLITH_EMBEDDER": "none",
        **more,
    }


def cli(
    data: Path | None, *arguments: str, stdin: str | bytes = b"", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    given = [*arguments, "--data", str(data)] if data else list(arguments)
    sent = stdin.encode() if isinstance(stdin, str) else stdin
    if hasattr(os, "fork") and all(
        name.startswith("MEMOLITH_") or name in READ_LATE for name in env
    ):
        return forked(given, sent, environment(**env))
    ran = subprocess.run(
        [*CLI, *given],
        input=sent,
        capture_output=True,
        timeout=TIMEOUT_S,
        env=environment(**env),
        check=False,
    )
    return subprocess.CompletedProcess(
        given, ran.returncode, ran.stdout.decode(), ran.stderr.decode()
    )


@cache
def forker() -> Child:
    """A process that has imported the command line and forks for each command."""
    made = Child(HERE / "forker.py")
    atexit.register(made.kill)
    return made


def forked(
    arguments: list[str], stdin: bytes, env: dict[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command in a process that need not start Python first.

    What Python reads from the environment only when it starts has no effect.
    """
    with tempfile.TemporaryDirectory() as files:
        Path(files, "stdin").write_bytes(stdin)
        request = {
            "arguments": arguments,
            "env": env,
            "files": files,
            "folder": str(folder or Path.cwd()),
        }
        forker().say(json.dumps(request))
        code = int(forker().line())
        out, err = (Path(files, name).read_bytes().decode() for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess(arguments, code, out, err)


def ask(data: Path | None, *arguments: str, stdin: str | bytes = b"", **env: str) -> Any:
    """Run one command that must succeed, and read the one JSON document that it prints."""
    ran = cli(data, *arguments, "--json", stdin=stdin, **env)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)


def on_terminal(data: Path, *arguments: str, **env: str) -> tuple[str, str]:
    """What a command shows on a terminal that is its standard error, and what it prints to a pipe."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*CLI, *arguments, "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment(**env),
    ) as process:
        os.close(theirs)
        shown = b""
        # The terminal is gone when the command has ended.
        with suppress(OSError):
            while part := os.read(ours, 65536):
                shown += part
        os.close(ours)
        assert process.stdout is not None
        printed = process.stdout.read()
        assert process.wait(TIMEOUT_S) == 0
    return shown.decode().replace("\r\n", "\n"), printed.decode()


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder where no write waits for a disk, if there is one; a kill loses nothing there that a
    disk would keep.
    """
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    ) as folder:
        yield Path(folder)


def wait_for(condition: Callable[[], Any], timeout_s: float = TIMEOUT_S) -> Any:
    """The first true value of the condition."""
    pause, end = threading.Event(), time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := condition():
            return found
        pause.wait(0.005)
    raise AssertionError("it did not come to pass in time")


def scan(folder: Path, needles: Iterable[str]) -> list[str]:
    """Which needles stand in which files, told by another process.

    A process that opens and closes a database file itself loses the locks that its SQLite
    connections hold on it.
    """
    sent = json.dumps(sorted(set(needles)))
    ran = subprocess.run(
        [sys.executable, "-S", "-E", str(HERE / "scan.py"), str(folder)],
        input=sent.encode(),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    found: list[str] = json.loads(ran.stdout)
    return found


class Child:
    """A running program whose lines are collected, so that no wait is without an end."""

    def __init__(self, *arguments: str | Path, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**env),
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.complaints: list[str] = []
        self.readers = [
            threading.Thread(target=self.collect, daemon=True),
            threading.Thread(target=self.listen, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.decode().rstrip("\n"))
        self.lines.put(None)

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(line.decode() for line in self.process.stderr)

    def say(self, line: str = "") -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> str:
        line = self.lines.get(timeout=TIMEOUT_S)
        assert line is not None, "".join(self.complaints)
        return line

    def rest(self) -> list[str]:
        """Every line until the program has ended."""
        found = []
        while (line := self.lines.get(timeout=TIMEOUT_S)) is not None:
            found.append(line)
        return found

    def end(self) -> int:
        """Close its input and wait for it to end by itself."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        code = self.process.wait(TIMEOUT_S)
        self.close()
        return code

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        self.close()

    def close(self) -> None:
        """Read the last lines of a program that has ended, and let go of its pipes."""
        for reader in self.readers:
            reader.join(TIMEOUT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        else:
            self.close()


def tell(step: str, work: Callable[[], object]) -> None:
    """Try something and print how it ended, as programs that maltreat a disk do."""
    try:
        print(json.dumps({"step": step, "value": work()}), flush=True)
    except MemolithError as error:
        print(
            json.dumps({"step": step, "error": type(error).__name__, "message": error.message}),
            flush=True,
        )
