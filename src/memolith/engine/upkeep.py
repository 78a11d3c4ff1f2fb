"""Proving and mending the read models, and carrying a tenant from one place to another."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import cast

from memolith.engine.events import ITEM_EVENTS, LINK_EVENTS, Changes, Event, Replay, fold
from memolith.engine.intake import Intake
from memolith.engine.model import Block, Caller, Draft, Item, Json, Link
from memolith.engine.ports import Reader, Writer
from memolith.engine.verbs import Verbs
from memolith.errors import Conflict, InvalidInput

FORMAT = 1
LEFT_OUT = ("vault values", "client keys", "embedding vectors (made anew after import)")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import brought in."""

    events: int
    items: int
    redactions: Mapping[str, int]


class Upkeep:
    """Verify, rebuild, export and import."""

    def __init__(self, engine: Verbs) -> None:
        self._engine = engine

    def verify(self, progress: Progress | None = None) -> list[str]:
        """Every place where the rows differ from a replay of the log; empty when all is well."""
        problems = [f"database file: {text}" for text in self._engine.store.check()]
        with self._engine.store.reading() as rows:
            total = sum(rows.last_seq(tenant) for tenant in rows.tenants())
            done = 0
            for tenant in rows.tenants():
                for count, found in _differences(rows, tenant):
                    problems += [f"{tenant}: {text}" for text in found]
                    done += count
                    if progress:
                        progress(done, total)
                problems += [f"{tenant}: {text}" for text in rows.index_differences(tenant)]
        return problems

    def rebuild(self, progress: Progress | None = None) -> int:
        """Make the read models anew from the log; returns how many events were replayed."""
        done = 0
        with self._engine.store.reading() as before:
            tenants = before.tenants()
        with self._engine.store.rebuilding() as writer_of:
            for tenant in tenants:
                rows = writer_of(tenant)
                for _, events in streams(rows, tenant):
                    _fill(rows, Replay.of(events), events)
                    done += len(events)
                    if progress:
                        progress(done, rows.last_seq(tenant))
                rows.finish()
        return done

    def export(self, tenant: str) -> Iterator[str]:
        """The tenant as JSON Lines: a header, then its log."""
        with self._engine.store.reading() as rows:
            yield _line({"memolith": FORMAT, "tenant": tenant, "events": rows.last_seq(tenant),
                         "left_out": list(LEFT_OUT)})
            for event in rows.events_after(tenant, 0):
                yield _line({"event": {name: value for name, value in asdict(event).items() if name != "tenant"}})

    def import_(self, caller: Caller, lines: Iterable[str], progress: Progress | None = None) -> Imported:
        """Bring in an export, or plain lines with `content`; wholly or not at all."""
        count = items = 0
        intake = Intake(self._engine.limits, self._engine.secrets)
        with self._engine.store.writing(caller.tenant) as rows:
            states: dict[str, Item | Link | None] = {}
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                record = _parse(line, number)
                if "memolith" in record:
                    _check_header(record)
                elif "event" in record:
                    items += self._import_event(rows, _event(record["event"], number), states, intake, number)
                    count += 1
                else:
                    self._engine.remember_in(rows, caller, _draft(record, number), intake)
                    count, items = count + 1, items + 1
                if progress:
                    progress(count, 0)
        return Imported(count, items, intake.redactions)

    def _import_event(self, rows: Writer, event: Event, states: dict[str, Item | Link | None], intake: Intake,
                      number: int) -> bool:
        if event.stream not in states:
            if rows.events(rows.tenant, event.stream):
                raise Conflict(f"Line {number}: {event.stream} is here already; import into an empty tenant.",
                               id=event.stream)
            states[event.stream] = None
        before = states[event.stream]
        data = intake.without_secrets(event.data)
        stamped = rows.stamp(event.stream, event.version, event.type, data, event.actor, event.at, event.key)
        if not data and event.type not in ("forgotten", "restored", "erased", "unlinked"):
            # Scrubbed when its item was erased: there is nothing to fold.
            rows.append(stamped, Changes())
            return False
        changes = Changes() if before is None and event.type in _LATER else fold(before, stamped)
        rows.append(stamped, changes)
        states[event.stream] = None if changes.gone else changes.item or changes.link or before
        return event.type == "remembered"


