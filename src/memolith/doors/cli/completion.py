"""The command `completion`: a script for bash, zsh or fish, made from the parsers themselves."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from memolith.bootstrap import App, families
from memolith.domain.items import KINDS
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.commands import LISTED_COMMANDS, TOOLS, ListedCommand
from memolith.doors.cli.parser import command_parser
from memolith.doors.cli.tool_commands import (
    CALL,
    TOOL_OF_COMMAND,
    call_parser,
    find_tool,
    tool_parser,
)
from memolith.doors.install.clients import CLIENTS

SHELLS = ("bash", "zsh", "fish")
VALUES = {"KIND": tuple(KINDS), "CLIENT": tuple(CLIENTS)}
"""The values that a name in the help stands for."""
FILES = ("FILE", "PATH")
FOLDERS = ("DIR",)
WITHOUT_OPTIONS = "hook"
"""Only programs call it."""


@dataclass(frozen=True)
class Value:
    """What can stand at a place of the command line."""

    words: tuple[str, ...] = ()
    files: bool = False
    folders: bool = False


@dataclass(frozen=True)
class Flag:
    """An option by its names; `value` is None if it takes none."""

    names: tuple[str, ...]
    help: str
    value: Value | None


@dataclass(frozen=True)
class Completion:
    """All that can follow a command."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    words: Value
    """What can stand without a flag."""


def completion(app: App, options: Options) -> object:
    script = completion_script(options.shell)
    if options.json:
        return {"shell": options.shell, "script": script}
    return script.rstrip("\n")


def add_completion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=SHELLS, metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}"
    )


def completion_script(shell: str) -> str:
    """The script for a shell."""
    commands = [completion_of(listed) for listed in LISTED_COMMANDS]
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    return scripts[shell](commands)


def completion_of(listed: ListedCommand) -> Completion:
    if listed.name == WITHOUT_OPTIONS:
        return Completion(listed.name, listed.help, (), Value())
    parser = parser_of(listed)
    flags = []
    words = Value()
    for action in parser._actions:
        if action.option_strings:
            flags.append(Flag(tuple(action.option_strings), help_line(action), value_of(action)))
        elif words == Value():
            words = value_of(action) or Value()
    if listed.name == CALL:
        words = Value(tuple(tool.name for family in families() for tool in family.tools))
    return Completion(listed.name, listed.help, tuple(flags), words)


def parser_of(listed: ListedCommand) -> argparse.ArgumentParser:
    if listed.name == CALL:
        return call_parser()
    if listed.module == TOOLS:
        return tool_parser(listed.name, find_tool(TOOL_OF_COMMAND[listed.name]))
    return command_parser(listed)


def help_line(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%%", "%").split())


def value_of(action: argparse.Action) -> Value | None:
    """What an option or an argument takes; None if it takes nothing."""
    if action.nargs == 0:
        return None
    if action.choices:
        return Value(tuple(str(choice) for choice in action.choices))
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name.startswith("{"):
        return Value(tuple(name.strip("{}").split(",")))
    is_file = name in FILES or action.dest in ("file", "files")
    return Value(VALUES.get(name, ()), files=is_file, folders=name in FOLDERS)


# bash


def bash_script(commands: Sequence[Completion]) -> str:
    names = " ".join(command.name for command in commands)
    lines = [
        "# Completion of memolith for bash, made by `memolith completion bash`.",
        "_memolith() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}"',
        '    local previous="${COMP_WORDS[COMP_CWORD - 1]}"',
        '    local command="${COMP_WORDS[1]}"',
        '    local words=""',
        "    COMPREPLY=()",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))',
        "        return",
        "    fi",
        '    case "$command $previous" in',
    ]
    for command in commands:
        for flag in command.flags:
            if flag.value is not None:
                pattern = "|".join(f"'{command.name} {name}'" for name in flag.names)
                lines.append(f"        {pattern})")
                lines += [f"            {line}" for line in bash_value(flag.value)]
                lines.append("            return ;;")
    lines += ["    esac", '    case "$command" in']
    for command in commands:
        flags = " ".join(name for flag in command.flags for name in flag.names)
        lines.append(f"        {command.name})")
        lines.append('            if [ "${current:0:1}" = "-" ]; then')
        lines.append(f'                COMPREPLY=($(compgen -W "{flags}" -- "$current"))')
        lines.append("            else")
        lines += [f"                {line}" for line in bash_value(command.words)]
        lines.append("            fi ;;")
    lines += ["    esac", "}", "complete -F _memolith memolith", ""]
    return "\n".join(lines)


