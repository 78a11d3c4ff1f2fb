"""Copying whole stores: a backup, a copy into another store, and the move of a tenant."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
