"""Row-level security: SQL with the rights of a running server sees one tenant's rows only."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import errors, sql

from memolith.bootstrap import open_app
from memolith.domain.callers import Caller
from memolith.domain.queries import Query
from memolith.doors.http.auth.keys import NewKey, make_key
from memolith.errors import InvalidInput, MemolithError
from memolith.settings import Settings
from memolith.storage.postgres.store import PostgresStore
from tests.conftest import note
from tests.postgres import Server
from tests.programs.served import thread
from tests.stores import dump_tenant, engine_on

Session = psycopg.Connection[tuple[object, ...]]
TABLES = (
    "event",
    "head",
    "item",
    "tag",
    "passage",
    "posting",
    "term",
    "sketch",
    "link",
    "embedding",
    "outbox",
    "outbox_done",
    "access",
    "client_key",
    "setting",
    "answer",
    "superseded",
    "duplicate",
    "item_read",
    "client_call",
    "ended_ticket",
    "home",
    "allowance",
)
HOSTILE = [
    "acme' or '1'='1",
    "'; drop table event; --",
    "%",
    "_",
    "*",
    "a\\'; select 1; --",
    "ümläut-租户-🙂",
    "{tenant}",
    "%(tenant)s",
    ":tenant",
    "on",
    " acme ",
    "ACME",
    "$$",
    'a"b',
    "e\u0301",
    "back\\slash",
    "line\nbreak",
    "x" * 200,
]
REFUSED = ["", "x" * 10_000, "nul\x00byte", "lone \ud800 surrogate"]


@pytest.fixture(scope="module")
def database(server: Server) -> str:
    """Two tenants, each with a row in every table."""
    url = server.create(template=server.template)
    with closing(PostgresStore(url)) as store:
        engine = engine_on(store)
        for tenant in ("acme", "globex"):
            caller = Caller(tenant)
            first, second = (
                engine.writing.remember(
                    caller,
                    note(f"{tenant} keeps the zorbulax {n}", id=f"{tenant}-{n}", tags=("colour",)),
                ).item.id
                for n in range(2)
            )
            engine.writing.link(caller, first, second, "about")
            with store.writing(tenant) as rows:
                rows.put_vector(
                    rows.unembedded(tenant, first, "model")[0][0], "model", b"d" * 16, "[1,0]"
                )
                rows.add_accesses({first: (1, "2026-01-01T00:00:00Z")})
                rows.put_superseded(first, second, "2026-01-01T00:00:00Z")
                rows.put_duplicate(second, first, 0.9)
                rows.finish_job(rows.lease_jobs("embed", "2030-01-01T00:00:00Z", 1, 60, tenant)[0])
    name = urlsplit(url).path.strip("/")
    for tenant in ("acme", "globex"):
        for text in (
            f"insert into setting values ('{tenant}', 'colour', 'red')",
            f"insert into answer values ('{tenant}', 'u', 'k', 'r', '{{}}', 0, '')",
            f"insert into home values ('{tenant}x', 'postgresql://user:s3cret@host/db')",
            f"update home set tenant = '{tenant}' where tenant = '{tenant}x'",
            f"insert into item_read values ('{tenant}', 'i', 'u', 't', 1, '')",
            f"insert into client_call values ('{tenant}', 'k', 'p', 'c', 1, 0, '', '', '')",
            f"insert into ended_ticket values ('{tenant}', 'n', 1)",
            f"insert into allowance values ('{tenant}', 'key', 1, 1)",
            f"insert into client_key values ('{tenant}', '{tenant}', 'n', '{tenant}', 'u', '[]', "
            "'', null, "
            "null, 0)",
        ):
            server.execute(text, name)
    return url


def as_role(server: Server, role: str, database: str, rights: str = "in role memolith_run") -> str:
    """The address of a database for a login of its own."""
    if not server.execute(f"select 1 from pg_roles where rolname = '{role}'"):
        server.execute(f"create role {role} login {rights}")
    return (
        urlsplit(database)
        ._replace(netloc=f"{role}@{urlsplit(database).netloc.rpartition('@')[2]}")
        .geturl()
    )


@pytest.fixture
def session(server: Server, database: str) -> Iterator[Session]:
    """A direct session with the rights of a running server, by a login that has no others."""
    with psycopg.connect(as_role(server, "clerk", database), autocommit=True) as db:
        db.execute("set role memolith_run")
        yield db


def tenants(db: Session, table: str) -> set[object]:
    return {
        row[0]
        for row in db.execute(
            sql.SQL("select distinct tenant from {}").format(sql.Identifier(table))
        )
    }


def be(db: Session, tenant: str) -> None:
    db.execute("select set_config('memolith.tenant', %s, false)", [tenant])


def test_every_table_of_the_schema_is_behind_the_fence(server: Server, database: str) -> None:
    found = server.execute(
        "select relname, relrowsecurity from pg_class where relkind in ('r', 'p') "
        "and relnamespace = 'public'::regnamespace and not relispartition",
        database.rpartition("/")[2],
    )
    assert {name for name, _ in found} == {*TABLES, "migration"}
    assert {name for name, fenced in found if not fenced} == {"migration"}


@pytest.mark.parametrize("table", TABLES)
def test_without_a_tenant_nothing_is_seen(session: Session, table: str) -> None:
    assert tenants(session, table) == set()


@pytest.mark.parametrize("table", TABLES)
def test_a_tenant_sees_its_own_rows_only(session: Session, table: str) -> None:
    be(session, "acme")
    assert tenants(session, table) == {"acme"}
    theirs = sql.SQL("select 1 from {} where tenant = 'globex'").format(sql.Identifier(table))
    assert list(session.execute(theirs)) == []


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_others_are_neither_changed_nor_removed_nor_copied(
    server: Server, database: str, session: Session, table: str
) -> None:
    name, count = (
        database.rpartition("/")[2],
        f"select count(*), min(ctid::text) from {table} where tenant = 'globex'",
    )
    before = server.execute(count, name)
    be(session, "acme")
    for text in (
        "update {} set tenant = tenant where tenant = 'globex'",
        "delete from {} where tenant = 'globex'",
    ):
        assert session.execute(sql.SQL(text).format(sql.Identifier(table))).rowcount == 0
    with (
        session.cursor() as cursor,
        cursor.copy(
            sql.SQL("copy (select * from {}) to stdout").format(sql.Identifier(table))
        ) as copied,
    ):
        assert b"globex" not in b"".join(bytes(part) for part in copied)
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute(
            sql.SQL("update {} set tenant = 'globex' where tenant = 'acme'").format(
                sql.Identifier(table)
            )
        )
    assert server.execute(count, name) == before


@pytest.mark.parametrize(
    "statement",
    [
        "insert into event values ('globex', 99, 's', 1, 'remembered', '{}', 'me', '', null)",
        "insert into setting values ('globex', 'other', 'x')",
        "insert into outbox values ('globex', 99, 'embed', 's', 'pending', 0, '', null)",
        "insert into head (tenant, seq) values ('globex', 99) "
        "on conflict (tenant) do update set seq = 99",
        "merge into setting s using (values ('globex')) v (t) on s.tenant = v.t "
        "when not matched then insert values (v.t, 'other', 'x')",
    ],
)
def test_no_row_is_added_for_another(session: Session, statement: str) -> None:
    be(session, "acme")
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "alter table event disable row level security",
        "alter table event add column x int",
        "drop policy fence on event",
        "create policy open on event using (true)",
        "drop table event",
        "truncate event",
        "create table mine (x int)",
        "create index on event (at)",
        "create schema mine",
        "create function public.mine() returns int language sql as 'select 1'",
        "create trigger t before insert on event for each row execute function "
        "suppress_redundant_updates_trigger()",
        "alter role memolith_run superuser",
        "alter role memolith_run bypassrls",
        "create role other",
        "create database other",
        "select * from embedding_0",
        "select * from pg_authid",
        "insert into migration values (99, 'x', 'x', 99)",
        "select pg_read_file('/etc/passwd')",
        "copy event to '/tmp/x'",
        "copy event to program 'true'",
        "set session authorization postgres",
        "select * from private.mine",
        "alter function matching(tsquery, text[]) security invoker",
        "create or replace function public.matching(tsquery, "
        "text[]) returns table (id bigint, score double precision) language sql "
        "as 'select 1::bigint, 1::float8'",
    ],
)
def test_a_running_server_may_not(
    server: Server, database: str, session: Session, statement: str
) -> None:
    server.execute("create schema if not exists private", database.rpartition("/")[2])
    server.execute("create table if not exists private.mine (x int)", database.rpartition("/")[2])
    be(session, "acme")
    with pytest.raises(errors.InsufficientPrivilege):
        session.execute(statement)


def test_the_text_search_gives_nothing_of_others(
    server: Server, database: str, session: Session
) -> None:
    terms = server.execute("select tenant, term from term", database.rpartition("/")[2])
    words = {
        tenant: [str(term) for owner, term in terms if owner == tenant]
        for tenant in ("acme", "globex")
    }
    ask = "select count(*) from matching(cast(%s as tsquery), %s)"
    for tenant, whose, count in [
        ("acme", "acme", 2),
        ("acme", "globex", 0),
        ("globex", "globex", 2),
        ("", "acme", 0),
    ]:
        be(session, tenant)
        assert session.execute(ask, [" | ".join(words[whose]), words[whose]]).fetchone() == (
            count,
        ), (tenant, whose)


def test_the_text_search_runs_nothing_of_its_caller_with_the_rights_of_the_owner(
    session: Session,
) -> None:
    # The owner would read a temporary view in the place of a table, and call this function.
    session.execute(
        "create function pg_temp.who() returns text language sql volatile "
        "as 'select current_user::text'"
    )
    session.execute(
        "create temp view posting as select 'acme'::text as tenant, 1::bigint as id, 1 as length, "
        "'a:1'::tsvector as terms where pg_temp.who() <> 'memolith_run' and 1 / 0 = 1"
    )
    be(session, "acme")
    assert list(session.execute("select * from matching('a', array['a'])")) == []


@pytest.mark.parametrize("tenant", HOSTILE)
def test_a_hostile_name_of_a_tenant_is_only_a_name(database: str, tenant: str) -> None:
    with closing(PostgresStore(database)) as store:
        before = {other: dump_tenant(store, other) for other in ("acme", "globex")}
        engine = engine_on(store)
        item = engine.writing.remember(Caller(tenant), note("zorbulax of a stranger")).item
        hits = engine.recall.search(Caller(tenant), Query("zorbulax", mode="text")).hits
        assert [hit.item.id for hit in hits] == [item.id]
        assert engine.reading.list_items(Caller(tenant)).total == 1
        assert {other: dump_tenant(store, other) for other in ("acme", "globex")} == before
        assert engine.recall.search(Caller(tenant + "x"), Query("zorbulax", mode="text")).hits == ()


@pytest.mark.parametrize("tenant", REFUSED, ids=["empty", "long", "nul", "surrogate"])
def test_what_cannot_be_a_name_is_refused_and_leaves_no_trace(
    database: str, tmp_path: Path, tenant: str
) -> None:
    with thread(tmp_path, database=database) as served:
        keys = len(served.app.keys.all())
        wanted = {
            "name": NewKey(tenant),
            "tenant": NewKey("a key", tenant=tenant),
            "user": NewKey("a key", user=tenant),
        }
        for field, key in wanted.items():
            with pytest.raises(InvalidInput) as refused:
                make_key(served.app.keys, "", key)
            assert refused.value.field == field
        assert len(served.app.keys.all()) == keys


def test_hostile_names_stay_apart_through_the_doors(database: str, tmp_path: Path) -> None:
    with thread(tmp_path, database=database) as served:
        keys = {tenant: served.key("someone", tenant) for tenant in ("initech", *HOSTILE[:6])}
        ids = {
            tenant: served.tool("remember", {"content": "quuxly words"}, key).json()["id"]
            for tenant, key in keys.items()
        }
        for tenant, key in keys.items():
            hits = served.tool("recall", {"query": "quuxly", "mode": "text"}, key).json()["hits"]
            assert [hit["id"] for hit in hits] == [ids[tenant]]
            others = [id for other, id in ids.items() if other != tenant]
            assert served.tool("fetch", {"ids": others}, key).status_code == 404


def test_a_login_that_only_runs_can_serve_what_its_owner_has_set_up(
    server: Server, tmp_path: Path
) -> None:
    url = server.create(template=server.template)
    clerk = as_role(server, "clerk", url)
    with thread(tmp_path, database=clerk) as served:
        id = served.tool("remember", {"content": "kept by the clerk"}).json()["id"]
        assert [hit["id"] for hit in served.tool("recall", {"query": "clerk"}).json()["hits"]] == [
            id
        ]
        assert served.ask("GET", "/health").json()["status"] == "healthy"
        assert served.app.upkeep.run() == {"embedded": 0, "snapshot": 0}
    with psycopg.connect(clerk, autocommit=True) as db:
        assert tenants(db, "event") == set()
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute("drop table event")


def test_a_login_without_rights_is_told_who_must_set_up(server: Server, tmp_path: Path) -> None:
    url = server.create()
    guest = as_role(server, "guest", url, "")
    with pytest.raises(MemolithError, match="memolith migrate"):
        open_app(Settings(data=tmp_path, database=guest))


def test_a_name_that_no_index_holds_is_told_as_such(database: str) -> None:
    chance = random.Random(7)
    name = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(3000))
    with (
        closing(PostgresStore(database)) as store,
        pytest.raises(MemolithError, match="too long for an index"),
    ):
        engine_on(store).writing.remember(Caller(name), note("x"))
