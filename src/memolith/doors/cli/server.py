"""Commands that serve: over HTTP, over standard input and output, and in the background."""

import argparse
import json
import signal
import threading
from typing import TypedDict

from memolith.bootstrap import App, wait_for
from memolith.doors.cli.addresses import admitting, reachable_host
from memolith.doors.cli.command import Command, Options, add_read_only, add_repo
from memolith.doors.cli.connect import connect
from memolith.doors.cli.output import out, print_result
from memolith.doors.mcp import stdio_front
from memolith.doors.mcp.data_check import data_notice
from memolith.doors.mcp.start_cache import StartCache
from memolith.errors import NotFound
from memolith.paths import cache_folder
from memolith.tools.family import Family, Tool

CHARACTERS_PER_TOKEN = 4
WORKER_POLL_S = 1.0
FAMILY_WIDTH = 14
BANNER = """\
memolith serves {data}
  page   {page}
  MCP    {url}/mcp   (also {url}/mcp/core and one path per family)
  REST   {url}/mcp/tools/NAME   pages: {url}/ui/api-docs
  key    {key}

Paste into a client, for example:
  claude mcp add --transport http memolith {url}/mcp --header "Authorization: Bearer {key}"
or let `memolith install CLIENT` write the configuration. Stop with Ctrl-C."""


class FamilyRow(TypedDict):
    """A family, as `memolith families` lists it."""

    family: str
    purpose: str
    stands_for: str | None
    tools: int
    tokens: int
    path: str
    default: bool
    """Whether a client that chooses nothing gets its tools."""


def serve(app: App, options: Options) -> None:
    # The server's parts take half a second to import, and no other command needs them.
    from memolith.doors.cli.background_server import folder_of, recorded
    from memolith.doors.http.auth.keys import LOCAL_KEY_FILE, local_key
    from memolith.doors.http.auth.tickets import sign_in_address
    from memolith.doors.http.server import listen, run

    wait_for(app)
    settings = app.settings
    listener = listen(settings.host, settings.port)
    key = local_key(settings.data, app.keys, app.clock.now())
    bound_host, port = listener.getsockname()[:2]
    host = reachable_host(bound_host)
    app.settings = admitting(settings, host)
    url = server_url(host, port)
    app.address = app.address or url
    page = sign_in_address(app.address, settings.data, settings.page_secret, app.keys, key)
    if options.json:
        banner = json.dumps(
            {"url": url, "page": page, "key_file": str(settings.data / LOCAL_KEY_FILE)}
        )
    else:
        banner = BANNER.format(data=settings.data, url=url, page=page, key=key)
    with recorded(folder_of(app), url):
        run(
            app,
            listener,
            lambda: out(banner),
            read_only=options.read_only,
            conformance=options.conformance,
        )


def page(app: App, options: Options) -> object:
    # The access layer and what runs in the background, which `stdio` does not need.
    from memolith.doors.cli.background_server import running_url
    from memolith.doors.http.auth.keys import local_key
    from memolith.doors.http.auth.tickets import sign_in_address

    settings = app.settings
    url = options.url or settings.public_url or running_url(app)
    url = url or server_url(settings.host, settings.port)
    key = local_key(settings.data, app.keys, app.clock.now())
    address = sign_in_address(url, settings.data, settings.page_secret, app.keys, key)
    return {"page": address} if options.json else address


def add_page_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        help="where the server is; by default the one that runs on this folder, or the host and "
        "port in the settings",
    )


def server_url(host: str, port: int) -> str:
    if ":" in host:
        return f"http://[{host}]:{port}"
    return f"http://{host}:{port}"


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", help="the address to bind to (127.0.0.1); 0.0.0.0 for all networks"
    )
    parser.add_argument("--port", type=int, help="the port (8724); 0 takes a free one")
    add_read_only(parser)
    parser.add_argument(
        "--conformance", action="store_true", help="offer /conformance for the official MCP suite"
    )


