"""What a coding agent hears from memory at certain moments, and what is kept before its conversation is cut.

A hook must be quick and never stand in the client's way: it searches by words, and whatever fails is only logged.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from memolith.engine.namespaces import NAMESPACES
from memolith.engine.places import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memolith.engine.model import Json
    from memolith.engine.recall import Recall
    from memolith.engine.verbs import Verbs

EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-compact": "PreCompact", "stop": "Stop"}
BUDGET_TOKENS, SHORTEST, NEARLY, MOST_KEPT = 800, 20, 0.8, 50
WORDS = {name: re.compile(rf"\b(?:{'|'.join(words)})\b", re.I) for name, (_, words) in NAMESPACES.items()}
# Settings that change nothing here; with any other the whole app is opened, which takes its time.
INDIFFERENT = ("MEMOLITH_DATA", "MEMOLITH_EMBEDDER", "MEMOLITH_LOG_LEVEL")


def run(arguments: list[str]) -> int:
    """Answer one hook: `NAME [--data DIR]`, with the client's JSON on standard input."""
    given = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    folder = Path(given.get("--data") or os.environ.get("MEMOLITH_DATA") or data_folder()).expanduser()

    def failed(kind: type[BaseException], error: BaseException, frames: object) -> None:
        # Only what went wrong and where: the text of an error may hold what somebody wrote.
        with suppress(OSError), open(folder / "hooks.log", "a", encoding="utf-8") as log:
            # Costs a few milliseconds, and mostly nothing fails.
            import time
            import traceback
            log.write(f"{time.strftime('%FT%TZ', time.gmtime())} hook {arguments} failed with {kind.__name__}\n"
                      f"{''.join(traceback.format_tb(error.__traceback__))}")
        os._exit(0)

    sys.excepthook = failed
    event, told = EVENTS[arguments[0]], json.loads(sys.stdin.read())
    if text := answer(event, told, folder):
        shown = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
        # The client takes no context at these two, but shows a message.
        sys.stdout.write(json.dumps({"systemMessage": text} if event in ("PreCompact", "Stop") else shown))
    return 0


def answer(event: str, told: dict[str, str], folder: Path) -> str:
    """What to tell the client at an event."""
    if event == "Stop":
        return advice(told.get("last_assistant_message") or "")
    if event != "PreCompact" and not (folder / "memolith.db").exists() and not custom(folder):
        return ""
    search, verbs = opened(folder)
    if event == "PreCompact":
        kept = keep(search, verbs or writer(search), told["transcript_path"])
        return f"memolith kept {kept} from this conversation." if kept else ""
    # What searching needs, which the other two events do without.
    from memolith.engine import context
    from memolith.engine.model import Caller, Filter
    chosen = Filter(kinds=("memory",), statuses=("active",))
    if event == "SessionStart":
        found = context.newest(search.store, Caller(), BUDGET_TOKENS, chosen)
        return f"From earlier sessions (memolith; recall more with its tools):\n\n{found}" if found else ""
    asked = told["prompt"][:4000]
    found = context.pack(search, Caller(), asked, BUDGET_TOKENS, chosen).text if asked.strip() else ""
    return "\n\n".join(filter(None, (found and f"From memory (memolith):\n\n{found}", advice(asked))))


def custom(folder: Path) -> bool:
    """Whether somebody has chosen settings that matter here."""
    return (folder / "memolith.toml").exists() or any(
        name.startswith("MEMOLITH_") and name not in INDIFFERENT for name in os.environ)


def opened(folder: Path) -> tuple[Recall, Verbs | None]:
    """The search, which loads no model, and what writes, where it is there already."""
    if custom(folder):
        # A third of a second, which only who has settings of his own pays.
        from memolith.app import App
        from memolith.settings import load
        engine = App(load({"data": folder})).engine
        return replace(engine.search, meaning=lambda: None), engine
    # The store, which is not opened where there is nothing to say.
    from memolith.quick import recall
    return recall(folder), None


def writer(search: Recall) -> Verbs:
    """What writes into the store of a search."""
    # Only what keeps something needs it.
    from memolith.engine.times import SystemClock
    from memolith.engine.verbs import Verbs
    return Verbs(search.store, SystemClock())


def signals(text: str) -> list[str]:
    """The namespaces whose signal words stand in a text."""
    return [name for name, words in WORDS.items() if words.search(text)]


def advice(text: str) -> str:
    """To capture what sounds worth it."""
    names = signals(text) if len(text) > SHORTEST else []
    return f"This may be worth keeping with subcog_capture ({', '.join(names)})." if names else ""


def keep(search: Recall, verbs: Verbs, transcript: str) -> str:
    """Remember what in a transcript sounds worth it and is not known yet; how much of what."""
    # As above.
    from memolith.engine.duplicates import known
    from memolith.engine.model import Block, Caller, Draft
    kept: dict[str, int] = {}
    for text in said(Path(transcript)):
        with search.store.reading(Caller().tenant) as rows:
            near = known(rows, Caller(), "memory", text)
        if sum(kept.values()) < MOST_KEPT and not any(one.exact or one.similarity >= NEARLY for one in near):
            name = signals(text)[0]
            verbs.remember(Caller(), Draft("memory", text.splitlines()[0][:80], (Block(text),), ("captured",),
                                           {"source": "transcript"}, namespace=name))
            kept[name] = kept.get(name, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in kept.items())


def said(transcript: Path) -> Iterator[str]:
    """The paragraphs of user and assistant in a transcript that have signal words, those of tools left out."""
    for line in transcript.read_text(encoding="utf-8", errors="replace").splitlines():
        entry: dict[str, Json] = json.loads(line) if line.startswith("{") else {}
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) and entry.get("type") in (
            "user", "assistant") and not entry.get("isMeta") else None
        for part in [content] if isinstance(content, str) else content if isinstance(content, list) else ():
            text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part
            for paragraph in re.split(r"\n\s*\n", text) if isinstance(text, str) else ():
                # What begins with a tag was put in by the client.
                if len(paragraph.strip()) > SHORTEST and not paragraph.lstrip().startswith("<") and signals(paragraph):
                    yield paragraph.strip()
