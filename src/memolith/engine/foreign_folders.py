"""Which of the folders that were imported a folder is, so that no other one is written over.

Two projects can both have a note `index`. So an item keeps the name of the project or vault that it
came from, and a digest of where that lay. Items that came before this was kept have neither.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.queries import Condition, Filter
from memolith.engine.foreign_data import ForeignFolder
from memolith.engine.matching import checked
from memolith.errors import InvalidInput
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.store import Reader

SOURCE_PROJECT = "source_project"
SOURCE_PLACE = "source_place"
OLDER = ""
"""Stands for the name of the project where an item has none."""
Digests = Callable[[], Mapping[str, str]]
"""Tells what the notes of a folder say, by their ids; it takes time, and mostly nobody asks."""


class Origin(NamedTuple):
    """The project or vault that an import continues or begins."""

    name: str
    has_older: bool = False
    """Whether items of it came when they did not name their project."""
    is_first: bool = True
    """Whether such items are still to be told apart from those of other folders."""

    def has(self, item: Item) -> bool:
        """Whether an item with the id of a note, and of no project, is of this one."""
        name = item.attributes.get(SOURCE_PROJECT)
        if name is not None:
            return name == self.name
        return self.has_older and (self.is_first or item.forgotten)


class _Fit(NamedTuple):
    """How many notes of a folder say what an item of the same id says, and how many do not."""

    same: int
    changed: int

    @property
    def is_likely(self) -> bool:
        return self.same > 0 and self.same >= self.changed


def id_of(*origin: str) -> str:
    """The id of the item that something elsewhere becomes, always the same."""
    return str(uuid5(NAMESPACE_URL, json.dumps(origin)))


def origin_of(
    rows: Reader, caller: Caller, program: str, folder: ForeignFolder, digests: Digests
) -> Origin:
    """The project that a folder is: by its place, by its name, or by what its notes say."""
    known = _known(rows, caller, program)
    for name, items in known.items():
        if any(item.attributes.get(SOURCE_PLACE) == folder.place for item in items):
            _refuse_other_name(folder, name)
            has_older = any(_has_plain_id(item, caller, program) for item in items)
            return Origin(name, has_older, is_first=False)
    if not known:
        return Origin(folder.name)
    said = digests()
    namesakes = known.get(folder.name)
    if namesakes is not None and not _fit(namesakes, said).is_likely:
        raise InvalidInput(
            f"A project {folder.name!r} was imported from another folder, and its notes say "
            "something else. Give this one another name with --project NAME.",
            field="project",
            value=folder.name,
        )
    is_known_name = namesakes is not None or folder.is_project
    name = folder.name if is_known_name else _copied(known, said) or folder.name
    return Origin(name, _fit(known.get(OLDER, ()), said).is_likely)


def _known(rows: Reader, caller: Caller, program: str) -> dict[str, list[Item]]:
    """What came from folders of the program, also what was forgotten, by the project."""
    chosen = Filter(forgotten=None, where=(Condition("source", "eq", program),))
    known: dict[str, list[Item]] = defaultdict(list)
    for item in rows.list_items(caller, checked(chosen), limit=NO_LIMIT, counted=False).items:
        known[str(item.attributes.get(SOURCE_PROJECT, OLDER))].append(item)
    return known


def _has_plain_id(item: Item, caller: Caller, program: str) -> bool:
    return item.id == id_of(caller.user, program, str(item.attributes.get("source_id")))


def _refuse_other_name(folder: ForeignFolder, name: str) -> None:
    if folder.is_named and folder.name != name:
        raise InvalidInput(
            f"This folder was imported before, as {name!r}. Leave out --project.",
            field="project",
            value=folder.name,
        )


def _fit(items: Iterable[Item], said: Mapping[str, str]) -> _Fit:
    digests = {
        str(item.attributes.get("source_id")): item.attributes.get("source_digest")
        for item in items
    }
    both = digests.keys() & said.keys()
    same = sum(digests[id] == said[id] for id in both)
    return _Fit(same, len(both) - same)


def _copied(known: Mapping[str, Sequence[Item]], said: Mapping[str, str]) -> str | None:
    """The vault that most notes of a folder with another name are from."""
    for name, items in known.items():
        fit = _fit(items, said)
        if name != OLDER and fit.is_likely and fit.same * 2 > max(len(items), len(said)):
            return name
    return None
