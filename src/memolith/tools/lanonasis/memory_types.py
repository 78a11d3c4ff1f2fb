"""Memory types and statuses of LanOnasis, and what other families call the same.

A memory keeps the word of the family that wrote it; these tables translate when it is shown.
"""

from collections.abc import Mapping
from typing import Literal

MemoryType = Literal["context", "project", "knowledge", "reference", "personal", "workflow"]
MemoryStatus = Literal["active", "archived", "draft", "deleted"]

BEHAVIOR_NAMESPACE = "behavior"
"""Where ways of working are kept, which the SDK of LanOnasis records."""

NAMESPACES_OF_TYPE: dict[MemoryType, tuple[str, ...]] = {
    "context": ("context",),
    "project": ("project", "decisions", "tech-debt", "blockers", "progress"),
    "knowledge": ("knowledge", "patterns", "learnings", "security", "performance"),
    "reference": ("reference", "apis", "config"),
    "personal": ("personal",),
    "workflow": ("workflow", "testing", BEHAVIOR_NAMESPACE),
}

STORED_STATUSES: dict[MemoryStatus, tuple[str, ...]] = {
    "active": ("active",),
    "archived": ("archived", "superseded", "consolidated"),
    "draft": ("draft", "pending"),
    "deleted": (),
}


def memory_type_of(namespace: str | None) -> MemoryType:
    """The type of a memory, also where another family wrote it."""
    for memory_type, namespaces in NAMESPACES_OF_TYPE.items():
        if namespace in namespaces:
            return memory_type
    return "context"


def memory_status_of(stored_status: str) -> MemoryStatus:
    """The status of a memory that is not deleted."""
    for status, stored_statuses in STORED_STATUSES.items():
        if stored_status in stored_statuses:
            return status
    return "active"


def count_by_type(counts: Mapping[str, int] | Mapping[str | None, int]) -> dict[MemoryType, int]:
    """Counts by namespace as counts by type."""
    by_type: dict[MemoryType, int] = dict.fromkeys(NAMESPACES_OF_TYPE, 0)
    for namespace, count in counts.items():
        by_type[memory_type_of(namespace)] += count
    return by_type
