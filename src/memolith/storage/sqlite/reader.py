"""Reads from SQLite: its full-text index, which FTS5 keeps."""

from collections import defaultdict
from typing import ClassVar

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.text_index import Candidate
from memolith.storage.filters import FilterPieces
from memolith.storage.index_check import ExpectedIndex
from memolith.storage.reader import StoreReader, TextMatch
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
    parts += [f"scope : ({' OR '.join(scope)})" for scope in match.scopes]
    return " AND ".join(parts)


def _hash(text: IndexedText) -> int:
    return sum(
        hash((term, column, offset))
        for column, terms in text._asdict().items()
        for offset, term in enumerate(terms.split())
    )
