"""Proving and mending the read models, and carrying a tenant from one place to another."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import NamedTuple, cast

from memolith.domain.attributes import Json, exact
from memolith.domain.callers import Caller
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, Changes, Event
from memolith.domain.fold import Replay, fold
from memolith.domain.items import Draft, Item
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.engine.recall import Recall
from memolith.engine.recording import refuse_unsound
from memolith.engine.validation import (
    InputRules,
    Intake,
    checked_text,
    identifier,
    json_object,
    when,
)
from memolith.engine.writing import Writing
from memolith.errors import Conflict, InvalidInput, MemolithError, StoreCorrupt, translated
from memolith.ports.store import Reader, Store, Writer

FORMAT, BATCH = 1, 500
# Events hold blocks which hold attributes: so many levels above what a caller may nest.
OUTER = -5
LEFT_OUT = ("vault values", "client keys", "embedding vectors (made anew after import)")
Progress = Callable[[int, int], None]


class StoreState(NamedTuple):
    """What a store holds: events by tenant, waiting work by state, vectors by model, and what failed."""

    events: dict[str, int]
    outbox: dict[tuple[str, str], int]
    vectors: dict[str, int]
    errors: list[str]


class ImportReport(NamedTuple):
    """How many events and items an import brought, and what was redacted in them."""

    events: int
    items: int
    redactions: dict[str, int]


@dataclass(frozen=True)
class Maintenance:
    """Verify, rebuild, export, import, and how the parts are."""

    store: Store
    writing: Writing
    input_rules: InputRules
    recall: Recall
    started: float = field(default_factory=time.monotonic)

    @property
    def store_name(self) -> str:
        return self.store.name

    def uptime_s(self) -> float:
        """How long this process has had the engine open."""
        return time.monotonic() - self.started

    def health(self) -> dict[str, str]:
        """How the parts are; asking starts to load the model."""
        with self.store.reading(None) as rows:
            waiting = rows.outbox_counts()
        return {
            "store": "healthy",
            "embeddings": self.recall.state()[0],
            **{state: str(waiting.get(("embed", state), 0)) for state in ("pending", "failed")},
        }

    def event_count(self, tenant: str) -> int:
        """How many events the log of a tenant has."""
        with self.store.reading(tenant) as rows:
            return rows.last_seq(tenant)

    def outbox_counts(self, tenant: str) -> dict[str, int]:
        """How much derived work of a tenant is pending, processed and failed."""
        counts = {"pending": 0, "processed": 0, "failed": 0}
        with self.store.reading(tenant) as rows:
            for (_, state), count in rows.outbox_counts(tenant).items():
                counts[state] += count
        return counts

    def state(self) -> StoreState:
        """What the store holds, over all tenants."""
        with self.store.reading(None) as rows:
            return StoreState(
                events={tenant: rows.last_seq(tenant) for tenant in rows.tenants()},
                outbox=rows.outbox_counts(),
                vectors=rows.models(),
                errors=rows.outbox_errors(),
            )

    def verify(self, progress: Progress = lambda done, total: None) -> list[str]:
        """Every place where the rows differ from a replay of the log; empty when all is well."""
        with self.store.reading(None) as rows:
            tenants = rows.tenants()
        return [f"database file: {text}" for text in self.store.check()] + [
            f"{tenant}: {text}"
            for tenant in tenants
            for text in differences(self.store, tenant, progress)
        ]

    def rebuild(self, progress: Progress = lambda done, total: None) -> int:
        """Make the read models anew from the log; returns how many events were replayed."""
        done = 0
        with self.store.reading(None) as before:
            tenants = before.tenants()
        with self.store.rebuilding() as writer_of:
            for tenant in tenants:
                rows = writer_of(tenant)
                for stream in rows.streams(tenant):
                    events = rows.events(tenant, stream)
                    state = Replay.of(events)
                    if isinstance(state.row, Item):
                        rows.apply(Changes(item=state.row, keep=0, passages=tuple(state.passages)))
                        rows.queue("embed", stream, events[-1].seq)
                    elif state.row:
                        rows.apply(Changes(link=state.row))
                    done += len(events)
                    progress(done, rows.last_seq(tenant))
                rows.write_totals()
        return done

    def export(self, tenant: str) -> Iterator[str]:
        """The tenant as JSON Lines: a header, then its log."""
        with self.store.reading(tenant) as rows:
            head = {
                "memolith": FORMAT,
                "tenant": tenant,
                "events": rows.last_seq(tenant),
                "left_out": LEFT_OUT,
            }
            events = (
                {"event": dict(zip(Event._fields[1:], event[1:], strict=True))}
                for event in rows.events_after(tenant, 0)
            )
            for record in chain([head], events):
                yield json.dumps(record, ensure_ascii=False, sort_keys=True)

    def import_(
        self, caller: Caller, lines: Iterable[str], progress: Progress = lambda done, total: None
    ) -> ImportReport:
        """Bring in an export, or plain lines with `content`, wholly or not at all; tells events, items, redactions."""
        # Read first: whoever waits for his input must not keep others from writing.
        records = [
            (number, json_object(line, f"Line {number}", "lines"))
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
        there = sum("event" in record for _, record in records)
        for number, record in records:
            if record.get("memolith", FORMAT) != FORMAT:
                raise InvalidInput(
                    f"Line {number}: this export has another format than {FORMAT}.",
                    field="memolith",
                )
            if "memolith" in record and record.get("events", there) != there:
                raise InvalidInput(
                    f"The export is torn: it announces {record['events']} events and holds {there}.",
                    field="events",
                )
        intake, items, versions = self.input_rules.intake(), 0, dict[str, int]()
        events = [(number, record) for number, record in records if "memolith" not in record]
        with self.store.writing(caller.tenant) as rows:
            for count, (number, record) in enumerate(events, 1):
                try:
                    if "event" in record:
                        items += _import_event(rows, record["event"], versions, intake)
                    else:
                        self.writing.remember_in(rows, caller, _draft(record), intake)
                        items += 1
                except MemolithError as error:
                    error.message, error.value = f"Line {number}: {error.message}", number
                    error.args = (error.message,)
                    raise
                progress(count, len(records))
        return ImportReport(len(events), items, dict(intake.redactions))


def _import_event(rows: Writer, raw: Json, versions: dict[str, int], intake: Intake) -> bool:
    """Whether the event made an item."""
    with translated(TypeError, InvalidInput, "this is not an event of memolith.", "event"):
        event = Event(tenant="", **cast("dict[str, str]", raw))  # type: ignore[arg-type]
    if event.type not in ITEM_EVENTS + LINK_EVENTS + RECORD_EVENTS or not isinstance(
        event.data, dict
    ):
        raise InvalidInput("the event type is unknown, or there is no data.", field="type")
    checked_text("actor", event.actor)
    checked_text("key", event.key or "")
    tenant, stream, at = rows.tenant, identifier(event.stream, "stream"), when("at", event.at)
    version = versions.get(stream, 0)
    if not version and rows.events(tenant, stream):
        raise Conflict(f"{stream[:100]} is here already; import into an empty tenant.", id=stream)
    if event.version != version + 1:
        raise Conflict(
            f"version {event.version} of {stream[:100]} does not follow {version}.", id=stream
        )
    if event.key and rows.event_by_key(tenant, event.actor, event.key):
        raise Conflict("its idempotency key is used here already.", field="key", id=stream)
    data = cast("dict[str, Json]", intake.without_secrets(event.data, depth=OUTER))
    stamped = rows.next_event(stream, event.version, event.type, data, event.actor, at, event.key)
    with translated(StoreCorrupt, InvalidInput, "{error}", "event"):
        changes = changes_of(rows, stamped)
    if item := changes.item:
        # What no verb would have made is refused.
        intake.draft(
            Draft(
                item.kind,
                item.title,
                (Block("text"),),
                item.tags,
                item.attributes,
                item.status,
                item.audience,
                item.project,
                item.namespace,
            )
        )
        checked_text("owner", item.owner)
        for passage in changes.passages:
            checked_text("text", passage.text)
            when("at", passage.at)
        refuse_unsound(rows, changes)
    rows.append(stamped, changes)
    versions[stream] = event.version
    return event.type == "remembered"


def changes_of(rows: Reader, event: Event) -> Changes:
    """The row changes of an event from elsewhere; one that was scrubbed when its item was erased has none."""
    before = rows.link_by_id(event.tenant, event.stream) or rows.item(event.tenant, event.stream)
    return fold(before, event) if event.data or before else Changes()


def differences(
    store: Store, tenant: str, progress: Progress = lambda done, total: None
) -> list[str]:
    """Where a tenant's rows differ from a replay of its log, stream by stream."""
    problems = list[str]()
    with store.reading(tenant) as rows:
        for done, stream in enumerate(streams := rows.streams(tenant), 1):
            progress(done, len(streams))
            try:
                events = rows.events(tenant, stream)
                state = Replay.of(events)
            except StoreCorrupt as error:
                problems.append(error.message)
                continue
            kind = "link" if events[0].type in LINK_EVENTS else "item"
            pairs = {
                kind: (rows.link_by_id(tenant, stream) or rows.item(tenant, stream), state.row),
                "passages of": (rows.passages(tenant, stream), state.passages),
            }
            problems += [
                f"{name} {stream} differs from the log"
                for name, (here, there) in pairs.items()
                if exact(here) != exact(there)
            ]
            if [event.version for event in events] != list(range(1, len(events) + 1)):
                problems.append(f"{stream}: versions have gaps")
        known = set(streams)
        problems += [
            f"{type(row).__name__.lower()} {row.id} is not in the log"
            for row in chain[Item | Link](rows.all_items(tenant), rows.all_links(tenant))
            if row.id not in known
        ]
        return problems + rows.index_differences(tenant)


