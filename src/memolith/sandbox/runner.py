"""One sandboxed process and the calls of code in it, as the server sees them."""

import hashlib
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, NamedTuple

from memolith.errors import MemolithError, NotFound, TooLarge
from memolith.ports.sandbox import Bounds, Locate, Owner
from memolith.private_files import PRIVATE_FOLDER
from memolith.sandbox.constants import NOBODY
from memolith.sandbox.launch import Zygote
from memolith.sandbox.limits import exceeded_space, exceeded_time, process_usage
from memolith.sandbox.protocol import (
    DONE,
    LANDLOCK_MODE,
    PATH,
    REFUSED,
    RUN,
    ChildOrder,
    Message,
    Question,
)
from memolith.sandbox.scratch import (
    FileId,
    ScratchUsage,
    SharedScratch,
    remove_folder,
)

CHECK_EVERY_S = 0.02
"""How often limits are looked at while code runs."""

GRACE_S = 1.0
"""How long code that is interrupted may go on before its process is ended."""

SEND_TIMEOUT_S = 10.0
MAX_MESSAGE_BYTES = 100_000
RECEIVE_BYTES = 1 << 16
KILOBYTE = 1 << 10
NOTHING_ON_DISK = ScratchUsage(files=0, size_mb=0)
END_TIMEOUT_MS = 5000
"""How long a process that was killed may take to end."""

READ_ONLY_FILE = 0o400
FOLDER_SHARED_WITH_GROUP = 0o750
FILE_SHARED_WITH_GROUP = 0o440


class CallOutcome(NamedTuple):
    """How a call ended: its traceback, and why it was interrupted, if it was."""

    error: str
    interrupted_because: str | None


class Output(NamedTuple):
    """What a call has written to one stream, and whether that was cut."""

    text: str
    truncated: bool


def no_documents(id: str) -> nullcontext[tuple[str, Path]]:
    """For code that has no business with the documents of anybody."""
    raise NotFound(f"There is no document {id[:100]!r}.")


