"""Namespaces and statuses of Subcog, and what other families call the same."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from memolith.engine.namespaces import NAMESPACES

SUBCOG_NAMESPACE_OF = {
    "project": "progress",
    "knowledge": "learnings",
    "reference": "apis",
    "workflow": "patterns",
    "personal": "context",
}
"""The namespace under which Subcog shows a memory of another family, by its memory type."""

STORED_STATUSES = {
    "active": ("active",),
    "archived": ("archived",),
    "superseded": ("superseded",),
    "pending": ("pending", "draft"),
    "consolidated": ("consolidated",),
    "tombstoned": (),
    "deleted": (),
}
"""The stored statuses by the word of the filter language; none for what is deleted."""

FOUND_STATUSES = ("active", "archived", "pending", "draft", "consolidated")
"""What is found unless a status is asked for."""


def _stored_namespaces(namespace: str) -> tuple[str, ...]:
    others = [theirs for theirs, ours in SUBCOG_NAMESPACE_OF.items() if ours == namespace]
    return (namespace, *others)


STORED_NAMESPACES = {namespace: _stored_namespaces(namespace) for namespace in NAMESPACES}
"""The stored namespaces by the namespace of Subcog, with those of other families."""


def _hyphenated(value: object) -> object:
    return "tech-debt" if value in ("techdebt", "tech_debt") else value


Namespace = Annotated[
    Literal[
        "decisions",
        "patterns",
        "learnings",
        "context",
        "tech-debt",
        "blockers",
        "progress",
        "apis",
        "config",
        "security",
        "performance",
        "testing",
    ],
    BeforeValidator(_hyphenated),
]


def namespace_of(stored_namespace: str | None) -> str:
    """The namespace under which Subcog shows a memory, also where another family wrote it."""
    namespace = stored_namespace or "context"
    return SUBCOG_NAMESPACE_OF.get(namespace, namespace)


def status_of(stored_status: str) -> str:
    """The status of a memory that is not deleted."""
    for status, stored_statuses in STORED_STATUSES.items():
        if stored_status in stored_statuses:
            return status
    return stored_status
