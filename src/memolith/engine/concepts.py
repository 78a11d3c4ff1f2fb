"""Concepts as the Knowledge tools read them: how sure each one is, and where they belong."""

from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.engine.certainty import Evidence, age_days, certainty_of, evidence_of
from memolith.engine.visibility import is_gone, visible
from memolith.ports.clock import Clock
from memolith.ports.items import ConceptCount
from memolith.ports.store import Store


class CertaintyReport(NamedTuple):
    """How sure a concept is, and what that follows from."""

    item: Item
    certainty: float
    age_days: int
    """How long ago it was written or reviewed last."""
    evidence: Evidence
    neighbours: dict[str, Item]
    """The near copies and contradictions that the caller may see."""


@dataclass(frozen=True)
class Concepts:
    """Reads concepts."""

    store: Store
    clock: Clock

    def certainty(self, item: Item) -> float:
        """How sure a concept is now, from 0 to 100."""
        return certainty_of(item, self.clock.now())

    def explain(self, caller: Caller, id: str) -> CertaintyReport:
        """How the certainty of a concept came about."""
        now = self.clock.now()
        with self.store.reading(caller.tenant) as rows:
            item = visible(rows, caller, id)
            evidence = evidence_of(rows, item, rows.passages(caller.tenant, id))
            others = (*evidence.near_copies, *evidence.contradictions)
            found = rows.items(caller.tenant, others)
        seen = {
            other.id: other
            for other in found.values()
            if other.admits(caller) and not is_gone(other)
        }
        return CertaintyReport(item, certainty_of(item, now), age_days(item, now), evidence, seen)

    def hierarchy(self, caller: Caller) -> list[ConceptCount]:
        """Every place that holds a concept, or has held one."""
        with self.store.reading(caller.tenant) as rows:
            return rows.concept_tree(caller)

    def named(self, caller: Caller, name: str) -> Item | None:
        """The concept with exactly that name, if the caller may see it."""
        with self.store.reading(caller.tenant) as rows:
            for item in rows.items_titled(caller.tenant, "concept", name):
                if item.admits(caller):
                    return item
        return None
