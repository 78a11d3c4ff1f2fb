"""The filter in plain Python, for what is in no table: states of the past, neighbours of a hit."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from memolith.engine.intake import plain, when
from memolith.engine.model import Condition, Filter, Item, Json, Passage
from memolith.errors import InvalidInput

_TEXTS = {"kinds": "kinds", "tags_all": "tags", "tags_any": "tags", "tags_none": "tags", "statuses": "status",
          "projects": "project", "namespaces": "namespace", "topics": "topic_id", "speakers": "speakers", "ids": "ids",
          "titles": "label"}


OPS = ("eq", "ne", "lt", "le", "gt", "ge", "glob", "in", "under", "has", "is_or_lacks", "sure")


def checked(chosen: Filter) -> Filter:
    """The filter with its times in our one form; what no store could look for is refused."""
    for name, field in _TEXTS.items():
        for text in getattr(chosen, name):
            plain(field, text)
    plain("title", chosen.title)
    for condition in chosen.where:
        _check(condition)
    return replace(chosen, since=None if chosen.since is None else when("since", chosen.since),
                   until=None if chosen.until is None else when("until", chosen.until))


def _check(condition: Condition) -> None:
    plain("where", condition.name)
    if condition.op not in OPS:
        raise InvalidInput(f"There is no such filter operator; use one of {', '.join(OPS)}.", field="where")
    values = condition.value if condition.op == "in" else [condition.value]
    if not isinstance(values, list | tuple):
        raise InvalidInput("The operator `in` needs a list.", field="where")
    for value in values:
        if isinstance(value, str):
            plain("where", value)
        elif isinstance(value, int | float) and (not math.isfinite(value) or abs(value) >= 2**63):
            raise InvalidInput("A number in a filter must be finite and below 2^63.", field="where")


def item_matches(item: Item, chosen: Filter) -> bool:
    """Whether the item passes all of the filter that is about items."""
    tags = set(item.tags)
    return ((not chosen.kinds or item.kind in chosen.kinds)
            and (not chosen.statuses or item.status in chosen.statuses)
            and (chosen.forgotten is None or item.forgotten == chosen.forgotten)
            and (not chosen.projects or item.scope.project in chosen.projects)
            and (not chosen.namespaces or item.scope.namespace in chosen.namespaces)
            and (not chosen.topics or item.attributes.get("topic_id") in chosen.topics)
            and (chosen.owner is None or item.scope.owner == chosen.owner)
            and (not chosen.ids or item.id in chosen.ids)
            and tags.issuperset(chosen.tags_all)
            and (not chosen.tags_any or not tags.isdisjoint(chosen.tags_any))
            and tags.isdisjoint(chosen.tags_none)
            and chosen.title.casefold() in item.title.casefold()
            and (not chosen.titles or item.title in chosen.titles)
            and all(_holds(item.attributes.get(condition.name), condition) for condition in chosen.where))


def passage_matches(passage: Passage, chosen: Filter) -> bool:
    """Whether the passage passes all of the filter that is about passages."""
    return ((chosen.since is None or passage.at >= chosen.since)
            and (chosen.until is None or passage.at <= chosen.until)
            and (not chosen.speakers or passage.speaker in chosen.speakers))


def _holds(value: Json, condition: Condition) -> bool:
    wanted = condition.value
    if condition.op == "eq":
        return value == wanted
    if condition.op == "ne":
        return value != wanted
    if value is None:
        return condition.op == "is_or_lacks"
    return _TESTS[condition.op](value, wanted)


def _under(value: Json, wanted: Json) -> bool:
    folder = str(wanted).rstrip("/")
    return str(value) == folder or str(value).startswith(folder + "/")


def _alike(value: Json, wanted: Json) -> bool:
    """Whether the two can be compared at all."""
    return isinstance(value, str) == isinstance(wanted, str) and all(
        isinstance(one, str | int | float) for one in (value, wanted))


_TESTS: dict[str, Callable[[Json, Json], bool]] = {
    "lt": lambda value, wanted: _alike(value, wanted) and cast(float, value) < cast(float, wanted),
    "le": lambda value, wanted: _alike(value, wanted) and cast(float, value) <= cast(float, wanted),
    "gt": lambda value, wanted: _alike(value, wanted) and cast(float, value) > cast(float, wanted),
    "ge": lambda value, wanted: _alike(value, wanted) and cast(float, value) >= cast(float, wanted),
    "is_or_lacks": lambda value, wanted: value == wanted,
    "sure": lambda value, wanted: (bounds := cast("list[float]", wanted))[0] <= cast(float, value) <= bounds[1],
    "glob": lambda value, wanted: fnmatch.fnmatchcase(str(value), str(wanted).replace("[^", "[!")),
    "in": lambda value, wanted: value in cast("list[Json]", wanted),
    "under": _under,
    "has": lambda value, wanted: isinstance(value, list) and wanted in value,
}
