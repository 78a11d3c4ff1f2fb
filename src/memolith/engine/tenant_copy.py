"""Copying a tenant from one store to another, and comparing both."""

from collections.abc import Iterator
from itertools import chain, zip_longest

from memolith.domain.attributes import exact
from memolith.domain.events import Changes, Event
from memolith.domain.fold import fold
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.engine.progress import Progress, no_progress
from memolith.errors import Conflict
from memolith.ports.store import Reader, Store
from memolith.ports.usage import ClientCalls, ItemRead

EVENTS_PER_WRITE = 500


def follow(source: Store, target: Store, tenant: str, progress: Progress = no_progress) -> int:
    """Bring the target to where the source is; returns how many events were copied.

    It begins where an earlier copy ended.
    """
    copied = 0
    while True:
        with target.reading(tenant) as rows:
            done = rows.last_seq(tenant)
        with source.reading(tenant) as rows:
            total = rows.last_seq(tenant)
            events = list(rows.events_after(tenant, done, EVENTS_PER_WRITE))
            last_common = rows.event_by_seq(tenant, done) if done else None
        if done and last_common is None:
            raise Conflict(
                f"The target has {done:,} events of {tenant[:60]!r} and the source {total:,}; "
                "copy into an empty tenant."
            )
        if not events:
            return copied
        with target.writing(tenant) as rows:
            if rows.last_seq(tenant) != done:
                raise Conflict("Somebody else writes to the target; stop them and repeat.")
            if done and rows.event_by_seq(tenant, done) != last_common:
                raise Conflict(
                    f"The target holds another {tenant[:60]!r}; copy into an empty tenant."
                )
            for event in events:
                rows.append(event, changes_of(rows, event))
        copied += len(events)
        progress(done + len(events), total)


def changes_of(rows: Reader, event: Event) -> Changes:
    """The row changes of an event from another store.

    An event whose data were removed when its item was erased has none.
    """
    before = rows.link_by_id(event.tenant, event.stream) or rows.item(event.tenant, event.stream)
    if event.data or before:
        return fold(before, event)
    return Changes()


def carry_rest(source: Store, target: Store, tenant: str) -> None:
    """Copy what is no event: settings, the vault, kept answers, and who has read and called.

    Doing it twice changes nothing.
    """
    with source.reading(tenant) as rows:
        ids = [item.id for item in rows.all_items(tenant)]
        accesses = rows.accesses(tenant, ids)
        records = rows.records(tenant)
        answers = rows.answers(tenant)
        reads = rows.all_item_reads(tenant)
        calls = rows.client_calls(tenant)
    with target.writing(tenant) as rows:
        for name, value in records.items():
            rows.put_record(tenant, name, value)
        for answer in answers:
            rows.put_answer(tenant, answer)
        present = rows.accesses(tenant, ids)
        missing = {}
        for id, (count, last) in accesses.items():
            present_count, _ = present.get(id, (0, ""))
            if count > present_count:
                missing[id] = (count - present_count, last)
        rows.add_accesses(missing)
        rows.add_item_reads(_missing_reads(reads, rows.all_item_reads(tenant)))
        rows.add_client_calls(_missing_calls(calls, rows.client_calls(tenant)))


def _missing_reads(reads: list[ItemRead], present: list[ItemRead]) -> Iterator[ItemRead]:
    """What has to be added to the present reads to get those of the source."""
    counts = {(read.item, read.reader, read.tool): read.times for read in present}
    for read in reads:
        missing = read.times - counts.get((read.item, read.reader, read.tool), 0)
        if missing > 0:
            yield read._replace(times=missing)


def _missing_calls(calls: list[ClientCalls], present: list[ClientCalls]) -> Iterator[ClientCalls]:
    """What has to be added to the present calls to get those of the source."""
    counts = {(call.key, call.program, call.caller): call for call in present}
    for call in calls:
        before = counts.get((call.key, call.program, call.caller))
        if before is None:
            yield call
        elif call.calls > before.calls:
            yield call._replace(
                calls=call.calls - before.calls, errors=max(0, call.errors - before.errors)
            )


def unequal(source: Store, target: Store, tenant: str) -> list[str]:
    """What the two stores do not have alike; only the first difference is told."""
    with source.reading(tenant) as source_rows, target.reading(tenant) as target_rows:
        pairs = zip_longest(_everything(source_rows, tenant), _everything(target_rows, tenant))
        for ours, theirs in pairs:
            if exact(ours) != exact(theirs):
                return [f"{type(ours or theirs).__name__.lower()}s differ"]
    return []


def _everything(rows: Reader, tenant: str) -> chain[Event | Item | Link]:
    return chain(rows.events_after(tenant, 0), rows.all_items(tenant), rows.all_links(tenant))
