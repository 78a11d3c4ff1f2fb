"""Which parts of a filter shorten the posting lists of the text index."""

from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.storage.terms import scope_tokens

MIN_COMMON_ITEMS = 2000
"""A value that no more items than this have is always worth a look into its posting list."""

COMMON_SHARE = 50
"""Beyond that, a value is common if more than one in so many passages could have it."""


class ScopeGroup(NamedTuple):
    """Values of one field of a filter, any of which an item must have."""

    field: str
    values: tuple[str, ...]

    @property
    def tokens(self) -> list[str]:
        """The scope tokens of the text index that stand for these values."""
        return scope_tokens(self.field, self.values)


def scope_groups(chosen: Filter) -> list[ScopeGroup]:
    """The parts of a filter that the text index has scope tokens for."""
    groups = [ScopeGroup("tag", (tag,)) for tag in chosen.tags_all]
    groups += [
        ScopeGroup("tag", chosen.tags_any),
        ScopeGroup("kind", chosen.kinds),
        ScopeGroup("project", chosen.projects),
        ScopeGroup("namespace", chosen.namespaces),
    ]
    return [group for group in groups if group.values]


def visibility_tokens(caller: Caller) -> list[str]:
    """The scope tokens of what a caller may see."""
    circles = [f"u{caller.user}", "o"]
    if caller.project:
        circles.append(f"p{caller.project}")
    return scope_tokens("see", circles)


def most_items_worth_narrowing(passages: int) -> int:
    """A value that more items than this have is common; to look it up would only add work."""
    return max(MIN_COMMON_ITEMS, passages // COMMON_SHARE)
