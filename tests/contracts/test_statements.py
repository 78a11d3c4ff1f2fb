"""Each database takes every statement of its `queries.sql` as it stands in the file."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import memolith.storage
from memolith.errors import StoreCorrupt
from memolith.ports.vector_slots import Slot, SlotItem
from memolith.storage.postgres.statements import QUERIES as POSTGRES
from memolith.storage.rows import Head, RowShape
from memolith.storage.sql_files import load_queries
from memolith.storage.sqlite.statements import QUERIES as SQLITE
from memolith.storage.sqlite.store import SqliteStore
from tests.postgres import Server

STORAGE = Path(memolith.storage.__file__).parent
CALL = r'\.(?:rows|row|adapted_rows|filtered|read\w*|stream|do|add_row)\(\s*"(\w+)"'
"""A call that runs a statement by its name."""

NOT_EXPLAINABLE = re.compile(
    r"(begin|commit|rollback|vacuum|analyze|listen|set|create|drop)\b", re.IGNORECASE
)
"""What EXPLAIN does not take; such a statement is carried out instead."""


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path_factory.mktemp("statements"))) as store:
        yield store


@pytest.fixture(scope="module")
def postgres(server: Server) -> Iterator[psycopg.Connection]:
    url = server.create(template=server.template)
    with closing(psycopg.connect(url, autocommit=True)) as db:
        yield db
    server.drop(url)


@pytest.mark.parametrize("name", SQLITE)
def test_sqlite_takes_the_statement(sqlite: SqliteStore, name: str) -> None:
    with sqlite.reading(None) as rows:
        rows.statements.do("create_instance_table")
        rows.statements.db.execute("explain " + SQLITE[name], defaultdict(lambda: "1"))


@pytest.mark.parametrize("name", POSTGRES)
def test_postgres_takes_the_statement(postgres: psycopg.Connection, name: str) -> None:
    statement = POSTGRES[name]
    if "savepoint" in name:
        with postgres.transaction():
            postgres.execute(POSTGRES["savepoint"])
            postgres.execute(statement)
        return
    if NOT_EXPLAINABLE.match(statement) or name == "lock_migrations":
        values = {"tenant": "local", "model": "test", "lock_timeout": "1s"}
        if name == "create_own_index":
            statement = statement.replace("tenant = %(tenant)s and model = %(model)s", "true")
            values = {}
        postgres.execute(statement, values if "%(" in statement else None)
        return
    # The server itself works out the types of parameters, as it does when a statement is run.
    numbered = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    for number, parameter in enumerate(numbered, 1):
        statement = statement.replace(f"%({parameter})s", f"${number}")
    with postgres.transaction(force_rollback=True):
        postgres.execute(f"prepare checked as {statement}")
        postgres.execute("deallocate checked")


@pytest.mark.parametrize(("folder", "queries"), [("sqlite", SQLITE), ("postgres", POSTGRES)])
def test_every_statement_is_used_and_every_used_one_is_there(
    folder: str, queries: dict[str, str]
) -> None:
    files = [*STORAGE.glob("*.py"), *(STORAGE / folder).glob("*.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    named = set(re.findall(r"[\"']([a-z_]+)[\"']", code))
    for prefix in re.findall(r'f"([a-z_]+_)\{', code):
        named |= {name for name in queries if name.startswith(prefix)}
    assert set(queries) - named == set()
    called = set(re.findall(CALL, code))
    called |= set(re.findall(r'QUERIES\["(\w+)"\]', code))
    assert called - set(queries) == set()


@pytest.mark.parametrize("folder", ["sqlite", "postgres"])
def test_every_statement_says_in_a_comment_what_it_answers(folder: str) -> None:
    text = (STORAGE / folder / "queries.sql").read_text(encoding="utf-8")
    headers = re.findall(r"^-- name: (\w+)\n(.*)", text, re.MULTILINE)
    assert [name for name, comment in headers if not comment.startswith("-- ")] == []
    assert len(headers) == len(load_queries(STORAGE / folder / "queries.sql"))


def test_the_columns_of_vector_slots_are_the_fields_of_their_values(sqlite: SqliteStore) -> None:
    with sqlite.reading(None) as rows:
        for name, value in (("slots", Slot), ("slot_items", SlotItem)):
            made = f"create temp view checked_{name} as " + re.sub(r":\w+", "'1'", SQLITE[name])
            rows.statements.db.execute(made)
            columns = rows.statements.db.execute(
                f"select name from pragma_table_info('checked_{name}')"
            )
            assert tuple(column for (column,) in columns) == value._fields


def test_a_statement_with_other_columns_than_its_value_has_is_refused(sqlite: SqliteStore) -> None:
    swapped = RowShape(("seq", "number", "passages", "terms", "at"), Head._make)
    with sqlite.writing("local") as rows, pytest.raises(StoreCorrupt, match="The statement head "):
        rows.statements.read_first("head", swapped, tenant="local")


@pytest.mark.parametrize(
    "text",
    [
        "-- name: one\n-- Says one.\nselect 1;\n\n-- name: one\n-- Again.\nselect 2;\n",
        "-- name: one\n-- Has no end.\nselect 1\n",
        "-- name: one\n-- Has two statements.\nselect 1;\nselect 2;\n",
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "queries.sql"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StoreCorrupt, match=r"queries\.sql: the statement one"):
        load_queries(file)
