"""Deleting and erasing memories of branches that a repository no longer has."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.clock import shifted
from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.reading import Reading
from memolith.engine.visibility import is_gone
from memolith.engine.writing import Writing
from memolith.ports.clock import Clock


@dataclass(frozen=True)
class CleanupRequest:
    """What to clean up."""

    alive_branches: Collection[str] | None
    """The branches that the repository has; None if they cannot be read."""
    branch: str | None = None
    """Only memories of this branch."""
    purge: bool = False
    """Also erase what was deleted or has expired."""
    min_age_s: int | None = None
    """Erase only what was deleted so long ago."""
    dry_run: bool = False


class CleanupReport(NamedTuple):
    """What was, or would be, deleted and erased."""

    stale_branches: list[str]
    memories_affected: int
    purged: int


@dataclass(frozen=True)
class BranchCleanup:
    """Cleans up a caller's own memories of a project."""

    reading: Reading
    writing: Writing
    clock: Clock

    def clean_up(self, caller: Caller, request: CleanupRequest) -> CleanupReport:
        """Delete memories of branches that are gone; with `purge`, erase what is deleted."""
        memories = self._own_memories(caller, request.branch)
        stale = _stale_branches(memories, request.alive_branches)
        doomed = self._erasable(memories, stale, request) if request.purge else []
        if not request.dry_run:
            self.writing.forget_all(caller, list(stale), "memory")
            if doomed:
                self.writing.erase(caller, *doomed)
        return CleanupReport(
            stale_branches=sorted(set(stale.values())),
            memories_affected=len({*stale, *doomed}),
            purged=len(doomed),
        )

    def _own_memories(self, caller: Caller, branch: str | None) -> list[Item]:
        """The caller's memories of the project they work in.

        What others keep for the project may belong to branches that only their repositories have.
        """
        chosen = Filter(kinds=("memory",), forgotten=None, owner=caller.user)
        return [
            item
            for item in self.reading.list_all(caller, chosen)
            if item.project == caller.project and branch in (None, item.attributes.get("branch"))
        ]

    def _erasable(
        self, memories: list[Item], stale: dict[str, str], request: CleanupRequest
    ) -> list[str]:
        """The memories that are deleted or expired for long enough, or are deleted now."""
        erasable = []
        for item in memories:
            if is_gone(item):
                gone_since = item.updated_at
                if not item.forgotten:
                    gone_since = str(item.attributes["expires_at"])
                if self._is_old_enough(gone_since, request.min_age_s):
                    erasable.append(item.id)
        if request.min_age_s is None:
            erasable.extend(stale)
        return erasable

    def _is_old_enough(self, gone_since: str, min_age_s: int | None) -> bool:
        if min_age_s is None:
            return True
        return gone_since <= shifted(self.clock.now(), -min_age_s)


def _stale_branches(memories: list[Item], alive_branches: Collection[str] | None) -> dict[str, str]:
    """The branch of each memory whose branch the repository no longer has."""
    if alive_branches is None:
        return {}
    stale = {}
    for item in memories:
        branch = item.attributes.get("branch")
        if branch is not None and branch not in alive_branches and not is_gone(item):
            stale[item.id] = str(branch)
    return stale
