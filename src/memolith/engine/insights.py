"""What memories have in common: duplicates, themes and habits."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Generic, NamedTuple, TypeVar

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.queries import Filter, Query
from memolith.engine.recall import Pair, Recall
from memolith.engine.statements import NEAR_COPY, contradicts, overlap
from memolith.errors import Unavailable
from memolith.ports.analyst import Analyst, FoundInsight, Memory
from memolith.ports.clock import Clock
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.store import Store

MAX_PAIRS = 2000
MIN_SIMILARITY_IN_THEME = 0.78
MAX_STEADY_CHANGE = 0.25
"""How far the number of memories may rise or fall, as a share of its mean, to be called stable."""
TOP_TOPICS = 10
PEAK_HOURS = 3
Value = TypeVar("Value")


class Answer(NamedTuple, Generic[Value]):
    """What an analyst answered, which one it was, and why others did not."""

    value: Value
    method: str
    warnings: list[str]


class Duplicates(NamedTuple):
    """Pairs of memories that say nearly the same, and what the caller should know."""

    pairs: list[Pair]
    warnings: list[str]


class Themes(NamedTuple):
    """Insights with a summary, how many memories they come from, and who found them."""

    insights: list[FoundInsight]
    summary: str
    memories_read: int
    method: str
    warnings: list[str]


class Habits(NamedTuple):
    """What a user wrote about in the last days, and when."""

    top_topics: list[tuple[str, int]]
    trend: str
    peak_hours: list[int]
    namespaces: Counter[str | None]


class Group(NamedTuple):
    """Ids that belong together, in order, and the lowest similarity that brought them together."""

    ids: list[str]
    similarity: float


@dataclass(frozen=True)
class Insights:
    """Asks the first analyst that answers; the last one always does."""

    store: Store
    clock: Clock
    recall: Recall
    find_analysts: Callable[[], Sequence[Analyst]]
    """Called when they are first needed, because the built-in one reads its word lists then."""

    @property
    def analysts(self) -> Sequence[Analyst]:
        """Those who are asked, the built-in one last."""
        return self.find_analysts()

    def ask(self, question: Callable[[Analyst], Value]) -> Answer[Value]:
        """Put a question to the analysts in turn until one of them answers."""
        *others, builtin = self.analysts
        warnings: list[str] = []
        for analyst in others:
            try:
                return Answer(question(analyst), analyst.name, warnings)
            except Unavailable as error:
                warnings.append(f"{analyst.name}: {error.message} Done by the built-in analyst.")
        return Answer(question(builtin), builtin.name, warnings)

    def texts(self, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
        """The items as text, title first where the text does not begin with it."""
        with self.store.reading(caller.tenant) as rows:
            items = rows.items(caller.tenant, ids)
            passages = rows.passages_of(caller.tenant, ids)
        return {id: embedded(items[id].title, None, text_of(passages[id])) for id in ids}

    def duplicates(
        self, caller: Caller, chosen: Filter, threshold: float, tell: Callable[[int, int], None]
    ) -> Duplicates:
        """Pairs that say nearly the same without a contradiction, the most similar first."""
        found = self.recall.pairs(caller, chosen, threshold, MAX_PAIRS, tell)
        warnings = list(found.warnings)
        if len(found.pairs) == MAX_PAIRS:
            warnings.append(
                f"There are more than {MAX_PAIRS:,} similar pairs; the closest of them were "
                "looked at."
            )
        ids = {item.id for pair in found.pairs for item in (pair.first, pair.second)}
        texts = self.texts(caller, list(ids))
        pairs = [pair for pair in found.pairs if _says_the_same(pair, texts)]
        return Duplicates(pairs, warnings)

    def themes(self, caller: Caller, chosen: Filter, topic: str, limit: int) -> Themes:
        """What the newest memories, or those about a topic, have in common."""
        ids = self._memories_about(caller, chosen, topic, limit)
        texts = self.texts(caller, ids)
        warnings: list[str] = []
        pairs: list[Pair] = []
        if ids:
            among = Filter(kinds=chosen.kinds, ids=tuple(ids))
            found = self.recall.pairs(
                caller, among, MIN_SIMILARITY_IN_THEME, MAX_PAIRS, lambda done, total: None
            )
            pairs = found.pairs
            warnings = list(found.warnings)
        groups = [[Memory(id, texts[id]) for id in group.ids] for group in grouped(ids, pairs)]
        groups.sort(key=len, reverse=True)
        answer = self.ask(lambda analyst: analyst.insights(groups, topic))
        return Themes(
            insights=answer.value.insights,
            summary=answer.value.summary,
            memories_read=len(ids),
            method=answer.method,
            warnings=[*warnings, *answer.warnings],
        )

    def _memories_about(self, caller: Caller, chosen: Filter, topic: str, limit: int) -> list[str]:
        if topic:
            query = Query(topic, chosen, limit=limit, per_item=True)
            return [hit.item.id for hit in self.recall.search(caller, query).hits]
        with self.store.reading(caller.tenant) as rows:
            page = rows.list_items(caller, chosen, limit=limit, counted=False)
        return [item.id for item in page.items]

    def habits(self, caller: Caller, chosen: Filter, days: int) -> Habits:
        """What a user wrote about in the last days, and when."""
        first_day = date.fromisoformat(self.clock.now()[:10]) - timedelta(days=days - 1)
        recent = replace(chosen, since=first_day.isoformat())
        with self.store.reading(caller.tenant) as rows:
            items = rows.list_items(caller, recent, limit=NO_LIMIT, counted=False).items
            topic_ids = {str(item.attributes.get("topic_id")) for item in items}
            topic_items = rows.items(caller.tenant, topic_ids)
        topics: Counter[str] = Counter()
        for item in items:
            topic = topic_items.get(str(item.attributes.get("topic_id")))
            if topic:
                topics[topic.title] += 1
        for item in items:
            topics.update(item.tags)
        per_day = Counter(
            (date.fromisoformat(item.created_at[:10]) - first_day).days for item in items
        )
        per_hour = Counter(int(item.created_at[11:13]) for item in items)
        return Habits(
            top_topics=topics.most_common(TOP_TOPICS),
            trend=_trend(per_day, days),
            peak_hours=sorted(hour for hour, _ in per_hour.most_common(PEAK_HOURS)),
            namespaces=Counter(item.namespace for item in items),
        )


def _says_the_same(pair: Pair, texts: dict[str, str]) -> bool:
    first = texts[pair.first.id]
    second = texts[pair.second.id]
    if contradicts(first, second):
        return False
    if pair.first.passages == pair.second.passages == 1:
        return True
    # Vectors compare how long texts begin, so their words must agree, too.
    return overlap(first, second) >= NEAR_COPY


def _trend(per_day: Counter[int], days: int) -> str:
    """Whether a straight line through the days rises or falls by much of their mean."""
    middle = (days - 1) / 2
    covariance = sum(per_day[day] * (day - middle) for day in range(days))
    variance = sum((day - middle) ** 2 for day in range(days)) or 1
    rise = days * covariance / variance
    mean = per_day.total() / days
    if abs(rise) <= MAX_STEADY_CHANGE * mean:
        return "stable"
    return "increasing" if rise > 0 else "decreasing"


def _always_fit(ours: set[str], theirs: set[str]) -> bool:
    return True


def grouped(
    ids: Collection[str],
    pairs: Iterable[Pair],
    fit: Callable[[set[str], set[str]], bool] = _always_fit,
) -> list[Group]:
    """Every id in a group with those it is paired with, as far as whole groups fit together."""
    group_of = {id: {id} for id in ids}
    similarity_of = dict.fromkeys(ids, 1.0)
    position_of = {id: position for position, id in enumerate(ids)}
    for pair in pairs:
        ours = group_of.get(pair.first.id)
        theirs = group_of.get(pair.second.id)
        if ours is None or theirs is None or ours is theirs or not fit(ours, theirs):
            continue
        ours |= theirs
        lowest = min(pair.similarity, *(similarity_of[id] for id in ours))
        for id in theirs:
            group_of[id] = ours
        for id in ours:
            similarity_of[id] = lowest
    groups = []
    for id in ids:
        members = sorted(group_of[id], key=position_of.__getitem__)
        if members[0] == id:
            groups.append(Group(members, similarity_of[id]))
    return groups
