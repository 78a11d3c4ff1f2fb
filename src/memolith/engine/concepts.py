"""Concepts as the Knowledge tools read them: how sure each one is, and where they belong."""

from dataclasses import dataclass

from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.engine.certainty import certainty_of
from memolith.ports.clock import Clock
from memolith.ports.items import ConceptCount
from memolith.ports.store import Store


@dataclass(frozen=True)
class Concepts:
    """Reads concepts."""

    store: Store
    clock: Clock

    def certainty(self, item: Item) -> float:
        """How sure a concept is now, from 0 to 100."""
        return certainty_of(item, self.clock.now())

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
