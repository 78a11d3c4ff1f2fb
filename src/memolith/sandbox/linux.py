"""The sandbox of the server: runners that belong to users, and children that read one file."""

import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from memolith.errors import (
    InvalidInput,
    NotFound,
    RateLimited,
    TooLarge,
    Unavailable,
    translated,
)
from memolith.ports.sandbox import Bounds, CodeResult, Locate, Owner, SandboxState
from memolith.private_files import RUNNERS, make_private_folder
from memolith.sandbox.launch import Zygote
from memolith.sandbox.modes import NO_MODE, choose_mode
from memolith.sandbox.protocol import FILE_FD, LANDLOCK_MODE
from memolith.sandbox.runner import CallOutcome, Runner
from memolith.sandbox.scratch import remove_folder
from memolith.sandbox.unfenced import ReadResult, read_unfenced

MAX_KNOWN_RUNNERS = 100
"""How many ids of an owner are remembered, also of runners that have ended and can start anew."""

READ_DOCUMENT = "memolith.readers.reading:read"
"""By name, as the readers are loaded by the children only, never by the server."""

HOW_TO_READ_UNFENCED = (
    "To read files without a sandbox, set MEMOLITH_READ_FILES_UNFENCED=true: a file that attacks "
    "its reader can then do all that your user can do."
)
FOLDER_PREFIX = "memolith-runner"
"""Folders are called memolith-runner-PID-RANDOM, so those of dead servers can be told."""

REFUSAL = f"{InvalidInput.__module__}.{InvalidInput.__name__}: "
"""Stands before the message in the traceback of a reader that refused its file."""


class AwakeRunner(NamedTuple):
    """A runner that is running, and whether it had to be started just now."""

    runner: Runner
    started_now: bool