def follow(source: Store, target: Store, tenant: str, progress: Progress | None = None) -> int:
    """Bring the target to where the source is; begins where an earlier copy ended. Returns how many events came."""
    copied = 0
    while True:
        with target.reading(tenant) as rows:
            done = rows.last_seq(tenant)
        with source.reading(tenant) as rows:
            total = rows.last_seq(tenant)
            events = list(rows.events_after(tenant, done, BATCH))
            known = rows.event_by_seq(tenant, done) if done else None
        if done and known is None:
            raise Conflict(
                f"The target has {done:,} events of {tenant[:60]!r} and the source {total:,}; "
                "copy into an empty tenant."
            )
        if not events:
            return copied
        with target.writing(tenant) as rows:
            if rows.last_seq(tenant) != done:
                raise Conflict("Somebody else writes to the target; stop him and repeat.")
            if done and rows.event_by_seq(tenant, done) != known:
                raise Conflict(
                    f"The target holds another {tenant[:60]!r}; copy into an empty tenant."
                )
            for event in events:
                rows.append(event, changes_of(rows, event))
        copied += len(events)
        if progress:
            progress(done + len(events), total)


def carry_rest(source: Store, target: Store, tenant: str) -> None:
    """Copy what is no event: settings, the vault, and how often items were read. Doing it twice changes nothing."""
    with source.reading(tenant) as rows:
        ids = [item.id for item in rows.all_items(tenant)]
        reads, records = rows.accesses(tenant, ids), rows.records(tenant)
    with target.writing(tenant) as rows:
        for name, value in records.items():
            rows.put_record(tenant, name, value)
        known = rows.accesses(tenant, ids)
        missing = {
            id: (count - known.get(id, (0, ""))[0], last) for id, (count, last) in reads.items()
        }
        rows.add_accesses({id: read for id, read in missing.items() if read[0] > 0})


def unequal(source: Store, target: Store, tenant: str) -> list[str]:
    """The first event, item or link that the two do not have alike."""
    with source.reading(tenant) as one, target.reading(tenant) as two:
        here, there = (
            chain[Event | Item | Link](
                rows.events_after(tenant, 0), rows.all_items(tenant), rows.all_links(tenant)
            )
            for rows in (one, two)
        )
        return [
            f"{type(mine or other).__name__.lower()}s differ"
            for mine, other in zip_longest(here, there)
            if exact(mine) != exact(other)
        ][:1]


def _draft(record: dict[str, Json]) -> Draft:
    known = {"content", "title", "tags", "kind", "project", "namespace", "metadata"}
    if unknown := sorted(record.keys() - known):
        raise InvalidInput(
            f"the field {unknown[0]!r} is unknown; allowed are {', '.join(sorted(known))}.",
            field=unknown[0],
        )
    same = {name: value for name, value in record.items() if name not in ("content", "metadata")}
    return Draft(
        blocks=(Block(cast(str, record.get("content"))),),
        attributes=cast("dict[str, Json]", record.get("metadata", {})),
        **same,  # type: ignore[arg-type]
    )
