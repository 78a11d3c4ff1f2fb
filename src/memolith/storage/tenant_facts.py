"""What was found out about a tenant, kept until its next event."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from memolith.storage.rows import Head

MAX_FACTS = 2000
"""How many facts are kept over all tenants before all of them are dropped."""

Fact = TypeVar("Fact")


class TenantFacts:
    """Facts by name and tenant, each with the head that the tenant had when it was read.

    All readers of a store share them, from any thread: an entry is replaced, never changed.
    """

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str], tuple[Head | None, Any]] = {}

    def get(self, name: str, tenant: str, head: Head | None, read: Callable[[], Fact]) -> Fact:
        """The fact, read now unless it is known for this head."""
        entry = self._facts.get((name, tenant))
        if entry is not None and entry[0] == head:
            return cast(Fact, entry[1])
        fact = read()
        self.put(name, tenant, head, fact)
        return fact

    def put(self, name: str, tenant: str, head: Head | None, fact: object) -> None:
        if len(self._facts) >= MAX_FACTS:
            self._facts.clear()
        self._facts[name, tenant] = (head, fact)
