"""The PostgreSQL that the tests start for themselves keeps its own word."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.postgres import Cluster, Server, a_cluster, binaries

AS_ROOT = os.name == "posix" and os.geteuid() == 0


def test_a_fresh_database_has_the_vector_extension(server: Server, postgres_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    ((version,),) = server.execute(
        "select extversion from pg_extension where extname = 'vector'", name
    )
    assert tuple(int(part) for part in str(version).split(".")[:2]) >= (0, 8)


def test_databases_of_one_template_share_nothing(server: Server, postgres_url: str) -> None:
    server.execute("create table mark (n int)", postgres_url.rpartition("/")[2])
    other = server.create(template=server.template).rpartition("/")[2]
    assert server.execute("select to_regclass('mark')", other) == [(None,)]


@pytest.mark.full
@pytest.mark.parametrize("way", ["namespace", "nobody"] if AS_ROOT else ["plain"])
def test_a_cluster_starts_in_every_way_and_leaves_nothing_behind(way: str) -> None:
    made = Cluster(ways=(way,))
    assert made.way == way
    assert made.execute("select 1") == [(1,)]
    folder = made._folder
    made.close()
    assert not folder.exists()


def test_what_was_committed_outlives_a_crash_of_a_durable_cluster() -> None:
    with a_cluster(durable=True) as cluster:
        assert cluster.execute("show fsync") == [("on",)]
        cluster.create("kept")
        cluster.execute("create table mark as select 7 as n", "kept")
        cluster.crash()
        cluster.start()
        assert cluster.execute("select n from mark", "kept") == [(7,)]


def test_no_server_outlives_a_killed_test_run(tmp_path: Path) -> None:
    binaries()
    program = (
        "from postgres import Cluster; import time; c = Cluster(); "
        "print(c._folder, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        postmaster = int((folder / "data" / "postmaster.pid").read_text().split("\n")[0])
        child.send_signal(signal.SIGKILL)
    until = time.monotonic() + 120
    while folder.exists() or _alive(postmaster):
        assert time.monotonic() < until, "the server is still there"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
