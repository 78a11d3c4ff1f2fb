"""The server's end of the sandbox: fenced children that run code and keep its variables, or read one file."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from functools import cached_property
from pathlib import Path

from memolith.errors import (
    InvalidInput,
    MemolithError,
    NotFound,
    RateLimited,
    TooLarge,
    Unavailable,
    translated,
)
from memolith.ports.sandbox import Bounds, Locate, Owner, Ran

TICK_S, GRACE_S, SEND_S, START_S, NOBODY, FILES = 0.02, 1.0, 10.0, 60.0, 65534, 1024
MOST_KNOWN, LONGEST_ANSWER = 10_000, 100_000
SEEN = {
    "namespace": "",
    "landlock": "Code can see whether a path exists, its size and times, but not what is in it.",
}
WAY_OUT = "It takes Linux 5.13 or newer with Landlock on x86-64 or arm64; elsewhere use a Linux container or WSL 2."
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "JOBLIB_MULTIPROCESSING": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "2",
}
REFUSED = f"{InvalidInput.__module__}.{InvalidInput.__name__}: "
READ = """import json, pkgutil
with open({place}, "rb") as file:
    print(json.dumps(pkgutil.resolve_name({task!r})(file), ensure_ascii=False))"""
CANARIES = """import os, socket
for name, attempt in (("reading the data", lambda: open({path!r}).read()), ("writing", lambda: open({path!r}, "w")),
                      ("sockets", socket.socket), ("new processes", lambda: os.fork() or os._exit(0)),
                      ("the server's environment", lambda: open("/proc/{pid}/environ").read())):
    try: attempt()
    except OSError: continue
    print(name, end=", ")
print("checked")"""


def launch(modules: tuple[str, ...]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A clean process that forks children, and the line to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [
            sys.executable,
            "-I",
            "-B",
            "-m",
            "memolith.sandbox.zygote",
            str(theirs.fileno()),
            *modules,
        ]
        process = subprocess.Popen(
            command,
            env=ENVIRONMENT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    ours.settimeout(START_S)
    return process, ours


class Child:
    """A fenced process, stopped between calls, and what the server knows of it."""

    def __init__(
        self,
        zygote: socket.socket,
        mode: str,
        bounds: Bounds,
        folder: Path,
        owner: Owner,
        file: list[int],
    ) -> None:
        self.mode, self.bounds, self.folder, self.owner, self.lock = (
            mode,
            bounds,
            folder,
            owner,
            threading.Lock(),
        )
        self.number, self.used_at, self.alive = 0, time.monotonic(), True
        for name in (".", "scratch", "memory"):
            (folder / name).mkdir(exist_ok=True)
            (folder / name).chmod(0o755)
        if mode == "landlock" and os.getuid() == 0:
            os.chown(folder / "scratch", NOBODY, NOBODY)
        self.outputs = [tempfile.TemporaryFile(dir=folder) for _ in ("out", "err")]  # noqa: SIM115
        self.control, theirs = socket.socketpair()
        with theirs:
            given = [*(output.fileno() for output in self.outputs), theirs.fileno(), *file]
            order = [mode, str(folder), bounds.memory_mb, bounds.scratch_mb, bounds.threads]
            socket.send_fds(zygote, [json.dumps(order).encode()], given)
        answer, handles, _, _ = socket.recv_fds(zygote, 1 << 16, 1)
        if not handles:
            shutil.rmtree(folder, ignore_errors=True)
            raise OSError(answer.decode() or "the clean process died")
        self.pid, self.handle = int(answer), handles[0]

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def close(self) -> None:
        self.alive = False
        self.signal(signal.SIGKILL)
        for one in (self.control.detach(), self.handle):
            os.close(one)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(
        self,
        code: str,
        locate: Locate = lambda id: nullcontext(("", Path())),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[str, str]:
        """What went wrong in the code, and why it was stopped; a child that goes on all the same is given up."""
        self.signal(signal.SIGCONT)
        self.number, started, buffer, reason, deadline = (
            self.number + 1,
            time.monotonic(),
            bytearray(),
            "",
            0.0,
        )
        kind = text = ""
        try:
            before_s = self.used()[0]
            self.send("code", code)
            while kind != "done":
                with suppress(TimeoutError):
                    buffer += (data := self.control.recv(1 << 16))
                    if len(buffer) > LONGEST_ANSWER:
                        raise TooLarge("its answer is too long")
                    if not data or data.endswith(b"\n"):
                        number, kind, text = json.loads(buffer)
                        buffer.clear()
                        if number != self.number or kind != "done":
                            kind = "ask"
                            self.send(*self.show(locate, *json.loads(text)))
                now = time.monotonic()
                if deadline and now > deadline:
                    raise TooLarge(reason)
                reason = reason or (
                    "it was cancelled" if cancelled() else self.excess(now - started, before_s)
                )
                if reason and not deadline:
                    deadline = now + GRACE_S
                    self.signal(signal.SIGINT)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ChildProcessError(reason or "it died") from error
        self.signal(signal.SIGSTOP)
        self.used_at = time.monotonic()
        return str(text), reason

    def send(self, kind: str, text: str) -> None:
        self.control.settimeout(SEND_S)
        self.control.sendall(json.dumps([self.number, kind, text]).encode() + b"\n")
        self.control.settimeout(TICK_S)

    def show(self, locate: Locate, id: str, name: str) -> tuple[str, str]:
        """Where the child finds the file of a document, which is copied for it."""
        try:
            with locate(str(id)) as (real, path):
                if name != real:
                    raise NotFound(f"{id} is called {real!r}, not {name!r}.")
                copy = Path("memory", f"{hash(id):x}", Path(real).name)
                if not (place := self.folder / copy).exists():
                    place.parent.mkdir(exist_ok=True)
                    shutil.copyfile(path, place)
                    place.parent.chmod(0o755)
                    place.chmod(0o444)
        except (MemolithError, OSError) as error:
            return "error", str(error)
        return "value", str(self.folder / copy if self.mode == "landlock" else "/" / copy)

    def used(self) -> tuple[float, int, int]:
        """CPU seconds, threads and megabytes of memory."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        ticks, pages = int(fields[11]) + int(fields[12]), int(fields[21])
        return (
            ticks / os.sysconf("SC_CLK_TCK"),
            int(fields[17]),
            pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        )

    def excess(self, wall_s: float, before_s: float) -> str:
        """Which limit of time is passed; who takes too much of something else is given up at once."""
        (cpu_s, threads, memory_mb), most, sizes = self.used(), self.bounds, list[int]()
        for place, _, names in os.walk(self.folder / "scratch"):
            with suppress(FileNotFoundError):
                sizes += [os.lstat(f"{place}/{name}").st_blocks for name in names]
        for used, limit, name, late in (
            (memory_mb, most.memory_mb, "MB of memory", False),
            (threads, most.threads, "threads", False),
            (sum(sizes) >> 11, most.scratch_mb, "MB of scratch", False),
            (len(sizes), FILES, "files", False),
            (wall_s, most.wall_s, "s", True),
            (cpu_s - before_s, most.cpu_s, "s of CPU", True),
        ):
            if used > limit and not late:
                raise TooLarge(f"it took more than {limit} {name}")
            if used > limit:
                return f"it took more than {limit:g} {name}"
        return ""

    def printed(self) -> list[tuple[str, bool]]:
        """What it has written to each output since last asked, and whether that was cut."""
        most = self.bounds.output_kb << 10
        texts = [os.pread(output.fileno(), most + 1, 0) for output in self.outputs]
        for output in self.outputs:
            output.truncate(output.seek(0))
        return [(text[:most].decode("utf-8", "replace"), len(text) > most) for text in texts]


