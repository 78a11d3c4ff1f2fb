"""What memory has to say to a hook. Imported only where there may be something to say."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memolith.bootstrap import App, hook_core, repository
from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.doors.hooks.events import PRE_COMPACT, SESSION_START
from memolith.doors.hooks.signals import advice
from memolith.engine.session_log import SessionNote, note_session
from memolith.errors import MemolithError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memolith.engine.core import Core

BUDGET_TOKENS = 800
MAX_PROMPT_CHARACTERS = 4000
ACTIVE_MEMORIES = Filter(kinds=("memory",), statuses=("active",))


class Said(NamedTuple):
    """What a client is told, and the items that it is about."""

    text: str
    ids: tuple[str, ...]


NOTHING = Said("", ())


def answer(event: str, request: dict[str, str], folder: Path, own_settings: bool) -> str:
    """What the client is told at an event; nothing if memory has nothing to say."""
    checkout = repository(request.get("cwd") or ".")
    caller = Caller(project=checkout.project if checkout else None)
    core = open_core(folder, own_settings)
    if event == PRE_COMPACT:
        branch = checkout.branch if checkout else None
        said = saved_from_transcript(core, caller, branch, Path(request["transcript_path"]))
    elif event == SESSION_START:
        said = newest_memories(core, caller)
    else:
        said = matching_memories(core, caller, request["prompt"][:MAX_PROMPT_CHARACTERS])
    write_down(core, caller, event, request, said.ids)
    return said.text


def write_down(
    core: Core, caller: Caller, event: str, request: dict[str, str], ids: Sequence[str]
) -> None:
    """Note for people what the session was given, or what was kept of it."""
    session = request.get("session_id")
    if not session or not ids:
        return
    type = "kept" if event == PRE_COMPACT else "injected"
    # The client gets its answer also where nothing can be written.
    with suppress(MemolithError):
        note_session(core.store, core.recorder, caller, SessionNote(session, type, event, ids))


def open_core(folder: Path, own_settings: bool) -> Core:
    if not own_settings:
        return hook_core(folder)
    # pydantic takes a third of a second, which only users with settings of their own wait for.
    from memolith.settings import load

    return App(load({"data": folder, "embedder": "none"})).core


def saved_from_transcript(core: Core, caller: Caller, branch: str | None, transcript: Path) -> Said:
    # Only this hook writes items.
    from memolith.doors.hooks.transcript import save_paragraphs

    saved = save_paragraphs(core, caller, branch, transcript)
    if not saved:
        return NOTHING
    namespaces = list(saved.values())
    counts = ", ".join(f"{namespaces.count(name)} {name}" for name in dict.fromkeys(namespaces))
    return Said(f"memolith kept {counts} from this conversation.", tuple(saved))


def newest_memories(core: Core, caller: Caller) -> Said:
    newest = core.context.newest(caller, BUDGET_TOKENS, ACTIVE_MEMORIES)
    if not newest.text:
        return NOTHING
    place = f" in {caller.project}" if caller.project else ""
    heading = f"From earlier sessions{place} (memolith; recall more with its tools):"
    return Said(f"{heading}\n\n{newest.text}", newest.ids)


def matching_memories(core: Core, caller: Caller, prompt: str) -> Said:
    """What fits the prompt, and a hint if the prompt itself may be worth saving."""
    parts = []
    ids: dict[str, None] = {}
    if prompt.strip():
        pack = core.context.pack(
            caller, prompt, BUDGET_TOKENS, ACTIVE_MEMORIES, of_project_only=True
        )
        if pack.text:
            parts.append(f"From memory (memolith):\n\n{pack.text}")
            ids = dict.fromkeys(citation.id for citation in pack.citations)
    hint = advice(prompt)
    if hint:
        parts.append(hint)
    return Said("\n\n".join(parts), tuple(ids))
