"""Runs every attempt to escape and prints as JSON what got through.

Usage: battery.py MODE root|user|none. With `none` nothing locks the attempts in. With the mode
`unfenced` a hostile file is read without a sandbox, and what its reader could see is printed.
"""

import json
import os
import pickle
import queue
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from memolith.errors import NotFound
from memolith.ports.sandbox import Bounds, CodeResult, Owner
from memolith.sandbox import libc
from memolith.sandbox.constants import (
    CLONE_NEWNS,
    LINUX_CAPABILITY_VERSION_3,
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    PR_SET_DUMPABLE,
)
from memolith.sandbox.linux import LinuxSandbox

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.programs.escapes import (  # noqa: E402 - a program, which finds the tests by its own path
    ATTEMPTS,
    FILLING,
    HARMLESS,
    IMPORTS,
    PRELUDE,
    SLOW,
)

ORDINARY_USER = 12345
OWNER = ("acme", "ann")
WORKERS = 4
PATIENT_WALL_S = 20.0
HASTY_WALL_S = 0.3
"""For attempts that never end by themselves."""

TRIES_TO_ANSWER = 3
SEARCHABLE_BY_OTHERS = 0o1
OPEN_TO_OTHERS = 0o7
CAPABILITIES_IN_CONTAINERS = 0xA80425FB
"""What container programs leave to root: neither CAP_SYS_ADMIN nor CAP_SYS_PTRACE is among them."""

PRELOADED = (
    "ctypes",
    "multiprocessing.pool",
    "numpy",
    "resource",
    "subprocess",
    "urllib.request",
)


def make_reachable(paths: set[str]) -> None:
    """Let every user reach these folders, for this process and its children only.

    In a mount namespace of our own an open folder covers each closed one.
    """
    closed: dict[str, list[str]] = {}
    for path in paths:
        for parent in reversed(Path(path).parents):
            if not parent.stat().st_mode & SEARCHABLE_BY_OTHERS:
                closed.setdefault(str(parent), []).append(path)
                break
    if not closed:
        return
    libc.unshare(CLONE_NEWNS)
    libc.mount("none", "/", None, MS_REC | MS_PRIVATE)
    for parent_path, below in closed.items():
        handles = {path: os.open(path, os.O_PATH) for path in below}
        libc.mount("tmpfs", parent_path, "tmpfs", 0, "mode=755")
        for path, handle in handles.items():
            os.makedirs(path)
            libc.mount(f"/proc/self/fd/{handle}", path, None, MS_BIND | MS_REC)
            os.close(handle)


def become_ordinary_user() -> None:
    os.setgroups([])
    os.setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER)
    os.setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER)
    # Otherwise the files of this process in /proc would still belong to root.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def become_root_of_container() -> None:
    """Give up the rights that root seldom has where there are no namespaces."""
    header = struct.pack("2I", LINUX_CAPABILITY_VERSION_3, 0)
    kept = CAPABILITIES_IN_CONTAINERS
    libc.capset(header, struct.pack("6I", kept, kept, 0, 0, 0, 0))


class Scene:
    """A server with secrets: files, sockets and an environment that any free process can read."""

    def __init__(self, home: Path) -> None:
        home.chmod(0o755)
        self.home = home
        self.temporary = home / "temporary"
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        self.document = home / "stored.txt"
        self.database = home / "memolith.db"
        self.signals: list[int] = []
        os.environ["SERVER_SECRET"] = "secret"
        (home / "other").mkdir()
        for path in (home / "key", self.database, home / "other" / "secret.txt", self.document):
            path.write_text("secret")
        self.abstract_name = f"\0memolith-{os.getpid()}"
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.abstract = self._bound(socket.SOCK_STREAM, self.abstract_name)
        self.named = self._bound(socket.SOCK_STREAM, str(home / "named"))
        self.named.listen()
        self.datagram = self._bound(socket.SOCK_DGRAM, str(home / "datagram"))
        signal.signal(signal.SIGUSR1, lambda number, _: self.signals.append(number))

    def prelude(self, zygote_pid: int) -> str:
        """Imports and helpers of the attempts, and what an attacker could guess."""
        guessed = {
            "SERVER": os.getpid(),
            "ZYGOTE": zygote_pid,
            "PORT": self.tcp.getsockname()[1],
            "ABSTRACT": self.abstract_name,
            "NAMED": str(self.home / "named"),
            "DATAGRAM": str(self.home / "datagram"),
            "KEY": str(self.home / "key"),
            "DATABASE": str(self.database),
            "OTHER": str(self.home / "other" / "secret.txt"),
        }
        return PRELUDE + "".join(f"{name} = {value!r}\n" for name, value in guessed.items())

    @contextmanager
    def locate(self, id: str) -> Iterator[tuple[str, Path]]:
        if id != "ds-1":
            raise NotFound(f"There is no document {id!r}.")
        yield "a.txt", self.document

    def folders_of_runners(self) -> list[Path]:
        places = (self.home / "runners", self.temporary)
        return [path for place in places for path in place.glob("memolith-runner-*")]

    def exposed(self) -> list[str]:
        """What other users of the machine can see of the runners."""
        found = []
        for folder in self.folders_of_runners():
            for path in (folder, *folder.rglob("*")):
                if path.lstat().st_mode & OPEN_TO_OTHERS:
                    found.append(str(path))
        return found

    def damage(self) -> list[str]:
        """What somebody did to the server."""
        planted = [*self.home.rglob("pwned*"), *Path("/tmp").glob("pwned")]
        files = [str(path) for path in planted if path.is_file()]
        signals = [f"signal {number}" for number in self.signals]
        texts = {self.document.read_text(), self.database.read_text()}
        return files + signals + sorted(texts - {"secret"})

    def _bound(self, kind: socket.SocketKind, address: str) -> socket.socket:
        bound = socket.socket(socket.AF_UNIX, kind)
        bound.bind(address)
        return bound