def bash_value(value: Value) -> list[str]:
    if value.files:
        return ["compopt -o filenames", 'COMPREPLY=($(compgen -f -- "$current"))']
    if value.folders:
        return ["compopt -o filenames", 'COMPREPLY=($(compgen -d -- "$current"))']
    words = " ".join(value.words)
    return [f'COMPREPLY=($(compgen -W "{words}" -- "$current"))']


# zsh


def zsh_script(commands: Sequence[Completion]) -> str:
    lines = [
        "#compdef memolith",
        "# Completion of memolith for zsh, made by `memolith completion zsh`.",
        "_memolith() {",
        "    local -a commands",
        "    if (( CURRENT == 2 )); then",
        "        commands=(",
    ]
    for command in commands:
        described = f"{command.name}:{command.help}"
        lines.append(f"            {shlex.quote(described)}")
    lines += [
        "        )",
        "        _describe -t commands command commands",
        "        return",
        "    fi",
        "    local command=$words[2]",
        '    words=("${(@)words[2,-1]}")',
        "    (( CURRENT-- ))",
        '    case "$command" in',
    ]
    for command in commands:
        specifications = []
        for flag in command.flags:
            for name in flag.names:
                shown = f"{name}[{zsh_text(flag.help)}]{zsh_value(flag.value)}"
                specifications.append(f"                {shlex.quote(shown)}")
        rest = "*" + zsh_value(command.words)
        specifications.append(f"                {shlex.quote(rest)}")
        lines.append(f"        {command.name})")
        lines.append("            _arguments \\")
        lines.append(" \\\n".join(specifications))
        lines.append("            ;;")
    lines += [
        "    esac",
        "}",
        'if [ "$funcstack[1]" = "_memolith" ]; then',
        '    _memolith "$@"',
        "else",
        "    compdef _memolith memolith",
        "fi",
        "",
    ]
    return "\n".join(lines)


def zsh_text(text: str) -> str:
    """A help in the brackets of a specification."""
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return text


def zsh_value(value: Value | None) -> str:
    if value is None:
        return ""
    if value.files:
        return ":file:_files"
    if value.folders:
        return ":folder:_files -/"
    if value.words:
        return f":value:({' '.join(value.words)})"
    return ":value: "


# fish

FISH_HEAD = """\
# Completion of memolith for fish, made by `memolith completion fish`.
function __memolith_has_no_command
    test (count (commandline -opc)) -eq 1
end
function __memolith_command_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"
end
complete -c memolith -f
"""


def fish_script(commands: Sequence[Completion]) -> str:
    lines = [FISH_HEAD.rstrip("\n")]
    for command in commands:
        lines.append(
            "complete -c memolith -n __memolith_has_no_command "
            f"-a {command.name} -d {fish_text(command.help)}"
        )
        condition = f"complete -c memolith -n '__memolith_command_is {command.name}'"
        words = fish_value(command.words)
        if words:
            lines.append(f"{condition} {words}")
        lines += [f"{condition} {fish_flag(flag)}" for flag in command.flags]
    return "\n".join(lines) + "\n"


def fish_flag(flag: Flag) -> str:
    names = []
    for name in flag.names:
        names.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}")
    parts = [*names, f"-d {fish_text(flag.help)}"]
    if flag.value is not None:
        parts.append("-r")
        parts.append(fish_value(flag.value) or "-f")
    return " ".join(parts)


def fish_value(value: Value) -> str:
    if value.files:
        return "-F"
    if value.folders:
        return "-f -a '(__fish_complete_directories)'"
    if value.words:
        return f"-f -a {fish_text(' '.join(value.words))}"
    return ""


def fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


COMMANDS = (Command("completion", completion, add_completion_options),)
