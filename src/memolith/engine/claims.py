"""What texts claim: the same or the contrary, which vectors cannot tell, and how sure that leaves a concept."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple, cast

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import chunk
from memolith.domain.events import Event
from memolith.domain.fold import fold
from memolith.domain.items import Item, Similar
from memolith.domain.links import Link
from memolith.domain.passages import Passage
from memolith.domain.queries import Filter
from memolith.engine.tables import TABLES
from memolith.engine.validation import plain, when
from memolith.errors import InvalidInput
from memolith.ports.store import Reader, Writer

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_NEGATIONS, _DATES, _NUMBERS = (
    frozenset(TABLES[name].split()) for name in ("negations", "dates", "numbers")
)
SHINGLE, NEAR, TWIN, RIVAL = 3, 0.6, 0.9, 0.7
HALF_LIFE_DAYS = 365
CONCEPTS = Filter(kinds=("concept",))


class Facts(NamedTuple):
    """The words of a text that a small change turns into another statement."""

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    negations: tuple[str, ...]

    @property
    def telling(self) -> frozenset[str]:
        return frozenset((*self.numbers, *self.dates, *self.names, *self.negations))


def facts(text: str) -> Facts:
    words = _WORD.findall(text.replace("’", "'"))
    lower = [word.lower() for word in words]
    return Facts(
        numbers=tuple(word for word in lower if word in _NUMBERS or any(c.isdigit() for c in word)),
        dates=tuple(word for word in lower if word in _DATES),
        names=tuple(
            word.removesuffix("'s").lower()
            for word in words
            if word[0].isupper() and word.lower() not in _DATES and len(word) > 1
        ),
        words=tuple(word.removesuffix("'s") for word in lower),
        negations=tuple(word for word in lower if word in _NEGATIONS or word.endswith("n't")),
    )


def contradicts(first: str, second: str) -> bool:
    """Whether the texts differ in a number, a date, a name or a negation, so that one is not a copy of the other."""
    one, two = facts(first), facts(second)
    pairs = (
        (one.numbers, two.numbers, two.numbers, one.numbers),
        (one.dates, two.dates, two.dates, one.dates),
        (one.names, two.words, two.names, one.words),
    )
    # Two negations cancel each other. Each side must have a word, or one more of it, that the other lacks: a lone one
    # was merely added or dropped.
    return len(one.negations) % 2 != len(two.negations) % 2 or any(
        Counter(first) - Counter(among) and Counter(second) - Counter(others)
        for first, among, second, others in pairs
    )


def known(rows: Reader, caller: Caller, kind: str, text: str, but: str = "") -> tuple[Similar, ...]:
    """The items of a kind, but one, with a text or with most of its word sequences, the nearest first."""
    pieces, among = chunk(text), Filter(kinds=(kind,))
    if not (ids := rows.items_like(caller, pieces[0], len(pieces), among) - {but}):
        return ()
    titles, texts = rows.items(caller.tenant, ids), rows.passages_of(caller.tenant, ids)
    found = []
    for id in ids:
        exact = same(other := text_of(texts[id]), text)
        if (share := 1.0 if exact else round(overlap(text, other), 3)) >= NEAR:
            found.append(Similar(id, titles[id].title, share, exact))
    return tuple(sorted(found, key=lambda one: (not one.exact, -one.similarity, one.id)))


def overlap(first: str, second: str) -> float:
    """The share of three-word sequences that two texts have in common."""
    one, two = shingles(first), shingles(second)
    return len(one & two) / len(one | two) if one and two else 0.0


def shingles(text: str) -> set[tuple[str, ...]]:
    """The three-word sequences of a text; a shorter text is one sequence."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[n : n + SHINGLE]) for n in range(max(1, len(words) - SHINGLE + 1))}


def same(first: str, second: str) -> bool:
    """Whether two texts are equal but for case and white space."""
    return first.casefold().split() == second.casefold().split()


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
        if overlap(text, text_of(other)) >= NEAR:
            worth *= RIVAL if contradicts(text, text_of(other)) else TWIN
    return {"certainty_score": round(worth, 1), "certainty_source": "computed"}


def _alike(rows: Reader, item: Item, passages: Sequence[Passage]) -> set[str]:
    owner = Caller(item.tenant, item.owner, item.project)
    return rows.items_like(owner, passages[0].text, len(passages), CONCEPTS) - {item.id}
