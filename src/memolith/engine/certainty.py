"""How certain a concept is: as somebody has said, or computed from its text and its links."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple, cast

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.events import Event
from memolith.domain.fold import fold
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage
from memolith.domain.queries import Filter
from memolith.engine.statements import (
    NEAR_COPY,
    Facts,
    facts,
    facts_contradict,
    gist,
    shared_share,
    shingles,
)
from memolith.engine.validation import checked_text, when
from memolith.errors import InvalidInput
from memolith.ports.store import Reader, Writer

CONCEPTS = Filter(kinds=("concept",))
GIVEN = "given"
COMPUTED = "computed"
CONCEPT_EVENTS = ("remembered", "revised", "restored")
"""The events after which the certainty of a concept is computed again."""
TEXT_ATTRIBUTES = ("area", "topic", "subtopic", "reviewed_at")

HALF_LIFE_DAYS = 365
"""After how many days without a review a computed certainty is halved."""
BASE_CERTAINTY = 15
LENGTH_WEIGHT = 35
WORDS_TO_HALF_LENGTH = 30
DETAIL_WEIGHT = 20
TELLING_WORDS_FOR_FULL_DETAIL = 6
LINKS_WEIGHT = 30
LINKS_TO_HALF_WEIGHT = 4
FACTOR_PER_NEAR_COPY = 0.9
FACTOR_PER_CONTRADICTION = 0.7


class Evidence(NamedTuple):
    """What speaks for a concept and against it, and how much each part counts."""

    words: int
    length_points: float
    telling_words: int
    """How many numbers, names, dates and negations its text has."""
    detail_points: float
    links: int
    link_points: float
    near_copies: tuple[str, ...]
    """Other concepts that say nearly the same."""
    contradictions: tuple[str, ...]
    """Other concepts that say nearly the same, and differ in a fact."""

    @property
    def score(self) -> float:
        """The certainty that follows, before it fades with age."""
        points = BASE_CERTAINTY + self.length_points + self.detail_points + self.link_points
        return points * self.near_copies_factor * self.contradictions_factor

    @property
    def near_copies_factor(self) -> float:
        return float(FACTOR_PER_NEAR_COPY ** len(self.near_copies))

    @property
    def contradictions_factor(self) -> float:
        return float(FACTOR_PER_CONTRADICTION ** len(self.contradictions))


class _Statement(NamedTuple):
    """What a concept says, as far as it is compared with others."""

    facts: Facts
    sequences: set[tuple[str, ...]]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> "_Statement":
        text = gist(text_of(passages))
        return cls(facts(text), shingles(text))


class _Statements:
    """What concepts say, each read once: many that are alike are compared each with each."""

    def __init__(self, rows: Reader, tenant: str) -> None:
        self._rows = rows
        self._tenant = tenant
        self._known: dict[str, _Statement] = {}

    def of(self, ids: Iterable[str]) -> list[_Statement]:
        """What these concepts say; those without text are left out."""
        ids = sorted(ids)
        missing = [id for id in ids if id not in self._known]
        for id in missing:
            # One at a time, because all of them together may be large.
            for passages in self._rows.passages_of(self._tenant, [id]).values():
                self._known[id] = _Statement.of(passages)
        return [self._known[id] for id in ids if id in self._known]


def certainty_of(item: Item, now: str) -> float:
    """How certain a concept is at that time, 0 to 100, as the stores compute it, too."""
    score = cast(float, item.attributes.get("certainty_score") or 0.0)
    if item.attributes.get("certainty_source") == GIVEN:
        return score
    return round(score * fading(age_days(item, now)), 2)


def fading(days: int) -> float:
    """What is left of a computed certainty after so many days."""
    return float(0.5 ** (days / HALF_LIFE_DAYS))


def age_days(item: Item, now: str) -> int:
    """How many days ago a concept was written or reviewed last."""
    reviewed_at = cast(str, item.attributes.get("reviewed_at") or item.created_at)
    age = date.fromisoformat(now[:10]) - date.fromisoformat(reviewed_at[:10])
    return max(0, age.days)


def with_certainty(rows: Reader, before: Item | Link | None, event: Event) -> Event:
    """The event of a concept with the certainty that follows from it, unless somebody gave one.

    What no reader of concepts could use is refused here, whichever tool writes it.
    """
    kind = before.kind if isinstance(before, Item) else event.data.get("kind")
    if kind != "concept" or event.type not in CONCEPT_EVENTS:
        return event
    changes = fold(before, event)
    item = cast(Item, changes.item)
    _check_attributes(item.attributes)
    if item.attributes.get("certainty_source") == GIVEN:
        return event
    passages = changes.passages or rows.passages(event.tenant, item.id)
    attributes = cast(Attributes, event.data.get("attributes") or {})
    statements = _Statements(rows, event.tenant)
    computed = {**attributes, **_computed_attributes(rows, item, passages, statements)}
    return event._replace(data={**event.data, "attributes": computed})


def _check_attributes(attributes: Attributes) -> None:
    for name in TEXT_ATTRIBUTES:
        checked_text(name, cast(str, attributes.get(name, "")))
    if "reviewed_at" in attributes:
        when("reviewed_at", cast(str, attributes["reviewed_at"]))
    score = attributes.get("certainty_score", 0)
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if not is_number or not 0 <= cast(float, score) <= 100:
        raise InvalidInput("The certainty must lie between 0 and 100.", field="certainty_score")


def affected_by(rows: Reader, row: Item | Link | None) -> set[str]:
    """The items whose certainty depends on this link or concept.

    Ask before a change and after it: the answer may differ.
    """
    if isinstance(row, Link):
        return {row.source, row.target}
    if row is None or row.kind != "concept":
        return set()
    passages = rows.passages(row.tenant, row.id)
    return _similar_concepts(rows, row, passages) if passages else set()


def compute_again(rows: Writer, ids: Iterable[str], actor: str, now: str) -> None:
    """Record the certainty of the concepts among these items, where it has changed."""
    ids = set(ids)
    if not ids:
        return
    statements = _Statements(rows, rows.tenant)
    for item in rows.items(rows.tenant, ids).values():
        if item.kind != "concept" or item.attributes.get("certainty_source") == GIVEN:
            continue
        passages = rows.passages(rows.tenant, item.id)
        computed = _computed_attributes(rows, item, passages, statements)
        if computed["certainty_score"] == item.attributes.get("certainty_score"):
            continue
        data: dict[str, Json] = {"attributes": computed}
        event = rows.next_event(item.id, item.version + 1, "appraised", data, actor, now)
        rows.append(event, fold(item, event))


def _computed_attributes(
    rows: Reader, item: Item, passages: Sequence[Passage], statements: _Statements
) -> dict[str, Json]:
    score = _evidence(rows, item, passages, statements).score
    return {"certainty_score": round(score, 1), "certainty_source": COMPUTED}


def evidence_of(rows: Reader, item: Item, passages: Sequence[Passage]) -> Evidence:
    """What a computed certainty follows from, as things are now."""
    return _evidence(rows, item, passages, _Statements(rows, item.tenant))


def _evidence(
    rows: Reader, item: Item, passages: Sequence[Passage], statements: _Statements
) -> Evidence:
    """A long and detailed text and many links raise the score; contradictions lower it."""
    ours = _Statement.of(passages)
    found = ours.facts
    word_count = len(found.words)
    length = 1 - 2 ** (-word_count / WORDS_TO_HALF_LENGTH)
    telling = min(len(found.telling) / TELLING_WORDS_FOR_FULL_DETAIL, 1)
    variety = len(set(found.words)) / max(word_count, 1)
    everybody = Caller(item.tenant, admin=True)
    links = rows.steps(everybody, Filter(forgotten=None), [item.id], "both")
    linked = 1 - 2 ** (-len(links) / LINKS_TO_HALF_WEIGHT)
    near_copies = []
    contradictions = []
    for id in sorted(_similar_concepts(rows, item, passages)):
        for theirs in statements.of([id]):
            if shared_share(ours.sequences, theirs.sequences) < NEAR_COPY:
                continue
            if facts_contradict(ours.facts, theirs.facts):
                contradictions.append(id)
            else:
                near_copies.append(id)
    return Evidence(
        words=word_count,
        length_points=LENGTH_WEIGHT * length,
        telling_words=len(found.telling),
        detail_points=DETAIL_WEIGHT * (telling + variety) / 2,
        links=len(links),
        link_points=LINKS_WEIGHT * linked,
        near_copies=tuple(near_copies),
        contradictions=tuple(contradictions),
    )


def _similar_concepts(rows: Reader, item: Item, passages: Sequence[Passage]) -> set[str]:
    """The ids of the other concepts that may say nearly the same."""
    owner = Caller(item.tenant, item.owner, item.project)
    return rows.items_like(owner, passages[0].text, len(passages), CONCEPTS) - {item.id}
