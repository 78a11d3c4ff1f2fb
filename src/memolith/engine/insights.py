"""What memories have in common: tags, duplicates, themes and habits, found by an analyst and by counting."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple, TypeVar

from memolith.domain.blocks import text_of
from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Item
from memolith.domain.queries import Filter, Query
from memolith.engine.claims import NEAR, contradicts, overlap
from memolith.engine.recall import Recall
from memolith.engine.writing import Verbs
from memolith.errors import Unavailable
from memolith.ports.analyst import Analyst, Finding
from memolith.ports.event_log import NO_LIMIT

MOST_PAIRS = 2000
ALIKE, ON_TOPIC, STEADY = 0.78, 0.5, 0.25
Answer = TypeVar("Answer")
# Two memories, and how similar they are.
Pair = tuple[Item, Item, float]


class Insights(NamedTuple):
    """Asks the first analyst that answers; the last one always does."""

    engine: Verbs
    search: Recall
    analysts: Sequence[Analyst]

    def ask(self, question: Callable[[Analyst], Answer]) -> tuple[Answer, str, list[str]]:
        """The answer, who gave it, and why others did not."""
        warnings: list[str] = []
        for analyst in self.analysts[:-1]:
            try:
                return question(analyst), analyst.name, warnings
            except Unavailable as error:
                warnings.append(f"{analyst.name}: {error.message} Done by the built-in analyst.")
        return question(self.analysts[-1]), self.analysts[-1].name, warnings

    def texts(self, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
        """The items as text, title first where the text does not begin with it."""
        with self.engine.store.reading(caller.tenant) as rows:
            items, passages = rows.items(caller.tenant, ids), rows.passages_of(caller.tenant, ids)
        return {id: embedded(items[id].title, None, text_of(passages[id])) for id in ids}

    def duplicates(
        self, caller: Caller, chosen: Filter, threshold: float, tell: Callable[[int, int], None]
    ) -> tuple[list[Pair], list[str]]:
        """Pairs that say nearly the same and do not contradict each other, the most similar first."""
        near, warnings = self.search.pairs(caller, chosen, threshold, MOST_PAIRS, tell)
        texts = self.texts(caller, list({item.id for pair in near for item in pair[:2]}))
        if len(near) == MOST_PAIRS:
            warnings.append(
                f"There are more than {MOST_PAIRS:,} similar pairs; the closest of them were looked at."
            )
        return [
            (one, two, score)
            for one, two, score in near
            if not contradicts(texts[one.id], texts[two.id])
            and (one.passages == two.passages == 1 or overlap(texts[one.id], texts[two.id]) >= NEAR)
        ], warnings

    def themes(
        self, caller: Caller, chosen: Filter, topic: str, most: int
    ) -> tuple[list[Finding], str, int, str, list[str]]:
        """Insights, a summary, how many memories were read, by whom, and warnings."""
        if topic:
            found = self.search.recall(
                caller, Query(topic, chosen, limit=most, threshold=ON_TOPIC, per_item=True)
            )
            ids = [hit.item.id for hit in found.hits]
        else:
            with self.engine.store.reading(caller.tenant) as rows:
                ids = [
                    item.id
                    for item in rows.list_items(caller, chosen, limit=most, counted=False).items
                ]
        texts, narrow = self.texts(caller, ids), Filter(kinds=chosen.kinds, ids=tuple(ids))
        pairs, warnings = (
            self.search.pairs(caller, narrow, ALIKE, MOST_PAIRS, lambda *_: None)
            if ids
            else ([], [])
        )
        groups = [[(id, texts[id]) for id in members] for members, _ in grouped(ids, pairs)]
        groups.sort(key=len, reverse=True)
        (insights, summary), method, more = self.ask(
            lambda analyst: analyst.insights(groups, topic)
        )
        return insights, summary, len(ids), method, [*warnings, *more]

    def habits(
        self, caller: Caller, chosen: Filter, days: int
    ) -> tuple[list[tuple[str, int]], str, list[int], Counter[str | None]]:
        """What a user wrote about in the last days, the trend, at which hours, and in which namespaces."""
        first = date.fromisoformat(self.engine.clock.now()[:10]) - timedelta(days=days - 1)
        with self.engine.store.reading(caller.tenant) as rows:
            items = rows.list_items(
                caller, replace(chosen, since=first.isoformat()), limit=NO_LIMIT, counted=False
            ).items
            named = rows.items(
                caller.tenant, {str(item.attributes.get("topic_id")) for item in items}
            )
        topics = Counter(
            topic.title
            for item in items
            if (topic := named.get(str(item.attributes.get("topic_id"))))
        )
        topics.update(tag for item in items for tag in item.tags)
        per_day = Counter((date.fromisoformat(item.created_at[:10]) - first).days for item in items)
        # Whether a straight line through the days rises or falls by more than a quarter of their mean.
        offsets, mean = {day: day - (days - 1) / 2 for day in range(days)}, per_day.total() / days
        rise = (
            days
            * sum(per_day[day] * x for day, x in offsets.items())
            / (sum(x * x for x in offsets.values()) or 1)
        )
        trend = (
            "stable" if abs(rise) <= STEADY * mean else "increasing" if rise > 0 else "decreasing"
        )
        hours = Counter(int(item.created_at[11:13]) for item in items)
        return (
            topics.most_common(10),
            trend,
            sorted(hour for hour, _ in hours.most_common(3)),
            Counter(item.namespace for item in items),
        )


def grouped(
    ids: Collection[str],
    pairs: Iterable[Pair],
    fit: Callable[[set[str], set[str]], bool] = lambda ours, theirs: True,
) -> list[tuple[list[str], float]]:
    """All ids with those they belong to, in their order, and the least similarity that brought them together."""
    groups, scores, order = (
        {id: {id} for id in ids},
        dict.fromkeys(ids, 1.0),
        {id: n for n, id in enumerate(ids)},
    )
    for one, two, score in pairs:
        ours, theirs = groups.get(one.id, set()), groups.get(two.id, set())
        if ours and theirs and ours is not theirs and fit(ours, theirs):
            ours |= theirs
            groups |= dict.fromkeys(theirs, ours)
            scores |= dict.fromkeys(ours, min(score, *(scores[id] for id in ours)))
    return [
        (sorted(groups[id], key=order.__getitem__), scores[id])
        for id in ids
        if order[id] == min(order[other] for other in groups[id])
    ]
