"""What a client asks about the server itself."""

from importlib.metadata import version

from memolith.tools.call import Call
from memolith.tools.sekha.dialect import sekha
from memolith.tools.sekha.rest.api import sekha_api
from memolith.tools.sekha.rest.models import ToolList, Version


@sekha_api.route("GET", "/version", read_only=True)
def get_version(call: Call) -> Version:
    """Who answers, and in which version."""
    return {"name": "memolith", "version": version("memolith")}


@sekha_api.route("GET", "/api/v1/mcp/tools", read_only=True, body_field="tools")
def list_mcp_tools(call: Call) -> ToolList:
    """The tools of the family, as MCP lists them."""
    tools = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in sekha.tools
    ]
    return {"tools": [dict(tool) for tool in tools]}
