"""Copying whole stores: a backup, a copy into another store, and the move of a tenant."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from memolith.engine.placement import TenantPlace
from memolith.engine.progress import Progress
from memolith.engine.tenant_copy import carry_rest, follow, unequal
from memolith.engine.verification import differences
from memolith.errors import InvalidInput, StoreCorrupt
from memolith.ports.store import Store
from memolith.private_files import close_folder_to_others, make_private_folder
from memolith.storage.client_keys import StoredKeys
from memolith.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from memolith.storage.postgres.store import PostgresStore


class TenantCount(NamedTuple):
    """A tenant, how many events it has, and whether it lives in another database."""

    tenant: str
    events: int
    elsewhere: bool


def tenants(store: "SqliteStore | PostgresStore") -> Iterator[TenantCount]:
    """Every tenant of a store."""
    homes = {} if isinstance(store, SqliteStore) else store.homes()
    with store.reading(None) as rows:
        names = dict.fromkeys([*rows.tenants(), *homes])
    for tenant in names:
        with store.reading(tenant) as rows:
            yield TenantCount(tenant, rows.last_seq(tenant), tenant in homes)


DATABASE_RECORD = "database/"
"""The first database remembers the addresses of others under such names."""

THIS_FOLDER = "this folder"


def add_database(store: "SqliteStore | PostgresStore", url: str) -> str:
    """Prepare another database for tenants and remember it; returns how it is called here."""
    leader = _sharded(store)
    name = database_name(url)
    # Opening it makes its tables.
    leader.store_at(url)
    with leader.writing(None) as rows:
        rows.put_record("", DATABASE_RECORD + name, url)
    return name


def database_urls(store: "SqliteStore | PostgresStore") -> dict[str, str]:
    """The addresses of all databases by their names, this one first."""
    if isinstance(store, SqliteStore):
        return {}
    urls = {database_name(store.url): store.url}
    with store.reading(None) as rows:
        records = rows.records("", DATABASE_RECORD)
    for url in (*records.values(), *store.homes().values()):
        urls.setdefault(database_name(url), url)
    return urls


def database_name(url: str) -> str:
    """Where a database is, without the secrets of its address."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'local'}:{parts.port or 5432}/{parts.path.strip('/')}"


def placement(store: "SqliteStore | PostgresStore") -> list[TenantPlace]:
    """Where each tenant lives, and its share of the bytes there, by its passages."""
    if isinstance(store, SqliteStore):
        names = [count.tenant for count in tenants(store)]
        return _places(store, THIS_FOLDER, names)
    homes = store.homes()
    places = []
    for name, url in database_urls(store).items():
        if url == store.url:
            with store.reading(None) as rows:
                names = [tenant for tenant in rows.tenants() if tenant not in homes]
            places += _places(store, name, names)
        else:
            names = sorted(tenant for tenant, home in homes.items() if home == url)
            places += _places(store.store_at(url), name, names)
    return places


def _places(
    store: "SqliteStore | PostgresStore", database: str, names: list[str]
) -> list[TenantPlace]:
    """What tenants take of a database."""
    heads = {}
    with store.reading(None) as rows:
        for name in names:
            heads[name] = rows.head(name)
    passages = sum(head.passages for head in heads.values() if head)
    size = sum(store.sizes().values())
    return [
        TenantPlace(name, database, head.seq, round(size * head.passages / max(1, passages)))
        for name, head in heads.items()
        if head
    ]


def copy_everything(
    source: "SqliteStore | PostgresStore",
    target: "SqliteStore | PostgresStore",
    progress: Callable[[str], Progress],
) -> dict[str, int]:
    """Copy every tenant and key to another store and compare both; returns events per tenant."""
    copied = {}
    for tenant, _, _ in list(tenants(source)):
        copied[tenant] = follow(source, target, tenant, progress(tenant))
        carry_rest(source, target, tenant)
        problems = unequal(source, target, tenant) + differences(target, tenant)
        if problems:
            raise StoreCorrupt(f"The copy of {tenant[:60]!r} is not equal: {problems[0]}")
    _copy_keys(StoredKeys(source), StoredKeys(target))
    return copied


def _copy_keys(source: StoredKeys, target: StoredKeys) -> None:
    known = {key.id for key in target.all()}
    for key in source.all():
        if key.id not in known:
            target.add(key)


def move_tenant(
    store: "SqliteStore | PostgresStore",
    tenant: str,
    url: str,
    embed: Callable[[Store, str], object],
    progress: Progress | None = None,
) -> int:
    """Move a tenant to another database, vectors included; returns how many events it had."""
    return _sharded(store).move(tenant, url, lambda target: embed(target, tenant), progress)


def purge_tenant(store: "SqliteStore | PostgresStore", tenant: str, url: str) -> None:
    """Remove what a tenant that has moved left behind in its old database."""
    _sharded(store).purge(tenant, url)


def distribute(store: "SqliteStore | PostgresStore") -> list[str]:
    """Distribute the tables over the servers of a Citus cluster; returns what is left to do."""
    if isinstance(store, SqliteStore):
        raise InvalidInput(
            "Only a PostgreSQL database can be distributed; see the setting `database`.",
            field="database",
        )
    return store.distribute()


def _sharded(store: "SqliteStore | PostgresStore") -> "PostgresStore":
    if isinstance(store, SqliteStore):
        raise InvalidInput(
            "Tenants move between PostgreSQL databases; see the setting `database`.",
            field="database",
        )
    return store


def backup(
    store: "SqliteStore | PostgresStore", files: Path, target: Path, progress: Progress
) -> None:
    """Copy everything into one file, and the files that were taken in into a folder beside it."""
    store.backup(target, progress)
    if files.is_dir():
        copy = f"{target}.files"
        # Private from the start, and in the end too: copying takes the permissions along.
        make_private_folder(copy)
        shutil.copytree(files, copy, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
        close_folder_to_others(copy)