class LinuxSandbox:
    """Runners of users and readers of files, each in a fenced child of its own."""

    def __init__(
        self,
        data: Path,
        bounds: Bounds,
        mode: str = "auto",
        count: int = 4,
        idle_s: float = 1800.0,
        preload: tuple[str, ...] = (),
    ) -> None:
        self.data, self.bounds, self.mode, self.count, self.idle_s = (
            data,
            bounds,
            mode,
            count,
            idle_s,
        )
        self.preload, self.lock, self.used_at = preload, threading.RLock(), time.monotonic()
        self.runners, self.owners = dict[str, Child](), dict[str, Owner]()
        self.zygotes: dict[tuple[str, ...], tuple[subprocess.Popen[bytes], socket.socket]] = {}

    @cached_property
    def state(self) -> tuple[str, str]:
        """The first mode that our own attempts do not get out of, and what it leaves to be seen; or `none` and why."""
        reasons = [f"this is {sys.platform} and MEMOLITH_RUNNER_MODE is {self.mode}"]
        for mode in [
            mode for mode in SEEN if sys.platform == "linux" and self.mode in ("auto", mode)
        ]:
            try:
                with closing(self.start(mode, (), self.bounds)) as child:
                    canary = child.folder / "canary"
                    canary.write_text("seen")
                    canary.chmod(0o666)
                    child.call(CANARIES.format(path=str(canary), pid=os.getpid()))
                    leaks = child.printed()[0][0].strip()
                if leaks == "checked":
                    return mode, SEEN[mode]
                reasons.append(f"{mode} lets through: {leaks}")
            except (OSError, TooLarge) as error:
                reasons.append(f"{mode}: {error}")
        return "none", f"{'; '.join(reasons)}. {WAY_OUT}"

    def start(
        self,
        mode: str,
        modules: tuple[str, ...],
        bounds: Bounds,
        owner: Owner = ("", ""),
        file: list[int] | None = None,
    ) -> Child:
        """A new child; what servers that are gone left behind is swept away first."""
        # The data folder is closed to `nobody`.
        home = (
            Path(tempfile.gettempdir())
            if mode == "landlock" and os.getuid() == 0
            else self.data / "runners"
        )
        with self.lock:
            home.mkdir(parents=True, exist_ok=True)
            for old in home.glob("memolith-runner-*-*") if not self.zygotes else ():
                if (
                    old.lstat().st_uid == os.getuid()
                    and not Path("/proc", old.name.split("-")[2]).exists()
                ):
                    shutil.rmtree(old, ignore_errors=True)
            if modules not in self.zygotes or self.zygotes[modules][0].poll() is not None:
                self.zygotes[modules] = launch(modules)
            self.used_at = time.monotonic()
            folder = tempfile.mkdtemp(prefix=f"memolith-runner-{os.getpid()}-", dir=home)
            return Child(self.zygotes[modules][1], mode, bounds, Path(folder), owner, file or [])

    def create(self, owner: Owner) -> str:
        """The id of a new runner, which only its owner can use."""
        self.owners[executor := f"executor-{secrets.token_hex(16)}"] = owner
        for old in list(self.owners)[:-MOST_KNOWN]:
            self.owners.pop(old, None)
        self.awake(owner, executor)
        return executor

    def awake(self, owner: Owner, executor: str) -> tuple[Child, bool]:
        """The runner of that id, and whether it was started now; the one unused for longest makes room for it."""
        mode, reason = self.state
        if mode == "none":
            raise Unavailable(f"Code cannot run here: {reason}")
        with self.lock:
            self.tidy()
            if found := self.runners.get(executor):
                return found, False
            mine = {id: child for id, child in self.runners.items() if child.owner == owner}
            idle = [id for id, child in mine.items() if not child.lock.locked()]
            if len(mine) >= self.count:
                if not idle:
                    raise RateLimited(
                        f"All {self.count} runners of yours are busy; wait for one of them."
                    )
                self.runners.pop(min(idle, key=lambda id: mine[id].used_at)).close()
            with translated(
                OSError, Unavailable, "The runner could not be started: {error}. Try again later."
            ):
                self.runners[executor] = child = self.start(mode, self.preload, self.bounds, owner)
            return child, True

    def run(
        self, owner: Owner, executor: str, code: str, locate: Locate, cancelled: Callable[[], bool]
    ) -> Ran:
        """Run code in the runner of that id; one that is gone is started anew."""
        if self.owners.get(executor) != owner:
            raise NotFound(
                f"There is no runner {executor[:100]!r}; make one with create_memory_code_runner.",
                field="executor_id",
                id=executor,
            )
        started, (child, anew) = time.monotonic(), self.awake(owner, executor)
        with child.lock:
            if not child.alive:
                # It had to make room just now.
                return self.run(owner, executor, code, locate, cancelled)
            try:
                error, reason = child.call(code, locate, cancelled)
                error = f"Stopped because {reason}.\n{error}" if reason else error
            except (TooLarge, ChildProcessError) as stopped:
                error = f"The runner was ended because {stopped}; its variables are gone."
                self.runners.pop(executor).close()
            (out, out_cut), (err, err_cut) = child.printed()
        return Ran(
            out,
            err,
            error or None,
            out_cut or err_cut,
            int(1000 * (time.monotonic() - started)),
            anew,
        )

    def read(self, task: str, file: Path, bounds: Bounds) -> str:
        """What a function makes of one file, as JSON; it runs in a child that sees nothing else."""
        mode, cut, reason = self.state[0], False, ""
        try:
            with file.open("rb") as opened:
                if mode == "none":
                    ran = subprocess.run(
                        [sys.executable, "-I", "-c", READ.format(task=task, place=0)],
                        stdin=opened,
                        capture_output=True,
                        timeout=bounds.wall_s,
                        encoding="utf-8",
                    )
                    said, error = ran.stdout, ran.stderr
                else:
                    modules = (task.partition(":")[0],)
                    with closing(
                        self.start(mode, modules, bounds, file=[opened.fileno()])
                    ) as child:
                        error, reason = child.call(READ.format(task=task, place=5))
                        said, cut = child.printed()[0]
            if reason or cut:
                raise TooLarge(reason or "there is too much in it")
        except (TooLarge, subprocess.TimeoutExpired) as passed:
            raise TooLarge(f"Reading the file was given up: {passed}.", field="file") from passed
        except ChildProcessError as died:
            raise InvalidInput(
                "The file made its reader crash or run out of memory.", field="file"
            ) from died
        except OSError as failed:
            raise Unavailable(
                f"Files cannot be read right now: {failed}. Try again later."
            ) from failed
        if error:
            _, refused, why = error.strip().rpartition(REFUSED)
            raise InvalidInput(
                why if refused else f"The file cannot be read: {why.splitlines()[-1]}", field="file"
            )
        return said

    def tidy(self) -> None:
        with self.lock:
            for id, child in list(self.runners.items()):
                if time.monotonic() - child.used_at > self.idle_s and not child.lock.locked():
                    self.runners.pop(id).close()
            if not self.runners and time.monotonic() - self.used_at > self.idle_s:
                self.close()

    def close(self) -> None:
        with self.lock:
            while self.runners:
                self.runners.popitem()[1].close()
            while self.zygotes:
                process, line = self.zygotes.popitem()[1]
                line.close()
                process.wait()
