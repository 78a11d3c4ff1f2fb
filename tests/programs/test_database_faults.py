"""A database that is gone, full, foreign or read-only gives a clear error, and works afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.errors import MemolithError, StoreCorrupt, Unavailable
from memolith.settings import Settings
from memolith.storage.postgres.schema import migrate
from memolith.storage.postgres.store import PostgresStore
from tests.conftest import note
from tests.postgres import NOBODY, Cluster, Server, a_cluster, prepare
from tests.programs.children import HERE, TIMEOUT_S, Child, cli, environment, wait_for
from tests.programs.served import Served, thread
from tests.programs.team import HIDDEN, MAIN, Member, Voice, a_team
from tests.programs.test_faults import ROOT, own_disk
from tests.stores import engine_on

ME = Caller()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster that the tests may maltreat."""
    with a_cluster() as made:
        yield made


def name_of(url: str) -> str:
    return urlsplit(url).path.strip("/")


def fresh(cluster: Cluster) -> str:
    url = cluster.create()
    prepare(url)
    return url


def refused(served: Served, says: str, *, reads: bool = False) -> None:
    """Writes are refused in words that help and tell nothing of the inside; the process goes on."""
    answer = served.tool("remember", {"content": "not now"})
    assert answer.status_code in (503, 507), answer.text
    assert says in answer.json()["message"]
    for sign in HIDDEN:
        assert sign not in answer.text
    assert (served.tool("recall", {"query": "kept"}).status_code == 200) is reads
    health = served.ask("GET", "/health")
    assert (health.status_code, health.json()["status"]) == (
        (200, "healthy") if reads else (503, "unhealthy")
    )


def well(served: Served) -> None:
    """Everything works, without anybody having done anything to the server."""
    wait_for(lambda: served.tool("remember", {"content": "kept all the same"}).status_code == 200)
    assert served.tool("recall", {"query": "kept", "mode": "text"}).json()["hits"]
    assert served.ask("GET", "/health").json()["status"] == "healthy"


def test_a_server_that_is_gone_is_found_again(cluster: Cluster, tmp_path: Path) -> None:
    with thread(tmp_path, database=fresh(cluster)) as served:
        well(served)
        for mode in ("fast", "immediate"):
            cluster.stop(mode)
            try:
                refused(served, "cannot be reached")
            finally:
                cluster.start()
            well(served)


def test_a_server_that_is_gone_at_the_start_is_named_and_waited_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = fresh(cluster)
    app = App(Settings(data=tmp_path, database=url, embedder="none"))
    cluster.stop()
    serving = Child(
        *MAIN,
        "serve",
        "--port",
        "0",
        "--json",
        "--data",
        tmp_path / "served",
        MEMOLITH_DATABASE=url,
    )
    try:
        while not serving.complaints and serving.process.poll() is None:
            serving.readers[1].join(0.1)
        assert "cannot be reached" in serving.complaints[0]
        assert not [sign for sign in HIDDEN if sign in serving.complaints[0]]
        # A stdio server opens its store with the first call, and tries again with each call.
        with pytest.raises(Unavailable, match="cannot be reached"):
            assert app.engine
    finally:
        cluster.start()
    with serving:
        assert json.loads(serving.line())["url"]
    assert app.engine.writing.remember(ME, note("kept")).seq == 1
    app.close()


@contextmanager
def scram(cluster: Cluster, role: str) -> Iterator[None]:
    """This role must give its password from now on."""
    rules = cluster._data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all {role} 127.0.0.1/32 scram-sha-256\n{before}")
    cluster.execute("select pg_reload_conf()")
    try:
        yield
    finally:
        rules.write_text(before)
        cluster.execute("select pg_reload_conf()")


def cut(cluster: Cluster, url: str) -> None:
    """End every connection to a database."""
    cluster.execute(
        f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name_of(url)}'"
    )


def test_a_wrong_password_is_told_without_the_password(cluster: Cluster, tmp_path: Path) -> None:
    url = fresh(cluster)
    cluster.execute("create role keeper login password 's3cret' in role memolith_run")
    keeper = (
        urlsplit(url)
        ._replace(netloc=f"keeper:s3cret@{urlsplit(url).netloc.rpartition('@')[2]}")
        .geturl()
    )
    with scram(cluster, "keeper"), thread(tmp_path, database=keeper) as served:
        well(served)
        cluster.execute("alter role keeper password 'another'")
        cut(cluster, url)
        refused(served, "check user and password")
        ran = cli(tmp_path, "list", MEMOLITH_DATABASE=keeper)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "check user and password" in ran.stderr
        assert not [sign for sign in HIDDEN if sign in ran.stderr]
        cluster.execute("alter role keeper password 's3cret'")
        well(served)


