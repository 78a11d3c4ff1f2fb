"""List what happened."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.domain.events import ITEM_EVENTS, LINK_EVENTS, RECORD_EVENTS, EventFilter
from memolith.domain.items import KINDS
from memolith.engine.activity import EventSearch, ListedEvent
from memolith.errors import InvalidInput
from memolith.tools.arguments import Limit, bare_id
from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described

EVENT_TYPES = (*ITEM_EVENTS, *LINK_EVENTS, *RECORD_EVENTS)
MAX_EVENT = 2**62
EventNumber = Annotated[int | None, Field(ge=0, lt=MAX_EVENT)]


class EventEntry(TypedDict):
    """One event of the log, and the item that it is about."""

    event: int
    type: str
    at: str
    by: str
    stream: Annotated[str, Described("The id of the item, link, setting or secret.")]
    id: Annotated[str | None, Described("The item; null if it is gone or was none.")]
    kind: str | None
    title: Annotated[str, Described("Its title, or how its text begins.")]
    about: NotRequired[
        Annotated[str, Described("What it is about if that is no item, as `client key laptop`.")]
    ]
    link_type: NotRequired[str]
    target_id: NotRequired[str]
    target_title: NotRequired[str]
    undoable: Annotated[bool, Described("Whether nothing happened to the same since.")]
    is_undo: Annotated[bool, Described("Whether it took an earlier event back.")]


class EventEntries(TypedDict):
    """The result of `list_events`."""

    events: list[EventEntry]
    next_before: NotRequired[
        Annotated[int, Described("The value of `before` for older events, if there may be some.")]
    ]


@manage.tool(read_only=True)
def list_events(
    call: Call,
    *,
    actor: Annotated[str | None, Field(description="Only what this user did.")] = None,
    types: Annotated[list[str] | None, Field(description="Only events of these types.")] = None,
    item: Annotated[str | None, Field(description="Only this item and its links.")] = None,
    kinds: Annotated[list[str] | None, Field(description="Only items of these kinds.")] = None,
    since: Annotated[str | None, Field(description="From this time on.")] = None,
    until: Annotated[str | None, Field(description="Up to this time.")] = None,
    before: Annotated[EventNumber, Field(description="Only events older than this one.")] = None,
    after: Annotated[EventNumber, Field(description="Only events newer than this one.")] = None,
    limit: Limit = 20,
) -> EventEntries:
    """What happened to the items, links, settings and secrets that you may see, the newest first;
    page on with `before`.
    """
    _refuse_unknown(types, EVENT_TYPES, "types")
    _refuse_unknown(kinds, KINDS, "kinds")
    search = EventSearch(
        chosen=EventFilter(
            after=after or 0,
            before=before,
            actor=actor,
            types=tuple(types or ()),
            kinds=tuple(kinds or ()),
        ),
        item=None if item is None else bare_id(item),
        since=since,
        until=until,
    )
    page = call.engine.activity.events(call.caller, search, limit)
    result: EventEntries = {"events": [_event_entry(listed) for listed in page.events]}
    if page.next_before is not None:
        result["next_before"] = page.next_before
    return result


def _event_entry(listed: ListedEvent) -> EventEntry:
    head = listed.head
    item = listed.item
    entry: EventEntry = {
        "event": head.seq,
        "type": head.type,
        "at": head.at,
        "by": head.actor,
        "stream": head.stream,
        "id": None if item is None else item.id,
        "kind": None if item is None else item.kind,
        "title": listed.title,
        "undoable": listed.undoable,
        "is_undo": head.is_undo,
    }
    if listed.about:
        entry["about"] = listed.about
    if listed.target is not None:
        entry["link_type"] = listed.link_type
        entry["target_id"] = listed.target.id
        entry["target_title"] = listed.target_title
    return entry


def _refuse_unknown(given: list[str] | None, known: tuple[str, ...], field: str) -> None:
    for name in given or ():
        if name not in known:
            raise InvalidInput(
                f"There is no such thing; use one of {', '.join(known)}.", field=field, value=name
            )