class Channel:
    """The server's end of the line to a child, which may send anything at any time."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = bytearray()

    def send(self, message: Message) -> None:
        self._control.settimeout(SEND_TIMEOUT_S)
        self._control.sendall(message.encode())

    def receive(self) -> Message | None:
        """The next message, or None if there is none yet; ValueError for what is not one."""
        self._control.settimeout(CHECK_EVERY_S)
        try:
            data = self._control.recv(RECEIVE_BYTES)
        except TimeoutError:
            return None
        if not data:
            raise ConnectionResetError("the child has closed its line")
        self._buffer += data
        if len(self._buffer) > MAX_MESSAGE_BYTES:
            raise TooLarge("its answer is too long")
        if not data.endswith(b"\n"):
            return None
        line = bytes(self._buffer)
        self._buffer.clear()
        return Message.decode(line)

    def discard_partial_message(self) -> None:
        self._buffer.clear()

    def close(self) -> None:
        self._control.close()


class CallWatch:
    """Watches one call: interrupts it when its time is over, and gives it up if it goes on."""

    def __init__(self, runner: "Runner", cancelled: Callable[[], bool]) -> None:
        self._runner = runner
        self._cancelled = cancelled
        self._started_at = time.monotonic()
        self._cpu_s_before = process_usage(runner.pid).cpu_s
        self._give_up_at: float | None = None
        self.interrupted_because: str | None = None

    def check(self) -> None:
        """Interrupt the call if it is time to; TooLarge if its process has to be ended."""
        now = time.monotonic()
        if self._give_up_at is not None:
            if now > self._give_up_at:
                raise TooLarge(self.interrupted_because)
            return
        self.interrupted_because = self._reason_to_interrupt(now)
        if self.interrupted_because is not None:
            self._give_up_at = now + GRACE_S
            self._runner.signal(signal.SIGINT)

    def _reason_to_interrupt(self, now: float) -> str | None:
        if self._cancelled():
            return "it was cancelled"
        process = process_usage(self._runner.pid)
        scratch = self._runner.scratch_usage()
        bounds = self._runner.bounds
        excess = exceeded_space(bounds, process, scratch)
        if excess is not None:
            raise TooLarge(excess)
        wall_s = now - self._started_at
        return exceeded_time(bounds, wall_s, process.cpu_s - self._cpu_s_before)


class Runner:
    """A sandboxed process that keeps the variables of its code, and is stopped between calls."""

    def __init__(
        self,
        zygote: Zygote,
        mode: str,
        bounds: Bounds,
        folder: Path,
        owner: Owner | None = None,
        file_descriptor: int | None = None,
    ) -> None:
        self.mode = mode
        self.bounds = bounds
        self.folder = folder
        self.scratch = str(folder / "scratch")
        self.owner = owner
        self.lock = threading.Lock()
        self.used_at = time.monotonic()
        self.alive = True
        self._is_closed = False
        self._calls = 0
        self._becomes_nobody = hasattr(os, "getuid") and os.getuid() == 0
        self._prepare_folder()
        self._stdout = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._stderr = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        ours, theirs = socket.socketpair()
        self._channel = Channel(ours)
        descriptors = [self._stdout.fileno(), self._stderr.fileno(), theirs.fileno()]
        if file_descriptor is not None:
            descriptors.append(file_descriptor)
        given_files = frozenset(_file_id(descriptor) for descriptor in descriptors)
        order = ChildOrder(mode, str(folder), bounds.memory_mb, bounds.scratch_mb, bounds.threads)
        try:
            with theirs:
                self._handle = zygote.fork(order, descriptors)
        except OSError:
            self._release()
            raise
        self._shared_scratch = SharedScratch(
            self.scratch, self.pid, given_files, max_file_mb=bounds.scratch_mb
        )

    @property
    def pid(self) -> int:
        return self._handle.pid

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle.pidfd, number)

    def scratch_usage(self) -> ScratchUsage:
        """How much the process keeps on the disk."""
        if self.mode != LANDLOCK_MODE:
            # Its scratch is a file system of fixed size that only it can see.
            return NOTHING_ON_DISK
        return self._shared_scratch.usage()

    def close(self) -> None:
        """End the process and remove its folder; who comes second finds nothing to do."""
        if self._is_closed:
            return
        self._is_closed = True
        self.alive = False
        self.signal(signal.SIGKILL)
        if self.mode == LANDLOCK_MODE:
            # Until it has ended it can put more into the folder.
            self._wait_for_end()
        os.close(self._handle.pidfd)
        self._release()

    def call(
        self,
        code: str,
        locate: Locate = no_documents,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> CallOutcome:
        """Run code and wait until it has ended.

        Raises TooLarge or ChildProcessError when the process cannot be used any more.
        """
        self._calls += 1
        watch: CallWatch | None = None
        self.signal(signal.SIGCONT)
        try:
            watch = CallWatch(self, cancelled)
            self._channel.discard_partial_message()
            self._channel.send(Message(self._calls, RUN, code))
            error = self._wait_until_done(watch, locate)
        except (OSError, ValueError, RecursionError) as failure:
            reason = watch.interrupted_because if watch else None
            raise ChildProcessError(reason or "it died") from failure
        self.signal(signal.SIGSTOP)
        self.used_at = time.monotonic()
        return CallOutcome(error, watch.interrupted_because)

    def output(self) -> tuple[Output, Output]:
        """What the calls since the last question have written to stdout and stderr."""
        return self._take_output(self._stdout), self._take_output(self._stderr)

    def _wait_until_done(self, watch: CallWatch, locate: Locate) -> str:
        """Answer the questions of the child until it is done; returns its traceback."""
        while True:
            message = self._channel.receive()
            error: str | None = None
            if message is not None:
                if message.kind == DONE and message.call == self._calls:
                    error = message.text
                else:
                    self._channel.send(self._answer(message, locate))
            # Also when it is done: a short call may have passed a limit between two checks.
            watch.check()
            if error is not None:
                return error

    def _answer(self, message: Message, locate: Locate) -> Message:
        """Where the child finds the file of a document, or why it does not."""
        question = Question.decode(message.text)
        try:
            path = self._copy_document(question, locate)
        except (MemolithError, OSError) as error:
            return Message(self._calls, REFUSED, str(error))
        return Message(self._calls, PATH, path)

    def _copy_document(self, question: Question, locate: Locate) -> str:
        """Copy the file of a document into the folder of this runner; the path for its code."""
        with locate(question.id) as (real_name, source):
            if question.name != real_name:
                raise NotFound(f"{question.id} is called {real_name!r}, not {question.name!r}.")
            digest = hashlib.sha256(question.id.encode()).hexdigest()[:16]
            copy = Path("memory", digest, Path(real_name).name)
            target = self.folder / copy
            if not target.exists():
                target.parent.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
                shutil.copyfile(source, target)
                self._let_process_read(target, READ_ONLY_FILE, FILE_SHARED_WITH_GROUP)
                self._let_process_read(target.parent, PRIVATE_FOLDER, FOLDER_SHARED_WITH_GROUP)
        if self.mode == LANDLOCK_MODE:
            return str(target)
        return f"/{copy}"

    def _take_output(self, file: IO[bytes]) -> Output:
        max_bytes = self.bounds.output_kb * KILOBYTE
        try:
            data = os.pread(file.fileno(), max_bytes + 1, 0)
            file.seek(0)
            file.truncate()
        except ValueError:
            # Another thread has closed the runner, and the file with it.
            return Output("", truncated=False)
        text = data[:max_bytes].decode("utf-8", "replace")
        return Output(text, truncated=len(data) > max_bytes)

    def _prepare_folder(self) -> None:
        scratch = self.folder / "scratch"
        memory = self.folder / "memory"
        for folder in (scratch, memory):
            folder.mkdir(mode=PRIVATE_FOLDER)
        self._let_process_read(memory, PRIVATE_FOLDER, FOLDER_SHARED_WITH_GROUP)
        if self.mode == LANDLOCK_MODE:
            self._let_process_read(self.folder, PRIVATE_FOLDER, FOLDER_SHARED_WITH_GROUP)
            if self._becomes_nobody:
                # Elsewhere the process gets a scratch of its own.
                os.chown(scratch, NOBODY, NOBODY)

    def _let_process_read(self, path: Path, as_same_user: int, as_group: int) -> None:
        """Let the sandboxed process read a file or folder, and nobody else.

        A server that is root gives it to the group of `nobody`, so the process cannot write there
        even where Landlock would let it.
        """
        if self._becomes_nobody:
            os.chown(path, -1, NOBODY)
            path.chmod(as_group)
        else:
            path.chmod(as_same_user)

    def _wait_for_end(self) -> None:
        end = select.poll()
        end.register(self._handle.pidfd, select.POLLIN)
        end.poll(END_TIMEOUT_MS)

    def _release(self) -> None:
        self._channel.close()
        self._stdout.close()
        self._stderr.close()
        remove_folder(str(self.folder))


def _file_id(descriptor: int) -> FileId:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