class LinuxSandbox:
    """Runs code and reads files of users, each in a sandboxed process of its own."""

    def __init__(
        self,
        data: Path,
        bounds: Bounds,
        mode: str = "auto",
        count: int = 4,
        idle_s: float = 1800.0,
        preload: tuple[str, ...] = (),
        read_unfenced: bool = False,
    ) -> None:
        self.data = data
        self.bounds = bounds
        self.mode = mode
        self.count = count
        self.idle_s = idle_s
        self.preload = preload
        self.read_unfenced = read_unfenced
        self.runners: dict[str, Runner] = {}
        self.owners: dict[str, Owner] = {}
        self.zygotes: dict[tuple[str, ...], Zygote] = {}
        self._lock = threading.RLock()
        self._used_at = time.monotonic()

    @cached_property
    def state(self) -> SandboxState:
        """The mode in force; found out at first use."""
        return choose_mode(self.mode, lambda mode: self._start(mode, (), self.bounds))

    def create(self, owner: Owner) -> str:
        """Start a runner that only its owner can use; returns its id."""
        executor = f"executor-{secrets.token_hex(16)}"
        with self._lock:
            self.owners[executor] = owner
            theirs = [id for id, known_owner in self.owners.items() if known_owner == owner]
            for oldest in theirs[:-MAX_KNOWN_RUNNERS]:
                del self.owners[oldest]
        self._wake(owner, executor)
        return executor

    def run(
        self, owner: Owner, executor: str, code: str, locate: Locate, cancelled: Callable[[], bool]
    ) -> CodeResult:
        """Run code in the runner of that id; one that has ended is started anew."""
        if self.owners.get(executor) != owner:
            raise NotFound(
                f"There is no runner {executor[:100]!r}; make one with create_memory_code_runner.",
                field="executor_id",
                id=executor,
            )
        started_at = time.monotonic()
        while True:
            runner, restarted = self._wake(owner, executor)
            with runner.lock:
                if not runner.alive:
                    # It had to make room for another one, or the server is ending.
                    if cancelled():
                        raise Unavailable("The call was cancelled before it began.")
                    continue
                try:
                    error = _worded(runner.call(code, locate, cancelled))
                    stdout, stderr = runner.output()
                except (TooLarge, ChildProcessError) as ended:
                    error = f"The runner was ended because {ended}; its variables are gone."
                    stdout, stderr = runner.output()
                    self._end(executor, runner)
            return CodeResult(
                stdout=stdout.text,
                stderr=stderr.text,
                error=error,
                truncated=stdout.truncated or stderr.truncated,
                duration_ms=int(1000 * (time.monotonic() - started_at)),
                restarted=restarted,
            )

    def read(self, file: Path, bounds: Bounds) -> str:
        """What the readers find in a file, as JSON."""
        return self.run_on_file(READ_DOCUMENT, file, bounds)

    def how_files_are_read(self) -> str:
        """For people who examine their installation."""
        if self.state.mode != NO_MODE:
            return "read in the sandbox"
        if self.read_unfenced:
            return "read without a sandbox, because MEMOLITH_READ_FILES_UNFENCED is set"
        return f"not read. {HOW_TO_READ_UNFENCED}"

    def run_on_file(self, task: str, file: Path, bounds: Bounds) -> str:
        """What a function, named as `module:function`, returns for an open file, as JSON.

        It runs in a child that sees nothing but that file.
        """
        try:
            with file.open("rb") as opened:
                result = self._read_as_allowed(task, opened.fileno(), bounds)
        except TooLarge as limit:
            raise TooLarge(f"Reading the file was given up: {limit}.", field="file") from limit
        except ChildProcessError as died:
            raise InvalidInput(
                "The file made its reader crash or run out of memory.", field="file"
            ) from died
        except OSError as failed:
            raise Unavailable(
                f"Files cannot be read right now: {failed}. Try again later."
            ) from failed
        if result.error:
            raise InvalidInput(_why_not_read(result.error), field="file")
        return result.output

    def tidy(self) -> None:
        """End the runners that were idle for too long, and then the zygotes too."""
        with self._lock:
            now = time.monotonic()
            for executor, runner in list(self.runners.items()):
                if now - runner.used_at > self.idle_s and not runner.lock.locked():
                    self.runners.pop(executor).close()
            if not self.runners and now - self._used_at > self.idle_s:
                self.close()

    def _end(self, executor: str, runner: Runner) -> None:
        """End a runner that failed, unless another thread has ended it meanwhile."""
        with self._lock:
            if self.runners.get(executor) is runner:
                del self.runners[executor]
        runner.close()

    def close(self) -> None:
        with self._lock:
            for runner in self.runners.values():
                runner.close()
            self.runners.clear()
            for zygote in self.zygotes.values():
                zygote.close()
            self.zygotes.clear()

    def _wake(self, owner: Owner, executor: str) -> AwakeRunner:
        """The runner of that id; if it has to be started, the least recently used makes room."""
        state = self.state
        if state.mode == NO_MODE:
            raise Unavailable(f"Code cannot run here: {state.note}")
        with self._lock:
            self.tidy()
            running = self.runners.get(executor)
            if running is not None:
                return AwakeRunner(running, started_now=False)
            self._make_room(owner)
            with translated(
                OSError, Unavailable, "The runner could not be started: {error}. Try again later."
            ):
                runner = self._start(state.mode, self.preload, self.bounds, owner)
            self.runners[executor] = runner
            return AwakeRunner(runner, started_now=True)

    def _make_room(self, owner: Owner) -> None:
        """End a runner of this owner if they have as many as they may have."""
        theirs = [id for id, runner in self.runners.items() if runner.owner == owner]
        if len(theirs) < self.count:
            return
        idle = [id for id in theirs if not self.runners[id].lock.locked()]
        if not idle:
            raise RateLimited(f"All {self.count} runners of yours are busy; wait for one of them.")
        least_recently_used = min(idle, key=lambda id: self.runners[id].used_at)
        self.runners.pop(least_recently_used).close()

    def _start(
        self,
        mode: str,
        modules: tuple[str, ...],
        bounds: Bounds,
        owner: Owner | None = None,
        file_descriptor: int | None = None,
    ) -> Runner:
        """A new sandboxed process, forked from a zygote that has these modules loaded."""
        home = self._home(mode)
        with self._lock:
            make_private_folder(str(home))
            if not self.zygotes:
                _remove_folders_of_dead_servers(home)
            zygote = self.zygotes.get(modules)
            if zygote is None or not zygote.alive:
                zygote = Zygote(modules)
                self.zygotes[modules] = zygote
            self._used_at = time.monotonic()
            folder = tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}-{os.getpid()}-", dir=home)
            return Runner(zygote, mode, bounds, Path(folder), owner, file_descriptor)

    def _home(self, mode: str) -> Path:
        """Where the folders of runners are made."""
        if mode == LANDLOCK_MODE and os.getuid() == 0:
            # Its processes become `nobody`, who cannot get into the data folder.
            return Path(tempfile.gettempdir())
        return self.data / RUNNERS

    def _read_as_allowed(self, task: str, file_descriptor: int, bounds: Bounds) -> ReadResult:
        """Read in the sandbox; without one only if a setting allows it."""
        state = self.state
        if state.mode != NO_MODE:
            return self._read_in_sandbox(task, file_descriptor, bounds)
        if not self.read_unfenced:
            raise Unavailable(
                f"Files are not read here, because there is no sandbox for it: {state.note} "
                f"{HOW_TO_READ_UNFENCED}"
            )
        return read_unfenced(task, file_descriptor, bounds)

    def _read_in_sandbox(self, task: str, file_descriptor: int, bounds: Bounds) -> ReadResult:
        module = task.partition(":")[0]
        mode = self.state.mode
        runner = self._start(mode, (module,), bounds, file_descriptor=file_descriptor)
        with closing(runner):
            outcome = runner.call(_reading_code(task))
            stdout, _ = runner.output()
        if outcome.interrupted_because is not None:
            raise TooLarge(outcome.interrupted_because)
        if stdout.truncated:
            raise TooLarge("there is too much in it")
        return ReadResult(stdout.text, outcome.error)


def _worded(outcome: CallOutcome) -> str | None:
    """What went wrong in a call, if anything did."""
    if outcome.interrupted_because is not None:
        return f"Stopped because {outcome.interrupted_because}.\n{outcome.error}"
    return outcome.error or None


def _reading_code(task: str) -> str:
    return f"from memolith.sandbox.read_task import print_result\nprint_result({task!r}, {FILE_FD})"


def _why_not_read(trace: str) -> str:
    """The message of a refusal, or the last line of any other traceback."""
    _, refusal, message = trace.strip().rpartition(REFUSAL)
    if refusal:
        return message
    return f"The file cannot be read: {trace.strip().splitlines()[-1]}"


def _remove_folders_of_dead_servers(home: Path) -> None:
    for folder in home.glob(f"{FOLDER_PREFIX}-*-*"):
        server_pid = folder.name.split("-")[2]
        is_ours = folder.lstat().st_uid == os.getuid()
        if is_ours and not Path("/proc", server_pid).exists():
            remove_folder(str(folder))
