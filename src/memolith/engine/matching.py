"""The filter in plain Python, for what is in no table: states of the past, neighbours of a hit."""

import math
from dataclasses import replace

from memolith.domain.items import Item
from memolith.domain.passages import Passage
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import checked_text, when
from memolith.errors import InvalidInput

_TEXTS = {
    "kinds": "kinds",
    "tags_all": "tags",
    "tags_any": "tags",
    "tags_none": "tags",
    "statuses": "status",
    "projects": "project",
    "namespaces": "namespace",
    "topics": "topic_id",
    "speakers": "speakers",
    "ids": "ids",
    "titles": "label",
}
OPS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "glob",
    "in",
    "under",
    "has",
    "is_or_lacks",
    "sure",
    "tagged",
    "linked",
)


def checked(chosen: Filter) -> Filter:
    """The filter with its times in our one form; what no store could look for is refused."""
    for name, field in _TEXTS.items():
        for text in getattr(chosen, name):
            checked_text(field, text)
    checked_text("title", chosen.title)
    for condition in chosen.where:
        _check(condition)
    return replace(
        chosen,
        since=None if chosen.since is None else when("since", chosen.since),
        until=None if chosen.until is None else when("until", chosen.until),
    )


def _check(condition: Condition) -> None:
    name, op, given = condition
    checked_text("where", name)
    if op not in OPS:
        raise InvalidInput(
            f"There is no such filter operator; use one of {', '.join(OPS)}.", field="where"
        )
    if op in ("in", "tagged", "linked") and not isinstance(given, list):
        raise InvalidInput(f"The operator `{op}` needs a list.", field="where")
    for value in given if isinstance(given, list) else [given]:
        if isinstance(value, str):
            checked_text("where", value)
        elif isinstance(value, int | float) and (not math.isfinite(value) or abs(value) >= 2**63):
            raise InvalidInput("A number in a filter must be finite and below 2^63.", field="where")


def item_matches(item: Item, chosen: Filter) -> bool:
    """Whether an item passes, but for the conditions, which only a store can tell."""
    tags = set(item.tags)
    values = (
        (chosen.kinds, item.kind),
        (chosen.statuses, item.status),
        (chosen.projects, item.project),
        (chosen.namespaces, item.namespace),
        (chosen.topics, item.attributes.get("topic_id")),
        (chosen.ids, item.id),
        (chosen.titles, item.title),
    )
    return (
        all(not wanted or value in wanted for wanted, value in values)
        and chosen.forgotten in (None, item.forgotten)
        and chosen.owner in (None, item.owner)
        and tags.issuperset(chosen.tags_all)
        and tags.isdisjoint(chosen.tags_none)
        and (not chosen.tags_any or not tags.isdisjoint(chosen.tags_any))
        and chosen.title.casefold() in item.title.casefold()
    )


def passage_matches(passage: Passage, chosen: Filter) -> bool:
    return (
        (chosen.since is None or passage.at >= chosen.since)
        and (chosen.until is None or passage.at <= chosen.until)
        and (not chosen.speakers or passage.speaker in chosen.speakers)
    )
