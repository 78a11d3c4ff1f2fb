"""Named SQL, read from files and filled in; its rows as the engine's values and back; numbered migrations.

No SQL is spelled in Python, and the columns of a table stand in the order of the fields.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from memolith.domain.attributes import NO_ATTRIBUTES, Json
from memolith.domain.callers import Audience, Caller
from memolith.domain.events import Event
from memolith.domain.items import Item
from memolith.domain.links import Link
from memolith.domain.passages import Passage
from memolith.domain.queries import Filter
from memolith.errors import SchemaTooNew, StoreCorrupt
from memolith.ports.client_keys import ClientKey
from memolith.ports.outbox import Job

Row = tuple[Any, ...]
Parameter = str | int | float | bytes | None
Parameters = dict[str, Parameter]
SHARED = Path(__file__).with_name("statements.sql")
# What a statement says to one database alone; the other is not shown it.
TO_POSTGRES = re.compile(r'::\w+| collate "C"| for update(?: skip locked)?')
TO_SQLITE = re.compile(
    r" not indexed| indexed by [\w{}]+|cross (?=join \w+ \w+(?: not indexed)? on)| without rowid"
)
PLAIN = {str, int, float, type(None)}
_GROUP = re.compile(r"^-- (statements|fragments): (\w+)\n", re.M)
_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class Queries(dict[str, str]):
    """Shared statements and those of a file by name, and how its database is told an attribute's name and value."""

    def __init__(
        self,
        file: str,
        attribute: Callable[[str], str],
        value: Callable[[str, Json], Parameter],
        prepared: Callable[[str], str],
    ) -> None:
        super().__init__()
        for path in (SHARED, SHARED.parent / file):
            parts = _GROUP.split(path.read_text(encoding="utf-8"))
            for form, group, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
                found = re.findall(r"^(\w+): (.+(?:\n .+)*)", text, re.M)
                self |= {
                    f"{group}_{name}" if form == "fragments" else name: prepared(part)
                    for name, part in found
                }
        self._attribute, self._value, self._prepared = attribute, value, prepared

    def about(
        self, name: str, table: str, columns: Collection[str], key: Collection[str] = ()
    ) -> str:
        """A statement that is alike for every table, with the columns of this one."""
        full = " ".join((name, table, *columns))
        if full not in self:
            self[full] = self._prepared(
                filled(
                    self[name],
                    {
                        "{table}": table,
                        "{columns}": ", ".join(f'"{one}"' for one in columns),
                        "{values}": ", ".join(f":{one}" for one in columns),
                        "{key}": ", ".join(key),
                        "{known}": " and ".join(f"{one} = :{one}" for one in key) or "true",
                        "{changed}": ", ".join(
                            f"{one} = :{one}" for one in columns if one not in key
                        ),
                    },
                )
            )
        return self[full]

    def where(self, caller: Caller, chosen: Filter, place: str) -> tuple[str, Parameters]:
        """The filter as SQL and its parameters: a fragment for each field, for some another one about passages."""
        parts = [] if caller.admin else [self["filter_visible"]]
        values: Parameters = {"caller_user": caller.user, "caller_project": caller.project}
        for name in chosen.__match_args__[:-1]:
            value = getattr(chosen, name)
            if isinstance(value, tuple):
                value = json.dumps(list(dict.fromkeys(value))) if value else None
            if value is not None and (value or name != "title"):
                values[name] = value
                # Only an equality lets an index give the rows in the order of the listing.
                form = "kind" if len(chosen.kinds) == 1 and name == "kinds" else name
                parts.append(self.get(f"filter_{form}_{place}") or self[f"filter_{form}"])
        for n, condition in enumerate(chosen.where):
            text = self["where_ordered" if condition.op in _ORDERS else f"where_{condition.op}"]
            seen = "" if caller.admin else "and " + self["filter_visible"].replace("i.", "s.")
            parts.append(
                filled(
                    text,
                    {
                        "{certainty}": self["certainty"],
                        "{op}": _ORDERS.get(condition.op, ""),
                        "{seen}": seen,
                        "{n}": str(n),
                    },
                )
            )
            values[f"name{n}"] = (
                condition.name if condition.op == "linked" else self._attribute(condition.name)
            )
            values[f"value{n}"] = self._value(condition.op, condition.value)
        return "".join(f"\nand {part}" for part in parts), values


def filled(text: str, marks: Mapping[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def about_passages(chosen: Filter) -> bool:
    """Whether the filter asks for more than the item can tell."""
    return chosen.since is not None or chosen.until is not None or bool(chosen.speakers)


def columns(one: Event | Item | Passage | Link | ClientKey | Job) -> Parameters:
    """The fields of a value, what has parts as JSON with sorted keys, so that equal values are equal bytes."""
    made: Parameters = {}
    for name in one.__match_args__:
        value = getattr(one, name)
        if type(value) in PLAIN:
            made[name] = value
        elif isinstance(value, bool | StrEnum):
            made[name] = value.value if isinstance(value, StrEnum) else int(value)
        else:
            made[name] = json.dumps(
                value if isinstance(value, tuple) else dict(value),
                ensure_ascii=False,
                sort_keys=True,
                separators=(",", ":"),
            )
    return made


def event_from(row: Row) -> Event:
    try:
        return Event(*(*row[:5], json.loads(row[5]), *row[6:9]))
    except ValueError as error:
        raise StoreCorrupt(f"Event {row[1]} of {row[2]} cannot be read.") from error


def item_from(row: Row) -> Item:
    try:
        tags, attributes = json.loads(f"[{row[10]},{row[11]}]")
        return Item(
            *(
                *row[1:7],
                Audience(row[7]),
                *row[8:10],
                tuple(tags),
                attributes,
                *row[12:18],
                bool(row[18]),
            )
        )
    except ValueError as error:
        raise StoreCorrupt(
            f"The row of item {row[2]} cannot be read; `memolith rebuild` makes it anew."
        ) from error


def passage_from(row: Row, item: str) -> Passage:
    return Passage(item, *(*row[3:9], json.loads(row[9]) if row[9] else NO_ATTRIBUTES))


def link_from(row: Row) -> Link:
    return Link(*(*row[1:6], json.loads(row[6]), *row[7:11]))


def key_from(row: Row) -> ClientKey:
    return ClientKey(*(*row[:5], tuple(json.loads(row[5])), *row[6:9], bool(row[9])))


def missing(done: Iterable[Row], folder: Path) -> list[tuple[Parameters, str]]:
    """Row and text of each migration, shared part first, that is not applied yet; the rest must be as it was."""
    places, todo = (folder.parent, folder), dict[int, tuple[Parameters, str]]()
    for name in sorted({path.name for place in places for path in place.glob("[0-9]*.sql")}):
        text = "".join(
            path.read_text(encoding="utf-8") for place in places if (path := place / name).exists()
        )
        # The first line says how old a program may be that works on what this leaves.
        todo[int(name[:4])] = (
            {
                "number": int(name[:4]),
                "name": name[:-4],
                "oldest": int(text.split(maxsplit=3)[2]),
                "checksum": hashlib.sha256(text.encode()).hexdigest(),
            },
            text,
        )
    last = max(todo)
    for number, _, checksum, *rest in done:
        # The first programs did not keep how old another may be; what they left is known by its checksum.
        if (rest or [0])[0] > last:
            raise SchemaTooNew(
                f"The data has schema {number}, this memolith knows {last}; update the program."
            )
        if number in todo and todo.pop(number)[0]["checksum"] != checksum:
            raise StoreCorrupt(f"Migration {number} was applied with another text than it has now.")
    return list(todo.values())
