"""Turns a filter into SQL conditions and their values.

How each condition is written, `filters.py` of each database tells. A statement names the item
`i`. One that looks at passages also names the passage `p`. The conditions are put in the place of
`/* filters */`, their values are passed as parameters.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.queries import Condition, Filter
from memolith.storage.rows import Parameter, Parameters

VISIBLE_MARK = "/* visible */"
"""Where the condition on linked entities is told which of them the caller may see."""


class FilterSql(NamedTuple):
    """The conditions of a filter, each after an `and`, and the values of their parameters."""

    text: str
    values: Parameters


@dataclass(frozen=True, slots=True)
class FilterPieces:
    """The conditions as one database writes them."""

    conditions: Mapping[str, str]
    """The condition on an item for each field of a filter."""
    passage_conditions: Mapping[str, str]
    """The same in a statement that looks at passages."""
    one_kind: str
    """The item is of one kind. Only an equality lets an index give the rows in order."""
    not_expired: str
    """The item has not expired."""
    attribute_conditions: Mapping[str, str]
    """The condition for each operator on an attribute. The parameters `attribute` and `value` get
    a number each."""
    linked: str
    """The item is linked to by an entity of one of these names, by a link of this type."""
    visible: Callable[[str], str]
    """The condition that the caller may see the item that the statement gives this name."""
    within_projects: Callable[[str], str]
    """The condition that it is in no other project than those that the caller is kept to."""
    sorts: Mapping[str, Sequence[str]]
    """What a list is ordered by, for each order that it can have."""
    parameter: Callable[[str], str]
    """A parameter in a statement."""
    attribute_name: Callable[[Condition], str]
    """The name of an attribute as the conditions expect it."""
    attribute_value: Callable[[Condition], Parameter]
    """The value that an attribute is compared with, as the conditions expect it."""


def filter_sql(
    pieces: FilterPieces,
    caller: Caller,
    chosen: Filter,
    on_passages: bool = False,
    now: str | None = None,
) -> FilterSql:
    """The conditions that keep what the caller may see and the filter keeps.

    `on_passages` tells that the statement looks at passages. What has expired at the time `now`
    is left out; None keeps it.
    """
    parts: list[str] = []
    values: Parameters = {"filter_user": caller.user, "filter_project": caller.project}
    if caller.bound_to:
        values["filter_bound_to"] = json.dumps(list(caller.bound_to))
    parts.extend(_visibility(pieces, caller, "i"))
    conditions = pieces.passage_conditions if on_passages else pieces.conditions
    for field, condition in conditions.items():
        value = getattr(chosen, field)
        is_empty_title = field == "title" and value == ""
        if value is None or value == () or is_empty_title:
            continue
        if field == "kinds" and len(value) == 1:
            parts.append(pieces.one_kind)
            values["filter_kind"] = value[0]
            continue
        parts.append(condition)
        values[f"filter_{field}"] = _field_value(value)
    for number, test in enumerate(chosen.where):
        parts.append(_attribute_sql(pieces, caller, test, number))
        values[f"attribute_{number}"] = pieces.attribute_name(test)
        values[f"value_{number}"] = pieces.attribute_value(test)
    if now is not None:
        parts.append(pieces.not_expired)
        values["filter_now"] = now
    return FilterSql("".join(f"\n    and {part}" for part in parts), values)


def sort_keys(keys: Sequence[str]) -> list[str]:
    """What a list is ordered by; what is equal stays in the order of creation."""
    if "i.seq" in keys:
        # The same column twice would make SQLite sort what the index gives in order.
        return list(keys)
    return [*keys, "i.seq"]


def _visibility(pieces: FilterPieces, caller: Caller, alias: str) -> list[str]:
    """The conditions that the caller may see an item; the same as `Item.admits`."""
    parts = []
    if not caller.admin:
        parts.append(pieces.visible(alias))
    if caller.bound_to:
        parts.append(pieces.within_projects(alias))
    return parts


def _field_value(value: tuple[str, ...] | str | bool) -> Parameter:
    if isinstance(value, tuple):
        return json.dumps(list(dict.fromkeys(value)))
    if isinstance(value, bool):
        return int(value)
    return value


def _attribute_sql(pieces: FilterPieces, caller: Caller, test: Condition, number: int) -> str:
    if test.op == "linked":
        visibility = [f"and {part}" for part in _visibility(pieces, caller, "s")]
        text = pieces.linked.replace(VISIBLE_MARK, "\n".join(visibility))
    else:
        text = pieces.attribute_conditions[test.op]
    for name in ("attribute", "value"):
        text = text.replace(pieces.parameter(name), pieces.parameter(f"{name}_{number}"))
    return text
