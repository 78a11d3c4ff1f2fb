"""Opens either store by its address, and makes their contents comparable."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import core_on
from memolith.engine.engine import Engine, Outside, build_engine
from memolith.engine.validation import InputRules
from memolith.ports.store import Store
from memolith.ports.vectors import Vectors
from memolith.retrieval.vectors.encoding import quantised
from memolith.retrieval.vectors.index import VectorIndex
from memolith.storage.client_keys import StoredKeys
from memolith.storage.sqlite.store import SqliteStore

POSTGRES = importlib.util.find_spec("memolith.storage.postgres.store") is not None
STORES = ["sqlite", "postgres"] if POSTGRES else ["sqlite"]
# A mark for tests that hold whatever the store is.
each_store = pytest.mark.stores(*STORES)
# The same for long tests: the normal run takes them on SQLite alone.
each_store_in_full_run = pytest.mark.stores("sqlite", full=STORES[1:])
Dump = dict[str, dict[str, list[dict[str, Any]]]]


def open_store(address: str) -> Store:
    """The store at a URL or in a folder, as any process opens it."""
    if not address.startswith("postgres"):
        return SqliteStore(Path(address))
    from memolith.storage.postgres.store import PostgresStore

    return PostgresStore(address)


def keys_on(store: Store) -> StoredKeys:
    """The client keys that lie in a store."""
    if isinstance(store, SqliteStore):
        return StoredKeys(store)
    from memolith.storage.postgres.store import PostgresStore

    assert isinstance(store, PostgresStore)
    return StoredKeys(store)


def vectors_on(store: Store, model: str, dimension: int) -> Vectors:
    """The vector stage that belongs to a store."""
    if isinstance(store, SqliteStore):
        return VectorIndex(store.folder, model, dimension)
    from memolith.storage.postgres.vectors import PostgresVectors

    return PostgresVectors(model, dimension)


def row_on(store: Store, vector: bytes) -> str | bytes:
    """A vector in the form in which the store keeps it."""
    if isinstance(store, SqliteStore):
        return quantised(vector)
    from memolith.storage.postgres.vectors import vector_text

    return vector_text(vector)


def numbers(row: str | bytes | None) -> list[float]:
    """What a kept row says, whatever its form."""
    assert row is not None
    return json.loads(row) if isinstance(row, str) else list(memoryview(row).cast("b"))


def engine_on(store: Store, secrets: str = "allow") -> Engine:
    """Memory on a store, searching by words."""
    outside = Outside(
        cipher=lambda: pytest.fail("no vault here"),
        shelf=lambda: pytest.fail("no files here"),
        sandbox=lambda: pytest.fail("no sandbox here"),
        repository=lambda path: None,
        analysts=lambda: (),
        manual_folder=Path("no manual here"),
    )
    return build_engine(core_on(store, input_rules=InputRules(secrets=secrets)), outside)


def tags_of(rows: Any, tenant: str, id: str) -> tuple[str, ...]:
    """The tags of an item as the filters see them."""
    items = rows.statements.rows("all_items", tenant=tenant)
    item_row = next(row.row for row in items if row.id == id)
    tags = rows.statements.rows("all_tags", tenant=tenant)
    return tuple(sorted(row.tag for row in tags if row.item == item_row))


def dump(store: Store) -> Dump:
    """All that a store knows, per tenant, in the same order and form for every store."""
    with store.reading(None) as rows:
        tenants = rows.tenants()
    return {tenant: dump_tenant(store, tenant) for tenant in sorted(tenants)}


def dump_tenant(store: Store, tenant: str) -> dict[str, list[dict[str, Any]]]:
    """One tenant of it; his name left out, so that copies under other names are equal."""
    with store.reading(tenant) as rows:
        items = list(rows.all_items(tenant))
        numbers = rows.statistics(tenant, ())
        found = {
            "item": [item._asdict() for item in items],
            "passage": [one._asdict() for item in items for one in rows.passages(tenant, item.id)],
            "tag": [{"item": item.id, "tags": tags_of(rows, tenant, item.id)} for item in items],
            "link": [link._asdict() for link in rows.all_links(tenant)],
            "event": [event._asdict() for event in rows.events_after(tenant, 0)],
            "sums": [
                {
                    "seq": rows.last_seq(tenant),
                    "passages": numbers.passages,
                    "length": numbers.mean_length,
                }
            ],
            "access": [
                {"item": id, "read": read}
                for id, read in sorted(rows.accesses(tenant, [item.id for item in items]).items())
            ],
            "read": [read._asdict() for read in rows.all_item_reads(tenant)],
            "call": [calls._asdict() for calls in rows.client_calls(tenant)],
        }
    plain = json.loads(json.dumps(found, default=dict, sort_keys=True))
    for row in (*plain["item"], *plain["event"]):
        del row["tenant"]
    return plain  # type: ignore[no-any-return]
