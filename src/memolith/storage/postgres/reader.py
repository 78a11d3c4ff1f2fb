"""Reads from PostgreSQL: its text index, which is a table of postings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from memolith.domain.callers import Caller
from memolith.domain.passages import PassageRef
from memolith.domain.queries import Filter
from memolith.ports.text_index import Candidate
from memolith.storage.filters import FilterPieces
from memolith.storage.index_check import ExpectedIndex
from memolith.storage.postgres.filters import FILTER_PIECES
from memolith.storage.postgres.postings import posting_columns
from memolith.storage.postgres.statements import ROWS_PER_PORTION, PostgresStatements
from memolith.storage.reader import SAMPLED_PASSAGES, StoreReader, TextMatch, Totals
from memolith.storage.rows import CANDIDATE
from memolith.storage.terms import IndexedText


class PostgresReader(StoreReader):
    """Reads that all see the same moment. It also tells how much of a tenant a search can see."""

    statements: PostgresStatements
    filter_pieces: ClassVar[FilterPieces] = FILTER_PIECES

    def sees_everything(self, caller: Caller, chosen: Filter) -> bool:
        """Whether a search leaves out nothing but what is forgotten."""
        return (
            chosen == Filter()
            and self.sees_all(caller)
            and not self._anything_expires(caller.tenant)
        )

    def sees_most(self, caller: Caller, chosen: Filter) -> bool:
        """Whether a search leaves out little, so that a tenant's own vector index serves it."""
        narrowing = replace(chosen, kinds=(), statuses=(), tags_none=())
        return narrowing == Filter() and self.sees_all(caller)

    def _matching_passages(
        self, caller: Caller, chosen: Filter, match: TextMatch, limit: int
    ) -> list[Candidate]:
        if self.sees_everything(caller, chosen):
            name = "search_text_everything"
        elif chosen.looks_at_passages:
            name = "search_text_passages"
        else:
            name = "search_text"
        found = self.read_filtered(
            name,
            CANDIDATE,
            caller,
            chosen,
            True,
            match=match_expression(match),
            words=json.dumps(match.words),
            limit=limit,
        )
        return list(found)

    def _visible_totals(self, caller: Caller, scope: Sequence[str]) -> Totals:
        everything = Filter(forgotten=None)
        passages = next(self.filtered("count_visible_passages", caller, everything)).passages
        mean_length = next(
            self.filtered("mean_visible_length", caller, everything, limit=SAMPLED_PASSAGES)
        ).terms
        return Totals(passages, mean_length)

    def _visible_frequencies(
        self, tenant: str, terms: Sequence[str], scope: Sequence[str]
    ) -> dict[str, int]:
        visible = " | ".join(scope)
        matches = {term: f"{term} & ({visible})" for term in terms}
        found = self.statements.rows(
            "count_each_matching", tenant=tenant, matches=json.dumps(matches)
        )
        return {row.term: row.passages for row in found}

    def _compare_text_index(self, tenant: str, expected: ExpectedIndex) -> None:
        stale = self._stale_postings(tenant, expected.texts)
        posted = {row.ref for row in self.statements.rows("posting_refs", tenant=tenant)}
        expected.compare_text_index(stale, unknown=posted - expected.texts.keys())
        for row in self.statements.rows("wrong_term_counts", tenant=tenant):
            expected.problems.append(f"text index counts the passages of term {row.term} wrongly")

    def _stale_postings(
        self, tenant: str, texts: Mapping[PassageRef, IndexedText]
    ) -> list[PassageRef]:
        """The passages that the text index lacks or holds otherwise."""
        wanted = [{"ref": ref, **posting_columns(text)} for ref, text in texts.items()]
        stale: list[PassageRef] = []
        for start in range(0, len(wanted), ROWS_PER_PORTION):
            portion = json.dumps(wanted[start : start + ROWS_PER_PORTION])
            found = self.statements.rows("stale_postings", tenant=tenant, wanted=portion)
            stale += [row.ref for row in found]
        return stale


def match_expression(match: TextMatch) -> str:
    """A tsquery: all phrases, every word if asked, and one token of each scope.

    That any word is there, the function `matching` sees to itself.
    """
    groups = [" <-> ".join(phrase.split()) for phrase in match.phrases]
    if match.every:
        groups.append(" & ".join(match.words))
    groups += [" | ".join(scope) for scope in match.scopes]
    return " & ".join(f"({group})" for group in groups if group)
