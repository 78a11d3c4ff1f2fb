"""The filter in plain Python, for what is in no table: states of the past, neighbours of a hit."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import cast

from memolith.engine.model import Condition, Filter, Item, Json, Passage


def item_matches(item: Item, chosen: Filter) -> bool:
    """Whether the item passes all of the filter that is about items."""
    tags = set(item.tags)
    return ((not chosen.kinds or item.kind in chosen.kinds)
            and (not chosen.statuses or item.status in chosen.statuses)
            and (chosen.forgotten is None or item.forgotten == chosen.forgotten)
            and (not chosen.projects or item.scope.project in chosen.projects)
            and (not chosen.namespaces or item.scope.namespace in chosen.namespaces)
            and (chosen.owner is None or item.scope.owner == chosen.owner)
            and (not chosen.ids or item.id in chosen.ids)
            and tags.issuperset(chosen.tags_all)
            and (not chosen.tags_any or not tags.isdisjoint(chosen.tags_any))
            and tags.isdisjoint(chosen.tags_none)
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
        return False
    return _TESTS[condition.op](value, wanted)


def _under(value: Json, wanted: Json) -> bool:
    folder = str(wanted).rstrip("/")
    return str(value) == str(wanted) or str(value).startswith(folder + "/")


_TESTS: dict[str, Callable[[Json, Json], bool]] = {
    "lt": lambda value, wanted: cast(float, value) < cast(float, wanted),
    "le": lambda value, wanted: cast(float, value) <= cast(float, wanted),
    "gt": lambda value, wanted: cast(float, value) > cast(float, wanted),
    "ge": lambda value, wanted: cast(float, value) >= cast(float, wanted),
    "glob": lambda value, wanted: fnmatch.fnmatchcase(str(value), str(wanted)),
    "in": lambda value, wanted: value in cast("list[Json]", wanted),
    "under": _under,
    "has": lambda value, wanted: isinstance(value, list) and wanted in value,
}
