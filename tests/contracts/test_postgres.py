"""PostgreSQL keeps the promises of the store, and outlives its server's crash."""

import json
import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip(
    "memolith.storage.postgres.store", reason="the PostgreSQL store is not there yet"
)

from psycopg import sql

from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.storage import statements
from memolith.storage.postgres import vectors as postgres_vectors
from memolith.storage.postgres.own_index import PostgresStage
from memolith.storage.postgres.statements import QUERIES, PostgresStatements
from memolith.storage.postgres.store import PostgresStore
from memolith.storage.postgres.vectors import MIN_PASSAGES_OF_LARGE_TENANT as LARGE
from tests.conftest import ME, note
from tests.contracts.store import LATER, THEM, StoreContract, listed, whole
from tests.postgres import Server, a_cluster, prepare
from tests.stores import engine_on, open_store


@pytest.fixture(scope="module")
def new_address(server: Server) -> Callable[[], str]:
    """A new copy of the template each time."""
    return lambda: server.create(template=server.template)


@pytest.fixture
def address(server: Server, new_address: Callable[[], str]) -> Iterator[str]:
    """A new database for each test, which does not outlive it: hundreds would fill the disk."""
    url = new_address()
    yield url
    server.drop(url)


class TestPostgres(StoreContract):
    """One database, many servers."""


def test_what_was_acknowledged_before_a_crash_of_the_server_is_there() -> None:
    with a_cluster(durable=True) as cluster:
        url = cluster.create("kept")
        cluster.execute("create extension vector", "kept")
        prepare(url)
        for round in range(2):
            with closing(open_store(url)) as store:
                engine = engine_on(store)
                for n in range(10):
                    engine.writing.remember(ME, note(f"text {round} {n}", id=f"{round}-{n}"))
                cluster.crash()
                cluster.start()
        with closing(open_store(url)) as store:
            whole(store, "local", 20)
            assert len(listed(store, limit=100)) == 20
            assert engine_on(store).maintenance.verify() == []


def on_postgres(address: str) -> PostgresStore:
    store = open_store(address)
    assert isinstance(store, PostgresStore)
    return store


def test_the_passages_of_an_item_are_read_by_index_behind_the_fence(address: str) -> None:
    """Row-level security keeps a computed bound from an index, so it is computed beforehand."""
    with closing(on_postgres(address)) as store:
        engine_on(store).writing.remember(ME, note("text", id="a"))
        with store.reading(ME.tenant) as rows:
            rows.statements.db.execute("set local enable_seqscan = off")
            plan = rows.statements.db.execute(
                "explain " + QUERIES["passages_of_items"],
                {"tenant": ME.tenant, "ids": '["a"]'},
            )
            assert "(id >= i.low) AND (id < i.high)" in " ".join(
                line for (line,) in plan if "Index Cond" in line
            )


