"""What to paste into the file of a client, as the web page shows it."""

import base64
import json
import shlex
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from memolith.doors.install.clients import Client
from memolith.doors.install.entries import Section
from memolith.doors.install.formats import FORMATS
from memolith.doors.install.launch import launch_command

NAME = "memolith"
KEY_VARIABLE = "MEMOLITH_KEY"
"""Where `memolith stdio --connect` looks for the key first."""


class Snippet(NamedTuple):
    """The lines for one way to reach memolith, and a link that adds them, if the client has one."""

    text: str
    link: str = ""


def server_address(client: Client, url: str) -> str:
    """Where the tools that suit a client are served."""
    return f"{url}/mcp" if client.profile == "all" else f"{url}/mcp/{client.profile}"


def http_snippet(client: Client, url: str, key: str, *, on_this_machine: bool = False) -> Snippet:
    """The lines by which a client reaches this server over HTTP with a key."""
    if client.http is None:
        fields_of_bridge = _bridge_fields(client, url, key, on_this_machine=on_this_machine)
        return Snippet(_text(client, fields_of_bridge))
    http = client.http
    fields: Section = {}
    if http.type:
        fields["type"] = http.type
    fields[http.address_field] = server_address(client, url)
    fields[http.headers_field] = {"Authorization": f"Bearer {key}"}
    return Snippet(_text(client, fields), _link(client, fields))


def stdio_snippet(client: Client, data: Path | None, *, on_this_machine: bool) -> Snippet:
    """The lines by which a client starts memolith itself.

    Whoever does not own this machine is not told where its programs and data lie.
    """
    arguments = ["stdio", "--tools", client.profile]
    program, *rest = ["memolith", *arguments]
    if on_this_machine:
        program, *rest = launch_command(arguments, data)
    fields = program_fields(client, program, rest)
    return Snippet(_text(client, fields), _link(client, fields))


def install_command(name: str, data: Path | None, *, on_this_machine: bool) -> str:
    """The command that writes the lines of `stdio_snippet` into the file of a client."""
    arguments = ["install", name]
    if on_this_machine:
        return shlex.join(launch_command(arguments, data))
    return shlex.join(["memolith", *arguments])


def _bridge_fields(client: Client, url: str, key: str, *, on_this_machine: bool) -> Section:
    """For a client that only starts programs: memolith passes everything on to the server."""
    command = ["memolith", "stdio", "--connect", url, "--tools", client.profile]
    if on_this_machine:
        # Programs that a desktop starts often have a short PATH.
        command = launch_command(command[1:], None)
    program, *arguments = command
    return {**program_fields(client, program, arguments), "env": {KEY_VARIABLE: key}}


def program_fields(client: Client, program: str, arguments: list[str]) -> Section:
    """The fields of an entry that starts a program."""
    fields: Section = {}
    if client.states_type:
        fields["type"] = "stdio"
    fields["command"] = program
    fields["args"] = arguments
    return fields


def _text(client: Client, fields: Section) -> str:
    config = client.servers
    return FORMATS[config.format].edit("", config.section, NAME, fields)


def _link(client: Client, fields: Section) -> str:
    """The address that opens the client and offers to add the server; empty if it has none."""
    if client.install_link == "cursor":
        packed = base64.b64encode(json.dumps(fields).encode()).decode()
        return f"cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={quote(packed)}"
    if client.install_link == "vscode":
        return "vscode:mcp/install?" + quote(json.dumps({"name": NAME, **fields}))
    return ""
