"""The set-up of deploy/failover on this machine: the very files, with other addresses.

Each node has an address of its own, as 127.83.14.21, and all its programs run below one folder. So
a node can be killed, frozen and started again as a whole.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import psycopg
import pytest

from tests.failover.debian import program, program_environment
from tests.integrations.environments import clean_environment, environment
from tests.postgres import Unstartable, binaries
from tests.programs.children import wait_for

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILES = DEPLOY / "failover"
PATRONI = ["patroni[etcd3]==4.1.5", "psycopg[binary]==3.3.8"]
PORTS = ("2379", "2380", "8008", "5432", "5000", "5001", "6432")
"""The ports in the files; on this machine, others are used that are free."""
NUMBERS = (1, 2, 3)
START_S = 180.0
SUPERUSER_PASSWORD = "change-me-1"
OWNER_PASSWORD = "change-me-2"
SERVER_PASSWORD = "change-me-3"

# Waits until whoever started it is gone, in whatever way, then ends what runs below the folder.
WATCH = """
import shutil, sys
from tests.failover.nodes import end_all_below
from pathlib import Path
sys.stdin.read()
end_all_below(Path(sys.argv[1]))
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


def processes_below(folder: Path) -> list[int]:
    """The processes whose working directory lies in a folder: all that were started there."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # It may have ended meanwhile, or belong to somebody else.
        with suppress(OSError):
            where = Path(os.readlink(entry / "cwd"))
            if where == folder or folder in where.parents:
                found.append(int(entry.name))
    return found


def send_all_below(folder: Path, number: signal.Signals) -> None:
    for process in processes_below(folder):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def end_all_below(folder: Path) -> None:
    """Kill what was started in a folder, until nothing is left: it may have started more."""

    def is_empty() -> bool:
        send_all_below(folder, signal.SIGKILL)
        return not _running_below(folder)

    wait_for(is_empty)


def _running_below(folder: Path) -> list[int]:
    running = []
    for process in processes_below(folder):
        with suppress(OSError):
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z":
                running.append(process)
    return running


def unprivileged() -> list[str]:
    """How a command becomes somebody who may run PostgreSQL."""
    if os.geteuid() != 0:
        return []
    prefix = ["unshare", "-U", "--map-user=1000", "--map-group=1000"]
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("PostgreSQL refuses to run as root, and there are no user namespaces here")
    return prefix


class Site:
    """Three nodes with etcd, Patroni and PostgreSQL, and HAProxy and PgBouncer before them."""

    def __init__(self, folder: Path) -> None:
        if sys.platform != "linux":
            pytest.skip("only Linux has an address of its own on loopback for each node")
        self.folder = folder
        self.net = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}"
        self.ports = dict(zip(PORTS, _free_ports(f"{self.net}.21", len(PORTS)), strict=True))
        self.as_user = unprivileged()
        try:
            self.binaries = binaries()
        except Unstartable as error:
            pytest.skip(str(error))
        self.patroni = environment("patroni", PATRONI).with_name("patroni")
        self._children: list[subprocess.Popen[bytes]] = []
        for number in NUMBERS:
            self.start_etcd(number)
        for number in NUMBERS:
            self.start_node(number)
        self._start_before("haproxy", "-db", "-f", "haproxy.cfg")
        self._write(self.folder / "proxy", "userlist.txt")
        self._start_before("pgbouncer", "-q", "pgbouncer.ini", as_user=self.as_user)

    # Addresses

    def address(self, number: int) -> str:
        return f"{self.net}.2{number}"

    def url(self, port: str, role: str, password: str, database: str = "memolith") -> str:
        """How a program reaches the database through HAProxy (5000, 5001) or PgBouncer (6432)."""
        host = f"{self.net}.1:{self.ports[port]}"
        return f"postgresql://{role}:{password}@{host}/{database}"

    def node_url(self, number: int, database: str = "postgres") -> str:
        """How an administrator reaches one node."""
        host = f"{self.address(number)}:{self.ports['5432']}"
        return f"postgresql://postgres:{SUPERUSER_PASSWORD}@{host}/{database}"

    # Programs

    def start_etcd(self, number: int) -> None:
        folder = self.folder / f"etcd{number}"
        file = self._write(folder, "etcd.env", number)
        settings = dict(
            line.split("=", 1)
            for line in file.read_text(encoding="utf-8").splitlines()
            if line.startswith("ETCD_")
        )
        self._start(folder, [str(program("etcd"))], {**program_environment("etcd"), **settings})

    def start_node(self, number: int) -> None:
        """Start the Patroni of a node, which starts its PostgreSQL."""
        folder = self.node_folder(number)
        self._write(folder, "patroni.yml", number)
        self._start(folder, [*self.as_user, str(self.patroni), "patroni.yml"], clean_environment())

    def _start_before(self, name: str, *arguments: str, as_user: list[str] | None = None) -> None:
        folder = self.folder / "proxy"
        self._write(folder, arguments[-1])
        self._start(
            folder, [*(as_user or []), str(program(name)), *arguments], program_environment(name)
        )

    def _start(self, folder: Path, command: list[str], env: dict[str, str]) -> None:
        with open(folder / "log", "ab") as log:
            child = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._children.append(child)

    def node_folder(self, number: int) -> Path:
        return self.folder / f"node{number}"

    def etcd_folder(self, number: int) -> Path:
        return self.folder / f"etcd{number}"

    def _write(self, folder: Path, name: str, number: int = 0) -> Path:
        """A file of deploy/failover with the addresses and folders of this machine."""
        folder.mkdir(exist_ok=True)
        text = (FILES / name).read_text(encoding="utf-8")
        text = re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: str(self.ports[found[1]]), text)
        for old, new in (
            ("@NODE@", f"node{number}"),
            ("@ADDRESS@", f"10.0.0.2{number}"),
            ("10.0.0.0/24", "127.0.0.0/8"),
            ("10.0.0.", f"{self.net}."),
            ("127.0.0.1:", f"{self.net}.1:"),
            ("127.0.0.1", f"{self.net}.1"),
            ("/usr/lib/postgresql/18/bin", str(self.binaries)),
            ("/var/run/postgresql", str(folder)),
            ("/var/lib/postgresql/18", str(folder)),
            ("/var/lib/etcd", str(folder)),
            ("/etc/pgbouncer", str(folder)),
        ):
            text = text.replace(old, new)
        file = folder / name
        file.write_text(text, encoding="utf-8")
        return file

    # What the nodes are doing

    def states(self) -> dict[int, dict[str, Any]]:
        """What Patroni says of each node that answers."""
        found = {}
        for number in NUMBERS:
            state = self._state(number)
            if state is not None:
                found[number] = state
        return found

    def _state(self, number: int) -> dict[str, Any] | None:
        address = f"http://{self.address(number)}:{self.ports['8008']}/patroni"
        opener = build_opener(ProxyHandler({}))
        try:
            with opener.open(address, timeout=5) as answer:
                return dict(json.load(answer))
        except HTTPError as error:
            # It answers 503 where PostgreSQL does not run, and says the same.
            with suppress(ValueError):
                return dict(json.load(error))
        except (URLError, OSError, ValueError):
            pass
        return None

    def primary(self) -> int | None:
        """The node that takes writes."""
        for number, state in self.states().items():
            if state.get("role") in ("primary", "master") and state.get("state") == "running":
                return number
        return None

    def confirming(self) -> int | None:
        """The replica without which no commit is acknowledged."""
        for number, state in self.states().items():
            if state.get("sync_standby"):
                return number
        return None

    def is_whole(self) -> bool:
        """Whether there is one primary, two replicas that follow it, and one of them in step."""
        states = self.states().values()
        roles = sorted(str(state.get("role")) for state in states)
        following = [state for state in states if state.get("replication_state") == "streaming"]
        in_step = [state for state in states if state.get("sync_standby")]
        return (
            roles in (["primary", "replica", "replica"], ["master", "replica", "replica"])
            and len(following) == 2
            and len(in_step) == 1
        )

    def wait_until_whole(self) -> int:
        """Wait until all nodes are there; returns the primary."""
        found: int = wait_for(lambda: self.primary() if self.is_whole() else None, START_S)
        return found

    # Misfortunes

    def kill(self, number: int) -> None:
        """Kill Patroni and PostgreSQL of a node, all processes, with -9."""
        end_all_below(self.node_folder(number))
        self._reap()

    def freeze(self, number: int) -> None:
        """Stop every process of a node, etcd too: its ports accept, and nothing answers."""
        self.stop_etcd(number)
        send_all_below(self.node_folder(number), signal.SIGSTOP)

    def thaw(self, number: int) -> None:
        """Let a frozen node go on where it was, with all that it believes."""
        send_all_below(self.node_folder(number), signal.SIGCONT)
        self.continue_etcd(number)

    def stop_etcd(self, number: int) -> None:
        send_all_below(self.etcd_folder(number), signal.SIGSTOP)

    def continue_etcd(self, number: int) -> None:
        send_all_below(self.etcd_folder(number), signal.SIGCONT)

    def _reap(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]

    def close(self) -> None:
        end_all_below(self.folder)
        for child in self._children:
            child.wait(START_S)

    def logs(self) -> str:
        """The end of each log, for a test that fails."""
        return "\n".join(
            f"=== {file.parent.name}\n{file.read_text(errors='replace')[-3000:]}"
            for file in sorted(self.folder.glob("*/log"))
        )

    # The database

    def set_up(self) -> None:
        """Make roles and database as the page says."""
        primary = self.wait_until_whole()
        subprocess.run(
            [str(self.binaries / "psql"), "-q", "-d", self.node_url(primary), "-f", "roles.sql"],
            cwd=DEPLOY,
            env={
                **os.environ,
                "OWNER_PASSWORD": OWNER_PASSWORD,
                "SERVER_PASSWORD": SERVER_PASSWORD,
            },
            check=True,
            capture_output=True,
            timeout=START_S,
        )

    def ask(self, number: int, statement: str) -> list[tuple[Any, ...]]:
        """What one node answers in the database of memolith."""
        with psycopg.connect(
            self.node_url(number, "memolith"), autocommit=True, connect_timeout=10
        ) as db:
            return db.execute(statement).fetchall()


@contextmanager
def a_site() -> Iterator[Site]:
    """The whole set-up, which is gone when the test is, however it ends."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-ha-"))
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        watch = cleanup.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", WATCH, str(folder)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                start_new_session=True,
            )
        )
        assert watch.stdin is not None
        cleanup.callback(watch.stdin.close)
        cleanup.callback(end_all_below, folder)
        site = Site(folder)
        cleanup.callback(site.close)
        try:
            yield site
        except BaseException:
            print(site.logs())
            raise


def _free_ports(address: str, count: int) -> list[int]:
    """Ports that nobody uses, on any address: another program may listen on all of them."""
    with ExitStack() as held:
        ports = []
        for _ in range(count):
            taken = held.enter_context(socket.socket())
            taken.bind(("", 0))
            ports.append(int(taken.getsockname()[1]))
        return ports
