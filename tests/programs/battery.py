"""Runs every attempt to escape and prints as JSON what got through: battery.py MODE root|user|none."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from memolith.errors import NotFound
from memolith.ports.sandbox import Bounds, Ran
from memolith.sandbox import libc
from memolith.sandbox.constants import (
    CLONE_NEWNS,
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    PR_SET_DUMPABLE,
)
from memolith.sandbox.linux import LinuxSandbox

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.programs.escapes import ATTEMPTS, GIVEN, HARMLESS, IMPORTS, SLOW

ORDINARY, ME, WORKERS = 12345, ("acme", "ann"), 4
LOADED = ("ctypes", "multiprocessing.pool", "numpy", "resource", "subprocess", "urllib.request")


def open_the_way(wanted: set[str]) -> None:
    """Let everybody reach the interpreter: in a mount namespace of ours an open folder covers each closed one."""
    closed: dict[str, list[str]] = {}
    for path in wanted:
        for above in reversed(Path(path).parents):
            if not above.stat().st_mode & 1:
                closed.setdefault(str(above), []).append(path)
                break
    if closed:
        libc.unshare(CLONE_NEWNS)
        libc.mount("none", "/", None, MS_REC | MS_PRIVATE)
    for folder, paths in closed.items():
        handles = [os.open(path, os.O_PATH) for path in paths]
        libc.mount("tmpfs", folder, "tmpfs", 0, "mode=755")
        for path, handle in zip(paths, handles, strict=True):
            os.makedirs(path)
            libc.mount(f"/proc/self/fd/{handle}", path, None, MS_BIND | MS_REC)
            os.close(handle)


def become_ordinary() -> None:
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    # Else the files of this process in /proc belong to root.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


class Scene:
    """A server with secrets: files, sockets, an environment; all of it readable to whoever is not fenced in."""

    def __init__(self, home: Path) -> None:
        home.chmod(0o755)
        self.home, self.stored, self.signals = home, home / "stored.txt", list[int]()
        os.environ["SERVER_SECRET"] = "secret"
        for name in ("key", "memolith.db", "other/secret.txt", "stored.txt"):
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).write_text("secret")
        self.sockets = [socket.create_server(("127.0.0.1", 0))]
        for kind, address in (
            (socket.SOCK_STREAM, f"\0memolith-{os.getpid()}"),
            (socket.SOCK_STREAM, str(home / "named")),
            (socket.SOCK_DGRAM, str(home / "datagram")),
        ):
            self.sockets.append(socket.socket(socket.AF_UNIX, kind))
            self.sockets[-1].bind(address)
        self.sockets[2].listen()
        signal.signal(signal.SIGUSR1, lambda number, _: self.signals.append(number))

    def given(self, zygote: int) -> str:
        """What the attempts know."""
        known = {
            "SERVER": os.getpid(),
            "ZYGOTE": zygote,
            "PORT": self.sockets[0].getsockname()[1],
            "ABSTRACT": f"\0memolith-{os.getpid()}",
            "NAMED": str(self.home / "named"),
            "DATAGRAM": str(self.home / "datagram"),
            "KEY": str(self.home / "key"),
            "DATABASE": str(self.home / "memolith.db"),
            "OTHER": str(self.home / "other" / "secret.txt"),
        }
        return GIVEN + "".join(f"{name} = {value!r}\n" for name, value in known.items())

    @contextmanager
    def locate(self, id: str) -> Iterator[tuple[str, Path]]:
        if id != "ds-1":
            raise NotFound(f"There is no document {id!r}.")
        yield "a.txt", self.stored

    def damage(self) -> list[str]:
        """What somebody did to the server."""
        done = [
            str(path)
            for path in (*self.home.rglob("pwned*"), *Path("/tmp").glob("pwned"))
            if path.is_file()
        ]
        texts = {path.read_text() for path in (self.stored, self.home / "memolith.db")}
        return done + [f"signal {number}" for number in self.signals] + sorted(texts - {"secret"})


@contextmanager
def sandbox(home: Path, mode: str, wall_s: float) -> Iterator[LinuxSandbox]:
    made = LinuxSandbox(home, Bounds(wall_s, 60, 128, 20, 16, 64), mode, WORKERS, 600, LOADED)
    try:
        yield made
    finally:
        made.close()


def attack(mode: str, scene: Scene) -> dict[str, object]:
    """Every attempt, and whether the runner answers after it."""
    escaped, silent, answers = [], [], {}
    with (
        sandbox(scene.home, mode, 20.0) as patient,
        sandbox(scene.home, mode, 0.3) as hasty,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        state = patient.state
        free: queue.Queue[tuple[str, str]] = queue.Queue()
        for _ in range(WORKERS if state[0] == mode else 0):
            free.put((patient.create(ME), hasty.create(ME)))
        given = scene.given(patient.zygotes[LOADED].pid if patient.zygotes else 0)

        def run(executor: str, place: LinuxSandbox, code: str) -> Ran:
            return place.run(ME, executor, code, scene.locate, lambda: False)

        def attempt(name: str) -> None:
            pair = free.get()
            executor, place = (pair[1], hasty) if name in SLOW else (pair[0], patient)
            if name in SLOW:
                run(executor, place, IMPORTS)
            ran = run(executor, place, given + ATTEMPTS[name])
            answers[name] = ran.stdout[-60:] + (ran.error or "")[-150:]
            if "ESCAPED" in ran.stdout:
                escaped.append(name)
            if not any(run(executor, place, "print(6 * 7)").stdout == "42\n" for _ in range(3)):
                silent.append(name)
            free.put(pair)

        if state[0] == mode:
            list(pool.map(attempt, ATTEMPTS))
    return {
        "state": state,
        "attempts": len(answers),
        "escaped": escaped,
        "silent": silent,
        "damage": scene.damage(),
        "answers": answers,
    }


def control(scene: Scene) -> dict[str, object]:
    """The harmless attempts without a sandbox: they must get through."""
    given = (
        scene.given(os.getpid()) + f"def get_memory_path(*_):\n    return {str(scene.stored)!r}\n"
    )

    def escapes(name: str) -> bool:
        command = [sys.executable, "-c", given + ATTEMPTS[name]]
        return b"ESCAPED" in subprocess.run(command, capture_output=True, cwd=scene.home).stdout

    os.environ["TMPDIR"] = str(scene.home)
    with ThreadPoolExecutor(WORKERS) as pool:
        return {
            "escaped": [
                name for name, out in zip(HARMLESS, pool.map(escapes, HARMLESS), strict=True) if out
            ]
        }


def main() -> None:
    mode, user = sys.argv[1:]
    if os.getuid() == 0 and (user == "user" or mode == "landlock"):
        open_the_way({sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])})
    if user == "user" and os.getuid() == 0:
        become_ordinary()
    with tempfile.TemporaryDirectory() as home:
        scene = Scene(Path(home))
        print(json.dumps(control(scene) if user == "none" else attack(mode, scene)))


main()
