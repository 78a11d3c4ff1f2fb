"""What a forked child does: lock itself in, then run code until the server is gone."""

import linecache
import os
import signal
import socket
import sys
import threading
import traceback
import types
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO

from memolith.sandbox import libc
from memolith.sandbox.constants import PR_SET_DUMPABLE
from memolith.sandbox.landlock import restrict_files
from memolith.sandbox.namespaces import enter_namespaces
from memolith.sandbox.privileges import drop_privileges
from memolith.sandbox.protocol import (
    ASK,
    CONTROL_FD,
    DONE,
    NAMESPACE_MODE,
    REFUSED,
    STATUS_FD,
    ChildOrder,
    Message,
    Question,
)
from memolith.sandbox.rlimits import limit_threads, set_rlimits
from memolith.sandbox.seccomp import filter_system_calls
from memolith.sandbox.system_paths import NULL_DEVICE, READ_ONLY_DEVICES, readable_paths

MAX_ERROR_CHARACTERS = 8000
STDOUT_FD = 1
STDERR_FD = 2
FIRST_TO_BE_KILLED = "1000"
"""The score that makes the kernel end this process first when memory runs out."""


def run_in_sandbox(order: ChildOrder) -> NoReturn:
    """Lock this process in, step by step, then serve; OSError if a step fails."""
    Path("/proc/self/oom_score_adj").write_text(FIRST_TO_BE_KILLED)
    started_as_root = os.getuid() == 0
    in_namespaces = order.mode == NAMESPACE_MODE
    memory = f"{order.folder}/memory"
    scratch = f"{order.folder}/scratch"
    if in_namespaces:
        enter_namespaces(scratch, memory, order.scratch_mb)
        scratch = "/scratch"
        _fork_into_pid_namespace()
    os.environ.update(HOME=scratch, TMPDIR=scratch)
    drop_privileges()
    # Lets the server see the files that this process has open, whoever the server is.
    libc.prctl(PR_SET_DUMPABLE, 1)
    os.chdir(scratch)
    _check_that_python_is_readable()
    readable = ["/"]
    if not in_namespaces:
        readable = [*readable_paths(), memory, *READ_ONLY_DEVICES]
    restrict_files(readable, writable=[scratch, NULL_DEVICE])
    set_rlimits(order.memory_mb, order.scratch_mb)
    if in_namespaces and not started_as_root:
        # Elsewhere the limit would count every process of this user on the machine.
        limit_threads(order.threads)
    filter_system_calls(owns_file_system=in_namespaces)
    os.close(STATUS_FD)
    CodeServer(socket.socket(fileno=CONTROL_FD)).serve()


def _fork_into_pid_namespace() -> None:
    """Go on in a new process, whose pid outside of the namespace the zygote is told."""
    inner_pid = os.fork()
    if inner_pid != 0:
        os.write(STATUS_FD, str(inner_pid).encode())
        os._exit(0)


def _check_that_python_is_readable() -> None:
    for folder in (sys.prefix, sys.base_prefix):
        if not os.access(folder, os.R_OK):
            raise PermissionError(f"the user nobody cannot read {sys.base_prefix}")


class CodeServer:
    """Runs one piece of code after the other in one module, whose variables stay."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lines = control.makefile("r", encoding="utf-8")
        self._asking = threading.Lock()
        self._call = 0
        self._main = types.ModuleType("__main__")
        sys.modules["__main__"] = self._main
        vars(self._main)["get_memory_path"] = self.get_memory_path

    def serve(self) -> NoReturn:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            line = self._lines.readline()
            if not line:
                os._exit(0)
            request = Message.decode(line)
            self._call = request.call
            # Code may have closed or replaced the ones of the call before.
            sys.stdout = _line_buffered(STDOUT_FD)
            sys.stderr = _line_buffered(STDERR_FD)
            streams = (sys.stdout, sys.stderr)
            error = self._run(request.text)
            for stream in streams:
                with suppress(OSError, ValueError):
                    stream.flush()
            self._send(DONE, error)

    def get_memory_path(self, memory_id: str, memory_name: str) -> Path:
        """The path of the file of a document that you may see."""
        with self._asking:
            self._send(ASK, Question(str(memory_id), str(memory_name)).encode())
            answer = Message.decode(self._lines.readline())
        if answer.kind == REFUSED:
            raise FileNotFoundError(answer.text)
        return Path(answer.text)

    def _run(self, code: str) -> str:
        """Run code, which only meanwhile can be interrupted; what went wrong, or an empty text."""
        name = f"<memory_code {self._call}>"
        # Tracebacks look here for the lines of the code.
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            exec(compile(code, name, "exec"), vars(self._main))
        except SystemExit as exit:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return f"SystemExit: {exit.code}"
        except BaseException as error:  # noqa: BLE001
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return _formatted(error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return ""

    def _send(self, kind: str, text: str) -> None:
        self._control.sendall(Message(self._call, kind, text).encode())


def _line_buffered(descriptor: int) -> TextIO:
    return open(
        descriptor,
        "w",
        buffering=1,
        encoding="utf-8",
        errors="backslashreplace",
        closefd=False,
    )


def _formatted(error: BaseException) -> str:
    """The end of the traceback, without the line of ours that runs the code."""
    trace = error.__traceback__
    below_ours = trace.tb_next if trace else None
    lines = traceback.format_exception(type(error), error, below_ours)
    return "".join(lines)[-MAX_ERROR_CHARACTERS:]
