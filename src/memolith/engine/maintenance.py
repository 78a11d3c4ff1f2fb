"""Maintenance: verify and rebuild the rows, export and import a tenant, and how the parts are."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from memolith.domain.callers import Caller
from memolith.domain.events import Changes, Event
from memolith.domain.fold import Replay
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.engine.event_import import (
    EXPORT_FORMAT,
    EventImport,
    Line,
    TextImport,
    read_lines,
    texts_to_prepare,
)
from memolith.engine.progress import Progress, no_progress
from memolith.engine.recall import Recall
from memolith.engine.validation import InputRules, Intake
from memolith.engine.verification import differences
from memolith.engine.work_ahead import WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import InvalidInput, MemolithError
from memolith.ports.store import Store, Writer
from memolith.ports.telemetry import Waiting

STREAMS_PER_TRANSACTION = 100
EVENTS_PER_BATCH = 500
"""A rebuild writes the rows of histories together that have about so many events."""
CHARACTERS_PER_BATCH = 5_000_000
"""A rebuild keeps about so many characters of events in memory, unless one history has more."""
LINES_PER_PART = 50
"""How many lines an import in parts writes before others have their turn."""
LEFT_OUT_OF_EXPORTS = (
    "vault values",
    "client keys",
    "embedding vectors (made anew after import)",
)


class StoreState(NamedTuple):
    """What a store holds: events by tenant, work by state, vectors by model, and what failed."""

    events: dict[str, int]
    outbox: dict[tuple[str, str], int]
    vectors: dict[str, int]
    errors: list[str]


class ImportReport(NamedTuple):
    """How many events and items an import brought, and what was redacted in them."""

    events: int
    items: int
    redactions: dict[str, int]
    known: int = 0
    """How many lines were here already and were left out."""


@dataclass(frozen=True)
class Maintenance:
    """Looks after a store and its tenants."""

    store: Store
    writing: Writing
    input_rules: InputRules
    recall: Recall
    ahead: WorkAhead
    started: float = field(default_factory=time.monotonic)

    @property
    def store_name(self) -> str:
        return self.store.name

    def uptime_s(self) -> float:
        """How long this process has had the engine open."""
        return time.monotonic() - self.started

    def health(self, tenant: str | None = None) -> dict[str, str]:
        """How the parts are, with the waiting work of a tenant or of all.

        Asking starts to load the model.
        """
        with self.store.reading(tenant) as rows:
            outbox = rows.outbox_counts(tenant)
        return {
            "store": "healthy",
            "embeddings": self.recall.state().state,
            "pending": str(outbox.get(("embed", "pending"), 0)),
            "failed": str(outbox.get(("embed", "failed"), 0)),
        }

    def waiting_embeddings(self, tenant: str | None = None) -> Waiting:
        """How many texts of a tenant, or of all, wait for a vector or could not get one."""
        with self.store.reading(tenant) as rows:
            outbox = rows.outbox_counts(tenant)
        return Waiting(outbox.get(("embed", "pending"), 0), outbox.get(("embed", "failed"), 0))

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

    def failures(self, tenant: str) -> list[str]:
        """Why derived work of a tenant was given up, the newest first."""
        with self.store.reading(tenant) as rows:
            prefix = f"{tenant}/"
            return [
                error.removeprefix(prefix)
                for error in rows.outbox_errors()
                if error.startswith(prefix)
            ]

    def state(self) -> StoreState:
        """What the store holds, over all tenants."""
        with self.store.reading(None) as rows:
            return StoreState(
                events={tenant: rows.last_seq(tenant) for tenant in rows.tenants()},
                outbox=rows.outbox_counts(),
                vectors=rows.models(),
                errors=rows.outbox_errors(),
            )

    def verify(self, progress: Progress = no_progress) -> list[str]:
        """Every place where the rows differ from a replay of the log; empty if there is none."""
        problems = [f"database file: {problem}" for problem in self.store.check()]
        with self.store.reading(None) as rows:
            tenants = rows.tenants()
        for tenant in tenants:
            found = differences(self.store, tenant, progress)
            problems += [f"{tenant}: {problem}" for problem in found]
        return problems

    def rebuild(self, progress: Progress = no_progress) -> int:
        """Make the rows again from the log; returns how many events were replayed."""
        done = 0
        with self.store.reading(None) as before:
            tenants = before.tenants()
        with self.store.rebuilding() as writer_of:
            for tenant in tenants:
                rows = writer_of(tenant)
                for histories in _histories_in_parts(rows, tenant):
                    with rows.batch():
                        for events in histories:
                            _rebuild_stream(rows, events)
                    done += sum(map(len, histories))
                    progress(done, rows.last_seq(tenant))
                rows.write_totals()
        return done

    def reindex(self, tenant: str, progress: Progress = no_progress) -> int:
        """Make the rows and the text index of one tenant again; returns how many events it has.

        Others write in between: each transaction takes a few items, and each item is whole.
        """
        done = 0
        with self.store.reading(tenant) as before:
            streams = list(before.streams(tenant))
            total = before.last_seq(tenant)
        for start in range(0, len(streams), STREAMS_PER_TRANSACTION):
            with self.store.writing(tenant) as rows:
                for stream in streams[start : start + STREAMS_PER_TRANSACTION]:
                    done += _reindex_stream(rows, tenant, stream)
                rows.write_totals()
            progress(done, total)
        return done

    def export(self, tenant: str) -> Iterator[str]:
        """The tenant as JSON Lines: a header, then its log."""
        with self.store.reading(tenant) as rows:
            header = {
                "memolith": EXPORT_FORMAT,
                "tenant": tenant,
                "events": rows.last_seq(tenant),
                "left_out": LEFT_OUT_OF_EXPORTS,
            }
            yield _json_line(header)
            for event in rows.events_after(tenant, 0):
                yield _json_line({"event": _exported(event)})

    def import_(
        self,
        caller: Caller,
        lines: Iterable[str],
        progress: Progress = no_progress,
        source: str | None = None,
        in_parts: bool = False,
    ) -> ImportReport:
        """Bring in an export, or plain lines with `content`, wholly or not at all.

        Others cannot write to a data folder until all lines are written. With `in_parts`, which
        needs a source, each part is whole and others write in between; if it fails in the middle,
        the same import goes on where it stopped.

        With a source, what an earlier import of the same content from there brought is left out,
        and so are events of an export that are here already. Without one, events that are here
        are refused.
        """
        # Read first: somebody who waits for their input must not keep others from writing. So must
        # nobody who shows the progress, or who redacts.
        if in_parts and source is None:
            raise InvalidInput("An import in parts needs a source.", field="source")
        records = read_lines(lines)
        part_lines = LINES_PER_PART if in_parts else max(1, len(records))
        run = _ImportRun(self, caller, source, self.input_rules.intake())
        for start in range(0, len(records), part_lines):
            part = records[start : start + part_lines]

            def tell(done: int, _: int, start: int = start) -> None:
                progress(start + done, len(records))

            with (
                self.ahead.on(
                    caller.tenant, [texts_to_prepare(line.record) for line in part], tell
                ),
                self.store.writing(caller.tenant) as rows,
            ):
                run.keep(rows, part)
        return ImportReport(
            len(records) - run.known, run.new_items, dict(run.intake.redactions), run.known
        )


@dataclass
class _ImportRun:
    """What became of the lines of one import so far."""

    maintenance: Maintenance
    caller: Caller
    source: str | None
    intake: Intake
    new_items: int = 0
    known: int = 0

    def __post_init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def keep(self, rows: Writer, lines: Sequence[Line]) -> None:
        """Append these lines in one transaction."""
        present: set[str] = set()
        events = EventImport(rows, self.intake, present, skips_known=self.source is not None)
        texts = TextImport(
            rows,
            self.caller,
            self.intake,
            self.maintenance.writing,
            self.source,
            self.counts,
            present,
        )
        texts.expect(line.record for line in lines if "event" not in line.record)
        events.expect(line.record["event"] for line in lines if "event" in line.record)
        with rows.batch():
            self._append(events, texts, lines)

    def _append(self, events: EventImport, texts: TextImport, lines: Sequence[Line]) -> None:
        for number, record in lines:
            try:
                if "event" not in record:
                    brought = texts.append(record)
                else:
                    brought = events.append(record["event"])
            except MemolithError as error:
                error.message = f"Line {number}: {error.message}"
                error.value = number
                error.args = (error.message,)
                raise
            self.new_items += brought == "item"
            self.known += brought == "known"


def _histories_in_parts(rows: Writer, tenant: str) -> Iterator[list[list[Event]]]:
    """The histories of a tenant, as many at once as are short enough together."""
    part: list[list[Event]] = []
    events_in_part = 0
    characters_in_part = 0
    for stream in rows.streams(tenant):
        events = rows.events(tenant, stream)
        part.append(events)
        events_in_part += len(events)
        characters_in_part += sum(map(_text_length, events))
        if events_in_part >= EVENTS_PER_BATCH or characters_in_part >= CHARACTERS_PER_BATCH:
            yield part
            part = []
            events_in_part = 0
            characters_in_part = 0
    if part:
        yield part


def _text_length(event: Event) -> int:
    """How many characters of text an event holds."""
    blocks = cast("list[dict[str, str]]", event.data.get("blocks") or [])
    return sum(len(block.get("text", "")) for block in blocks)


def _rebuild_stream(rows: Writer, events: list[Event]) -> None:
    """Write the row of one item or link again, given its history."""
    state = Replay.of(events)
    if isinstance(state.row, Item):
        rows.apply(Changes(item=state.row, keep=0, passages=tuple(state.passages)))
        rows.queue("embed", events[-1].stream, events[-1].seq)
    elif state.row:
        rows.apply(Changes(link=state.row))


def _reindex_stream(rows: Writer, tenant: str, stream: str) -> int:
    """Write one item or link again in its place; vectors of a text that is the same stay."""
    events = rows.events(tenant, stream)
    state = Replay.of(events)
    if isinstance(state.row, Link):
        rows.apply(Changes(link=state.row))
    elif state.row:
        before = rows.item(tenant, stream)
        if before is not None and rows.passages(tenant, stream) == state.passages:
            rows.apply(Changes(before=before, item=state.row))
            rows.index_again(state.row)
        else:
            passages = tuple(state.passages)
            rows.apply(Changes(before=before, item=state.row, keep=0, passages=passages))
            rows.queue("embed", stream, events[-1].seq)
    return len(events)


def _exported(event: Event) -> dict[str, object]:
    """The event without its tenant, which an import may give another name."""
    fields = event._asdict()
    del fields["tenant"]
    return fields


def _json_line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True)
