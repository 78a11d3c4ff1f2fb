"""The command `memolith`; it imports only what the command at hand needs."""

import os
import sys
from getopt import GetoptError, getopt

from memolith.errors import MemolithError

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memolith.bootstrap import App


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream, errors in (
        (sys.stdin, "strict"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)
    if arguments[:1] == ["hook"]:
        # The client waits for every hook, so nothing else is imported.
        from memolith.doors.hooks.run import run as hook

        return hook(arguments[1:])
    chosen = plain_options(arguments[1:]) if arguments[:1] == ["stdio"] else None
    if chosen is None:
        # argparse, pydantic and the engine would make a client of the stdio server wait longer.
        from memolith.doors.cli.program import run

        return run(arguments)
    # The quick front alone; the app and the SDK follow once it has answered.
    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.stdio_front import serve
    from memolith.paths import cache_folder

    profile = chosen.get("--tools", "all")
    read_only = "--read-only" in chosen
    cache = StartCache(cache_folder(chosen.get("--data")), profile, read_only)

    def opened() -> "App":
        # Only now, after the list of tools is answered.
        from memolith.bootstrap import App
        from memolith.settings import load

        settings = load({"data": chosen.get("--data"), "repo": chosen.get("--repo")})
        folder = cache_folder(str(settings.data))
        if os.path.normpath(cache.folder) != os.path.normpath(folder):
            # A configuration file names another data folder, and this one must stay as it is.
            cache.disable()
        return App(settings, background=True)

    try:
        serve(opened, cache, profile, read_only=read_only)
    except KeyboardInterrupt:
        return 130
    except MemolithError as error:
        sys.stderr.write(f"memolith: {error}\n")
        return 2
    return 0


def plain_options(arguments: list[str]) -> dict[str, str] | None:
    """The options of `stdio` in their plain form; None leaves them to the full parser."""
    try:
        chosen, rest = getopt(arguments, "", ["tools=", "data=", "repo=", "read-only"])
    except GetoptError:
        return None
    return None if rest or any(value.startswith("-") for _, value in chosen) else dict(chosen)


if __name__ == "__main__":
    sys.exit(main())
