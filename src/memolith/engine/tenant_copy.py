"""Copying a tenant from one store to another, and comparing both."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, takewhile, zip_longest
from typing import NamedTuple

from memolith.domain.attributes import exact
from memolith.domain.events import Changes, Event
from memolith.domain.fold import fold
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import text_digest
from memolith.engine.progress import Progress, no_progress
from memolith.errors import Conflict
from memolith.ports.outbox import Job
from memolith.ports.store import Reader, Store, Writer
from memolith.ports.usage import ClientCalls, ItemRead
from memolith.ports.vector_rows import EmbeddingInput, NewVector

EVENTS_PER_WRITE = 500


def follow(
    source: Store,
    target: Store,
    tenant: str,
    progress: Progress = no_progress,
    with_vectors: bool = False,
    nearly: bool = False,
) -> int:
    """Bring the target to where the source is; returns how many events were copied.

    It begins where an earlier copy ended. `with_vectors` is for two stores that keep vectors in the
    same form: what the source has embedded is then not queued in the target. With `nearly` it ends
    when few events are missing; a tenant that writes all the time would always be a step ahead.
    """
    copied = 0
    models = _models(source, tenant) if with_vectors else []
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
            jobs = _append_all(rows, events)
            if models and jobs:
                with source.reading(tenant) as source_rows:
                    _carry_vectors(source_rows, rows, jobs, models)
        copied += len(events)
        progress(done + len(events), total)
        if nearly and len(events) < EVENTS_PER_WRITE:
            return copied


def _models(source: Store, tenant: str) -> list[str]:
    """The models whose vectors the tenant has."""
    with source.reading(tenant) as rows:
        return sorted(rows.models())


class StreamRows:
    """What the events of each stream have made so far; a row is read at most once."""

    def __init__(self, rows: Writer, present: Collection[str]) -> None:
        self._rows = rows
        self._present = present
        """The streams that have events already."""
        self._known: dict[str, Item | Link | None] = {}

    def before(self, stream: str) -> Item | Link | None:
        """The item or link that the events of a stream have made."""
        if stream in self._known or stream not in self._present:
            return self._known.get(stream)
        tenant = self._rows.tenant
        return self._rows.link_by_id(tenant, stream) or self._rows.item(tenant, stream)

    def note(self, stream: str, changes: Changes) -> None:
        """Keep what an event has made of its stream."""
        self._known[stream] = changes.item or changes.link


def _append_all(rows: Writer, events: Sequence[Event]) -> list[Job]:
    """Append events of another store together; returns the jobs that are queued for them."""
    jobs = []
    stream_rows = StreamRows(
        rows, rows.present_streams(rows.tenant, {event.stream for event in events})
    )
    with rows.batch():
        for event in events:
            changes = changes_from(stream_rows.before(event.stream), event)
            rows.append(event, changes)
            stream_rows.note(event.stream, changes)
            if changes.embeds:
                jobs.append(Job(rows.tenant, event.seq, "embed", event.stream, 0))
    return jobs


class _Wanted(NamedTuple):
    """A passage of an item in the target that needs a vector, and the digest of its text."""

    stream: str
    passage: EmbeddingInput
    digest: bytes


def _carry_vectors(
    source: Reader, target: Writer, jobs: Sequence[Job], models: Sequence[str]
) -> None:
    """Take over the vectors of texts that are the same in the source, and finish their jobs."""
    unfinished: set[str] = set()
    for model in models:
        found = target.unembedded_of(target.tenant, {job.stream for job in jobs}, model)
        wanted = [
            _Wanted(stream, passage, text_digest(passage.text))
            for stream, passages in found.items()
            for passage in passages
        ]
        vectors = source.vectors_by_digest(target.tenant, {one.digest for one in wanted}, model)
        new = []
        for stream, passage, digest in wanted:
            vector = vectors.get(digest)
            if passage.digest == digest:
                continue
            if vector is None:
                # It has changed since, or the source has not embedded it yet.
                unfinished.add(stream)
            elif passage.digest is None:
                new.append(NewVector(passage.ref, digest, vector))
            else:
                target.put_vector(passage.ref, model, digest, vector)
        target.put_new_vectors(model, new)
    target.finish_jobs([job for job in jobs if job.stream not in unfinished])


def changes_from(before: Item | Link | None, event: Event) -> Changes:
    """What an event changes, given the row that the events before it have left."""
    if event.data or before:
        return fold(before, event)
    return Changes()


def carry_rest(source: Store, target: Store, tenant: str) -> None:
    """Copy what is no event: settings, the vault, answers, what was compared, reads and calls.

    Doing it twice changes nothing.
    """
    with source.reading(tenant) as rows:
        ids = [item.id for item in rows.all_items(tenant)]
        accesses = rows.accesses(tenant, ids)
        records = rows.records(tenant)
        answers = rows.answers(tenant)
        reads = rows.all_item_reads(tenant)
        calls = rows.client_calls(tenant)
        superseded = rows.all_superseded(tenant)
        duplicates = rows.all_duplicates(tenant)
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
        for mark in superseded:
            rows.put_superseded(*mark)
        for pair in duplicates:
            rows.put_duplicate(*pair)


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


def unequal(source: Store, target: Store, tenant: str, after: int = 0) -> list[str]:
    """What the two stores do not have alike; only the first difference is told.

    With `after`, the log up to that event was compared before. Then only later events are compared,
    and the rows that they changed.
    """
    with source.reading(tenant) as source_rows, target.reading(tenant) as target_rows:
        if after:
            ours_and_theirs = zip_longest(
                _changed_since(source_rows, tenant, after),
                _changed_since(target_rows, tenant, after),
            )
        else:
            ours_and_theirs = zip_longest(
                _everything(source_rows, tenant), _everything(target_rows, tenant)
            )
        for ours, theirs in ours_and_theirs:
            if exact(ours) != exact(theirs):
                return [f"{type(ours or theirs).__name__.lower()}s differ"]
    return []


def _everything(rows: Reader, tenant: str) -> chain[Event | Item | Link]:
    return chain(rows.events_after(tenant, 0), rows.all_items(tenant), rows.all_links(tenant))


def _changed_since(rows: Reader, tenant: str, after: int) -> Iterator[Event | Item | Link | None]:
    events = list(rows.events_after(tenant, after))
    yield from events
    for stream in dict.fromkeys(event.stream for event in events):
        yield rows.item(tenant, stream) or rows.link_by_id(tenant, stream)


def unequal_logs(source: Store, target: Store, tenant: str, upto: int) -> list[str]:
    """Whether the events up to a number differ, of which some may have been erased meanwhile."""
    with source.reading(tenant) as source_rows, target.reading(tenant) as target_rows:
        pairs = zip_longest(
            takewhile(lambda event: event.seq <= upto, source_rows.events_after(tenant, 0)),
            takewhile(lambda event: event.seq <= upto, target_rows.events_after(tenant, 0)),
        )
        for ours, theirs in pairs:
            if ours is None or theirs is None:
                return ["events are missing"]
            # What was erased since the copy is empty in the source.
            if exact(ours) != exact(theirs) and ours.data:
                return [f"event {ours.seq} differs"]
    return []
