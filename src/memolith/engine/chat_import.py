"""Importing chats of ChatGPT, Claude, Claude Code, Codex or documents as conversations.

How each program writes its chats stands in `chat_formats`.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import TextIO
from uuid import NAMESPACE_URL, uuid5

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.chat_formats.detection import read_turns
from memolith.engine.chat_formats.markdown import ROLES
from memolith.engine.chat_formats.turns import ChatKey, Report, Turn
from memolith.engine.validation import InputRules, folder_path, when
from memolith.engine.work_ahead import WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, InvalidInput, TooLarge
from memolith.ports.store import Store
from memolith.redaction.detector import redact

CHATS_PER_WRITE = 20
MAX_MESSAGE_CHARACTERS = 200_000
"""A longer message is kept as several."""
MAX_TITLE_CHARACTERS = 400
MAX_TITLE_FROM_TEXT = 80
MAX_SOURCE_ID_CHARACTERS = 200
MAX_SPEAKER_CHARACTERS = 100
MAX_CONTENT_DEPTH = 6
SPOKEN_PARTS = ("text", "input_text", "output_text", "multimodal_text", "code")
"""The parts of a message that somebody said."""
PROGRAM_ROLES = ("tool", "developer")
PROGRAM_TEXTS = ("<environment_context>", "<user_instructions>")
"""How messages begin that a program wrote to itself."""


@dataclass(frozen=True)
class ChatImport:
    """Keeps the chats of files as conversations."""

    store: Store
    writing: Writing
    input_rules: InputRules
    ahead: WorkAhead

    def import_chats(
        self,
        caller: Caller,
        file: TextIO,
        name: str,
        folder: str,
        report: Report,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        """Keep every chat of a file, and count in the report what became of each.

        A chat that is known is not taken twice; one that has grown since is extended.
        """
        if folder:
            folder = folder_path(folder)
        # A few chats at a time, so that a large file does not have to fit in memory.
        drafts = _drafts(read_turns(file, name, report), caller.user, folder, report)
        while True:
            batch = list(islice(drafts, CHATS_PER_WRITE))
            if not batch:
                return
            self._import_batch(caller, batch, report)
            if tell and file.seekable():
                tell(file.buffer.tell(), os.fstat(file.fileno()).st_size)

    def _import_batch(self, caller: Caller, batch: Sequence[Draft], report: Report) -> None:
        new_blocks: dict[str, tuple[Block, ...]] = {}
        with (
            self.ahead.on(caller.tenant, batch),
            self.store.writing(caller.tenant) as rows,
        ):
            for draft in batch:
                item = rows.item(caller.tenant, str(draft.id))
                try:
                    if item is None:
                        intake = self.input_rules.intake()
                        written = self.writing.remember_in(rows, caller, draft, intake)
                        _count(report, "taken", draft.blocks, written.redactions)
                    elif len(draft.blocks) > item.blocks and not item.forgotten:
                        new_blocks[item.id] = draft.blocks[item.blocks :]
                    else:
                        report["known"] += 1
                except AlreadyExists:
                    # It was erased here, so it does not come back.
                    report["known"] += 1
                except (InvalidInput, TooLarge) as error:
                    report[f"skipped: {error.message}"] += 1
        for id, blocks in new_blocks.items():
            try:
                written = self.writing.append(caller, id, blocks)
                _count(report, "extended", blocks, written.redactions)
            except (InvalidInput, TooLarge) as error:
                report[f"skipped: {error.message}"] += 1


def _count(
    report: Report, outcome: str, blocks: Sequence[Block], redactions: Mapping[str, int]
) -> None:
    report[outcome] += 1
    report["messages"] += len(blocks)
    for kind, count in redactions.items():
        report[f"redacted: {kind}"] += count


def _drafts(turns: Iterable[Turn], user: str, folder: str, report: Report) -> Iterator[Draft]:
    """A conversation for each run of turns of one chat; its id follows from where it comes from."""
    said = ((turn, block) for turn in turns for block in _blocks(turn, report))
    runs_of: Counter[ChatKey] = Counter()
    for (source, chat), run in groupby(said, lambda entry: (entry[0].source, entry[0].chat)):
        entries = list(run)
        blocks = tuple(block for _, block in entries)
        runs_of[chat] += 1
        # A chat that goes on after another one becomes a second conversation.
        suffix = f" ({runs_of[chat]})" if runs_of[chat] > 1 else ""
        first_turn, first_block = entries[0]
        # Redacted before anything is cut: half of a secret is no longer recognised as one.
        title, _ = redact(first_turn.title)
        if not title:
            text, _ = redact(first_block.text)
            title = " ".join(text.split())[:MAX_TITLE_FROM_TEXT]
        origin: dict[str, Json] = {
            "source": source,
            "source_id": chat.id[:MAX_SOURCE_ID_CHARACTERS] + suffix,
        }
        yield Draft(
            "conversation",
            title[:MAX_TITLE_CHARACTERS] + suffix,
            blocks,
            id=str(uuid5(NAMESPACE_URL, repr([user, origin]))),
            attributes={**origin, "folder": folder or f"/imported/{source}"},
        )


def _blocks(turn: Turn, report: Report) -> Iterator[Block]:
    """A message, in several pieces if it is very long; nothing if nothing is said in it."""
    speaker = ROLES.get(turn.role.lower(), turn.role[:MAX_SPEAKER_CHARACTERS])
    text = _storable("\n\n".join(_texts(turn.content, report)))
    if speaker in PROGRAM_ROLES or text.startswith(PROGRAM_TEXTS):
        report[f"skipped: a {speaker} message for the program"] += 1
        return
    if not text.strip():
        return
    at = _time(turn.time)
    attributes = turn.metadata if turn.source == "memolith" else {}
    for start in range(0, len(text), MAX_MESSAGE_CHARACTERS):
        piece = text[start : start + MAX_MESSAGE_CHARACTERS]
        yield Block(piece, speaker or "user", at, attributes=attributes)


def _storable(text: str) -> str:
    """The text without what no store can keep."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _time(time: Json) -> str | None:
    """When a message was said, as far as it says so: a text, or seconds since 1970."""
    with suppress(InvalidInput, ValueError, OverflowError, OSError):
        if isinstance(time, str):
            return when("at", time)
        return when("at", datetime.fromtimestamp(float(str(time)), UTC).isoformat())
    return None


def _texts(content: Json, report: Report, depth: int = MAX_CONTENT_DEPTH) -> Iterator[str]:
    """The texts of a message, which may be nested in parts."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list) and depth:
        for part in content:
            yield from _texts(part, report, depth - 1)
    elif isinstance(content, dict):
        kind = content.get("type") or content.get("content_type")
        if isinstance(kind, str) and kind not in SPOKEN_PARTS:
            report[f"skipped: a part of type {kind[:40]}"] += 1
        elif depth:
            yield from _texts(content.get("text") or content.get("parts"), report, depth - 1)
