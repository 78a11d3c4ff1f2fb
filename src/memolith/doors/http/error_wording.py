"""How an error is worded on each path: as the family does that the path belongs to."""

from typing import Any

from memolith.doors.http.foreign_routes import ForeignPaths
from memolith.errors import MemolithError
from memolith.tools.dialect import Dialect, plain_failure
from memolith.tools.registry import Registry

REST_PREFIX = "/mcp/tools/"


class PathWording:
    """Words errors for the paths of a registry and of other systems."""

    def __init__(self, registry: Registry, foreign: ForeignPaths) -> None:
        self.registry = registry
        self.foreign = foreign

    def word(self, error: MemolithError, path: str, request_id: str) -> dict[str, Any]:
        """An error in the words of a path, with the request id where these words are our own.

        Clients of a documented family or system get exactly the fields that are documented.
        """
        body = self._worded(error, path)
        return body | {"request_id": request_id} if self._is_ours(path) else body

    def _worded(self, error: MemolithError, path: str) -> dict[str, Any]:
        api = self.foreign.api_of(path)
        if api is not None:
            return api.dialect.failure(error)
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

    def _is_ours(self, path: str) -> bool:
        if self.foreign.api_of(path) is not None:
            return False
        tool = self.registry.find(path.removeprefix(REST_PREFIX))
        dialect = tool.dialect if tool is not None else self._dialect_of_mcp_path(path)
        return dialect is None or dialect.failure is plain_failure

    def _dialect_of_mcp_path(self, path: str) -> Dialect | None:
        for family in self.registry.families:
            if path == f"/mcp/{family.name}":
                return family.dialect
        return None
