"""The zygote: a clean process with the packages loaded, which forks a child for each order.

Started by `launch.py`. It never runs code of a user itself. It ends, with all of its children,
when the server closes the line to it.
"""

import fcntl
import gc
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from memolith.sandbox import libc
from memolith.sandbox.child import run_in_sandbox
from memolith.sandbox.constants import PR_SET_CHILD_SUBREAPER
from memolith.sandbox.protocol import FAILURE_MARK, STATUS_FD, ChildOrder

MAX_ORDER_BYTES = 1 << 16
MAX_DESCRIPTORS_PER_ORDER = 4
FIRST_FREE_FD = 64
"""Above every descriptor that a child uses, so that none is overwritten while they are moved."""

MAX_FD = 1 << 16


class Forked(NamedTuple):
    """The answer to an order: the pid and a handle on the child, or the reason and no handle."""

    text: str
    pidfd: int | None


def main() -> None:
    """Import the modules that the arguments name, then fork until the server is gone."""
    server = socket.socket(fileno=int(sys.argv[1]))
    preload(sys.argv[2:])
    # Children whose parent has ended become ours; as SIGCHLD is ignored, the kernel reaps them.
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        order, descriptors, _, _ = socket.recv_fds(
            server, MAX_ORDER_BYTES, MAX_DESCRIPTORS_PER_ORDER
        )
        if not order:
            break
        forked = fork_child(ChildOrder.decode(order), descriptors)
        handles = [] if forked.pidfd is None else [forked.pidfd]
        socket.send_fds(server, [forked.text.encode()], handles)
    # A child that is stopped cannot notice that the server is gone. None of them can leave our
    # process group, so this ends them all, and us.
    os.killpg(0, signal.SIGKILL)


def preload(modules: list[str]) -> None:
    """Import what is installed of these, and keep the collector from touching shared pages."""
    for name in modules:
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()


def fork_child(order: ChildOrder, descriptors: list[int]) -> Forked:
    """Make a child and wait until its sandbox is up, or has failed."""
    status_read, status_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_child(order, descriptors, status_write)
    for descriptor in (status_write, *descriptors):
        os.close(descriptor)
    with open(status_read, encoding="utf-8") as status:
        inner_pid, _, failure = status.read().partition(FAILURE_MARK)
    if failure:
        return Forked(failure, None)
    # With a PID namespace the process that stays is a fork of the one forked here.
    child_pid = int(inner_pid or pid)
    try:
        return Forked(str(child_pid), os.pidfd_open(child_pid))
    except ProcessLookupError:
        return Forked("the child died at once", None)


def _be_the_child(order: ChildOrder, descriptors: list[int], status_write: int) -> None:
    """Never returns."""
    try:
        _arrange_descriptors(descriptors, status_write)
        run_in_sandbox(order)
    except OSError as error:
        reason = error.strerror or str(error)
        os.write(STATUS_FD, f"{FAILURE_MARK}{reason}".encode())
    finally:
        os._exit(1)


def _arrange_descriptors(descriptors: list[int], status_write: int) -> None:
    """Put the descriptors where `protocol.py` says, and close every other one."""
    stdout, stderr, control, *file = descriptors
    null = os.open(os.devnull, os.O_RDWR)
    wanted = [null, stdout, stderr, control, status_write, *file]
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, FIRST_FREE_FD) for descriptor in wanted]
    for target, descriptor in enumerate(moved):
        os.dup2(descriptor, target)
    os.closerange(len(wanted), MAX_FD)


if __name__ == "__main__":
    main()
