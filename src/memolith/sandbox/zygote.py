"""A clean process that has the packages loaded, and forks for each order a fenced child that runs code."""

import fcntl
import gc
import json
import linecache
import os
import signal
import socket
import sys
import threading
import traceback
import types
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Self

from memolith.sandbox import kernel

NOBODY, LONGEST_ERROR = 65534, 8000


def main() -> None:
    """Load what is named, then fork until the server is gone."""
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()
    # Orphans come to us, and are reaped because nobody waits for them.
    kernel.call("prctl", 36, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while (order := socket.recv_fds(control, 1 << 16, 4))[0]:
        answer, handle = fork(*order[:2])
        socket.send_fds(control, [answer], handle)
    # A child that is stopped cannot see that the server is gone; none can leave our group.
    os.killpg(0, signal.SIGKILL)


def fork(order: bytes, given: list[int]) -> tuple[bytes, list[int]]:
    """The number of a new child with a handle on it, or why there is none."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        try:
            # Standard input, output, errors, the line to the server, the pipe that tells how it went, and the file.
            wanted = (os.open("/dev/null", os.O_RDWR), *given[:3], tell, *given[3:])
            for place, one in enumerate([fcntl.fcntl(one, fcntl.F_DUPFD, 64) for one in wanted]):
                os.dup2(one, place)
            os.closerange(len(wanted), 1 << 16)
            become(*json.loads(order))
        except OSError as error:
            os.write(4, f"!{error.strerror or error}".encode())
        finally:
            os._exit(1)
    for one in (tell, *given):
        os.close(one)
    with open(told, encoding="utf-8") as pipe:
        number, failed, failure = pipe.read().partition("!")
    with suppress(ProcessLookupError):
        return (failure or number or str(child)).encode(), [] if failed else [
            os.pidfd_open(int(number or child))
        ]
    return b"the child died at once", []


def become(mode: str, folder: str, memory_mb: int, scratch_mb: int, threads: int) -> None:
    """Turn this process into a fenced one that runs code."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    namespace, root, memory, scratch = (
        mode == "namespace",
        os.getuid() == 0,
        f"{folder}/memory",
        f"{folder}/scratch",
    )
    if namespace:
        kernel.leave_the_world(scratch, memory, scratch_mb)
        scratch = "/scratch"
        if inner := os.fork():
            os.write(4, str(inner).encode())
            os._exit(0)
    os.environ.update(HOME=scratch, TMPDIR=scratch)
    kernel.drop_privileges(NOBODY if root else None)
    os.chdir(scratch)
    if not os.access(sys.prefix, os.R_OK) or not os.access(sys.base_prefix, os.R_OK):
        raise PermissionError(f"the user nobody cannot read {sys.base_prefix}")
    seen = ["/"] if namespace else [*kernel.readable(), memory, *kernel.DEVICES[1:]]
    kernel.restrict_files(seen, [scratch, "/dev/null"])
    kernel.limit_resources(memory_mb, scratch_mb, threads if namespace and not root else None)
    kernel.filter_calls(marks=namespace)
    os.close(4)
    serve(socket.socket(fileno=3))


class Attempt:
    """Lets what runs within it be interrupted, and keeps as text what went wrong there."""

    error = ""

    def __enter__(self) -> Self:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> bool:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(error, SystemExit):
            self.error = f"SystemExit: {error.code}"
        elif trace:
            # The first line is ours.
            self.error = "".join(traceback.format_exception(kind, error, trace.tb_next))[
                -LONGEST_ERROR:
            ]
        return True


def serve(control: socket.socket) -> None:
    """Run one code after the other, told in lines of JSON (number, kind, text); only then can it be interrupted."""
    lines, asking, number = control.makefile("rw", encoding="utf-8"), threading.Lock(), 0
    sys.modules["__main__"] = main = types.ModuleType("__main__")

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

    vars(main)["get_memory_path"] = get_memory_path
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        number, _, code = json.loads(lines.readline() or os._exit(0))
        sys.stdout, sys.stderr = streams = [
            open(one, "w", 1, "utf-8", "backslashreplace", closefd=False) for one in (1, 2)
        ]  # noqa: SIM115
        name = f"<memory_code {number}>"
        linecache.cache[name] = len(code), None, code.splitlines(True), name
        with Attempt() as attempt:
            exec(compile(code, name, "exec"), vars(main))
        for stream in streams:
            with suppress(OSError, ValueError):
                stream.flush()
        send("done", attempt.error)


if __name__ == "__main__":
    main()
