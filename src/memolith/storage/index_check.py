"""Compares the text index with the passages it was made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Protocol

from memolith.engine.model import Item
from memolith.storage.rows import Row, passage_from, text_digest
from memolith.storage.terms import indexed, sketch

COLUMNS = ("body", "extra", "scope")


class Statements(Protocol):
    """A reader that runs named statements."""

    def rows(self, name: str, /, **values: str | int | float | bytes | None) -> Iterator[Row]: ...
    def row(self, name: str, /, **values: str | int | float | bytes | None) -> Row | None: ...
    def all_items(self, tenant: str) -> Iterator[Item]: ...


def index_differences(reader: Statements, tenant: str) -> list[str]:
    """Where index or sums are not what the passages say."""
    head = reader.row("head", tenant=tenant)
    if head is None:
        return ["its head row is missing"]
    number, seq, passages, terms, _ = head
    problems = [f"{name} belongs to no item" for (name,) in reader.rows("orphans")]
    if reader.row("log_state", tenant=tenant) != (seq, min(seq, 1), seq):
        problems.append(f"the head says {seq} events; the log has others, or gaps")
    for _ in reader.rows("instances"):
        pass
    found: dict[int, int] = defaultdict(int)
    for term, doc, column, offset in reader.rows("instances_all"):
        found[doc] += hash((term, column, offset))
    count = length = 0
    marks: dict[int, set[int]] = defaultdict(set)
    for number_of_item, mark in reader.rows("sketches", tenant=tenant):
        marks[number_of_item].add(mark)
    items = {item.id: item for item in reader.all_items(tenant)}
    for row in reader.rows("passages_all", tenant=tenant):
        item = items[row[-1]]
        if row[10] != text_digest(row[5]):
            problems.append(f"the digest of passage {row[3]} of {item.id} is not that of its text")
        if row[3] == 0 and marks.pop(row[2], set()) != set(sketch(row[5])):
            problems.append(f"the sketch of {item.id} is not that of its text")
        *columns, size = indexed(number, item, passage_from(row, item.id))
        expected = sum(hash((term, name, offset)) for name, text in zip(COLUMNS, columns, strict=True)
                       for offset, term in enumerate(text.split()))
        count, length = count + 1, length + size
        if found.pop(row[0], 0) != expected:
            problems.append(f"text index of {item.id}, passage {row[3]}, differs from its text")
    problems += [f"a sketch belongs to row {row}, which is no item" for row in marks]
    others = {id for (id,) in reader.rows("passage_ids")}
    problems += [f"text index holds row {doc}, which is no passage" for doc in found if doc not in others]
    if (count, length) != (passages, terms):
        problems.append(f"sums say {passages} passages with {terms} terms; there are {count} with {length}")
    return problems
