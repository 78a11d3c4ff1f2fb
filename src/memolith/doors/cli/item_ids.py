"""Ids of items on the command line: the beginning of an id will do."""

from collections.abc import Mapping
from typing import Any

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.engine.short_ids import ShortIds
from memolith.tools.arguments import bare_id

ME = Caller()
ITEM_ARGUMENTS = frozenset(
    (
        "id",
        "ids",
        "concept_id",
        "conversation_id",
        "end_concept_id",
        "entity_id",
        "entity_ids",
        "memory_id",
        "memory_ids",
        "source",
        "source_id",
        "start_concept_id",
        "target",
        "target_id",
    )
)
"""The arguments of tools that name items."""


def whole_id(app: App, text: str) -> str:
    """The id that was typed, or the one that begins so."""
    return ShortIds(app.store).whole(ME, bare_id(text))


def whole_ids(app: App, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool with whole ids."""
    whole = dict(arguments)
    for name in ITEM_ARGUMENTS & arguments.keys():
        value = arguments[name]
        if isinstance(value, str):
            whole[name] = whole_id(app, value)
        elif isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            whole[name] = [whole_id(app, entry) for entry in value]
    return whole


def with_short_ids(app: App, result: object) -> object:
    """A result for people, in whose tables each item has the beginning of its id."""
    ids = _ids_in_tables(result)
    if not ids:
        return result
    return _replaced(result, ShortIds(app.store).shortened(ME, ids))


def _ids_in_tables(result: object) -> list[str]:
    found: list[str] = []
    for rows in _tables(result):
        found += [row["id"] for row in rows if isinstance(row.get("id"), str)]
    return list(dict.fromkeys(found))


def _tables(result: object) -> list[list[dict[str, Any]]]:
    """The lists of rows in a result: itself, or fields of it."""
    candidates = list(result.values()) if isinstance(result, dict) else [result]
    return [
        value
        for value in candidates
        if isinstance(value, list) and value and isinstance(value[0], dict)
    ]


def _replaced(result: object, short: dict[str, str]) -> object:
    if isinstance(result, dict):
        return {name: _short_rows(value, short) for name, value in result.items()}
    return _short_rows(result, short)


def _short_rows(value: object, short: dict[str, str]) -> object:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return value
    rows = []
    for row in value:
        id = row.get("id")
        rows.append({**row, "id": short.get(id, id)} if isinstance(id, str) else row)
    return rows
