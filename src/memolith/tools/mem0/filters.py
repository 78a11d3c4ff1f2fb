"""The filters of mem0: who and what a search is limited to, with AND, OR and NOT.

What a store can look up, such as a user, becomes a condition of the store. Everything else is
checked item by item.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter
from memolith.engine.validation import when
from memolith.errors import InvalidInput
from memolith.tools.call import Call
from memolith.tools.mem0.views import SCOPES

MEMORIES = Filter(kinds=("memory",))
ANYTHING = "*"
DATES = ("created_at", "updated_at")
Test = Callable[[Item], bool]


class MemoryFilter(NamedTuple):
    """What is asked for: a part that stores know, and tests for the rest."""

    chosen: Filter
    tests: tuple[Test, ...]


def parse_filters(filters: Mapping[str, Json]) -> MemoryFilter:
    """The filter that a client means; it must name a user, an agent, an app or a run."""
    if not _names_scope(filters):
        raise InvalidInput(
            f"`filters` must name one of {', '.join(SCOPES)}, for example "
            '{"user_id": "alice"}; "*" stands for all of them.',
            field="filters",
        )
    conditions: list[Condition] = []
    tests: list[Test] = []
    for clause in _clauses(filters):
        for name, value in clause.items():
            if name in SCOPES and isinstance(value, str) and value != ANYTHING:
                conditions.append(Condition(name, "eq", value))
            else:
                tests.append(_test(name, value))
    return MemoryFilter(replace(MEMORIES, where=tuple(conditions)), tuple(tests))


def matching_items(call: Call, wanted: MemoryFilter, *, show_expired: bool) -> list[Item]:
    """Every memory that passes, the newest first."""
    chosen = wanted.chosen
    if show_expired:
        chosen = replace(chosen, forgotten=None)
    items = call.engine.reading.list_all(call.caller, chosen)
    return [
        item for item in items if not item.forgotten and all(test(item) for test in wanted.tests)
    ]


def _clauses(filters: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The parts that must all hold."""
    clauses: list[Mapping[str, Json]] = [
        {name: value for name, value in filters.items() if name != "AND"}
    ]
    if "AND" in filters:
        for clause in _objects("AND", filters["AND"]):
            clauses += _clauses(clause)
    return clauses


def _names_scope(value: Json | Mapping[str, Json]) -> bool:
    if isinstance(value, list):
        return any(_names_scope(entry) for entry in value)
    if isinstance(value, Mapping):
        return any(name in SCOPES or _names_scope(entry) for name, entry in value.items())
    return False


def _objects(name: str, value: Json) -> list[dict[str, Json]]:
    entries = value if isinstance(value, list) else [value]
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if len(objects) < len(entries) or not objects:
        raise InvalidInput(f"`{name}` in filters needs a list of filters.", field="filters")
    return objects


def _test(name: str, value: Json) -> Test:
    """Whether an item passes one part of a filter."""
    if name in ("AND", "OR", "NOT"):
        return _test_of_group(name, _objects(name, value))
    if name == "metadata":
        if not isinstance(value, dict):
            raise InvalidInput("`metadata` in filters needs an object.", field="filters")
        return _all_of([_test_of_field(key, wanted) for key, wanted in value.items()])
    return _test_of_field(name, value)


def _test_of_group(name: str, clauses: Sequence[dict[str, Json]]) -> Test:
    tests = [_all_of([_test(key, value) for key, value in clause.items()]) for clause in clauses]
    if name == "AND":
        return _all_of(tests)
    if name == "OR":
        return lambda item: any(test(item) for test in tests)
    return lambda item: not any(test(item) for test in tests)


def _all_of(tests: Sequence[Test]) -> Test:
    return lambda item: all(test(item) for test in tests)


def _test_of_field(name: str, value: Json) -> Test:
    """Whether a field of an item is equal to a value, or passes the operators on it."""
    if not isinstance(value, dict):
        return lambda item: _equals(_field(item, name), value)
    comparisons: list[Test] = []
    for operator, operand in value.items():
        if operator not in OPERATORS:
            raise InvalidInput(
                f"There is no operator {operator!r}; use one of {', '.join(OPERATORS)}.",
                field="filters",
            )
        comparisons.append(_comparison(name, OPERATORS[operator], _operand(name, operand)))
    return _all_of(comparisons)


def _comparison(name: str, compare: Callable[[Json, Json], bool], operand: Json) -> Test:
    return lambda item: compare(_field(item, name), operand)


def _operand(name: str, operand: Json) -> Json:
    """A time in our form, so that times compare as texts."""
    if name in DATES and isinstance(operand, str):
        return when("filters", operand)
    return operand


def _field(item: Item, name: str) -> Json:
    if name == "categories":
        return list(item.tags)
    if name in ("id", "memory_ids"):
        return item.id
    if name in DATES:
        return str(getattr(item, name))
    return item.attributes.get(name)


def _equals(found: Json, wanted: Json) -> bool:
    if wanted == ANYTHING:
        return found is not None
    if isinstance(wanted, list):
        return _is_in(found, wanted)
    return found == wanted or (isinstance(found, list) and wanted in found)


def _is_in(found: Json, wanted: Json) -> bool:
    choices = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(found, list):
        return any(entry in choices for entry in found)
    return found in choices


def _contains(found: Json, wanted: Json) -> bool:
    if isinstance(found, list):
        return wanted in found
    return isinstance(found, str) and str(wanted) in found


def _contains_in_any_case(found: Json, wanted: Json) -> bool:
    if isinstance(found, list):
        return str(wanted).casefold() in [str(entry).casefold() for entry in found]
    return isinstance(found, str) and str(wanted).casefold() in found.casefold()


def _order(found: Json, wanted: Json) -> int | None:
    """Below 0 if it is less, above 0 if it is more, None if the two cannot be compared."""
    if isinstance(found, str) and isinstance(wanted, str):
        return (found > wanted) - (found < wanted)
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return (found > wanted) - (found < wanted)
    return None


OPERATORS: dict[str, Callable[[Json, Json], bool]] = {
    "eq": _equals,
    "ne": lambda found, wanted: not _equals(found, wanted),
    "in": _is_in,
    "contains": _contains,
    "icontains": _contains_in_any_case,
    "gt": lambda found, wanted: (_order(found, wanted) or 0) > 0,
    "gte": lambda found, wanted: (
        (_order(found, wanted) or 0) >= 0 and _order(found, wanted) is not None
    ),
    "lt": lambda found, wanted: (_order(found, wanted) or 0) < 0,
    "lte": lambda found, wanted: (
        (_order(found, wanted) or 0) <= 0 and _order(found, wanted) is not None
    ),
}
"""How a field is compared with what is asked for."""
