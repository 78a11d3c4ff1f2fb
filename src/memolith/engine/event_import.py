"""Importing lines of JSON: events of an export, or plain texts."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from memolith.domain.attributes import Attributes, Json, exact
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, Changes, Event
from memolith.domain.items import Draft, Item
from memolith.domain.passages import Block
from memolith.engine.recording import refuse_unsound
from memolith.engine.tenant_copy import StreamRows, changes_from
from memolith.engine.validation import (
    Intake,
    callers_metadata,
    checked_text,
    identifier,
    json_object,
    when,
)
from memolith.errors import Conflict, InvalidInput, StoreCorrupt, translated
from memolith.ports.store import Writer

if TYPE_CHECKING:
    from memolith.domain.callers import Caller
    from memolith.engine.writing import Writing

EXPORT_FORMAT = 1
EVENT_TYPES = ITEM_EVENTS + LINK_EVENTS + RECORD_EVENTS
EVENT_NESTING = -5
"""Events hold blocks, which hold attributes: so many levels above what a caller may nest."""
DRAFT_FIELDS = {"content", "title", "tags", "kind", "project", "namespace", "metadata"}
"""What a line without an event may say."""
_encode_sorted = json.JSONEncoder(sort_keys=True).encode
JsonObject = dict[str, Json]
Brought = Literal["item", "event", "known"]
"""What came of a line: a new item, an event of an item, or nothing because it was here already."""


class Line(NamedTuple):
    """One line of an import, and where it stands."""

    number: int
    record: JsonObject


def read_lines(lines: Iterable[str]) -> list[Line]:
    """The lines with an event or a text; an export of another format, or a torn one, is refused."""
    records = []
    for number, text in enumerate(lines, start=1):
        if text.strip():
            records.append(Line(number, json_object(text, f"Line {number}", "lines")))
    event_count = sum("event" in line.record for line in records)
    for line in records:
        if "memolith" in line.record:
            _check_header(line, event_count)
    return [line for line in records if "memolith" not in line.record]


def _check_header(line: Line, event_count: int) -> None:
    if line.record["memolith"] != EXPORT_FORMAT:
        raise InvalidInput(
            f"Line {line.number}: this export has another format than {EXPORT_FORMAT}.",
            field="memolith",
        )
    announced = line.record.get("events", event_count)
    if announced != event_count:
        raise InvalidInput(
            f"The export is torn: it announces {announced} events and holds {event_count}.",
            field="events",
        )


def texts_to_prepare(record: JsonObject) -> Json:
    """The texts of a line that an import redacts and indexes.

    The names of its own fields are left out: they are no labels of secrets.
    """
    return record if "event" in record else list(record.values())


def draft_of(record: JsonObject, id: str | None = None) -> Draft:
    """The draft that a line without an event stands for."""
    unknown = sorted(record.keys() - DRAFT_FIELDS)
    if unknown:
        raise InvalidInput(
            f"the field {unknown[0]!r} is unknown; allowed are {', '.join(sorted(DRAFT_FIELDS))}.",
            field=unknown[0],
        )
    fields = {name: value for name, value in record.items() if name not in ("content", "metadata")}
    return Draft(
        blocks=(Block(cast(str, record.get("content"))),),
        attributes=_metadata_of(record),
        id=id,
        **fields,  # type: ignore[arg-type]
    )


def _metadata_of(record: JsonObject) -> Attributes:
    """The metadata of a line; what is no object is refused with the other fields of the draft."""
    metadata = record.get("metadata", {})
    return callers_metadata(metadata) if isinstance(metadata, dict) else cast(Attributes, metadata)


@dataclass
class TextImport:
    """Remembers plain lines; with a source, each of its lines once."""

    rows: Writer
    caller: Caller
    intake: Intake
    writing: Writing
    source: str | None
    counts: Counter[str]
    """How often each line has come."""
    present_streams: set[str]
    """The streams that are here: those that were before, and those that the import has brought."""

    def __post_init__(self) -> None:
        self._ids: deque[str] = deque()
        """The ids of the expected lines, in their order."""

    def expect(self, records: Iterable[JsonObject]) -> None:
        """Look up together which of these lines are known; they are appended in this order."""
        if self.source is not None:
            ids = [self._id(record, self.source) for record in records]
            self.present_streams |= self.rows.present_streams(self.rows.tenant, ids)
            self._ids.extend(ids)

    def append(self, record: JsonObject) -> Brought:
        """Remember the text of the next line, unless it is known."""
        id = None if self.source is None else self._ids.popleft()
        draft = draft_of(record, id)
        if id in self.present_streams:
            return "known"
        made = self.writing.remember_new(self.rows, self.caller, draft, self.intake)
        self.present_streams.add(made.item.id)
        return "item"

    def _id(self, record: JsonObject, source: str) -> str:
        """The id that the line has whenever it comes from this source.

        A line that comes twice in one import is two items.
        """
        line = _encode_sorted(record)
        self.counts[line] += 1
        identity = json.dumps([source, line, self.counts[line]])
        digest = hashlib.blake2b(identity.encode(), digest_size=16).digest()
        return str(uuid.UUID(bytes=digest, version=5))


@dataclass
class EventImport:
    """Appends the events of an export to a tenant, as they happened."""

    rows: Writer
    intake: Intake
    present_streams: set[str]
    """The streams that are here: those that were before, and those that the import has brought."""
    skips_known: bool = False
    """Whether events that are here already are left out, rather than refused."""
    versions: dict[str, int] = field(default_factory=dict)
    """The version that each stream has reached."""
    earlier_events: dict[str, list[Event]] = field(default_factory=dict)
    """The events that a stream had before its first event of the import."""

    def __post_init__(self) -> None:
        self._stream_rows = StreamRows(self.rows, self.present_streams)

    def expect(self, raw_events: Iterable[Json]) -> None:
        """Look up together which streams of these events are here already."""
        streams = [raw.get("stream") for raw in raw_events if isinstance(raw, dict)]
        named = {stream for stream in streams if isinstance(stream, str)}
        self.present_streams |= self.rows.present_streams(self.rows.tenant, named)

    def append(self, raw: Json) -> Brought:
        """Append one event, and tell what came of it."""
        event = self._parsed(raw)
        if self.skips_known and self._is_known(event):
            return "known"
        event = self._checked(event)
        stamped = self.rows.next_event(
            event.stream, event.version, event.type, event.data, event.actor, event.at, event.key
        )
        with translated(StoreCorrupt, InvalidInput, "{error}", "event"):
            changes = changes_from(self._stream_rows.before(event.stream), stamped)
        if changes.item:
            self._check_item(changes.item, changes)
        self.rows.append(stamped, changes)
        self.versions[event.stream] = event.version
        self._stream_rows.note(event.stream, changes)
        self.present_streams.add(event.stream)
        return "item" if event.type == "remembered" else "event"

    def _is_known(self, event: Event) -> bool:
        """Whether the event is here already; another one in its place is refused."""
        stream = event.stream
        if stream not in self.earlier_events:
            is_here = stream in self.present_streams
            self.earlier_events[stream] = (
                self.rows.events(self.rows.tenant, stream) if is_here else []
            )
            self.versions.setdefault(stream, len(self.earlier_events[stream]))
        if any(earlier.type == "erased" for earlier in self.earlier_events[stream]):
            # An old export does not bring back what was erased for good.
            return True
        for earlier in self.earlier_events[stream]:
            if earlier.version == event.version:
                if _identity(earlier) == _identity(self._without_secrets(event)):
                    return True
                raise Conflict(
                    f"{stream[:100]} has another version {event.version} here; import into an "
                    "empty tenant.",
                    id=stream,
                )
        return False

    def _without_secrets(self, event: Event) -> Event:
        """The event as an import keeps it; nothing is counted."""
        intake = Intake(self.intake.limits, self.intake.policy)
        data = cast(JsonObject, intake.without_secrets(event.data, depth=EVENT_NESTING))
        return event._replace(at=when("at", event.at), data=data)

    def _parsed(self, raw: Json) -> Event:
        """The event that the line holds."""
        with translated(TypeError, InvalidInput, "this is not an event of memolith.", "event"):
            event = Event(tenant="", **cast("dict[str, str]", raw))  # type: ignore[arg-type]
        if event.type not in EVENT_TYPES or not isinstance(event.data, dict):
            raise InvalidInput("the event type is unknown, or there is no data.", field="type")
        identifier(event.stream, "stream")
        return event

    def _checked(self, event: Event) -> Event:
        """The event in our forms, if it can follow what is there."""
        checked_text("actor", event.actor)
        checked_text("key", event.key or "")
        stream = identifier(event.stream, "stream")
        at = when("at", event.at)
        self._check_order(event)
        data = cast(JsonObject, self.intake.without_secrets(event.data, depth=EVENT_NESTING))
        return event._replace(stream=stream, at=at, data=data)

    def _check_order(self, event: Event) -> None:
        tenant = self.rows.tenant
        stream = event.stream
        version = self.versions.get(stream, 0)
        if stream not in self.versions and stream in self.present_streams:
            raise Conflict(
                f"{stream[:100]} is here already; import into an empty tenant.", id=stream
            )
        if event.version != version + 1:
            raise Conflict(
                f"version {event.version} of {stream[:100]} does not follow {version}.", id=stream
            )
        if event.key and self.rows.event_by_key(tenant, event.actor, event.key):
            raise Conflict("its idempotency key is used here already.", field="key", id=stream)

    def _check_item(self, item: Item, changes: Changes) -> None:
        """Refuse an item that no tool would have made."""
        self.intake.draft(
            Draft(
                kind=item.kind,
                title=item.title,
                blocks=(Block("text"),),
                tags=item.tags,
                attributes=item.attributes,
                status=item.status,
                audience=item.audience,
                project=item.project,
                namespace=item.namespace,
            )
        )
        checked_text("owner", item.owner)
        for time in (item.created_at, item.updated_at):
            if when("created_at", time) != time:
                raise InvalidInput(
                    "the times of an item are written like 2026-07-28T12:00:00.000000Z.",
                    field="created_at",
                )
        for passage in changes.passages:
            checked_text("text", passage.text)
            when("at", passage.at)
        refuse_unsound(self.rows, changes)


def _identity(event: Event) -> tuple[object, ...]:
    """What tells an event from another one in its place."""
    return (event.version, event.type, exact(event.data), event.actor, event.at)
