"""How sure a concept is: computed from its text, its links and other concepts, unless somebody has said so."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import cast

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.domain.fold import fold
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage
from memolith.domain.queries import Filter
from memolith.engine.statements import NEAR_COPY, contradicts, facts, overlap
from memolith.engine.validation import plain, when
from memolith.errors import InvalidInput
from memolith.ports.store import Reader, Writer

HALF_LIFE_DAYS = 365
TWIN = 0.9
RIVAL = 0.7
CONCEPTS = Filter(kinds=("concept",))


def certainty_of(item: Item, now: str) -> float:
    """How sure a concept is at that time, 0 to 100, as the stores compute it too."""
    score = cast(float, item.attributes.get("certainty_score") or 0.0)
    if item.attributes.get("certainty_source") == "given":
        return score
    reviewed = cast(str, item.attributes.get("reviewed_at") or item.created_at)
    age_days = (date.fromisoformat(now[:10]) - date.fromisoformat(reviewed[:10])).days
    return round(score * float(0.5 ** (max(0, age_days) / HALF_LIFE_DAYS)), 2)


def completed(rows: Reader, before: Item | Link | None, event: Event) -> Event:
    """The event of a concept with what the concept is worth after it, unless somebody said how sure he is."""
    kind = before.kind if isinstance(before, Item) else event.data.get("kind")
    if kind != "concept" or event.type not in ("remembered", "revised", "restored"):
        return event
    changes = fold(before, event)
    attributes = (item := cast(Item, changes.item)).attributes
    # What no reader of concepts could use is refused, whichever family writes it.
    for name in ("area", "topic", "subtopic", "reviewed_at"):
        plain(name, cast(str, attributes.get(name, "")))
    when("reviewed_at", cast(str, attributes.get("reviewed_at", "2000-01-01")))
    score = attributes.get("certainty_score", 0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
        raise InvalidInput("The certainty must lie between 0 and 100.", field="certainty_score")
    if attributes.get("certainty_source") == "given":
        return event
    worth = _worth(rows, item, changes.passages or rows.passages(event.tenant, item.id))
    given = cast(Attributes, event.data.get("attributes") or {})
    return event._replace(data={**event.data, "attributes": {**given, **worth}})


def shaken(rows: Reader, row: Item | Link | None) -> set[str]:
    """The other items whose evidence this link or concept is; before a change and after it that may differ."""
    if isinstance(row, Link):
        return {row.source, row.target}
    passages = rows.passages(row.tenant, row.id) if row and row.kind == "concept" else []
    return _alike(rows, row, passages) if row and passages else set()


def appraise_again(rows: Writer, ids: Iterable[str], actor: str, now: str) -> None:
    """Record what the concepts among these items are worth now, where that has changed."""
    for item in rows.items(rows.tenant, set(ids)).values():
        if item.kind == "concept" and item.attributes.get("certainty_source") != "given":
            worth = _worth(rows, item, rows.passages(rows.tenant, item.id))
            if worth["certainty_score"] != item.attributes.get("certainty_score"):
                event = rows.next_event(
                    item.id, item.version + 1, "appraised", {"attributes": worth}, actor, now
                )
                rows.append(event, fold(item, event))


def _worth(rows: Reader, item: Item, passages: Sequence[Passage]) -> dict[str, Json]:
    told = facts(text := text_of(passages))
    length = 1 - 2 ** (-len(told.words) / 30)
    specific = (min(len(told.telling) / 6, 1) + len(set(told.words)) / max(len(told.words), 1)) / 2
    links = rows.steps(Caller(item.tenant, admin=True), Filter(forgotten=None), [item.id], "both")
    worth = 15 + 35 * length + 20 * specific + 30 * (1 - 2 ** (-len(links) / 4))
    for other in rows.passages_of(item.tenant, _alike(rows, item, passages)).values():
        if overlap(text, text_of(other)) >= NEAR_COPY:
            worth *= RIVAL if contradicts(text, text_of(other)) else TWIN
    return {"certainty_score": round(worth, 1), "certainty_source": "computed"}


def _alike(rows: Reader, item: Item, passages: Sequence[Passage]) -> set[str]:
    owner = Caller(item.tenant, item.owner, item.project)
    return rows.items_like(owner, passages[0].text, len(passages), CONCEPTS) - {item.id}
