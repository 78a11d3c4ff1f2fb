"""What memory has to say to a hook. Imported only where there may be something to say."""

from __future__ import annotations

from pathlib import Path

from memolith.bootstrap import App, hook_core, repository
from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.doors.hooks.events import PRE_COMPACT, SESSION_START
from memolith.doors.hooks.signals import advice

# Not from `typing`, whose import would make every hook slower.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memolith.engine.core import Core

BUDGET_TOKENS = 800
MAX_PROMPT_CHARACTERS = 4000
ACTIVE_MEMORIES = Filter(kinds=("memory",), statuses=("active",))


def answer(event: str, request: dict[str, str], folder: Path, own_settings: bool) -> str:
    """What the client is told at an event; nothing if memory has nothing to say."""
    checkout = repository(request.get("cwd") or ".")
    caller = Caller(project=checkout.project if checkout else None)
    core = open_core(folder, own_settings)
    if event == PRE_COMPACT:
        branch = checkout.branch if checkout else None
        return saved_from_transcript(core, caller, branch, Path(request["transcript_path"]))
    if event == SESSION_START:
        return newest_memories(core, caller)
    return matching_memories(core, caller, request["prompt"][:MAX_PROMPT_CHARACTERS])


def open_core(folder: Path, own_settings: bool) -> Core:
    if not own_settings:
        return hook_core(folder)
    # pydantic takes a third of a second, which only users with settings of their own wait for.
    from memolith.settings import load

    return App(load({"data": folder, "embedder": "none"})).core


def saved_from_transcript(core: Core, caller: Caller, branch: str | None, transcript: Path) -> str:
    # Only this hook writes.
    from memolith.doors.hooks.transcript import save_paragraphs

    saved = save_paragraphs(core, caller, branch, transcript)
    if not saved:
        return ""
    counts = ", ".join(f"{count} {namespace}" for namespace, count in saved.items())
    return f"memolith kept {counts} from this conversation."


def newest_memories(core: Core, caller: Caller) -> str:
    text = core.context.newest(caller, BUDGET_TOKENS, ACTIVE_MEMORIES)
    if not text:
        return ""
    return f"From earlier sessions (memolith; recall more with its tools):\n\n{text}"


def matching_memories(core: Core, caller: Caller, prompt: str) -> str:
    """What fits the prompt, and a hint if the prompt itself may be worth saving."""
    parts = []
    if prompt.strip():
        pack = core.context.pack(caller, prompt, BUDGET_TOKENS, ACTIVE_MEMORIES)
        if pack.text:
            parts.append(f"From memory (memolith):\n\n{pack.text}")
    hint = advice(prompt)
    if hint:
        parts.append(hint)
    return "\n\n".join(parts)
