"""Importing chats: what ChatGPT, Claude, Claude Code, Codex or a document hold becomes conversations."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from memolith.engine.validation import InputRules, folder_path, when
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, InvalidInput, TooLarge
from memolith.ports.store import Store
from memolith.redaction.detector import redact

# A longer message is kept as several.
CHUNK, LARGEST, BATCH, LONGEST_MESSAGE = 1 << 20, 1 << 26, 20, 200_000
WHOLE = {"mapping", "chat_messages", "messages"}
SPOKEN = ("text", "input_text", "output_text", "multimodal_text", "code")
MEANT = {
    "system": "system",
    "user": "user",
    "human": "user",
    "you": "user",
    **dict.fromkeys("assistant chatgpt claude gemini ai".split(), "assistant"),
}
_NAME = rf"({'|'.join(MEANT)})(?: said)?"
_TURN = re.compile(
    rf"#+\W*(?:\d+\.\W*)?{_NAME}\W*$|#+ \d+\. (\S.*)$|\*\*{_NAME}:?\*\*:?\s*(.*)$|{_NAME}:(?:\s+(.*))?$",
    re.I,
)
_TIMED = re.compile(r"\*(\d{4}-\d\d-\d\d[T ][^*\s]+)\*\s*(?:\n|$)")
_BETWEEN = re.compile(r"[\s,\[\]\ufeff]*")

Object = dict[str, Json]
Report = Counter[str]
"""How many chats were taken, extended and known, how many messages, and what was skipped or redacted and why."""
NOTHING = dict.fromkeys(("taken", "extended", "known", "messages"), 0)
Turn = tuple[str, tuple[str, int], str, Object]
"""Which program, which conversation and where it stands if it stands whole, its title if it has one, and a message."""


@dataclass(frozen=True)
class ChatImport:
    """Keeps the chats of files as conversations."""

    store: Store
    writing: Writing
    input_rules: InputRules

    def import_chats(
        self,
        caller: Caller,
        file: TextIO,
        name: str,
        folder: str,
        report: Report,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        """Keep every chat of a file; what is there already is not taken twice, what has grown since is extended."""
        if name.lower().endswith((".md", ".markdown", ".txt")):
            turns = _markdown(file.read(LARGEST), name)
        else:
            values = enumerate(_values(file, name.lower().endswith(".jsonl"), report), 1)
            turns = (
                turn
                for number, value in values
                for turn in (
                    _conversation(value, number, report)
                    if value.keys() & WHOLE
                    else _line(value, name, report)
                )
            )
        # One by one, with no more than one of them in memory.
        stream = _chats(turns, caller.user, folder and folder_path(folder), report)
        for batch in iter(lambda: list(islice(stream, BATCH)), []):
            longer: dict[str, tuple[Block, ...]] = {}
            with self.store.writing(caller.tenant) as rows:
                for draft in batch:
                    try:
                        if (item := rows.item(caller.tenant, str(draft.id))) is None:
                            written = self.writing.remember_in(
                                rows, caller, draft, self.input_rules.intake()
                            )
                            _count(report, "taken", draft.blocks, written.redactions)
                        elif more := () if item.forgotten else draft.blocks[item.blocks :]:
                            longer[item.id] = more
                        else:
                            report["known"] += 1
                    except AlreadyExists:
                        report["known"] += 1
                    except (InvalidInput, TooLarge) as error:
                        report[f"skipped: {error.message}"] += 1
            for id, blocks in longer.items():
                try:
                    _count(
                        report,
                        "extended",
                        blocks,
                        self.writing.append(caller, id, blocks).redactions,
                    )
                except (InvalidInput, TooLarge) as error:
                    report[f"skipped: {error.message}"] += 1
            if tell and file.seekable():
                tell(file.buffer.tell(), os.fstat(file.fileno()).st_size)


def _count(
    report: Report, what: str, blocks: tuple[Block, ...], redacted: Mapping[str, int]
) -> None:
    report.update(
        {what: 1, "messages": len(blocks), **{f"redacted: {k}": n for k, n in redacted.items()}}
    )


def _chats(turns: Iterable[Turn], user: str, folder: str, report: Report) -> Iterator[Draft]:
    """Conversations of turns that follow each other; an id follows from where a chat comes from."""
    seen, said = (
        Counter[tuple[str, int]](),
        (
            (*where, block)
            for *where, message in turns
            for block in _blocks(message, where[0] == "memolith", report)
        ),
    )
    for (source, place), group in groupby(said, lambda turn: turn[:2]):
        _, _, titles, blocks = zip(*group, strict=True)
        seen[place] += 1
        more = f" ({seen[place]})" * (seen[place] > 1)
        # Before anything is cut: half of a secret is no longer known as one.
        title = redact(titles[0])[0] or " ".join(redact(blocks[0].text)[0].split())[:80]
        origin = {"source": source, "source_id": place[0][:200] + more}
        yield Draft(
            "conversation",
            title[:400] + more,
            blocks,
            id=str(uuid5(NAMESPACE_URL, repr([user, origin]))),
            attributes={**origin, "folder": folder or f"/imported/{source}"},
        )


def _values(file: TextIO, lines: bool, report: Report) -> Iterator[Object]:
    """The objects of a JSON file: one in each line, the entries of a list, or those that follow each other."""
    decoder, buffer = json.JSONDecoder(), ""
    while len(buffer) <= LARGEST and (
        more := file.readline() if lines else file.read(max(CHUNK, len(buffer)))
    ):
        buffer, start = buffer + more, 0
        with suppress(ValueError, RecursionError):
            while (start := _BETWEEN.match(buffer, start).end()) < len(buffer):  # type: ignore[union-attr]
                value, start = decoder.raw_decode(buffer, start)
                listed = _object(value).get("conversations")
                yield from map(_object, listed if isinstance(listed, list) else [value])
        buffer = buffer[start:]
        if lines and buffer:
            report["skipped: a line that is not JSON"] += 1
            buffer = ""
    if buffer:
        report[f"skipped: the rest from {buffer[:40]!r} on, which is no JSON"] += 1


def _conversation(value: Object, number: int, report: Report) -> list[Turn]:
    """The turns of a conversation that stands in one value."""
    source = (
        "chatgpt" if "mapping" in value else "claude" if "chat_messages" in value else "memolith"
    )
    listed = value.get("chat_messages") or value.get("messages")
    if source == "chatgpt":
        # The messages up to the current one; answers that were thrown away lie on other branches.
        nodes, path = _object(value["mapping"]), dict[str, Json]()
        at = (
            current
            if (current := _first(value, "current_node")) in nodes
            else next(reversed(nodes), "")
        )
        while at in nodes and at not in path:
            path[at], at = _object(nodes[at]).get("message"), _first(_object(nodes[at]), "parent")
        for other in nodes.keys() - path.keys():
            report["skipped: a message of another branch"] += bool(
                _object(nodes[other]).get("message")
            )
        listed = list(path.values())[::-1]
    about = value | _object(value.get("conversation"))
    title = _first(about, "title", "name", "label")
    id = _first(about, "conversation_id", "uuid", "id") or f"{title}: {str(listed)[:150]}"
    return [
        (source, (id, number), title, _object(message))
        for message in (listed if isinstance(listed, list) else [])
    ]


def _line(value: Object, name: str, report: Report) -> list[Turn]:
    """The turn that a line of a transcript holds; Codex has its id in the first line only, and in the file's name."""
    message, inner = _object(value.get("message")), _object(value.get("payload")) or value
    source, id = "claude-code", _first(value, "sessionId")
    if inner.get("type") == "message" and "role" in inner:
        source, id, message = "codex", name, inner
    if not id or not message or value.get("isMeta") or value.get("isSidechain"):
        report[f"skipped: a line of type {str(inner.get('type') or value.get('type'))[:40]}"] += 1
        return []
    return [(source, (id, 0), "", message | {"timestamp": value.get("timestamp")})]


