"""What an MCP client sees at start: who the server is, how to use it, and the list of tools."""

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint

from memolith.tools.family import Tool
from memolith.tools.registry import Registry

SERVER_NAME = "memolith"
SERVER_TITLE = "memolith"
SERVER_DESCRIPTION = "One memory server for AI agents."

STEADY = CacheHint(ttl_ms=300_000, scope="private")
CHANGING = CacheHint(ttl_ms=0, scope="private")
CACHE_HINTS: dict[CacheableMethod, CacheHint] = {
    "tools/list": STEADY,
    "resources/templates/list": STEADY,
    "server/discover": STEADY,
    "resources/list": CHANGING,
    "resources/read": CHANGING,
    "prompts/list": CHANGING,
}
"""How long a client may keep an answer of each method."""


def instructions(registry: Registry, notice: str | None = None) -> str | None:
    """The advice to the model: a notice, and the instructions of each family that is shown."""
    texts = [notice] if notice else []
    texts += [family.instructions for family in registry.shown if family.instructions]
    return "\n\n".join(texts) or None


def listed_tool(tool: Tool) -> types.Tool:
    """A tool as `tools/list` shows it."""
    return types.Tool(
        name=tool.name,
        title=tool.dialect.title(tool.name),
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool_hints(tool),
    )


def tool_hints(tool: Tool) -> types.ToolAnnotations:
    """Only what differs from the protocol's defaults: every hint costs a model tokens."""
    if tool.dialect.every_hint:
        return types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        )
    if tool.read_only:
        return types.ToolAnnotations(read_only_hint=True)
    if tool.idempotent:
        return types.ToolAnnotations(destructive_hint=tool.destructive, idempotent_hint=True)
    return types.ToolAnnotations(destructive_hint=tool.destructive)
