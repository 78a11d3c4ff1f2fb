"""Carries a tenant from one store to another by its events, and proves that both are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict

from memolith.engine.ports import Reader, Store
from memolith.engine.upkeep import changes_of, differences
from memolith.errors import Conflict

BATCH = 500
Progress = Callable[[int, int], None]


def follow(source: Store, target: Store, tenant: str, progress: Progress | None = None) -> int:
    """Bring the target to where the source is; begins where an earlier copy ended. Returns how many events came."""
    copied = 0
    while True:
        with target.reading(tenant) as rows:
            done = rows.last_seq(tenant)
        with source.reading(tenant) as rows:
            total = rows.last_seq(tenant)
            events = list(rows.events_after(tenant, done, BATCH))
            known = rows.event(tenant, done) if done else None
        if done and known is None:
            raise Conflict(f"The target has {done:,} events of {tenant[:60]!r} and the source {total:,}; "
                           "copy into an empty tenant.")
        if not events:
            return copied
        with target.writing(tenant) as rows:
            if rows.last_seq(tenant) != done:
                raise Conflict("Somebody else writes to the target; stop him and repeat.")
            if done and rows.event(tenant, done) != known:
                raise Conflict(f"The target holds another {tenant[:60]!r}; copy into an empty tenant.")
            for event in events:
                before = rows.link(tenant, event.stream) or rows.item(tenant, event.stream)
                rows.append(event, changes_of(before, event))
        copied += len(events)
        if progress:
            progress(done + len(events), total)


def carry_rest(source: Store, target: Store, tenant: str) -> None:
    """Copy what is no event: settings, the vault, and how often items were read. Doing it twice changes nothing."""
    with source.reading(tenant) as rows:
        ids = [item.id for item in rows.all_items(tenant)]
        reads, records = rows.access(tenant, ids), rows.records(tenant)
    with target.writing(tenant) as rows:
        for name, value in records.items():
            rows.put_record(tenant, name, value)
        known = rows.access(tenant, ids)
        missing = {id: (count - known.get(id, (0, ""))[0], last) for id, (count, last) in reads.items()}
        rows.touch({id: read for id, read in missing.items() if read[0] > 0})


def unequal(source: Store, target: Store, tenant: str) -> list[str]:
    """What differs between the two; empty when all is well."""
    with source.reading(tenant) as here, target.reading(tenant) as there:
        return [f"{name} differ" for name, of in _SUMS.items() if of(here, tenant) != of(there, tenant)]


def unsound(target: Store, tenant: str) -> list[str]:
    """What differs between a copy's rows and its own log; slow, but nobody need wait for it."""
    with target.reading(tenant) as rows:
        return [text for _, found in differences(rows, tenant) for text in found] + rows.index_differences(tenant)


def _sum_of(rows: list[object]) -> tuple[int, str]:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, default=str).encode())
    return len(rows), digest.hexdigest()


def _events(rows: Reader, tenant: str) -> tuple[int, str]:
    return _sum_of([asdict(event) for event in rows.events_after(tenant, 0)])


def _items(rows: Reader, tenant: str) -> tuple[int, str]:
    return _sum_of([(item.id, item.version, item.title, item.tags) for item in rows.all_items(tenant)])


def _links(rows: Reader, tenant: str) -> tuple[int, str]:
    return _sum_of([asdict(link) for link in rows.all_links(tenant)])


_SUMS: dict[str, Callable[[Reader, str], tuple[int, str]]] = {"events": _events, "items": _items, "links": _links}
