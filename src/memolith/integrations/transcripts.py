"""The messages of a session, one item each, in the order in which they were said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from memolith.doors.library.memory import Memory
from memolith.doors.library.results import Item, ListedItem
from memolith.errors import Conflict, MemolithError, NotFound

LIST_LIMIT = 100
"""How many items one call lists."""
FETCH_LIMIT = 50
"""How many items one call reads."""
MAX_TITLE_CHARACTERS = 500
NO_TEXT = "(no text)"
"""The text of an item that says nothing in words; every item has one."""
KIND = "conversation"
ENTRY_NAME = "entry"
SESSION_NAME = "session"


class Entry(NamedTuple):
    """One message: its text, by which it is found, and the value that the framework gets back."""

    text: str
    value: dict[str, Any]


class Transcript:
    """The messages of one session of one framework.

    Each message is an item of the kind `conversation`, so `recall` finds it. What is taken out
    of a transcript is forgotten, and can be restored.
    """

    def __init__(self, memory: Memory, framework: str, session_id: str) -> None:
        self.memory = memory
        self.session_id = session_id
        self._framework = framework
        self._tag = digest_tag(framework, session_id)

    def add(self, entries: Sequence[Entry]) -> None:
        """Keep messages in the order given; if one is refused, none of them stays."""
        kept: list[str] = []
        try:
            for entry in entries:
                kept.append(self._keep(entry))
        except MemolithError:
            for id in kept:
                self.memory.forget(id)
            raise

    def _keep(self, entry: Entry) -> str:
        made = self.memory.remember(
            entry.text.strip() or NO_TEXT,
            kind=KIND,
            title=self.session_id[:MAX_TITLE_CHARACTERS],
            tags=[self._framework, self._tag],
            metadata={SESSION_NAME: self.session_id, ENTRY_NAME: entry.value},
        )
        return made.id

    def values(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The newest messages, or all of them, the oldest first."""
        listed: list[ListedItem] = []
        for item in self._newest_first():
            if limit is not None and len(listed) >= limit:
                break
            listed.append(item)
        listed.reverse()
        whole = read_items(self.memory, [item.id for item in listed])
        return [entry_of(item) for item in whole]

    def pop(self) -> dict[str, Any] | None:
        """Take the newest message out; None if there is none."""
        while True:
            newest = next(self._newest_first(), None)
            if newest is None:
                return None
            try:
                item = self.memory.get(newest.id)
                self.memory.forget(item.id)
            except (NotFound, Conflict):
                # Another program took it in the meantime.
                continue
            return entry_of(item)

    def clear(self) -> None:
        """Take every message out."""
        for item in list(self._newest_first()):
            try:
                self.memory.forget(item.id)
            except (NotFound, Conflict):
                continue

    def _newest_first(self) -> Iterator[ListedItem]:
        return list_items(self.memory, [self._framework, self._tag])


def list_items(memory: Memory, tags: Sequence[str]) -> Iterator[ListedItem]:
    """Every item with these tags, the newest first, read page by page."""
    offset = 0
    while True:
        page = memory.list(tags=tags, limit=LIST_LIMIT, offset=offset)
        yield from page
        offset += len(page)
        if not page or offset >= page.total:
            return


def read_items(memory: Memory, ids: Sequence[str]) -> list[Item]:
    """Whole items in the order of their ids; those that are gone by now are left out."""
    items: list[Item] = []
    for start in range(0, len(ids), FETCH_LIMIT):
        wanted = list(ids[start : start + FETCH_LIMIT])
        try:
            found = memory.call("fetch", ids=wanted)["items"]
        except NotFound:
            continue
        by_id = {item["id"]: Item(item) for item in found}
        items.extend(by_id[id] for id in wanted if id in by_id)
    return items


def digest_tag(*parts: str) -> str:
    """A tag that stands for texts of any length: the first of them, and a digest of all."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{parts[0]}/{digest[:32]}"


def entry_of(item: Item) -> dict[str, Any]:
    """What the framework put into an item."""
    value: dict[str, Any] = (item.metadata or {})[ENTRY_NAME]
    return value
