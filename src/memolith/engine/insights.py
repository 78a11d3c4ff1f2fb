"""What memories have in common: tags, duplicates, themes and habits, found by an analyst and by counting."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple, TypeVar

from memolith.engine.claims import NEAR, contradicts, overlap
from memolith.engine.events import embedded, text_of
from memolith.engine.model import Caller, Filter, Item, Query
from memolith.engine.ports import NO_LIMIT, Analyst, Finding
from memolith.engine.recall import Recall
from memolith.engine.verbs import Verbs
from memolith.errors import Unavailable

MOST_PAIRS = 2000
ALIKE, ON_TOPIC, STEADY = 0.78, 0.5, 0.25
Answer = TypeVar("Answer")


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

    def duplicates(self, caller: Caller, chosen: Filter, threshold: float,
                   tell: Callable[[int, int], None]) -> tuple[list[tuple[Item, Item, float]], list[str]]:
        """Pairs that say nearly the same and do not contradict each other, the most similar first."""
        near, warnings = self.search.pairs(caller, chosen, threshold, MOST_PAIRS, tell)
        texts = self.texts(caller, list({item.id for pair in near for item in pair[:2]}))
        if len(near) == MOST_PAIRS:
            warnings.append(f"There are more than {MOST_PAIRS:,} similar pairs; the closest of them were looked at.")
        return [(one, two, score) for one, two, score in near
                if not contradicts(first := texts[one.id], second := texts[two.id])
                and (one.passages == two.passages == 1 or overlap(first, second) >= NEAR)], warnings

    def themes(self, caller: Caller, chosen: Filter, topic: str,
               most: int) -> tuple[list[Finding], str, int, str, list[str]]:
        """Insights, a summary, how many memories were read, by whom, and warnings."""
        if topic:
            found = self.search.recall(caller, Query(topic, chosen, limit=most, threshold=ON_TOPIC, per_item=True))
            ids = [hit.item.id for hit in found.hits]
        else:
            with self.engine.store.reading(caller.tenant) as rows:
                ids = [item.id for item in rows.listing(caller, chosen, limit=most, counted=False).items]
        texts, warnings, group = self.texts(caller, ids), list[str](), {id: {id} for id in ids}
        if ids:
            narrow = Filter(kinds=chosen.kinds, ids=tuple(ids))
            pairs, warnings = self.search.pairs(caller, narrow, ALIKE, MOST_PAIRS, lambda done, total: None)
            for one, two, _ in pairs:
                if group[one.id] is not group[two.id]:
                    group[one.id] |= group[two.id]
                    group |= dict.fromkeys(group[two.id], group[one.id])
        groups = [[(id, texts[id]) for id in ids if id in members]
                  for members in {min(members): members for members in group.values()}.values()]
        groups.sort(key=len, reverse=True)
        (insights, summary), method, more = self.ask(lambda analyst: analyst.insights(groups, topic))
        return insights, summary, len(ids), method, [*warnings, *more]

    def habits(self, caller: Caller, chosen: Filter,
               days: int) -> tuple[list[tuple[str, int]], str, list[int], Counter[str | None]]:
        """What a user wrote about in the last days, the trend, at which hours, and in which namespaces."""
        first = date.fromisoformat(self.engine.clock.now()[:10]) - timedelta(days=days - 1)
        with self.engine.store.reading(caller.tenant) as rows:
            items = rows.listing(caller, replace(chosen, since=first.isoformat()), limit=NO_LIMIT, counted=False).items
            named = rows.items(caller.tenant, {str(item.attributes.get("topic_id")) for item in items})
        topics = Counter(topic.title for item in items if (topic := named.get(str(item.attributes.get("topic_id")))))
        topics.update(tag for item in items for tag in item.tags)
        per_day = Counter((date.fromisoformat(item.created_at[:10]) - first).days for item in items)
        # Whether a straight line through the days rises or falls by more than a quarter of their mean.
        middle, mean = (days - 1) / 2, sum(per_day[day] for day in range(days)) / days
        spread = sum((day - middle) ** 2 for day in range(days))
        slope = sum((day - middle) * (per_day[day] - mean) for day in range(days)) / spread if spread else 0.0
        steady = not mean or abs(slope * days) < STEADY * mean
        trend = "stable" if steady else "increasing" if slope > 0 else "decreasing"
        hours = Counter(int(item.created_at[11:13]) for item in items)
        return (topics.most_common(10), trend, sorted(hour for hour, _ in hours.most_common(3)),
                Counter(item.scope.namespace for item in items))
