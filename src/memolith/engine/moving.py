"""Carries a tenant from one store to another by its events, and proves that both are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest

from memolith.engine.model import exact
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
                rows.append(event, changes_of(rows, event))
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
    parts: dict[str, Callable[[Reader], Iterator[object]]] = {
        "events": lambda rows: rows.events_after(tenant, 0), "items": lambda rows: rows.all_items(tenant),
        "links": lambda rows: rows.all_links(tenant)}
    with source.reading(tenant) as here, target.reading(tenant) as there:
        return [f"{name} differ" for name, of in parts.items()
                if any(exact(one) != exact(two) for one, two in zip_longest(of(here), of(there)))]


def unsound(target: Store, tenant: str) -> list[str]:
    """What differs between a copy's rows and its own log; slow, but nobody need wait for it."""
    with target.reading(tenant) as rows:
        return [text for _, found in differences(rows, tenant) for text in found] + rows.index_differences(tenant)
