"""A clean process that has the packages loaded and forks a fenced child for each order."""

import fcntl
import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from memolith.adapters.sandbox import kernel
from memolith.adapters.sandbox.worker import serve

NOBODY = 65534


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
    control.send(b"ready")
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
        return (failure or number or str(child)).encode(), [] if failed else [os.pidfd_open(int(number or child))]
    return b"the child died at once", []


def become(mode: str, folder: str, memory_mb: int, scratch_mb: int, threads: int) -> None:
    """Turn this process into a fenced worker."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    namespace, root, memory, scratch = mode == "namespace", os.getuid() == 0, f"{folder}/memory", f"{folder}/scratch"
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
    if namespace:
        kernel.restrict_files(["/"], ["/scratch", "/dev/null"])
    else:
        kernel.restrict_files([*kernel.readable(), memory, *kernel.DEVICES[1:]], [scratch, "/dev/null"])
    kernel.limit_resources(memory_mb, scratch_mb, threads if namespace and not root else None)
    kernel.filter_calls(marks=namespace)
    os.close(4)
    serve(socket.socket(fileno=3))


if __name__ == "__main__":
    main()