def stdio(app: App, options: Options) -> None:
    if options.connect is not None:
        connect(options.connect, options.tools, options.read_only)
        return
    cache = StartCache(cache_folder(str(app.settings.data)), options.tools, options.read_only)
    stdio_front.serve(
        lambda: App(app.settings, background=True),
        cache,
        options.tools,
        read_only=options.read_only,
        notice=None if app.settings.database else data_notice(str(app.settings.data)),
    )


def add_stdio_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools", default="all", help="all, families or tools by name, separated by commas"
    )
    add_read_only(parser)
    add_repo(parser)
    parser.add_argument(
        "--connect",
        nargs="?",
        const="",
        metavar="URL",
        help="pass everything on to the server at this address (or SEKHA_API_URL), with the key in "
        "MEMOLITH_KEY or SEKHA_API_KEY",
    )


def worker(app: App, options: Options) -> None:
    wait_for(app)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    app.start_background()
    print_result(options, {"worker": "started; stop with Ctrl-C"})
    # A wait without a timeout cannot be interrupted on every platform.
    while not stop.wait(WORKER_POLL_S):
        pass


def tools(app: App, options: Options) -> object:
    chosen = chosen_families(app, options.family)
    if not options.json:
        print_profiles(app, chosen)
    return [
        {
            "family": tool.family,
            "tool": tool.name,
            "effect": "reads" if tool.read_only else tool.effect,
            "tokens": cost_tokens(tool),
            "description": tool.description,
        }
        for family in chosen
        for tool in family.tools
    ]


def chosen_families(app: App, names: list[str]) -> list[Family]:
    """The families with these names; all of them if there are none."""
    known = {family.name: family for family in app.registry.families}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound(
            f"There is no family {unknown[0][:60]!r}; choose from {', '.join(known)}.",
            field="family",
        )
    return [family for name, family in known.items() if name in names or not names]


def add_tools_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "family", nargs="*", metavar="FAMILY", help="only the tools of these families"
    )


def families(app: App, options: Options) -> object:
    rows = [family_row(family) for family in app.registry.families]
    if options.json:
        return rows
    return "\n".join(family_text(row) for row in rows)


def family_row(family: Family) -> FamilyRow:
    """What a reader has to know to choose a family."""
    return {
        "family": family.name,
        "purpose": family.purpose,
        "stands_for": family.stands_for or None,
        "tools": len(family.tools),
        "tokens": sum(cost_tokens(tool) for tool in family.tools),
        "path": family.path,
        "default": family.is_in_default_profile,
    }


def family_text(row: FamilyRow) -> str:
    """A family for people, in a few short lines."""
    costs = f"{row['tools']} tools, about {row['tokens']:,} tokens, {row['path']}"
    if row["default"]:
        costs += ", in the default profile"
    lines = [f"{row['family']:{FAMILY_WIDTH}}{row['purpose']}"]
    if row["stands_for"]:
        lines.append(f"{'':{FAMILY_WIDTH}}stands for {row['stands_for']}")
    lines.append(f"{'':{FAMILY_WIDTH}}{costs}")
    return "\n".join(lines)


def print_profiles(app: App, chosen: list[Family]) -> None:
    """What `--tools` can be, and what each choice costs a model."""
    profiles = ["all"] if len(chosen) == len(app.registry.families) else []
    profiles += [family.name for family in chosen if family.listed_over_mcp]
    for profile in profiles:
        listed = app.registry.choose(profile).tools
        tokens = sum(cost_tokens(tool) for tool in listed)
        out(f"--tools {profile:12} {len(listed):3} tools, about {tokens:,} tokens")


def cost_tokens(tool: Tool) -> int:
    """About how many tokens a model spends on the description of the tool."""
    listed = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    return len(json.dumps(listed, separators=(",", ":"))) // CHARACTERS_PER_TOKEN


COMMANDS = (
    Command("serve", serve, add_serve_options),
    Command("stdio", stdio, add_stdio_options),
    Command("page", page, add_page_options),
    Command("worker", worker),
    Command("tools", tools, add_tools_options),
    Command("families", families),
)
