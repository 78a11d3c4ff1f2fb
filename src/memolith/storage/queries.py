"""Reads files of named SQL and joins the fragments of a filter; no SQL is spelled in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from memolith.engine.model import Caller, Filter, Json

Parameter = str | int | float | bytes | None
Parameters = dict[str, Parameter]
SHARED = Path(__file__).with_name("statements.sql")
_NAME = re.compile(r"^-- name: (\w+)\n", re.M)
_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SETS = ("statuses", "projects", "namespaces", "topics", "tags_any", "tags_none", "titles")


class Queries(dict[str, str]):
    """Shared statements and those of a file by name, and how its database is told an attribute's name and value."""

    def __init__(self, file: str, attribute: Callable[[str], str], value: Callable[[str, Json], Parameter],
                 prepared: Callable[[str], str]) -> None:
        super().__init__()
        for path in (SHARED, SHARED.with_name(file)):
            parts = _NAME.split(path.read_text(encoding="utf-8"))
            self |= {name: prepared(text.strip()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
        self._attribute = attribute
        self._value = value

    def where(self, caller: Caller, chosen: Filter, place: str) -> tuple[str, Parameters]:
        """The filter as SQL and its parameters; `place` says whether times belong to the item or the passage."""
        names: list[str] = [] if caller.admin else ["filter_visible"]
        values: Parameters = {"caller_user": caller.user, "caller_project": caller.project}
        wanted: list[tuple[str, str, Parameter]] = [
            *((f"filter_{name}", name, _listed(getattr(chosen, name))) for name in _SETS),
            # Only an equality lets an index give the rows in the order of the listing.
            ("filter_kind", "kind", chosen.kinds[0]) if len(chosen.kinds) == 1 else
            ("filter_kinds", "kinds", _listed(chosen.kinds)),
            ("filter_tags_all" + "_item" * (place == "item" and "filter_tags_all_item" in self), "tags_all",
             _listed(chosen.tags_all)),
            ("filter_ids", "ids_only", _listed(chosen.ids)), ("filter_owner", "owner", chosen.owner),
            ("filter_title", "title_part", chosen.title.casefold() or None),
            ("filter_forgotten", "forgotten", None if chosen.forgotten is None else int(chosen.forgotten)),
            (f"filter_speakers_{place}", "speakers", _listed(chosen.speakers)),
            (f"filter_since_{place}", "since", chosen.since), (f"filter_until_{place}", "until", chosen.until)]
        for fragment, name, value in wanted:
            if value is not None:
                names.append(fragment)
                values[name] = value
        parts = [self[name] for name in names]
        for n, condition in enumerate(chosen.where):
            text = self["where_ordered" if condition.op in _ORDERS else f"where_{condition.op}"]
            text = text.replace("{certainty}", self["certainty"]).replace("{op}", _ORDERS.get(condition.op, ""))
            parts.append(text.replace("{n}", str(n)))
            values[f"name{n}"] = self._attribute(condition.name)
            values[f"value{n}"] = self._value(condition.op, condition.value)
        return "\n".join(parts), values


def _listed(values: tuple[str, ...]) -> str | None:
    return json.dumps(list(dict.fromkeys(values))) if values else None


def about_passages(chosen: Filter) -> bool:
    """Whether the filter asks for more than the item can tell."""
    return chosen.since is not None or chosen.until is not None or bool(chosen.speakers)
