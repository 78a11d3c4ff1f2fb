"""Importing lines of JSON: events of an export, or plain texts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from memolith.domain.attributes import Json
from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, Changes, Event
from memolith.domain.items import Draft, Item
from memolith.domain.passages import Block
from memolith.engine.recording import refuse_unsound
from memolith.engine.tenant_copy import changes_of
from memolith.engine.validation import Intake, checked_text, identifier, json_object, when
from memolith.errors import Conflict, InvalidInput, StoreCorrupt, translated
from memolith.ports.store import Writer

EXPORT_FORMAT = 1
EVENT_TYPES = ITEM_EVENTS + LINK_EVENTS + RECORD_EVENTS
EVENT_NESTING = -5
"""Events hold blocks, which hold attributes: so many levels above what a caller may nest."""
DRAFT_FIELDS = {"content", "title", "tags", "kind", "project", "namespace", "metadata"}
"""What a line without an event may say."""
JsonObject = dict[str, Json]


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


def draft_of(record: JsonObject) -> Draft:
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
        attributes=cast(JsonObject, record.get("metadata", {})),
        **fields,  # type: ignore[arg-type]
    )


@dataclass
class EventImport:
    """Appends the events of an export to a tenant, as they happened."""

    rows: Writer
    intake: Intake
    versions: dict[str, int] = field(default_factory=dict)
    """The version that each stream has reached."""

    def append(self, raw: Json) -> bool:
        """Append one event; returns whether it made an item."""
        event = self._checked(raw)
        stamped = self.rows.next_event(
            event.stream, event.version, event.type, event.data, event.actor, event.at, event.key
        )
        with translated(StoreCorrupt, InvalidInput, "{error}", "event"):
            changes = changes_of(self.rows, stamped)
        if changes.item:
            self._check_item(changes.item, changes)
        self.rows.append(stamped, changes)
        self.versions[event.stream] = event.version
        return event.type == "remembered"

    def _checked(self, raw: Json) -> Event:
        """The event that the line holds, if it can follow what is there."""
        with translated(TypeError, InvalidInput, "this is not an event of memolith.", "event"):
            event = Event(tenant="", **cast("dict[str, str]", raw))  # type: ignore[arg-type]
        if event.type not in EVENT_TYPES or not isinstance(event.data, dict):
            raise InvalidInput("the event type is unknown, or there is no data.", field="type")
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
        if not version and self.rows.events(tenant, stream):
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
        for passage in changes.passages:
            checked_text("text", passage.text)
            when("at", passage.at)
        refuse_unsound(self.rows, changes)
