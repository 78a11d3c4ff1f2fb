"""A database that hangs gives a clear error within its limit, and a crowd of writers is served."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from memolith.domain.callers import Caller
from memolith.errors import OutcomeUnknown, StoreBusy, StoreGone
from memolith.storage.postgres import store as store_module
from memolith.storage.postgres.store import PostgresStore
from tests.conftest import note
from tests.postgres import Server, a_cluster, prepare
from tests.programs.children import TIMEOUT_S, wait_for
from tests.stores import engine_on

ME = Caller()
WRITERS = 16
WRITES_EACH = 4
CANCEL_WAIT_FOR_REPLICA = (
    "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
)
LIMIT_S = 8.0
"""Long enough for what works, on a busy machine too."""


class Wire:
    """A connection between a store and its database that can fall silent, as a network does."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._passes = threading.Event()
        self._passes.set()
        self._start(self._accept)
        port = self._listener.getsockname()[1]
        user = self._target.netloc.rpartition("@")[0]
        self.url = self._target._replace(netloc=f"{user}@127.0.0.1:{port}").geturl()

    def fall_silent(self) -> None:
        """From now on nothing passes, and nobody is told."""
        self._passes.clear()

    def speak(self) -> None:
        self._passes.set()

    def close(self) -> None:
        self._passes.set()
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((self._target.hostname, self._target.port))
                self._ends += [near, far]
                self._start(self._pass_on, near, far)
                self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                self._passes.wait()
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with closing(Wire(server.create(template=server.template))) as made:
        yield made


@contextmanager
def hasty(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """A store that does not wait long."""
    monkeypatch.setattr(store_module, "ANSWER_GRACE_S", 1.0)
    with closing(PostgresStore(url, connections=2, busy_s=LIMIT_S, statement_s=LIMIT_S)) as store:
        yield store


def remember(store: PostgresStore, text: str) -> None:
    engine_on(store).writing.remember(ME, note(text))


def remember_often(store: PostgresStore) -> None:
    """Write until it fails: a connection hears of a setting only between two transactions."""
    for number in range(100):
        remember(store, f"text {number}")


def in_time(work: Callable[[], None]) -> None:
    """Run it on a thread that is given up if it never ends."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(work).result(TIMEOUT_S)


def test_a_port_that_accepts_and_never_answers_is_told_when_a_store_opens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"postgresql://somebody@127.0.0.1:{deaf.getsockname()[1]}/memolith"
        with pytest.raises(StoreGone, match="did not answer in time; nothing was done"):
            in_time(lambda: PostgresStore(url).close())


@pytest.mark.full
def test_idle_connections_that_fell_silent_are_told_and_given_up(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hasty(wire.url, monkeypatch) as store:
        remember(store, "before")
        wire.fall_silent()
        for _ in range(2):
            with pytest.raises(StoreGone, match="did not answer in time"):
                in_time(lambda: remember(store, "not now"))
        wire.speak()
        in_time(lambda: remember(store, "after"))


@pytest.mark.full
def test_a_statement_without_an_answer_ends_within_its_limit(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_in_silence() -> None:
        with store.reading(ME.tenant) as rows:
            wire.fall_silent()
            rows.head(ME.tenant)

    with hasty(wire.url, monkeypatch) as store:
        remember(store, "before")
        with pytest.raises(StoreGone, match="did not answer in time"):
            in_time(read_in_silence)
        wire.speak()
        in_time(lambda: remember(store, "after"))


@pytest.mark.full
def test_a_commit_without_an_answer_has_an_unknown_outcome(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_in_silence() -> None:
        with store.writing(ME.tenant) as rows:
            rows.begin(ME.tenant)
            wire.fall_silent()

    with hasty(wire.url, monkeypatch) as store:
        remember(store, "before")
        with pytest.raises(OutcomeUnknown):
            in_time(write_in_silence)
        wire.speak()


def test_a_commit_that_no_replica_has_confirmed_is_not_acknowledged() -> None:
    """PostgreSQL answers `COMMIT` with a mere warning when its wait for a replica is cancelled."""
    with a_cluster() as cluster:
        url = cluster.create()
        prepare(url)
        with closing(PostgresStore(url)) as store, ThreadPoolExecutor(1) as threads:
            remember(store, "before")
            cluster.execute("alter system set synchronous_standby_names = 'nobody'")
            cluster.execute("select pg_reload_conf()")
            writing = threads.submit(remember_often, store)
            wait_for(lambda: cluster.execute(CANCEL_WAIT_FOR_REPLICA))
            try:
                with pytest.raises(OutcomeUnknown, match="No second database server"):
                    writing.result(TIMEOUT_S)
            finally:
                cluster.execute("alter system reset synchronous_standby_names")
                cluster.execute("select pg_reload_conf()")


def test_more_writers_than_connections_are_all_served(server: Server) -> None:
    url = server.create(template=server.template)

    def write(number: int) -> None:
        for step in range(WRITES_EACH):
            engine.writing.remember(ME, note(f"text {number} {step}"))

    with (
        closing(PostgresStore(url, connections=2, busy_s=TIMEOUT_S)) as store,
        ThreadPoolExecutor(WRITERS) as threads,
    ):
        engine = engine_on(store)
        for running in [threads.submit(write, number) for number in range(WRITERS)]:
            running.result(TIMEOUT_S)
        assert engine.reading.list_items(ME).total == WRITERS * WRITES_EACH


@pytest.mark.full
def test_a_pool_that_is_used_up_says_so_within_its_limit(server: Server) -> None:
    url = server.create(template=server.template)
    with closing(PostgresStore(url, connections=2, busy_s=LIMIT_S)) as store:
        with (
            store.owning(),
            store.owning(),
            pytest.raises(StoreBusy, match="All connections"),
        ):
            in_time(lambda: remember(store, "not now"))
        remember(store, "now")
