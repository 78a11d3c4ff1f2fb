"""The clients memolith can be put into: where each keeps its servers, in which form, and how many tools it bears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from memolith.doors.config_text import JSON, TOML, Entry, Form


@dataclass(frozen=True)
class Client:
    """A program that can start memolith.

    A place is a template: `{home}`, `{apps}`, `{config}` and `{local}` are folders of the platform, names in capitals
    are environment variables. Places stand in the order in which the client's newest version looks for them.
    """

    name: str
    title: str
    form: Form
    key: str
    user: tuple[str, ...]
    project: str | None = None
    profile: str = "core"
    typed: bool = False

    def entry(self, command: str, arguments: list[str]) -> Entry:
        """What the client is told about a server that it starts itself."""
        return ({"type": "stdio"} if self.typed else {}) | {"command": command, "args": arguments}


_CLINE = "settings/cline_mcp_settings.json"
_ALL = (
    # Claude Code loads tools when they are needed, so all of them cost little; the others show each one to the model.
    Client("claude-code", "Claude Code", JSON, "mcpServers",
           ("{CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"), ".mcp.json", "all", typed=True),
    # The Windows app runs in a package that sees a folder of its own instead of %APPDATA%.
    Client("claude-desktop", "Claude Desktop", JSON, "mcpServers",
           ("{local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
            "{apps}/Claude/claude_desktop_config.json")),
    Client("cursor", "Cursor", JSON, "mcpServers", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json"),
    Client("vscode", "VS Code", JSON, "servers",
           ("{apps}/Code/User/mcp.json", "{apps}/Code - Insiders/User/mcp.json"), ".vscode/mcp.json", typed=True),
    # Since version 4 the extension shares a file with Cline's other programs; before, it had one inside VS Code.
    Client("cline", "Cline", JSON, "mcpServers",
           ("{CLINE_MCP_SETTINGS_PATH}", "{CLINE_DATA_DIR}/" + _CLINE, "{CLINE_DIR}/data/" + _CLINE,
            "{home}/.cline/data/" + _CLINE, "{apps}/Code/User/globalStorage/saoudrizwan.claude-dev/" + _CLINE)),
    Client("codex", "Codex", TOML, "mcp_servers", ("{CODEX_HOME}/config.toml", "{home}/.codex/config.toml"),
           ".codex/config.toml"),
    Client("gemini-cli", "Gemini CLI", JSON, "mcpServers",
           ("{GEMINI_CLI_HOME}/.gemini/settings.json", "{home}/.gemini/settings.json"), ".gemini/settings.json"),
    # Windsurf became Devin Desktop in June 2026 and moved its file.
    Client("windsurf", "Windsurf (Devin Desktop)", JSON, "mcpServers",
           ("{config}/devin/mcp_config.json", "{home}/.codeium/windsurf/mcp_config.json"), ".devin/mcp_config.json"),
)
CLIENTS: Mapping[str, Client] = {client.name: client for client in _ALL}


def _folders(platform: str, env: Mapping[str, str], home: str) -> dict[str, str]:
    if platform == "win32":
        roaming = env.get("APPDATA") or f"{home}/AppData/Roaming"
        local = env.get("LOCALAPPDATA") or f"{home}/AppData/Local"
        return {"home": home, "apps": roaming, "config": roaming, "local": local}
    if platform == "darwin":
        return {"home": home, "apps": f"{home}/Library/Application Support", "config": f"{home}/.config"}
    return {"home": home, "apps": env.get("XDG_CONFIG_HOME") or f"{home}/.config", "config": f"{home}/.config"}


def places(client: Client, platform: str, env: Mapping[str, str], home: str) -> list[PurePath]:
    """Where the user's file may lie, the likeliest first; a `*` stands for a part that differs by machine."""
    kind = PureWindowsPath if platform == "win32" else PurePosixPath
    folders = {name: value for name, value in env.items() if value} | _folders(platform, env, home)
    found: list[PurePath] = []
    for template in client.user:
        try:
            place = kind(template.format_map(folders))
        except KeyError:
            continue
        if template[1].isupper():
            # A variable is the user's word, and the client looks nowhere else.
            return [place]
        found.append(place)
    return found
