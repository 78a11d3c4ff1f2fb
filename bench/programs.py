"""Programs that a bench starts, talks to line by line, measures and ends."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

Message = dict[str, Any]
PROTOCOL = "2025-06-18"
END_S = 5.0
TAIL_BYTES = 2000


class ProgramError(Exception):
    """A program did not answer, ended, or refused; the message is what it printed."""


class Refused(ProgramError):
    """The program answered that it did not do what it was asked."""


def encoded(message: Message) -> bytes:
    """A message as a line."""
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


class Program:
    """A running program that answers each line with a line; every wait has an end."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.started = time.perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=None if environment is None else dict(environment),
            cwd=folder,
            # What it starts in turn belongs to its group, and ends with it.
            start_new_session=True,
        )
        _running.add(self)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError, OSError):
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def send(self, message: Message) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(encoded(message))
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise ProgramError(f"it has ended. {self.printed()}") from None

    def receive(self, number: int | str, timeout_s: float) -> Message:
        """The answer with this id; what a program prints beside its answers is passed over."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise ProgramError(
                    f"no answer within {timeout_s:.0f} s. {self.printed()}"
                ) from None
            if line is None:
                self._lines.put(None)
                raise ProgramError(f"it ended without an answer. {self.printed()}")
            with suppress(ValueError):
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("id") == number:
                    return answer

    def ask(self, message: Message, timeout_s: float) -> Message:
        """Send a request and wait for its answer."""
        self.send(message)
        return self.receive(message["id"], timeout_s)

    def printed(self) -> str:
        """The end of what it wrote to standard error."""
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return tail.decode(errors="replace").strip()

    def cpu_s(self) -> float:
        """CPU seconds of the program and of what it started."""
        total = 0.0
        for process in self._family():
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def private_mb(self) -> float:
        """The memory that the program and what it started share with nobody else."""
        total = 0
        for process in self._family():
            with suppress(psutil.Error):
                total += process.memory_full_info().uss
        return total / 1e6

    def _family(self) -> list[psutil.Process]:
        try:
            own = psutil.Process(self.pid)
            return [own, *own.children(recursive=True)]
        except psutil.Error:
            return []

    def kill(self) -> None:
        """End it at once, with all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def kill_and_count(self) -> float:
        """End it at once; returns the CPU seconds that it took, to the microsecond."""
        self.process.kill()
        _, _, used = os.wait4(self.pid, 0)
        self.process.returncode = -signal.SIGKILL
        self.kill()
        return used.ru_utime + used.ru_stime

    def end(self) -> None:
        """Close its input and let it end; what then still runs is killed."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_S)
        self.kill()

    def _close(self) -> None:
        _running.discard(self)
        self._reader.join(END_S)
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.kill()


_running: set[Program] = set()
"""Every program that was started and not ended yet."""


def kill_running() -> None:
    """End whatever an interrupted bench has left behind."""
    for program in list(_running):
        program.kill()


class McpProgram(Program):
    """A server that speaks MCP over standard input and output."""

    _last = 0

    def request(self, method: str, timeout_s: float, **params: Any) -> Message:
        """The result of a request."""
        self._last += 1
        answer = self.ask(
            {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}, timeout_s
        )
        if "error" in answer:
            raise Refused(json.dumps(answer["error"], ensure_ascii=False)[:TAIL_BYTES])
        result: Message = answer["result"]
        return result

    def initialize(self, timeout_s: float) -> None:
        """The handshake."""
        self.request(
            "initialize",
            timeout_s,
            protocolVersion=PROTOCOL,
            capabilities={},
            clientInfo={"name": "bench", "version": "0"},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self, timeout_s: float) -> list[Message]:
        """The list of tools."""
        found: list[Message] = self.request("tools/list", timeout_s)["tools"]
        return found

    def call(self, tool: str, arguments: Message, timeout_s: float) -> Any:
        """What a tool answers: the JSON of its text, or the text where it is none."""
        result = self.request("tools/call", timeout_s, name=tool, arguments=arguments)
        texts = [part.get("text", "") for part in result.get("content", [])]
        if result.get("isError"):
            raise Refused(" ".join(texts)[:TAIL_BYTES])
        if len(texts) == 1:
            with suppress(ValueError):
                return json.loads(texts[0])
        return "\n".join(texts)