def test_a_narrow_filter_finds_the_same_by_looking_up_vectors_as_by_reading_all(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    read_adapted = PostgresStatements.read_adapted

    def listen(self: PostgresStatements, name: str, *rest: Any) -> Any:
        asked.append(name)
        return read_adapted(self, name, *rest)

    monkeypatch.setattr(PostgresStatements, "read_adapted", listen)
    query = array("f", [random.uniform(-1, 1) for _ in range(8)]).tobytes()
    model = SimpleNamespace(id="eight", dimension=8)
    rare, common = Filter(tags_all=("rare",)), Filter(tags_all=("common",))
    with closing(on_postgres(address)) as store:
        writing = engine_on(store).writing
        for number in range(60):
            tags = ("rare",) if number % 30 == 7 else ("common",)
            blocks = (Block("one"), Block("two"))
            writing.remember(ME, Draft(id=str(number), blocks=blocks, tags=tags))
            with store.writing(ME.tenant) as writer:
                for passage in writer.unembedded(ME.tenant, str(number), "eight"):
                    v = "[" + ",".join(str(random.uniform(-1, 1)) for _ in range(8)) + "]"
                    writer.put_vector(passage.ref, "eight", b"d" * 16, v)
        writing.remember(THEM, note("rare and not theirs", tags=("rare",)))
        vectors = PostgresStage(store.owning, LARGE).vectors(model)
        with store.reading(ME.tenant) as rows:
            whole_scan = vectors.nearest(rows, ME, rare, query, 3)
            monkeypatch.setattr(postgres_vectors, "MIN_PASSAGES_OF_LARGE_TENANT", 1)
            looked_up = vectors.nearest(rows, ME, rare, query, 3)
            assert len(vectors.nearest(rows, ME, common, query, 3)) == 3
    assert asked == ["nearest", "nearest_of_items", "nearest"]
    assert len(looked_up) == 3
    assert looked_up == whole_scan


MANY = 40_000
"""So many items of one passage that reading all of them is told from reading a few."""

FEW_BLOCKS = 150
"""A few look-ups in an index read no more; all passages of the tenant are in over 500 blocks."""

FEW_ROWS = 500
"""No step of a look-up makes more rows, not even where very many passages say the same."""

MIDDLE = [MANY // 2 + 1, MANY // 2 + 2, MANY // 2 + 3]
A_FILTER = "and i.owner = 'me' and i.kind = 'memory' and i.forgotten = 0"
LOOKUPS: dict[str, dict[str, Any]] = {
    "items": {"ids": json.dumps([f"item-{row}" for row in MIDDLE])},
    "present_streams": {"streams": json.dumps([f"item-{row}" for row in MIDDLE])},
    "passages_of_items": {"ids": json.dumps([f"item-{row}" for row in MIDDLE])},
    "text_sizes": {"ids": json.dumps([f"item-{row}" for row in MIDDLE])},
    "beginnings": {"ids": json.dumps([f"item-{row}" for row in MIDDLE]), "characters": 10},
    "passages_at": {"refs": json.dumps([row << 20 for row in MIDDLE])},
    "vector_digests": {"refs": json.dumps([row << 20 for row in MIDDLE]), "model": "eight"},
    "vectors_by_digest": {
        "digests": json.dumps([text.encode().hex() for text in (*map(str, MIDDLE), "same")]),
        "model": "eight",
    },
    "items_without_vectors": {"model": "eight", "after": "item-20099", "limit": 1},
    "vector_by_digest": {"digest": f"\\x{str(MIDDLE[0]).encode().hex()}", "model": "eight"},
    "items_like": {
        "marks": json.dumps([10 * row + 1 for row in MIDDLE]),
        "passages": 1,
    },
    "cosines": {
        "refs": json.dumps([row << 20 for row in MIDDLE]),
        "model": "eight",
        "query": "[1,2,3,4,5,6,7,8]",
    },
}
"""Statements about a few things of a tenant, with their parameters."""


@pytest.fixture(scope="module")
def large_tenant(server: Server) -> Iterator[PostgresStore]:
    """A store with one tenant of many short items, every hundredth without a vector. The last
    10,000 say the same.
    """
    url = server.create(template=server.template)
    with closing(on_postgres(url)) as store, store.owning() as db:
        db.execute(
            """
            insert into item
            select g, 'local', 'item-' || g, 'memory', '', 'active', 'me', 'private', null, null,
                '[]', '{}', 1, g, '', '', 1, 1, 0
            from generate_series(1, %s) g
            """,
            (MANY,),
        )
        db.execute(
            """
            insert into passage
            select g::bigint << 20, 'local', g, 0, 0, repeat('word ' || g || ' ', 10), ''
            from generate_series(1, %s) g
            """,
            (MANY,),
        )
        db.execute(
            """
            insert into embedding
            select 'local', 'eight', g::bigint << 20,
                (case when g > 30000 then 'same' else g::text end)::bytea, '[1,2,3,4,5,6,7,8]'
            from generate_series(1, %s) g
            where g %% 100 <> 0
            """,
            (MANY,),
        )
        db.execute(
            """
            insert into event (tenant, seq, stream, version, type, data, actor, at)
            select 'local', g, 'item-' || g, 1, 'remembered', '{}', 'me', ''
            from generate_series(1, %s) g
            """,
            (MANY,),
        )
        db.execute(
            """
            insert into sketch
            select 'local', g * 10 + n, g
            from generate_series(1, %s) g, generate_series(1, 5) n
            """,
            (MANY,),
        )
        yield store
    server.drop(url)


@pytest.fixture(scope="module", params=[False, True], ids=["new", "analyzed"])
def known_tenant(large_tenant: PostgresStore, request: pytest.FixtureRequest) -> PostgresStore:
    """The same before the database has looked what is in its tables, and afterwards."""
    if request.param:
        large_tenant.analyze()
    return large_tenant


def rows_of_steps(plan: dict[str, Any]) -> Iterator[float]:
    """How many rows each step of a plan has made."""
    yield plan["Actual Rows"] * plan["Actual Loops"]
    for step in plan.get("Plans", ()):
        yield from rows_of_steps(step)


@pytest.mark.parametrize("plans", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_look_up_of_a_few_things_does_not_read_the_whole_tenant(
    known_tenant: PostgresStore, name: str, plans: str
) -> None:
    """Whether the plan is made for the values at hand or for all, as often run statements have."""
    values: dict[str, Any] = {"tenant": "local", **LOOKUPS[name]}
    statement = QUERIES[name].replace("/* filters */", A_FILTER)
    for number, parameter in enumerate(values, 1):
        statement = statement.replace(f"%({parameter})s", f"${number}")
    given = ", ".join(sql.Literal(value).as_string(None) for value in values.values())
    with known_tenant.reading("local") as rows:
        db = rows.statements.db
        looked_at = (
            "select last_analyze is not null from pg_stat_user_tables where relname = 'item'"
        )
        if name == "items_without_vectors" and not next(iter(db.execute(looked_at)))[0]:
            pytest.skip("which index has the order that it needs is only known from statistics")
        db.execute(f"set local plan_cache_mode = {plans}")
        db.execute(f"prepare looked_up as {statement}")
        explained = db.execute(
            f"explain (analyze, buffers, timing off, format json) execute looked_up({given})"
        ).fetchone()
        db.execute("deallocate looked_up")
    assert explained is not None
    plan = explained[0][0]["Plan"]
    assert plan["Actual Rows"] >= 1
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= FEW_BLOCKS
    assert max(rows_of_steps(plan)) <= FEW_ROWS


def test_a_long_batch_may_take_longer_than_one_answer(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for a server that says nothing, and not for one that has much to do."""
    monkeypatch.setattr(statements, "MAX_WAITING_ROWS", 10)
    limit_s, rows_s, lines = 1.0, 0.1, 30
    with closing(on_postgres(address)) as store:
        maintenance = engine_on(store).maintenance
        maintenance.import_(ME, [json.dumps({"content": "the first of all"})])
        with store.owning() as db:
            db.execute(
                f"""
                create function slow() returns trigger language plpgsql as
                $$ begin perform pg_sleep({rows_s}); return new; end $$;
                create trigger slow before insert on item for each row execute function slow()
                """
            )
        monkeypatch.setattr(store, "_answer_s", limit_s)
        assert lines * rows_s > 2 * limit_s
        texts = [json.dumps({"content": f"zebra number {number}"}) for number in range(lines)]
        assert maintenance.import_(ME, texts).items == lines
        assert maintenance.verify() == []


def test_work_of_a_tenant_that_moves_is_not_due(address: str) -> None:
    with closing(on_postgres(address)) as store:
        engine_on(store).writing.remember(ME, note("text", id="a"))

        def due() -> int:
            with store.reading(None) as rows:
                return rows.count_due("embed", LATER, 10)

        assert due() == 1
        with store.writing(ME.tenant) as rows:
            rows.set_frozen(ME.tenant, True)
        assert due() == 0


def test_a_large_tenant_gets_an_index_of_its_own_that_is_used_and_right(address: str) -> None:
    model = SimpleNamespace(id="eight", dimension=8)
    with closing(on_postgres(address)) as store:
        engine_on(store).writing.remember(ME, note("text", id="a"))
        with store.owning() as db:
            db.execute("update head set passages = %s", (LARGE,))
            db.execute(
                """
                insert into embedding
                select 'local', 'eight', g::bigint << 20, '',
                    (
                        select array_agg(random() - 0.5 + x * 0)
                        from generate_series(1 + g * 0, 8) x
                    )::real[]::halfvec
                from generate_series(1, %s) g
                """,
                (LARGE,),
            )
        stage = PostgresStage(store.owning, LARGE + 1)
        assert not stage.renew(model)
        query = array("f", [random.uniform(-1, 1) for _ in range(8)]).tobytes()

        def best() -> list[int]:
            with store.reading(ME.tenant) as rows:
                return [
                    ref for ref, _ in stage.vectors(model).nearest(rows, ME, Filter(), query, 100)
                ]

        exact = best()
        stage = PostgresStage(store.owning, LARGE)
        assert stage.renew(model)
        assert not stage.renew(model)
        found = best()
        assert len(found) == 100
        assert len(set(found[:10]) & set(exact[:10])) >= 9
        with store.owning() as db:
            db.execute("select pg_stat_force_next_flush()")
            used = "select sum(idx_scan) from pg_stat_user_indexes where indexrelname like 'own_%'"
            # Statistics of another connection are told with a delay.
            assert any(next(iter(db.execute(used)))[0] or not best() for _ in range(100))
