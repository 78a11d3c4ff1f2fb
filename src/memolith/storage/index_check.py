"""Compares the text index, tags, sketches and totals of a tenant with its rows."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memolith.domain.items import Item
from memolith.domain.passages import PassageRef, item_row_of
from memolith.storage.rows import Head, StoredPassage
from memolith.storage.terms import IndexedText, indexed, sketch


class Mark(NamedTuple):
    """A row of the table `tag` or `sketch`."""

    table: str
    value: str | int
    item_row: int


class ExpectedIndex:
    """What the derived tables of a tenant should hold, worked out from its items and passages."""

    def __init__(
        self, head: Head, items: Mapping[int, Item], passages: Iterable[StoredPassage]
    ) -> None:
        self._head = head
        self._items = items
        self.texts: dict[PassageRef, IndexedText] = {}
        self.problems: list[str] = []
        self._length = 0
        self._marks = {
            Mark("tag", tag, item_row) for item_row, item in items.items() for tag in item.tags
        }
        for row in passages:
            self._add(row)

    def _add(self, row: StoredPassage) -> None:
        item = self._items.get(row.item_row)
        if item is None:
            self.problems.append(f"passage {row.ref} belongs to no item")
            return
        if row.ordinal == 0:
            self._marks |= {Mark("sketch", mark, row.item_row) for mark in sketch(row.text)}
        text = indexed(self._head.number, item, row.passage_of(item.id))
        self.texts[row.ref] = text
        self._length += text.length

    def compare_log(self, events: int, first: int, last: int) -> None:
        """Note if the log does not have the events that the head tells of."""
        seq = self._head.seq
        if (events, first, last) != (seq, min(seq, 1), seq):
            self.problems.insert(0, f"the head says {seq} events; the log has others, or gaps")

    def compare_marks(self, found: set[Mark]) -> None:
        """Note the items whose tags or sketches differ."""
        self.problems += sorted({self._describe(mark) for mark in self._marks ^ found})

    def _describe(self, mark: Mark) -> str:
        if mark.item_row in self._items:
            item_id = self._items[mark.item_row].id
            return f"the {mark.table} rows of {item_id} differ from the log"
        return f"a {mark.table} row belongs to row {mark.item_row}, which is no item"

    def compare_text_index(
        self, stale: Iterable[PassageRef], unknown: Iterable[PassageRef]
    ) -> None:
        """Note passages whose entry in the text index is wrong, and entries of no passage."""
        for ref in stale:
            item_id = self._items[item_row_of(ref)].id
            self.problems.append(f"text index of {item_id} differs from its text")
        for ref in unknown:
            self.problems.append(f"text index holds row {ref}, which is no passage")

    def compare_totals(self) -> None:
        """Note if the totals in the head are wrong."""
        head = self._head
        if (len(self.texts), self._length) != (head.passages, head.terms):
            self.problems.append(
                f"sums say {head.passages} passages with {head.terms} terms; "
                f"there are {len(self.texts)} with {self._length}"
            )
