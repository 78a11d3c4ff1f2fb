"""Reads from SQLite: its full-text index, which FTS5 keeps."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.text_index import Candidate
from memolith.storage.filters import FilterPieces
from memolith.storage.index_check import ExpectedIndex
from memolith.storage.reader import SAMPLED_PASSAGES, StoreReader, TextMatch, Totals
from memolith.storage.rows import CANDIDATE
from memolith.storage.sqlite.filters import FILTER_PIECES
from memolith.storage.sqlite.statements import SqliteStatements
from memolith.storage.terms import IndexedText


class SqliteReader(StoreReader):
    """Reads that all see the same moment."""

    statements: SqliteStatements
    filter_pieces: ClassVar[FilterPieces] = FILTER_PIECES

    def _matching_passages(
        self, caller: Caller, chosen: Filter, match: TextMatch, limit: int
    ) -> list[Candidate]:
        if chosen.looks_at_passages:
            name = "search_text_passages"
        elif chosen == Filter():
            name = "search_text"
        else:
            name = "search_text_filtered"
        found = self.read_filtered(
            name, CANDIDATE, caller, chosen, True, match=match_expression(match), limit=limit
        )
        return list(found)

    def _visible_totals(self, caller: Caller, scope: Sequence[str]) -> Totals:
        match = scope_expression(scope)
        row = self.statements.row("count_matching", match=match)
        found = self.statements.rows("newest_lengths", match=match, limit=SAMPLED_PASSAGES)
        lengths = [_counted_terms(row.sizes) for row in found]
        mean_length = sum(lengths) / len(lengths) if lengths else 0.0
        return Totals(row.passages if row else 0, mean_length)

    def _visible_frequencies(
        self, tenant: str, terms: Sequence[str], scope: Sequence[str]
    ) -> dict[str, int]:
        visible = scope_expression(scope)
        matches = {term: f'{{body extra}} : "{term}" AND {visible}' for term in terms}
        found = self.statements.rows("count_each_matching", matches=json.dumps(matches))
        return {row.term: row.passages for row in found}

    def _compare_text_index(self, tenant: str, expected: ExpectedIndex) -> None:
        found = self._text_index_hashes()
        stale = [ref for ref, text in expected.texts.items() if found.pop(ref, 0) != _hash(text)]
        of_all_tenants = {row.ref for row in self.statements.rows("passage_refs")}
        expected.compare_text_index(stale, unknown=found.keys() - of_all_tenants)

    def _text_index_hashes(self) -> dict[PassageRef, int]:
        """One number for all that the text index holds of each passage."""
        self.statements.do("create_instance_table")
        found: dict[PassageRef, int] = defaultdict(int)
        for row in self.statements.rows("text_index_instances"):
            found[row.doc] += hash((row.term, row.col, row.offset))
        return found


def match_expression(match: TextMatch) -> str:
    """An FTS5 expression: all phrases, any word (or every word), and one token of each scope."""
    groups = [f'"{phrase}"' for phrase in match.phrases]
    if match.words:
        operator = " AND " if match.every else " OR "
        groups.append("(" + operator.join(f'"{word}"' for word in match.words) + ")")
    parts = ["{body extra} : (" + " AND ".join(groups) + ")"]
    parts += [scope_expression(scope) for scope in match.scopes]
    return " AND ".join(parts)


def scope_expression(tokens: Sequence[str]) -> str:
    """An FTS5 expression: one token of a scope."""
    return f"scope : ({' OR '.join(tokens)})"


def _counted_terms(sizes: bytes) -> int:
    """How many terms of a passage count in the ranking: those of its body and of what is beside it.

    FTS5 keeps a number for each column, in seven bits a byte; the last byte of each is below 128.
    """
    columns = []
    number = 0
    for byte in sizes:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            columns.append(number)
            number = 0
    body, extra, _scope = columns
    return body + extra


def _hash(text: IndexedText) -> int:
    return sum(
        hash((term, column, offset))
        for column, terms in text._asdict().items()
        for offset, term in enumerate(terms.split())
    )
