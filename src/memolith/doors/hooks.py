"""What a coding agent hears from memory at certain moments, and what is kept before its conversation is cut.

A hook must be quick and never stand in the client's way: it searches by words, and whatever fails is only logged.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from memolith.engine.tables import NAMESPACES
from memolith.paths import default_data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memolith.domain.callers import Caller
    from memolith.engine.core import Core

EVENTS = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
}
BUDGET_TOKENS, SHORTEST, NEARLY, MOST_KEPT = 800, 20, 0.8, 50
# Settings that change nothing here; with any other the whole app is opened, which takes its time.
INDIFFERENT = ("MEMOLITH_DATA", "MEMOLITH_EMBEDDER", "MEMOLITH_LOG_LEVEL")


def run(arguments: list[str]) -> int:
    """Answer one hook: `NAME [--data DIR]`, with the client's JSON on standard input."""
    # What is imported is there to stay, and the rest is little.
    gc.disable()
    given = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    folder = Path(
        given.get("--data") or os.environ.get("MEMOLITH_DATA") or default_data_folder()
    ).expanduser()

    def failed(kind: type[BaseException], error: BaseException, frames: object) -> None:
        with suppress(OSError), open(folder / "hooks.log", "a", encoding="utf-8") as log:
            # Mostly nothing fails.
            import time
            import traceback

            # Not the text of the error, which may hold what somebody wrote.
            log.write(
                f"{time.strftime('%FT%TZ', time.gmtime())} hook {arguments} failed with {kind.__name__}\n"
                f"{''.join(traceback.format_tb(error.__traceback__))}"
            )
        os._exit(0)

    sys.excepthook = failed
    event, told = EVENTS[arguments[0]], json.loads(sys.stdin.read())
    if (
        text := advice(told.get("last_assistant_message"))
        if event == "Stop"
        else remembered(event, told, folder)
    ):
        shown = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
        # The client takes no context at these two, but shows a message.
        sys.stdout.write(
            json.dumps({"systemMessage": text} if event in ("PreCompact", "Stop") else shown)
        )
    return 0


def remembered(event: str, told: dict[str, str], folder: Path) -> str:
    own = (folder / "memolith.toml").exists() or any(
        name.startswith("MEMOLITH_") and name not in INDIFFERENT for name in os.environ
    )
    if event != "PreCompact" and not own and not (folder / "memolith.db").exists():
        return ""
    # What searching needs, which is not imported where there is nothing to say.
    from memolith.bootstrap import App, hook_core, repository
    from memolith.domain.callers import Caller
    from memolith.domain.queries import Filter

    if own:
        # pydantic takes a third of a second, which only users with such settings wait for.
        from memolith.settings import load

        core = App(load({"data": folder, "embedder": "none"})).core
    else:
        core = hook_core(folder)
    around = repository(told.get("cwd") or ".")
    caller, chosen = (
        Caller(project=around and around.project),
        Filter(kinds=("memory",), statuses=("active",)),
    )
    if event == "PreCompact":
        kept = keep(core, caller, around and around.branch, Path(told["transcript_path"]))
        return f"memolith kept {kept} from this conversation." if kept else ""
    if event == "SessionStart":
        found = core.context.newest(caller, BUDGET_TOKENS, chosen)
        return (
            f"From earlier sessions (memolith; recall more with its tools):\n\n{found}"
            if found
            else ""
        )
    asked = told["prompt"][:4000]
    found = core.context.pack(caller, asked, BUDGET_TOKENS, chosen).text if asked.strip() else ""
    return "\n\n".join(
        filter(None, (found and f"From memory (memolith):\n\n{found}", advice(asked)))
    )


def signals(text: str) -> list[str]:
    """The namespaces whose signal words stand in a text."""
    plain = " ".join(["", *re.findall(r"[^\W_]+", text.lower()), ""])
    return [
        name
        for name, (_, words) in NAMESPACES.items()
        if any(f" {word.lower()} " in plain for word in words)
    ]


def advice(text: str | None) -> str:
    names = signals(text) if text and len(text) > SHORTEST else []
    return f"This may be worth keeping with subcog_capture ({', '.join(names)})." if names else ""


def keep(core: Core, caller: Caller, branch: str | None, transcript: Path) -> str:
    """Capture what in a transcript sounds worth it and is not known yet; how much of what."""
    # Only here is anything written.
    from memolith.domain.callers import Audience
    from memolith.domain.items import Draft
    from memolith.domain.passages import Block
    from memolith.engine.titles import headline

    kept = dict[str, int]()
    for text in said(transcript):
        near = core.reading.near_copies(caller, "memory", text)
        if sum(kept.values()) < MOST_KEPT and not any(
            one.exact or one.similarity >= NEARLY for one in near
        ):
            name = signals(text)[0]
            core.writing.remember(
                caller,
                Draft(
                    "memory",
                    headline(text),
                    (Block(text),),
                    namespace=name,
                    project=caller.project,
                    audience=Audience.PROJECT if caller.project else Audience.USER,
                    attributes={"source": "transcript", **({"branch": branch} if branch else {})},
                ),
            )
            kept[name] = kept.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in kept.items())


def said(transcript: Path) -> Iterator[str]:
    """The paragraphs of user and assistant in a transcript that have signal words; tools and clients have no say."""
    for line in transcript.read_text(encoding="utf-8", errors="replace").splitlines():
        entry: Any = json.loads(line) if line.startswith("{") else {}
        if entry.get("type") in ("user", "assistant") and not entry.get("isMeta"):
            content = (entry.get("message") or {}).get("content") or ()
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [part["text"] for part in parts if part.get("type") == "text"]
            yield from (
                text.strip()
                for text in re.split(r"\n\s*\n", "\n\n".join(texts))
                if len(text.strip()) > SHORTEST
                and not text.lstrip().startswith("<")
                and signals(text)
            )
