"""The files by which registries and directories list memolith, and the links that add it to editors.

Whoever follows them has not installed memolith yet, so they start it with `uvx`.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from memolith.doors.install.clients import CLIENTS
from memolith.doors.install.snippets import program_fields
from scripts.distribution.plugins import as_json
from scripts.distribution.project import NAME, ROOT, TITLE, project

Json = dict[str, Any]

REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
GLAMA_SCHEMA = "https://glama.ai/mcp/schemas/server.json"
INSTALLING_PAGE = ROOT / "docs" / "how-to" / "installing.md"
LINKS_BEGIN = "<!-- install links: made by `make snap` -->\n"
LINKS_END = "<!-- end of install links -->\n"
PROFILE = "core"
START = ["stdio", "--tools", PROFILE]

SMITHERY_FILE = """\
# Made by `make snap`.
startCommand:
  type: stdio
  configSchema:
    type: object
    properties:
      tools:
        type: string
        default: {profile}
        description: "Which tools the client sees: all, or names of families and tools."
      data:
        type: string
        description: The data folder.
  commandFunction: |-
    (config) => ({{
      command: "uvx",
      args: ["{name}", "stdio", "--tools", config.tools || "{profile}"],
      env: config.data ? {{MEMOLITH_DATA: config.data}} : {{}}
    }})
  exampleConfig:
    tools: {profile}
"""


def registry_entry(*more_packages: Json) -> Json:
    """The entry for the MCP registry. The bundle is known only when it is built."""
    facts = project()
    tool, profile_flag, profile = START
    package = {
        "registryType": "pypi",
        "identifier": NAME,
        "version": facts.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [
            {"type": "positional", "value": tool},
            {
                "type": "named",
                "name": profile_flag,
                "description": "Which tools the client sees: all, or names of families and tools.",
                "default": profile,
            },
        ],
        "environmentVariables": [
            {
                "name": "MEMOLITH_DATA",
                "description": "The data folder; the usual place of the platform if left out.",
                "format": "filepath",
            }
        ],
    }
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": facts.registry_name,
        "title": TITLE,
        "description": facts.description,
        "version": facts.version,
        "websiteUrl": facts.homepage,
        "packages": [package, *more_packages],
    }


def smithery_file() -> str:
    return SMITHERY_FILE.format(name=NAME, profile=PROFILE)


def glama_file() -> str:
    return as_json({"$schema": GLAMA_SCHEMA, "maintainers": list(project().maintainers)})


def uvx_fields(client: str) -> Json:
    """The entry of a client that starts memolith without an installation."""
    return program_fields(CLIENTS[client], "uvx", [NAME, *START])


def install_links() -> dict[str, str]:
    """By the name of an editor, the address that opens it and offers to add memolith.

    They begin with https, because many pages that show Markdown take out other links.
    """
    cursor = base64.b64encode(json.dumps(uvx_fields("cursor")).encode()).decode()
    vscode = json.dumps(uvx_fields("vscode"), separators=(",", ":"))
    query = urlencode({"name": NAME, "config": vscode}, quote_via=quote)
    return {
        "VS Code": f"https://vscode.dev/redirect/mcp/install?{query}",
        "VS Code Insiders": f"https://insiders.vscode.dev/redirect/mcp/install?{query}&quality=insiders",
        "Cursor": "https://cursor.com/en/install-mcp?"
        + urlencode({"name": NAME, "config": cursor}, quote_via=quote),
    }


def links_block() -> str:
    lines = [f"- [Add memolith to {name}]({link})\n" for name, link in install_links().items()]
    described = json.dumps({"name": NAME, **uvx_fields("vscode")})
    return (
        "\n"
        + "".join(lines)
        + f"\nThe same for VS Code from a terminal:\n\n```sh\ncode --add-mcp '{described}'\n```\n\n"
    )


def installing_page() -> str:
    """The page on installing with its links renewed."""
    text = INSTALLING_PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(LINKS_BEGIN)
    _, end, after = rest.partition(LINKS_END)
    return before + begin + links_block() + end + after


def listing_files() -> dict[Path, str]:
    """The files in the root of the repository, and the page with the links."""
    return {
        ROOT / "server.json": as_json(registry_entry()),
        ROOT / "smithery.yaml": smithery_file(),
        ROOT / "glama.json": glama_file(),
        INSTALLING_PAGE: installing_page(),
    }