_LATER = ("forgotten", "restored", "erased", "unlinked")


def streams(rows: Reader, tenant: str) -> Iterator[tuple[str, list[Event]]]:
    """The log, gathered stream by stream."""
    for stream, events in itertools.groupby(rows.events_by_stream(tenant), key=lambda event: event.stream):
        yield stream, list(events)


def _fill(rows: Writer, state: Replay, events: list[Event]) -> None:
    if isinstance(state.row, Item):
        rows.apply(Changes(item=state.row, keep=0, passages=tuple(state.passages)))
        rows.queue("embed", state.row.id, events[-1].seq, events[-1].at)
    elif isinstance(state.row, Link):
        rows.apply(Changes(link=state.row))


def _differences(rows: Reader, tenant: str) -> Iterator[tuple[int, list[str]]]:
    """Per stream: how many events it has, and what is wrong with its rows."""
    items, links = Counter[str](), Counter[str]()
    for stream, events in streams(rows, tenant):
        state = Replay.of(events)
        found: list[str] = []
        if [event.version for event in events] != list(range(1, len(events) + 1)):
            found.append(f"{stream}: versions have gaps")
        if events[0].type in LINK_EVENTS:
            links[stream] += 1
            if rows.link(tenant, stream) != state.row:
                found.append(f"link {stream} differs from the log")
        else:
            items[stream] += 1
            found += _item_differences(rows, tenant, stream, state)
        yield len(events), found
    yield 0, [f"item {item.id} is not in the log" for item in rows.all_items(tenant) if item.id not in items]
    yield 0, [f"link {link.id} is not in the log" for link in rows.all_links(tenant) if link.id not in links]


def _item_differences(rows: Reader, tenant: str, stream: str, state: Replay) -> list[str]:
    found = []
    if rows.item(tenant, stream) != state.row:
        found.append(f"item {stream} differs from the log")
    if rows.passages(tenant, stream) != state.passages:
        found.append(f"passages of {stream} differ from the log")
    if isinstance(state.row, Item) and rows.tags_of(tenant, stream) != state.row.tags:
        found.append(f"tags of {stream} differ from the log")
    return found


def _line(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


def _parse(line: str, number: int) -> dict[str, Json]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"Line {number} is not JSON: {error.msg}.", field="lines", value=number) from error
    if not isinstance(record, dict):
        raise InvalidInput(f"Line {number} is not a JSON object.", field="lines", value=number)
    return record


def _check_header(record: dict[str, Json]) -> None:
    if record["memolith"] != FORMAT:
        raise InvalidInput(f"This export has format {record['memolith']}; this memolith reads {FORMAT}.",
                           field="memolith")


def _event(raw: Json, number: int) -> Event:
    try:
        event = Event(tenant="", **cast("dict[str, str]", raw))  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidInput(f"Line {number} is not an event of memolith.", field="event", value=number) from error
    if event.type not in ITEM_EVENTS + LINK_EVENTS or not isinstance(event.data, dict):
        raise InvalidInput(f"Line {number} has the unknown event type {event.type!r}.", field="type", value=number)
    return event


def _draft(record: dict[str, Json], number: int) -> Draft:
    known = {"content", "title", "tags", "kind", "project", "namespace", "metadata"}
    if unknown := sorted(record.keys() - known):
        raise InvalidInput(f"Line {number} has the unknown field {unknown[0]!r}; allowed are "
                           f"{', '.join(sorted(known))}.", field=unknown[0], value=number)
    if not isinstance(record.get("content"), str):
        raise InvalidInput(f"Line {number} needs `content` as text.", field="content", value=number)
    return Draft(kind=cast(str, record.get("kind", "memory")), title=cast(str, record.get("title", "")),
                 blocks=(Block(cast(str, record["content"])),), tags=tuple(cast("list[str]", record.get("tags", []))),
                 attributes=cast("dict[str, Json]", record.get("metadata", {})),
                 project=cast("str | None", record.get("project")),
                 namespace=cast("str | None", record.get("namespace")))
