"""How an error is worded on each path: as the family does that the path belongs to."""

from typing import Any

from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect, plain_failure
from memolith.tools.registry import Registry

REST_PREFIX = "/mcp/tools/"


class PathWording:
    """Words errors for the paths of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def word(self, error: MemolithError, path: str) -> dict[str, Any]:
        tool = self.registry.find(path.removeprefix(REST_PREFIX))
        if tool is not None:
            return tool.dialect.failure(error)
        dialect = self._dialect_of_mcp_path(path)
        documented = dialect.jsonrpc(error) if dialect is not None else None
        if documented is None:
            return plain_failure(error)
        code, message, data = documented
        return {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": code, "message": message, "data": data},
        }

    def _dialect_of_mcp_path(self, path: str) -> Dialect | None:
        for family in self.registry.families:
            if path == f"/mcp/{family.name}":
                return family.dialect
        return None
