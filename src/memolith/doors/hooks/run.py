"""Answers one hook: the JSON of the client on standard input, the answer on standard output."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from memolith.doors.hooks.events import EVENTS, PRE_COMPACT, STOP
from memolith.doors.hooks.signals import advice
from memolith.paths import default_data_folder
from memolith.private_files import open_private

PLAIN_SETTINGS = ("MEMOLITH_DATA", "MEMOLITH_EMBEDDER", "MEMOLITH_LOG_LEVEL", "MEMOLITH_CACHE")
"""Variables that change nothing for a hook. Any other one makes it load the settings."""


def run(arguments: list[str]) -> int:
    """Answer `NAME [--data DIR]`. The client never notices a failure."""
    # What is imported stays, and the rest is little, so there is nothing to collect.
    gc.disable()
    folder = chosen_folder(arguments[1:])
    try:
        event = EVENTS[arguments[0]]
        request = json.loads(sys.stdin.read())
        text = answer(event, request, folder)
        if text:
            sys.stdout.write(json.dumps(response(event, text)))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001
        log_failure(folder, arguments, error)
        # At once, because closing what was half done may fail again.
        os._exit(0)
    return 0


def chosen_folder(options: list[str]) -> Path:
    # Both `--data DIR` and `--data=DIR`.
    words = [word for option in options for word in option.split("=", 1)]
    chosen = dict(zip(words[::2], words[1::2], strict=False))
    folder = chosen.get("--data") or os.environ.get("MEMOLITH_DATA") or default_data_folder()
    return Path(folder).expanduser()


def answer(event: str, request: dict[str, str], folder: Path) -> str:
    if event == STOP:
        return advice(request.get("last_assistant_message"))
    own_settings = has_own_settings(folder)
    is_empty = not own_settings and not (folder / "memolith.db").exists()
    if is_empty and event != PRE_COMPACT:
        return ""
    # The store and the search, which are not needed where nothing was remembered.
    from memolith.doors.hooks import memory

    return memory.answer(event, request, folder, own_settings)


def has_own_settings(folder: Path) -> bool:
    if (folder / "memolith.toml").exists():
        return True
    return any(name.startswith("MEMOLITH_") and name not in PLAIN_SETTINGS for name in os.environ)


def response(event: str, text: str) -> dict[str, object]:
    """The answer in the form of the client, which takes no context at two of the events."""
    if event in (PRE_COMPACT, STOP):
        return {"systemMessage": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def log_failure(folder: Path, arguments: list[str], error: Exception) -> None:
    """Write a line and the trace to the log; not the message, which may hold what a user wrote."""
    # Needed by a failure only.
    import time
    import traceback

    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    trace = "".join(traceback.format_tb(error.__traceback__))
    path = folder / "hooks.log"
    with suppress(OSError), open(path, "a", encoding="utf-8", opener=open_private) as log:
        log.write(f"{now} hook {arguments} failed with {type(error).__name__}\n{trace}")
