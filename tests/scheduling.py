"""Which worker runs which tests: all of one module on one, except where one module is the whole run."""

from __future__ import annotations

from zlib import crc32

from xdist.scheduler import LoadScopeScheduling

PARTS = {"test_hostile.py": 12}
"""Modules that take so long that the workers share them. Their tests need nothing of each other."""


class ByModule(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps modules together, because their fixtures are dear, and deals out the longest in parts."""

    def _split_scope(self, nodeid: str) -> str:
        scope = str(super()._split_scope(nodeid))
        parts = PARTS.get(scope.rsplit("/", 1)[-1])
        return f"{scope}, part {crc32(nodeid.encode()) % parts}" if parts else scope
