"""The fenced end: runs code or reads a file, and speaks to the server in lines of JSON: number, kind, text."""

import json
import linecache
import os
import signal
import socket
import sys
import threading
import traceback
import types
from code import InteractiveInterpreter
from contextlib import suppress
from pathlib import Path

from memolith.errors import MemolithError

LONGEST_ERROR = 8000
READ = "import json, pkgutil\nanswer = json.dumps(pkgutil.resolve_name(task)(file), ensure_ascii=False)"


class Session(InteractiveInterpreter):
    """Runs code, keeps its variables, and keeps as text what went wrong."""

    outcome = ("value", "")

    def showtraceback(self) -> None:
        """Keep the exception, from the first line that is not ours."""
        kind, error, trace = sys.exc_info()
        text = "".join(traceback.format_exception(kind, error, trace and trace.tb_next))[-LONGEST_ERROR:]
        self.outcome = ("refusal", error.message) if isinstance(error, MemolithError) else ("error", text)

    def perform(self, source: str, name: str) -> tuple[str, str]:
        """`value` if it went well, else the kind of failure and its text."""
        self.outcome = ("value", "")
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        try:
            self.runcode(compile(source, name, "exec"))
        except SystemExit as end:
            self.outcome = ("error", f"SystemExit: {end.code}")
        except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError):
            self.showtraceback()
        return self.outcome


def read(task: str, file: int) -> tuple[str, str]:
    """What a function makes of the one open file, as JSON."""
    with open(file, "rb") as opened:
        session = Session({"task": task, "file": opened})
        kind, text = session.perform(READ, "<task>")
    return kind, session.locals["answer"] if kind == "value" else text


def serve(control: socket.socket) -> None:
    """Answer one call after the other; only while code runs can it be interrupted."""
    lines, asking, main = control.makefile("rw", encoding="utf-8"), threading.Lock(), types.ModuleType("__main__")
    session, number = Session(vars(main)), 0

    def send(kind: str, text: str) -> None:
        lines.write(json.dumps([number, kind, text]) + "\n")
        lines.flush()

    def get_memory_path(memory_id: str, memory_name: str) -> Path:
        with asking:
            send("ask", json.dumps([memory_id, memory_name]))
            _, kind, text = json.loads(lines.readline())
        if kind == "error":
            raise FileNotFoundError(text)
        return Path(text)

    sys.modules["__main__"], vars(main)["get_memory_path"] = main, get_memory_path
    while True:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        number, kind, text = json.loads(lines.readline() or os._exit(0))
        sys.stdout, sys.stderr = streams = [
            open(one, "w", 1, "utf-8", "backslashreplace", closefd=False) for one in (1, 2)]  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        outcome = session.perform(text, f"<memory_code {number}>") if kind == "code" else read(text, 5)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in streams:
            with suppress(OSError, ValueError):
                stream.flush()
        send(*outcome)


if __name__ == "__main__":
    # Without a fence: the task is an argument, the file comes in, what became of it goes out.
    sys.stdout.write(json.dumps(read(sys.argv[1], 0)))