def test_a_database_that_is_not_there_is_told(cluster: Cluster, tmp_path: Path) -> None:
    url = fresh(cluster)
    with thread(tmp_path, database=url) as served:
        well(served)
        cluster.execute(f'alter database "{name_of(url)}" with allow_connections false')
        cut(cluster, url)
        cluster.execute(f'alter database "{name_of(url)}" rename to hidden')
        refused(served, "no such database")
        cluster.execute(f'alter database hidden rename to "{name_of(url)}"')
        cluster.execute(f'alter database "{name_of(url)}" with allow_connections true')
        well(served)


def extensions(cluster: Cluster, url: str, folder: Path | None) -> None:
    """Let a database find its extensions in this folder alone."""
    cluster.execute(
        f'alter database "{name_of(url)}" '
        + (f"set extension_control_path = '{folder}'" if folder else "reset extension_control_path")
    )


def opening(app: App) -> str:
    """The words with which a store refuses to open."""
    with pytest.raises(Unavailable) as refused:
        assert app.engine
    assert not [sign for sign in HIDDEN if sign in refused.value.message]
    return refused.value.message


def test_a_missing_extension_is_named_and_found_once_it_is_there(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = cluster.create()
    extensions(cluster, url, tmp_path / "none")
    app = App(Settings(data=tmp_path, database=url, embedder="none"))
    assert "lacks the extension pgvector" in opening(app)
    extensions(cluster, url, None)
    assert app.engine.writing.remember(ME, note("kept")).seq == 1
    app.close()


def test_an_extension_that_is_too_old_is_not_even_created(cluster: Cluster, tmp_path: Path) -> None:
    url, folder = cluster.create(), tmp_path / "old"
    (folder / "extension").mkdir(parents=True)
    (folder / "extension" / "vector.control").write_text(
        "default_version = '0.7.4'\nrelocatable = true\n"
    )
    (folder / "extension" / "vector--0.7.4.sql").write_text("create type halfvec as (x int);\n")
    for path in (*tmp_path.parents[:2], tmp_path, folder, folder / "extension"):
        path.chmod(0o755)
    extensions(cluster, url, folder)
    app = App(Settings(data=tmp_path, database=url, embedder="none"))
    assert "pgvector 0.8 or newer is needed; this database has 0.7.4" in opening(app)
    assert cluster.execute(
        "select count(*) from pg_extension where extname = 'vector'", name_of(url)
    ) == [(0,)]
    extensions(cluster, url, None)
    assert app.engine.writing.remember(ME, note("kept")).seq == 1
    app.close()


def test_an_extension_that_was_never_updated_is_named(cluster: Cluster, tmp_path: Path) -> None:
    url = fresh(cluster)
    app = App(Settings(data=tmp_path, database=url, embedder="none"))
    cluster.execute(
        "update pg_extension set extversion = '0.7.0' where extname = 'vector'", name_of(url)
    )
    assert "alter extension vector update" in opening(app)
    cluster.execute(
        "update pg_extension set extversion = '0.8.6' where extname = 'vector'", name_of(url)
    )
    assert app.engine.writing.remember(ME, note("kept")).seq == 1
    app.close()


class OldServer:
    """What PostgreSQL 14 answers when it is asked for versions."""

    is_distributed = False

    def execute(self, *_: object, **__: object) -> OldServer:
        return self

    def fetchall(self) -> list[SimpleNamespace]:
        answer = SimpleNamespace(
            server_number=140_012, server="14.12", pgvector="0.8.0", set_up=False, replica=False
        )
        return [answer]


def test_a_server_that_is_too_old_is_named() -> None:
    with pytest.raises(
        Unavailable, match=r"PostgreSQL 15 or newer is needed; this server is 14\.12"
    ):
        migrate(OldServer())  # type: ignore[arg-type]


class Standby(Cluster):
    """A server that follows another and cannot be written."""

    def __init__(self, primary: Cluster) -> None:
        self._primary = primary
        super().__init__()

    def _initialise(self, ways: tuple[str, ...]) -> str:
        self.way = self._primary.way
        if self.way == "nobody":
            os.chown(self._folder, NOBODY, NOBODY)
        self._run(
            "pg_basebackup", "-d", self._primary.url(), "-D", str(self._data), "-R", "-c", "fast"
        )
        return self.way

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-w", "-D", str(self._data))


def test_a_replica_is_read_and_says_that_it_cannot_be_written_until_it_is_the_primary(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = fresh(cluster)
    with thread(tmp_path, database=url) as served:
        well(served)
    with (
        closing(Standby(cluster)) as standby,
        thread(tmp_path, database=standby.url(name_of(url))) as served,
    ):
        refused(served, "read-only replica", reads=True)
        assert len(served.tool("recall", {"query": "kept"}).json()["hits"]) == 1
        standby.promote()
        well(served)


def test_a_primary_that_was_made_read_only_says_so(cluster: Cluster, tmp_path: Path) -> None:
    url = fresh(cluster)
    with thread(tmp_path, database=url) as served:
        well(served)
        cluster.execute(f'alter database "{name_of(url)}" set default_transaction_read_only = on')
        cut(cluster, url)
        refused(served, "read-only replica", reads=True)
        cluster.execute(f'alter database "{name_of(url)}" reset default_transaction_read_only')
        cut(cluster, url)
        well(served)


def count(server: Server, statement: str, database: str = "postgres") -> int:
    """The one number that a statement gives."""
    ((number,),) = server.execute(statement, database)
    assert isinstance(number, int)
    return number


def connected(url: str) -> psycopg.Connection[Any] | None:
    """A connection, unless all places are taken."""
    try:
        return psycopg.connect(url)
    except psycopg.OperationalError:
        return None


def test_too_many_connections_are_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    url = fresh(cluster)
    cluster.execute("create role crowd login in role memolith_run connection limit 3")
    crowd = (
        urlsplit(url)._replace(netloc=f"crowd@{urlsplit(url).netloc.rpartition('@')[2]}").geturl()
    )
    with thread(tmp_path, database=crowd, database_connections=2, busy_s=2.0) as served:
        well(served)
        taken = count(cluster, "select count(*)::int from pg_stat_activity where usename = 'crowd'")
        held = [psycopg.connect(crowd) for _ in range(3 - taken)]
        cluster.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'crowd' "
            "and application_name = 'memolith'"
        )
        # A place is free when the process that had it has ended, which takes a moment.
        held += [wait_for(partial(connected, crowd)) for _ in range(3 - len(held))]
        answer = served.tool("remember", {"content": "not now"})
        assert answer.status_code == 503, answer.text
        for one in held:
            one.close()
        well(served)


def test_a_full_disk_of_the_database_is_told_and_reads_go_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    start = own_disk(disk, "160m", sys.executable, str(HERE / "full_database.py"), str(disk))
    if start is None:
        pytest.skip(
            "no small disk can be mounted here: neither root nor user namespaces "
            "(unshare, mount -t tmpfs)"
        )
    env = environment(TMPDIR=str(disk))
    env["PYTHONPATH"] += os.pathsep + ROOT + os.pathsep + str(Path(ROOT) / "tests")
    ran = subprocess.run(start, capture_output=True, text=True, timeout=300, env=env, check=False)
    assert ran.returncode == 0, ran
    told: dict[str, Any] = {line["step"]: line for line in map(json.loads, ran.stdout.splitlines())}
    for step in ("write", "write again"):
        assert told[step]["error"] in ("DiskFull", "StoreGone", "Unavailable"), told
    assert told["write"]["error"] == "DiskFull"
    assert "The disk of the database server is full" in told["write"]["message"]
    assert told["read"]["value"] == told["acknowledged"]["value"]
    assert told["with room"]["value"] > 0
    assert told["verify"]["value"] == []


# Schemas of other versions


def test_servers_that_start_at_once_set_up_a_database_once() -> None:
    with a_cluster() as cluster:
        # Two databases of one cluster share the role that is made with the first.
        urls = [cluster.create(), cluster.create()]
        started = [
            Child(*MAIN, "migrate", "--json", MEMOLITH_DATABASE=url)
            for url in urls
            for _ in range(2)
        ]
        for one in started:
            assert one.end() == 0, one.complaints
        for url in urls:
            assert cluster.execute(
                "select count(*) = count(distinct number) from migration", name_of(url)
            ) == [(True,)]
            cluster.drop(url)
        cluster.execute("drop role memolith_run")
        with psycopg.connect(cluster.url()) as other:
            other.execute("create role memolith_run nologin")
            late = Child(*MAIN, "migrate", "--json", MEMOLITH_DATABASE=cluster.create())
            wait_for(lambda: cluster.execute("select 1 from pg_locks where not granted"))
            other.commit()
            assert late.end() == 0, late.complaints


def every_statement(served: Served, times: int) -> None:
    """Writes, changes and reads, over and over."""
    for n in range(times):
        ids = [served.tool("remember", {"content": f"text {n} {m}"}).json()["id"] for m in range(2)]
        for tool, given in (
            ("fetch", {"ids": ids}),
            ("revise", {"id": ids[0], "content": "other"}),
            ("link", {"source": ids[0], "target": ids[1], "type": "about"}),
            ("explore", {"id": ids[0]}),
            ("history", {"id": ids[0]}),
            ("forget", {"id": ids[1]}),
        ):
            answer = served.tool(tool, given)
            assert answer.status_code == 200, (tool, answer.text)


def test_an_old_server_works_on_a_newer_schema_that_allows_it(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = fresh(cluster)
    with thread(tmp_path, database=url) as served:
        well(served)
        # Often enough that every connection has prepared its statements.
        every_statement(served, 12)
        for table in ("event", "item", "passage", "link", "client_key", "head"):
            cluster.execute(f"alter table {table} add column mood text", name_of(url))
        cluster.execute("insert into migration values (99, 'mood', 'x', 1)", name_of(url))
        every_statement(served, 12)
    with closing(PostgresStore(url)) as store:
        assert engine_on(store).maintenance.verify() == []
    cluster.execute("update migration set oldest = 99 where number = 99", name_of(url))
    ran = cli(tmp_path, "list", "--json", MEMOLITH_DATABASE=url)
    assert (ran.returncode, json.loads(ran.stderr)["error"]) == (1, "schema_too_new")
    assert "update the program" in ran.stderr


def test_a_migration_with_another_text_is_refused(cluster: Cluster) -> None:
    url = fresh(cluster)
    cluster.execute("update migration set checksum = 'other' where number = 1", name_of(url))
    with pytest.raises(StoreCorrupt, match="pre-release of memolith whose tables differ"):
        PostgresStore(url)


def test_a_migration_that_breaks_leaves_an_empty_database(cluster: Cluster) -> None:
    url = cluster.create()
    cluster.execute("create table passage (x int)", name_of(url))
    with pytest.raises(MemolithError):
        PostgresStore(url)
    assert cluster.execute(
        "select to_regclass('migration'), to_regclass('event')", name_of(url)
    ) == [(None, None)]
    cluster.execute("drop table passage", name_of(url))
    PostgresStore(url).close()


# A stop that is asked for


def test_a_server_that_is_stopped_finishes_the_call_at_hand(server: Server, tmp_path: Path) -> None:
    url = server.create(template=server.template)
    patient = {"MEMOLITH_BUSY_S": str(TIMEOUT_S)}
    with (
        a_team(url, tmp_path, servers=1, workers=0, **patient) as team,
        psycopg.connect(url) as other,
    ):
        voice, member = Voice(team.key()), team.servers[0]
        voice.ask(member.url, "remember", {"content": "first"})
        # Not the row that all writers of a tenant queue at: the server counts calls there, too.
        other.execute("lock table event in exclusive mode")
        call = Child("-c", CALL, member.url, team.key())
        waiting = "select 1 from pg_locks where not granted and relation = 'event'::regclass"
        wait_for(lambda: server.execute(waiting, name_of(url)))
        member.process.terminate()
        other.commit()
        assert json.loads(call.line())["id"]
        assert member.end() == 0
        assert "Traceback" not in "".join(member.complaints)
        call.end()


CALL = """
import sys, httpx2
answer = httpx2.post(
    sys.argv[1] + "/mcp/tools/remember", json={"content": "waits"}, trust_env=False, timeout=120,
    headers={"Authorization": "Bearer " + sys.argv[2]},
)
print(answer.text.replace("\\n", " "), flush=True)
"""


@pytest.mark.parametrize("wait", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_worker_that_is_stopped_leaves_its_work_to_the_next(
    server: Server, tmp_path: Path, wait: bool
) -> None:
    url = server.create(template=server.template)
    with closing(PostgresStore(url)) as store:
        engine = engine_on(store)
        for n in range(150):
            engine.writing.remember(ME, note(f"word{n} and more " * 60))
    vectors, left = (
        "select count(distinct passage >> 20)::int from embedding",
        "select count(*)::int from outbox",
    )
    with Member("worker", url, tmp_path / "one", MEMOLITH_EMBEDDER="minilm") as worker:
        assert worker.started
        wait_for(lambda: server.execute(vectors, name_of(url))[0][0])
        assert worker.stop() == 0, worker.complaints
        assert "Traceback" not in "".join(worker.complaints)
    made = count(server, vectors, name_of(url))
    waiting = count(server, left, name_of(url))
    assert made + waiting == 150
    if wait:
        # What it still held comes back when the lease is over, after a minute.
        with Member("worker", url, tmp_path / "two", MEMOLITH_EMBEDDER="minilm") as worker:
            assert worker.started
            wait_for(lambda: server.execute(left, name_of(url)) == [(0,)], 180)
        assert server.execute(vectors, name_of(url)) == [(150,)]