@contextmanager
def sandbox(home: Path, mode: str, wall_s: float) -> Iterator[LinuxSandbox]:
    bounds = Bounds(wall_s, cpu_s=60, memory_mb=128, output_kb=20, scratch_mb=16, threads=64)
    opened = LinuxSandbox(home, bounds, mode, WORKERS, idle_s=600, preload=PRELOADED)
    try:
        yield opened
    finally:
        opened.close()


class Target(NamedTuple):
    """A runner that is attacked."""

    sandbox: LinuxSandbox
    executor: str
    scene: Scene
    owner: Owner = OWNER

    def run(self, code: str) -> CodeResult:
        return self.sandbox.run(self.owner, self.executor, code, self.scene.locate, lambda: False)

    def answers(self) -> bool:
        return any(self.run("print(6 * 7)").stdout == "42\n" for _ in range(TRIES_TO_ANSWER))


def attack(mode: str, scene: Scene) -> dict[str, object]:
    """Make every attempt, and see after each whether the runner still answers."""
    escaped: list[str] = []
    silent: list[str] = []
    answers: dict[str, str] = {}
    exposed: list[str] = []
    with (
        sandbox(scene.home, mode, PATIENT_WALL_S) as patient,
        sandbox(scene.home, mode, HASTY_WALL_S) as hasty,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        state = patient.state
        if state.mode == mode:
            free: queue.Queue[tuple[Target, Target]] = queue.Queue()
            for _ in range(WORKERS):
                patient_target = Target(patient, patient.create(OWNER), scene)
                hasty_target = Target(hasty, hasty.create(OWNER), scene)
                patient_target.run("get_memory_path('ds-1', 'a.txt')")
                free.put((patient_target, hasty_target))
            exposed = scene.exposed()
            prelude = scene.prelude(patient.zygotes[PRELOADED].pid)

            def attempt(name: str) -> None:
                pair = free.get()
                target = pair[0]
                if name in SLOW:
                    target = pair[1]
                    # In a call of its own, so that imports do not use up the time.
                    target.run(IMPORTS)
                if name in FILLING:
                    owner = (name, name)
                    target = Target(patient, patient.create(owner), scene, owner)
                result = target.run(prelude + ATTEMPTS[name])
                answers[name] = result.stdout[-60:] + (result.error or "")[-150:]
                if "ESCAPED" in result.stdout:
                    escaped.append(name)
                if not target.answers():
                    silent.append(name)
                free.put(pair)

            list(pool.map(attempt, ATTEMPTS))
    return {
        "state": state,
        "attempts": len(answers),
        "escaped": escaped,
        "silent": silent,
        "damage": scene.damage(),
        "exposed": exposed,
        "left": [str(path) for path in scene.folders_of_runners()],
        "answers": answers,
    }


def control(scene: Scene) -> dict[str, object]:
    """Make the harmless attempts without a sandbox: they must get through."""
    stand_in = f"def get_memory_path(*_):\n    return {str(scene.document)!r}\n"
    prelude = scene.prelude(os.getpid()) + stand_in

    def escapes(name: str) -> bool:
        command = [sys.executable, "-c", prelude + ATTEMPTS[name]]
        return b"ESCAPED" in subprocess.run(command, capture_output=True, cwd=scene.home).stdout

    os.environ["TMPDIR"] = str(scene.home)
    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = dict(zip(HARMLESS, pool.map(escapes, HARMLESS), strict=True))
    return {"escaped": [name for name, got_out in outcomes.items() if got_out]}


class HostileFile:
    """A pickle that tells what the process which loads it has: stands for an attack on a reader."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, (
            "{'environment': dict(__import__('os').environ),"
            " 'user': __import__('os').getuid(),"
            " 'may_fork': __import__('resource').getrlimit(6)[0] != 0,"
            " 'handles': [fd for fd in __import__('os').listdir('/proc/self/fd') if int(fd) > 3]}",
        )


def read_unfenced(scene: Scene) -> object:
    file = scene.home / "hostile"
    file.write_bytes(pickle.dumps(HostileFile()))
    sandbox = LinuxSandbox(scene.home, Bounds(), "off", read_unfenced=True)
    return json.loads(sandbox.run_on_file("pickle:load", file, Bounds()))


def main() -> None:
    mode, user = sys.argv[1:]
    as_root = os.getuid() == 0
    if as_root and (user == "user" or mode in ("landlock", "unfenced")):
        make_reachable({sys.prefix, sys.base_prefix, str(ROOT)})
    if as_root and user == "user":
        become_ordinary_user()
    if as_root and user == "root" and mode == "landlock":
        become_root_of_container()
    with tempfile.TemporaryDirectory() as home:
        scene = Scene(Path(home))
        # Not the one that tests beside this one use, who make runners, too.
        tempfile.tempdir = str(scene.temporary)
        found: object
        if mode == "unfenced":
            found = read_unfenced(scene)
        elif user == "none":
            found = control(scene)
        else:
            found = attack(mode, scene)
        print(json.dumps(found))


main()
