"""Filters: checked before a store sees them, and applied in Python to what is in no table.

The latter are states of the past, and the passages around a hit.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from memolith.domain.items import KINDS, Item
from memolith.domain.passages import Passage
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import checked_text, when
from memolith.errors import InvalidInput

TEXT_FIELDS = {
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
"""The fields of a filter that hold texts, and what they are called in errors."""
OPERATORS = (
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
MAX_VALUES = 1000
"""How many different values of a kind a filter takes: each is compared with every item."""
LIST_OPERATORS = ("in", "tagged", "linked")
MAX_NUMBER = 2**63
"""Numbers from here on fit into no column."""


def checked(chosen: Filter) -> Filter:
    """The filter with its times in our one form; what no store could look for is refused."""
    for name, label in TEXT_FIELDS.items():
        for text in getattr(chosen, name):
            checked_text(label, text)
    check_kinds(chosen.kinds)
    checked_text("title", chosen.title)
    for condition in chosen.where:
        _check_condition(condition)
    since = None if chosen.since is None else when("since", chosen.since)
    until = None if chosen.until is None else when("until", chosen.until)
    return replace(
        chosen,
        kinds=_distinct("kinds", chosen.kinds),
        tags_all=_distinct("tags", chosen.tags_all),
        tags_any=_distinct("tags", chosen.tags_any),
        tags_none=_distinct("tags", chosen.tags_none),
        statuses=_distinct("status", chosen.statuses),
        topics=_distinct("topic_id", chosen.topics),
        speakers=_distinct("speakers", chosen.speakers),
        since=since,
        until=until,
    )


def check_kinds(kinds: Iterable[str]) -> None:
    """Refuse a kind that does not exist."""
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput(
                f"There is no kind {kind[:100]!r}; use one of {', '.join(KINDS)}.",
                field="kinds",
                value=kind,
            )


def _distinct(label: str, values: tuple[str, ...]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) > MAX_VALUES:
        raise InvalidInput(
            f"A filter takes at most {MAX_VALUES:,} different {label}; these are "
            f"{len(distinct):,}.",
            field=label,
        )
    return distinct


def _check_condition(condition: Condition) -> None:
    checked_text("where", condition.name)
    if condition.op not in OPERATORS:
        raise InvalidInput(
            f"There is no such filter operator; use one of {', '.join(OPERATORS)}.", field="where"
        )
    if isinstance(condition.value, list):
        values = condition.value
    elif condition.op in LIST_OPERATORS:
        raise InvalidInput(f"The operator `{condition.op}` needs a list.", field="where")
    else:
        values = [condition.value]
    for value in values:
        if isinstance(value, str):
            checked_text("where", value)
        elif isinstance(value, int | float) and not _is_storable(value):
            raise InvalidInput("A number in a filter must be finite and below 2^63.", field="where")


def _is_storable(number: float) -> bool:
    return math.isfinite(number) and abs(number) < MAX_NUMBER


def item_matches(item: Item, chosen: Filter) -> bool:
    """Whether an item passes the filter, without its conditions, which only a store can tell."""
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
    """Whether the time and the speaker of a passage pass the filter."""
    return (
        (chosen.since is None or passage.at >= chosen.since)
        and (chosen.until is None or passage.at <= chosen.until)
        and (not chosen.speakers or passage.speaker in chosen.speakers)
    )