def _blocks(message: Object, own: bool, report: Report) -> Iterator[Block]:
    """A message, in several pieces if it is very long; nothing if nothing is said in it."""
    role = _first(_object(message.get("author")), "role") or _first(message, "sender", "role")
    at, time = (
        None,
        message.get("create_time") or message.get("created_at") or message.get("timestamp"),
    )
    with suppress(InvalidInput, ValueError, OverflowError, OSError):
        # A time is a text, or seconds since 1970.
        at = when(
            "at",
            time
            if isinstance(time, str)
            else datetime.fromtimestamp(float(str(time)), UTC).isoformat(),
        )
    speaker, content = (
        MEANT.get(role.lower(), role[:100]),
        message.get("content") or message.get("text"),
    )
    text = (
        "\n\n".join(_texts(content, report)).replace("\0", "").encode("utf-8", "replace").decode()
    )
    if speaker in ("tool", "developer") or text.startswith(
        ("<environment_context>", "<user_instructions>")
    ):
        report[f"skipped: a {speaker} message for the program"] += 1
    elif text.strip():
        extra = _object(message.get("metadata")) if own else {}
        yield from (
            Block(text[start : start + LONGEST_MESSAGE], speaker or "user", at, attributes=extra)
            for start in range(0, len(text), LONGEST_MESSAGE)
        )


def _texts(content: Json, report: Report, depth: int = 6) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content if depth else []:
            yield from _texts(part, report, depth - 1)
    elif isinstance(content, dict):
        kind = content.get("type") or content.get("content_type")
        if isinstance(kind, str) and kind not in SPOKEN:
            report[f"skipped: a part of type {kind[:40]}"] += 1
        elif depth:
            yield from _texts(content.get("text") or content.get("parts"), report, depth - 1)


def _markdown(text: str, name: str) -> Iterator[Turn]:
    """A conversation in one document: a turn begins with a heading, a name in bold or one before a colon."""
    turns, fenced = [("user", list[str]())], False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced and (found := _TURN.match(line)):
            heading, numbered, bold, after, plain, rest = found.groups()
            turns.append((heading or numbered or bold or plain, [after or rest or ""]))
        else:
            turns[-1][1].append(line)
    title = next((line[2:].strip() for line in turns[0][1] if line.startswith("# ")), name)
    for role, lines in turns[1:] or turns:
        timed = _TIMED.match(said := "\n".join(lines).strip())
        yield (
            "markdown",
            (f"{name}: {text[:150]}", 0),
            title,
            {
                "role": role,
                "timestamp": timed and timed[1],
                "text": said[timed.end() :].strip() if timed else said,
            },
        )


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _first(value: Object, *names: str) -> str:
    return next((text for name in names if isinstance(text := value.get(name), str) and text), "")
