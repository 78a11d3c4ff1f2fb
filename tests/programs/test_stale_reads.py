"""Whoever permits stale reads is served by a replica, also without a primary, and told their age."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memolith.storage.postgres import connections
from memolith.storage.postgres import store as store_module
from memolith.storage.postgres.store import PostgresStore
from tests.postgres import Cluster, a_cluster
from tests.programs.children import wait_for
from tests.programs.served import ENVELOPE, MODERN, Served, thread
from tests.programs.test_database_faults import Standby, fresh, name_of

TEXT = "The spare key lies under the third flower pot."
HOUR = {"Cache-Control": "max-stale=3600"}
NOT_AT_ALL = {"Cache-Control": "max-stale=0"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica of a busy machine is not given up."""
    monkeypatch.setattr(connections, "CONNECT_TIMEOUT_S", 60)
    monkeypatch.setattr(store_module, "REPLICA_WAIT_S", 60.0)


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    with a_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def replica(primary: Cluster) -> Iterator[Standby]:
    with closing(Standby(primary)) as made:
        yield made


@contextmanager
def served_with_replica(
    primary: Cluster, replica: Standby, folder: Path, max_stale_s: float = 3600.0
) -> Iterator[Served]:
    """A server that has written one text, which the replica has, too."""
    url = fresh(primary)
    replicas = (replica.url(name_of(url)),)
    with thread(
        folder, database=url, database_replicas=replicas, max_stale_s=max_stale_s
    ) as served:
        remember(served, TEXT)
        wait_for(lambda: has_all(primary, replica))
        yield served


def has_all(primary: Cluster, replica: Standby) -> bool:
    """Whether the replica has replayed all that the primary has written."""
    ((written,),) = primary.execute("select pg_current_wal_lsn()::text")
    ((caught_up,),) = replica.execute(f"select pg_last_wal_replay_lsn() >= '{written}'::pg_lsn")
    return bool(caught_up)


@contextmanager
def paused(replica: Standby) -> Iterator[None]:
    """The replica takes in nothing new."""
    replica.execute("select pg_wal_replay_pause()")
    wait_for(lambda: replica.execute("select pg_get_wal_replay_pause_state()") == [("paused",)])
    try:
        yield
    finally:
        replica.execute("select pg_wal_replay_resume()")


@contextmanager
def stopped(primary: Cluster) -> Iterator[None]:
    primary.stop("immediate")
    try:
        yield
    finally:
        primary.start()


def call(served: Served, tool: str, arguments: Any, headers: Any) -> httpx2.Response:
    return served.ask("POST", f"/mcp/tools/{tool}", served.admin, arguments, **headers)


def remember(served: Served, text: str) -> str:
    answer = call(served, "remember", {"content": text}, {})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def search(served: Served, words: str, headers: Any) -> httpx2.Response:
    return call(served, "recall", {"query": words, "mode": "text"}, headers)


def texts(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [hit["text"] for hit in answer.json()["hits"]]


def test_searches_and_reads_go_on_without_a_primary(
    primary: Cluster, replica: Standby, tmp_path: Path
) -> None:
    with served_with_replica(primary, replica, tmp_path) as served:
        current = search(served, "flower pot", {})
        (id,) = [hit["id"] for hit in current.json()["hits"]]
        assert "age" not in current.headers
        with stopped(primary):
            assert search(served, "flower pot", {}).status_code == 503
            found = search(served, "flower pot", HOUR)
            assert texts(found) == [TEXT]
            assert int(found.headers["age"]) >= 0
            fetched = call(served, "fetch", {"ids": [id]}, HOUR)
            assert TEXT in fetched.text
            refused = call(served, "remember", {"content": "not now"}, HOUR)
            assert refused.status_code == 503
            assert refused.json()["error"] == "store_gone"
        wait_for(lambda: search(served, "flower pot", {}).status_code == 200)


def call_over_mcp(served: Served, headers: Any, **meta: object) -> httpx2.Response:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "recall",
            "arguments": {"query": "flower pot", "mode": "text"},
            "_meta": {**ENVELOPE, **meta},
        },
    }
    return served.http.post(
        "/mcp",
        json=message,
        headers={
            "Authorization": f"Bearer {served.admin}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "recall",
            **headers,
        },
    )


def test_an_mcp_client_is_told_the_age_in_the_result(
    primary: Cluster, replica: Standby, tmp_path: Path
) -> None:
    with served_with_replica(primary, replica, tmp_path) as served:
        by_meta = call_over_mcp(served, {}, **{"memolith/max-stale-s": 3600})
        assert by_meta.json()["result"]["_meta"]["memolith/age-s"] >= 0
        wrong = call_over_mcp(served, {}, **{"memolith/max-stale-s": "soon"})
        assert "number of seconds" in wrong.text
        current = call_over_mcp(served, {})
        assert "memolith/age-s" not in current.text
        with stopped(primary):
            by_header = call_over_mcp(served, HOUR)
            result = by_header.json()["result"]
            assert "structuredContent" in result, by_header.text
            assert result["structuredContent"]["hits"][0]["text"] == TEXT
            assert result["_meta"]["memolith/age-s"] >= 0
            assert int(by_header.headers["age"]) >= 0


def test_the_age_that_a_caller_permits_decides_who_answers(
    primary: Cluster, replica: Standby, tmp_path: Path
) -> None:
    with served_with_replica(primary, replica, tmp_path) as served, paused(replica):
        id = remember(served, "The blue bicycle is in the cellar.")
        assert texts(search(served, "bicycle", HOUR)) == []
        current = search(served, "bicycle", NOT_AT_ALL)
        assert len(texts(current)) == 1
        assert "age" not in current.headers
        # A tool that writes reads nothing old, whatever the caller permits.
        revised = call(served, "revise", {"id": id, "content": "It was sold."}, HOUR)
        assert revised.status_code == 200, revised.text


def test_the_setting_limits_what_a_caller_permits(
    primary: Cluster, replica: Standby, tmp_path: Path
) -> None:
    with served_with_replica(primary, replica, tmp_path, max_stale_s=0.0) as served:
        answer = search(served, "flower pot", HOUR)
        assert texts(answer) == [TEXT]
        assert "age" not in answer.headers
        with stopped(primary):
            assert search(served, "flower pot", HOUR).status_code == 503


def test_a_replica_that_is_gone_is_not_missed(primary: Cluster, tmp_path: Path) -> None:
    url = fresh(primary)
    gone = ("postgresql://postgres@127.0.0.1:1/nothing",)
    with thread(tmp_path, database=url, database_replicas=gone) as served:
        remember(served, TEXT)
        answer = search(served, "flower pot", HOUR)
        assert texts(answer) == [TEXT]
        assert "age" not in answer.headers


def test_a_header_without_a_number_is_refused_by_name(
    primary: Cluster, replica: Standby, tmp_path: Path
) -> None:
    with served_with_replica(primary, replica, tmp_path) as served:
        answer = search(served, "flower pot", {"Cache-Control": "no-cache, max-stale=soon"})
        assert answer.status_code == 400
        assert answer.json()["field"] == "cache-control"
        # Without a number any age will do.
        assert "age" in search(served, "flower pot", {"Cache-Control": "max-stale"}).headers


def test_a_replica_knows_its_age_though_nobody_writes(primary: Cluster, replica: Standby) -> None:
    def newest() -> object:
        return replica.execute("select pg_last_xact_replay_timestamp()")[0][0]

    with closing(PostgresStore(fresh(primary))) as store:
        wait_for(lambda: has_all(primary, replica))
        before = newest()
        store.beat()
        wait_for(lambda: newest() != before)
