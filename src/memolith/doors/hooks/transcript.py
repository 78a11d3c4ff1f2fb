"""Reads the transcript of a conversation, and saves what its signal words mark."""

from __future__ import annotations

import json
import re

from memolith.domain.callers import Audience
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.doors.hooks.signals import MIN_CHARACTERS, signals
from memolith.engine.titles import headline

# Not from `typing`, whose import would make every hook slower.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from memolith.domain.callers import Caller
    from memolith.engine.core import Core

MAX_SAVED = 50
SAME_FROM_SIMILARITY = 0.8
"""From this similarity of words on, a paragraph is taken for one that is already stored."""


def save_paragraphs(
    core: Core, caller: Caller, branch: str | None, transcript: Path
) -> dict[str, str]:
    """Save the marked paragraphs that are not stored yet; their ids with their namespaces."""
    saved: dict[str, str] = {}
    for text in marked_paragraphs(transcript):
        if len(saved) == MAX_SAVED:
            break
        if is_stored(core, caller, text):
            continue
        namespace = signals(text)[0]
        written = core.writing.remember(caller, draft_of(text, namespace, caller, branch))
        saved[written.item.id] = namespace
    return saved


def is_stored(core: Core, caller: Caller, text: str) -> bool:
    copies = core.reading.near_copies(caller, "memory", text)
    return any(copy.exact or copy.similarity >= SAME_FROM_SIMILARITY for copy in copies)


def draft_of(text: str, namespace: str, caller: Caller, branch: str | None) -> Draft:
    attributes = {"source": "transcript"}
    if branch:
        attributes["branch"] = branch
    return Draft(
        "memory",
        headline(text),
        (Block(text),),
        namespace=namespace,
        project=caller.project,
        audience=Audience.PROJECT if caller.project else Audience.USER,
        attributes=attributes,
    )


def marked_paragraphs(transcript: Path) -> Iterator[str]:
    """The paragraphs with signal words that the user and the assistant wrote."""
    # Not `splitlines`: clients write other separators than line feeds as they are.
    for line in transcript.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line.startswith("{"):
            continue
        for paragraph in re.split(r"\n\s*\n", message_text(json.loads(line))):
            text = paragraph.strip()
            # What begins with a tag was written by the client.
            if len(text) > MIN_CHARACTERS and not text.startswith("<") and signals(text):
                yield text


def message_text(entry: dict[str, Any]) -> str:
    """What the user or the assistant wrote in an entry; nothing of tools and of the client."""
    if entry.get("type") not in ("user", "assistant") or entry.get("isMeta"):
        return ""
    content = (entry.get("message") or {}).get("content") or []
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in content if part.get("type") == "text")
