"""Reads files of named SQL and joins the fragments of a filter; no SQL is spelled in Python."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from memolith.engine.model import Caller, Filter, Json

Parameters = dict[str, str | int | float | bytes | None]
_NAME = re.compile(r"^-- name: (\w+)\n", re.M)
_SETS = ("statuses", "projects", "namespaces", "topics", "tags_all", "tags_any", "tags_none")


@cache
def load(path: Path) -> dict[str, str]:
    """The statements of a file by name."""
    parts = _NAME.split(path.read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def about_passages(chosen: Filter) -> bool:
    """Whether the filter asks for more than the item can tell."""
    return chosen.since is not None or chosen.until is not None or bool(chosen.speakers)


def where(queries: dict[str, str], caller: Caller, chosen: Filter, place: str) -> tuple[str, Parameters]:
    """The filter as SQL and its parameters; `place` says whether times belong to the item or the passage."""
    names: list[str] = [] if caller.admin else ["filter_visible"]
    values: Parameters = {"caller_user": caller.user, "caller_project": caller.project}
    if len(chosen.kinds) == 1:
        # Only an equality lets an index give the rows in the order of the listing.
        names.append("filter_kind")
        values["kind"] = chosen.kinds[0]
    for name in _SETS if len(chosen.kinds) == 1 else ("kinds", *_SETS):
        if wanted := getattr(chosen, name):
            names.append(f"filter_{name}_item" if name == "tags_all" and place == "item" else f"filter_{name}")
            values[name] = json.dumps(list(dict.fromkeys(wanted)))
    if chosen.ids:
        names.append("filter_ids")
        values["ids_only"] = json.dumps(chosen.ids)
    if chosen.speakers:
        names.append(f"filter_speakers_{place}")
        values["speakers"] = json.dumps(chosen.speakers)
    for name in ("since", "until"):
        if (bound := getattr(chosen, name)) is not None:
            names.append(f"filter_{name}_{place}")
            values[name] = bound
    if chosen.owner is not None:
        names.append("filter_owner")
        values["owner"] = chosen.owner
    if chosen.forgotten is not None:
        names.append("filter_forgotten")
        values["forgotten"] = int(chosen.forgotten)
    parts = [queries[name] for name in names]
    for n, condition in enumerate(chosen.where):
        parts.append(queries[f"where_{condition.op}"].replace("{n}", str(n)))
        values[f"name{n}"] = "$." + json.dumps(condition.name)
        values[f"value{n}"] = _sql_value(condition.value)
    return "\n".join(parts), values


def _sql_value(value: Json) -> str | int | float | None:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return int(value) if isinstance(value, bool) else value
