"""The server's end of a zygote: starts it and asks it for children."""

import socket
import subprocess
import sys
from typing import NamedTuple

from memolith.sandbox.protocol import ChildOrder

ANSWER_TIMEOUT_S = 60.0
"""How long the zygote may take to import what it is told to, and to make a child."""

MAX_ANSWER_BYTES = 1 << 16
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "JOBLIB_MULTIPROCESSING": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "2",
}
"""All that sandboxed code sees of an environment: nothing of the server's."""


class ChildHandle(NamedTuple):
    """A child that is running: its pid, and a descriptor that stays valid if the pid is reused."""

    pid: int
    pidfd: int


class Zygote:
    """A clean process that has some modules loaded and forks sandboxed children."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(ANSWER_TIMEOUT_S)
        descriptor = theirs.fileno()
        zygote = ["-m", "memolith.sandbox.zygote", str(descriptor)]
        with theirs:
            self._process = subprocess.Popen(
                # Isolated from variables and the working directory, and writing no bytecode.
                [sys.executable, "-I", "-B", *zygote, *modules],
                env=ENVIRONMENT,
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._line = ours

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, order: ChildOrder, descriptors: list[int]) -> ChildHandle:
        """A new child with these descriptors: output, errors, control, and perhaps a file."""
        socket.send_fds(self._line, [order.encode()], descriptors)
        answer, handles, _, _ = socket.recv_fds(self._line, MAX_ANSWER_BYTES, 1)
        if not handles:
            raise OSError(answer.decode() or "the clean process died")
        return ChildHandle(int(answer), handles[0])

    def close(self) -> None:
        """End the zygote and every child of it."""
        self._line.close()
        self._process.wait()
