"""Compares the text index with the passages it was made from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from memolith.storage.rows import passage_from, text_digest
from memolith.storage.terms import indexed, sketch

if TYPE_CHECKING:
    from memolith.storage.reader import SqlReader


def index_differences(reader: SqlReader, tenant: str) -> list[str]:
    """Where index or sums are not what the passages say."""
    head = reader.row("head", tenant=tenant)
    if head is None:
        return ["its head row is missing"]
    number, seq, passages, terms, _ = head
    problems = [f"{name} belongs to no item" for (name,) in reader.rows("orphans", tenant=tenant)]
    if reader.row("log_state", tenant=tenant) != (seq, min(seq, 1), seq):
        problems.append(f"the head says {seq} events; the log has others, or gaps")
    marks: dict[int, set[int]] = defaultdict(set)
    for number_of_item, mark in reader.rows("sketches", tenant=tenant):
        marks[number_of_item].add(mark)
    items = {item.id: item for item in reader.all_items(tenant)}
    expected: dict[int, tuple[str, str, str]] = {}
    names: dict[int, str] = {}
    length = 0
    for row in reader.rows("passages_all", tenant=tenant):
        item = items[row[-1]]
        if row[10] != text_digest(row[5]):
            problems.append(f"the digest of passage {row[3]} of {item.id} is not that of its text")
        if row[3] == 0 and marks.pop(row[2], set()) != set(sketch(row[5])):
            problems.append(f"the sketch of {item.id} is not that of its text")
        body, extra, scope, size = indexed(number, item, passage_from(row, item.id))
        expected[row[0]], names[row[0]] = (body, extra, scope), f"{item.id}, passage {row[3]}"
        length += size
    problems += [f"text index of {names[ref]}, differs from its text" if ref in names else
                 f"text index holds row {-ref}, which is no passage" for ref in reader.stale(expected)]
    problems += [f"a sketch belongs to row {row}, which is no item" for row in marks]
    if (len(expected), length) != (passages, terms):
        problems.append(f"sums say {passages} passages with {terms} terms; there are {len(expected)} with {length}")
    return problems
