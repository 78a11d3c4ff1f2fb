"""The command `memolith`; it imports only what the command at hand needs."""

import os
import sys
from getopt import GetoptError, getopt

from memolith.errors import MemolithError

# Not from `typing`, whose import takes a seventh of the whole start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memolith.bootstrap import App

USAGE_ERROR = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if arguments is None:
        arguments = sys.argv[1:]
    use_utf8()
    command = arguments[0] if arguments else None
    if command == "hook":
        # The client waits for every hook, so nothing else is imported.
        from memolith.doors.hooks.run import run as run_hook

        return run_hook(arguments[1:])
    if command == "stdio":
        options = plain_options(arguments[1:])
        if options is not None:
            return serve_stdio(options)
    # argparse and the engine, which a client of the stdio server must not wait for.
    from memolith.doors.cli.program import run

    return run(arguments)


def use_utf8() -> None:
    """Speak UTF-8 whatever the locale says."""
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def plain_options(arguments: list[str]) -> dict[str, str] | None:
    """The options of `stdio` in their plain form; None leaves them to the full parser."""
    try:
        options, rest = getopt(arguments, "", ["tools=", "data=", "repo=", "read-only"])
    except GetoptError:
        return None
    if rest or any(value.startswith("-") for _, value in options):
        return None
    return dict(options)


def serve_stdio(options: dict[str, str]) -> int:
    """Start the stdio server with its quick front; the app and the SDK follow when needed."""
    # Not for other commands.
    from memolith.doors.mcp.data_check import data_notice
    from memolith.doors.mcp.start_cache import StartCache
    from memolith.doors.mcp.stdio_front import serve
    from memolith.paths import cache_folder, default_data_folder

    profile = options.get("--tools", "all")
    read_only = "--read-only" in options
    cache = StartCache(cache_folder(options.get("--data")), profile, read_only)

    def open_app() -> "App":
        # Only now, after the list of tools is answered.
        from memolith.bootstrap import App
        from memolith.doors.logs import configure_logging
        from memolith.settings import load

        settings = load({"data": options.get("--data"), "repo": options.get("--repo")})
        configure_logging(settings.log_level, settings.log_format)
        folder = cache_folder(str(settings.data))
        if os.path.normpath(cache.folder) != os.path.normpath(folder):
            # A configuration file names another data folder, and this one must stay as it is.
            cache.disable()
        return App(settings, background=True)

    notice = None
    if not os.environ.get("MEMOLITH_DATABASE"):
        folder = options.get("--data") or os.environ.get("MEMOLITH_DATA") or default_data_folder()
        notice = data_notice(folder)
    try:
        serve(open_app, cache, profile, read_only=read_only, notice=notice)
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemolithError as error:
        sys.stderr.write(f"memolith: {error}\n")
        return USAGE_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
