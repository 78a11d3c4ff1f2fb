"""The plugins for coding agents, a folder for each, and the catalogues that list them.

All of them start the `memolith` that is installed on the machine: hooks have to answer at once, and
the command line and every client then use one version.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memolith.doors.hooks.events import EVENTS, PROMPT, SESSION_START, STOP
from memolith.doors.install.clients import CLIENTS
from memolith.doors.install.commands import HOOK_TIMEOUT_S
from scripts.distribution.project import NAME, RELEASE, ROOT, TITLE, project

Json = dict[str, Any]

PLUGINS = ROOT / "plugins"
GEMINI = ROOT / "extensions" / "gemini"
"""Not among the plugins, because programs take whatever is there for a plugin of Claude Code."""
CATEGORY = "Productivity"
SKILL = "use-memory"
SKILL_DESCRIPTION = (
    "Use long-term memory through memolith. Use when a task may build on earlier sessions, when the "
    "user says remember, recall, last time, as we decided or my preference, and when something was "
    "learned that later sessions need."
)
MILLISECONDS = 1000

CLAUDE_EVENTS = {name: name for name in EVENTS.values()}
CODEX_EVENTS = {SESSION_START: SESSION_START, PROMPT: PROMPT, STOP: STOP}
"""Not `PreCompact`: memolith does not read the transcripts of Codex."""
GEMINI_EVENTS = {SESSION_START: SESSION_START, PROMPT: "BeforeAgent"}
"""Gemini CLI takes context at these events alone."""


@dataclass(frozen=True)
class Command:
    """A command that a plugin adds."""

    name: str
    description: str
    hint: str
    prompt: str


def commands() -> list[Command]:
    """The commands of every plugin, from release/commands.toml."""
    tables = tomllib.loads((RELEASE / "commands.toml").read_text(encoding="utf-8"))
    return [Command(name, **fields) for name, fields in tables.items()]


def as_json(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def about() -> Json:
    """The fields that every plugin manifest has."""
    facts = project()
    return {
        "name": NAME,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": facts.author},
        "homepage": facts.homepage,
        "license": facts.license,
        "keywords": list(facts.keywords),
    }


def server(client: str) -> Json:
    """How a client starts the server."""
    return {"command": NAME, "args": ["stdio", "--tools", CLIENTS[client].profile]}


def servers_file(client: str) -> str:
    return as_json({"mcpServers": {NAME: server(client)}})


def hooks_file(events: dict[str, str], timeout: int) -> str:
    """The hooks, by the name that the client has for each event of ours."""
    commands_by_event = {event: f"{NAME} hook {name}" for name, event in EVENTS.items()}
    groups = {}
    for ours, theirs in events.items():
        hook = {"type": "command", "command": commands_by_event[ours], "timeout": timeout}
        groups[theirs] = [{"hooks": [hook]}]
    return as_json({"description": "Shows and keeps what matters.", "hooks": groups})


def skill_file() -> str:
    text = (RELEASE / "skill.md").read_text(encoding="utf-8")
    return f"---\nname: {SKILL}\ndescription: {SKILL_DESCRIPTION}\n---\n\n# Use memory\n\n{text}"


def command_file(command: Command) -> str:
    """A command in Markdown, as Claude Code and Cursor read it."""
    head = (
        f"---\ndescription: {command.description}\nargument-hint: '[{command.hint}]'\n---\n"
        if command.hint
        else f"---\ndescription: {command.description}\n---\n"
    )
    return head + command.prompt.format(arguments="$ARGUMENTS")


def gemini_command_file(command: Command) -> str:
    prompt = command.prompt.format(arguments="{{args}}")
    return f"description = {json.dumps(command.description)}\nprompt = '''{prompt}'''\n"


def readme(client: str, lines: list[str]) -> str:
    title = CLIENTS[client].title
    return "\n".join(
        [
            f"# memolith for {title}",
            "",
            f"{project().description} This folder is made by `make snap`.",
            "",
            "Install memolith first (`uv tool install memolith`): the plugin starts the program "
            "`memolith`.",
            "",
            *lines,
            "",
        ]
    )


def claude_code() -> dict[str, str]:
    """The plugin of Claude Code: the server, all hooks, the commands and the skill."""
    return {
        ".claude-plugin/plugin.json": as_json(about()),
        ".mcp.json": servers_file("claude-code"),
        "hooks/hooks.json": hooks_file(CLAUDE_EVENTS, HOOK_TIMEOUT_S),
        **{f"commands/{command.name}.md": command_file(command) for command in commands()},
        f"skills/{SKILL}/SKILL.md": skill_file(),
        "README.md": readme(
            "claude-code",
            [
                "It adds the tools, four hooks that show and keep memories, the commands "
                + ", ".join(f"`/{NAME}:{command.name}`" for command in commands())
                + " and a skill.",
            ],
        ),
    }


def codex() -> dict[str, str]:
    """The plugin of Codex: the server, hooks and the skill."""
    facts = project()
    manifest = {
        **about(),
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/hooks.json",
        "interface": {
            "displayName": TITLE,
            "shortDescription": "Memory across sessions",
            "longDescription": facts.description,
            "developerName": facts.author,
            "category": CATEGORY,
            "capabilities": ["Interactive", "Write"],
            "websiteURL": facts.homepage,
            "defaultPrompt": ["What do you remember about this project?"],
        },
    }
    return {
        ".codex-plugin/plugin.json": as_json(manifest),
        ".mcp.json": servers_file("codex"),
        "hooks/hooks.json": hooks_file(CODEX_EVENTS, HOOK_TIMEOUT_S),
        f"skills/{SKILL}/SKILL.md": skill_file(),
        "README.md": readme("codex", ["It adds the tools, three hooks and a skill."]),
    }


def cursor() -> dict[str, str]:
    """The plugin of Cursor: the server, the commands and the skill."""
    return {
        ".cursor-plugin/plugin.json": as_json({**about(), "displayName": TITLE}),
        "mcp.json": servers_file("cursor"),
        **{f"commands/{command.name}.md": command_file(command) for command in commands()},
        f"skills/{SKILL}/SKILL.md": skill_file(),
        "README.md": readme(
            "cursor",
            [
                "It adds the tools, three commands and a skill. It has no hooks: Cursor expects "
                "answers in a form of its own.",
            ],
        ),
    }


def gemini() -> dict[str, str]:
    """The extension of Gemini CLI: the server, hooks, commands and a context file."""
    facts = project()
    manifest = {
        "name": NAME,
        "version": facts.version,
        "description": facts.description,
        "mcpServers": {NAME: server("gemini-cli")},
        "contextFileName": "GEMINI.md",
    }
    context = (RELEASE / "skill.md").read_text(encoding="utf-8")
    return {
        "gemini-extension.json": as_json(manifest),
        "GEMINI.md": f"# Memory\n\n{context}",
        "hooks/hooks.json": hooks_file(GEMINI_EVENTS, HOOK_TIMEOUT_S * MILLISECONDS),
        **{
            f"commands/{NAME}/{command.name}.toml": gemini_command_file(command)
            for command in commands()
        },
        "README.md": readme(
            "gemini-cli",
            [
                "It adds the tools, two hooks, the commands "
                + ", ".join(f"`/{NAME}:{command.name}`" for command in commands())
                + " and a context file.",
            ],
        ),
    }


def catalogues() -> dict[Path, str]:
    """The files in which Claude Code, Codex and Cursor look for plugins of a repository."""
    facts = project()
    listed = {"name": NAME, "description": facts.description}
    claude = {
        "name": NAME,
        "owner": {"name": facts.author},
        "metadata": {"description": "The plugin of memolith.", "version": facts.version},
        "plugins": [{**listed, "source": "./plugins/claude-code"}],
    }
    codex_catalogue = {
        "name": NAME,
        "interface": {"displayName": TITLE},
        "plugins": [
            {
                "name": NAME,
                "source": {"source": "local", "path": "./plugins/codex"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": CATEGORY,
            }
        ],
    }
    cursor_catalogue = {
        "name": NAME,
        "owner": {"name": facts.author},
        "plugins": [{**listed, "source": "./plugins/cursor"}],
    }
    return {
        ROOT / ".claude-plugin" / "marketplace.json": as_json(claude),
        ROOT / ".agents" / "plugins" / "marketplace.json": as_json(codex_catalogue),
        ROOT / ".cursor-plugin" / "marketplace.json": as_json(cursor_catalogue),
    }


def plugin_files() -> dict[Path, str]:
    """Every file of every plugin, and the catalogues."""
    folders = {
        PLUGINS / "claude-code": claude_code(),
        PLUGINS / "codex": codex(),
        PLUGINS / "cursor": cursor(),
        GEMINI: gemini(),
    }
    files = {
        folder / name: text
        for folder, contents in folders.items()
        for name, text in contents.items()
    }
    return {**files, **catalogues()}
