"""Which program a file or folder is from, and what reads it.

To add a program: a file in `importers/`, its name in `PROGRAMS`, and how it is recognised below.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.engine.chat_formats.chatgpt import is_chatgpt_chat
from memolith.engine.chat_formats.claude import is_claude_chat
from memolith.engine.chat_formats.gemini import is_gemini_activity, is_gemini_session
from memolith.engine.foreign_data import ForeignData
from memolith.errors import InvalidInput
from memolith.interchange.importers import (
    chroma,
    claude_mem,
    letta,
    mcp_memory,
    mem0,
    mempalace,
    notes,
    official,
    openmemory,
    zep,
)
from memolith.interchange.importers.files import (
    JsonObject,
    is_sqlite,
    json_object_of,
    objects,
    read_json,
    read_json_lines,
    tables_of,
    unpacking,
)

AUTO = "auto"
OWN = "memolith"
"""An export of memolith itself, or plain lines with `content`."""
CHAT_PROGRAMS = ("chatgpt", "claude", "gemini", "codex")
PROGRAMS = (
    "mem0",
    "openmemory",
    "official",
    "basic-memory",
    "obsidian",
    "mcp-memory-service",
    "mempalace",
    "claude-mem",
    "chroma",
    *CHAT_PROGRAMS,
    "letta",
    "zep",
)
SAME_FILES = ({"obsidian", "basic-memory"}, {"chroma", "mempalace"})
"""Programs with the same kind of files: which of them it is may be chosen."""
CHAT_EXPORT = "conversations.json"
KNOWN_FILES = (
    chroma.CHROMA_FILE,
    f"palace/{chroma.CHROMA_FILE}",
    "openmemory.db",
    "claude-mem.db",
    "sqlite_vec.db",
    "memory.jsonl",
    CHAT_EXPORT,
    "memories.json",
)
"""Files that tell whose folder it is."""
KNOWN_PATTERNS = (
    "collection/*/storage.sqlite",
    "**/My Activity.json",
    "**/MyActivity.json",
    "**/rollout-*.jsonl",
    "history.db",
)
Read = Callable[[Path], ForeignData]


class Source(NamedTuple):
    """What a file or folder holds."""

    program: str
    files: tuple[Path, ...]
    """The files of chats; for other programs the one file or folder that is read."""
    read: Read | None = None
    """Reads it; None for chats and for exports of memolith, which the engine reads itself."""


READERS: dict[str, Read] = {
    "mem0": mem0.read_mem0,
    "openmemory": openmemory.read_openmemory,
    "official": official.read_official,
    "mcp-memory-service": mcp_memory.read_mcp_memory_service,
    "claude-mem": claude_mem.read_claude_mem,
    "letta": letta.read_letta,
    "zep": zep.read_zep,
}
"""What reads the JSON files of a program."""


def find_source(path: Path, program: str = AUTO) -> Source:
    """Whose file or folder it is; an error if it is nobody's, or not of the program named."""
    if not path.exists():
        raise InvalidInput(f"There is nothing at {path}.", field="file", value=str(path))
    found = _in_folder(path) if path.is_dir() else _in_file(path)
    if found is None:
        raise InvalidInput(
            f"{path.name} is not recognised as anything of "
            f"{program if program != AUTO else ', '.join(PROGRAMS)}. "
            "docs/how-to/move.md says which files of a program can be imported.",
            field="file",
            value=str(path),
        )
    if program in (AUTO, found.program):
        return found
    if {program, found.program} in SAME_FILES:
        return _as_program(found, program)
    raise InvalidInput(
        f"{path.name} looks like {found.program}, not like {program}; leave out --from, or use "
        f"--from {found.program}.",
        field="from",
        value=program,
    )


def _as_program(found: Source, program: str) -> Source:
    readers: dict[str, Read] = {
        "obsidian": notes.read_obsidian,
        "basic-memory": notes.read_basic_memory,
        "chroma": chroma.read_chroma,
        "mempalace": mempalace.read_mempalace,
    }
    return Source(program, found.files, readers[program])


def _in_folder(folder: Path) -> Source | None:
    if (folder / ".obsidian").is_dir():
        return Source("obsidian", (folder,), notes.read_obsidian)
    for name in KNOWN_FILES:
        found = _in_file(folder / name) if (folder / name).is_file() else None
        if found is not None:
            return found
    for pattern in KNOWN_PATTERNS:
        files = sorted(folder.glob(pattern))
        found = _in_file(files[0]) if files else None
        if found is not None and found.program in CHAT_PROGRAMS:
            return Source(found.program, tuple(files))
        if found is not None:
            return found
    if next(notes.note_files(folder), None) is None:
        return None
    if notes.is_basic_memory(folder):
        return Source("basic-memory", (folder,), notes.read_basic_memory)
    return Source("obsidian", (folder,), notes.read_obsidian)


def _in_file(path: Path) -> Source | None:
    suffix = path.suffix.lower()
    if is_sqlite(path):
        return _in_database(path)
    if suffix == ".zip" and zipfile.is_zipfile(path):
        with unpacking(path):
            return _in_archive(path)
    if suffix in notes.NOTE_SUFFIXES:
        return Source("obsidian", (path,), notes.read_obsidian)
    if suffix == ".gz":
        return Source("openmemory", (path,), openmemory.read_openmemory)
    program = _program_of_lines(path) if suffix == ".jsonl" else None
    if program is None and suffix in (".json", ".af", ".jsonl"):
        program = _program_of_json(path)
    if program is None:
        return None
    return Source(program, (path,), READERS.get(program))


def _in_archive(path: Path) -> Source | None:
    """A backup of OpenMemory, or an export of ChatGPT or Claude, which the chat import reads."""
    if openmemory.has_backup(path):
        return Source("openmemory", (path,), openmemory.read_openmemory)
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if Path(name).name == CHAT_EXPORT]
        if not names:
            return None
        # The names of the fields stand at the beginning of the first chat.
        with archive.open(names[0]) as file:
            beginning = file.read(1 << 20)
    program = "claude" if b'"chat_messages"' in beginning else "chatgpt"
    return Source(program, (path,))


def _in_database(path: Path) -> Source | None:
    tables = tables_of(path)
    names = set(tables)
    if names >= chroma.CHROMA_TABLES:
        if mempalace.DRAWERS in chroma.collections_of(path):
            return Source("mempalace", (path,), mempalace.read_mempalace)
        return Source("chroma", (path,), chroma.read_chroma)
    if names >= openmemory.DATABASE_TABLES:
        return Source("openmemory", (path,), openmemory.read_openmemory_database)
    if names >= claude_mem.DATABASE_TABLES:
        return Source("claude-mem", (path,), claude_mem.read_claude_mem_database)
    if tables.get("memories", set()) >= mcp_memory.MEMORY_COLUMNS:
        read = mcp_memory.read_mcp_memory_service_database
        return Source("mcp-memory-service", (path,), read)
    if tables.get("history", set()) >= mem0.HISTORY_COLUMNS:
        return Source("mem0", (path,), mem0.read_mem0_history)
    if tables.get("points", set()) >= mem0.POINT_COLUMNS:
        return Source("mem0", (path,), mem0.read_mem0_qdrant)
    return None


def _program_of_lines(path: Path) -> str | None:
    """Whose lines these are, as the first of them tells; None if it is no line of JSON."""
    try:
        lines = read_json_lines(path)
    except InvalidInput:
        return None
    if not lines:
        return OWN
    line = lines[0]
    if official.is_official(line):
        return "official"
    if openmemory.is_openmemory_line(line):
        return "openmemory"
    if any(_is_codex_line(line) for line in lines):
        return "codex"
    return OWN if {"memolith", "event", "content"} & line.keys() else None


def _is_codex_line(line: JsonObject) -> bool:
    payload = json_object_of(line.get("payload")) or line
    return payload.get("type") == "message" and "role" in payload


def _program_of_json(path: Path) -> str | None:
    try:
        value = read_json(path)
    except InvalidInput:
        # The reference server writes lines into a file that is called memory.json by default.
        lines = _program_of_lines(path)
        return lines if lines == "official" else None
    if isinstance(value, dict) and official.is_official(value):
        return "official"
    return _program_of_object(value) or _program_of_chats(value)


def _program_of_object(value: Json) -> str | None:
    recognised: tuple[tuple[str, bool], ...] = (
        ("openmemory", openmemory.is_openmemory_backup(value)),
        ("mcp-memory-service", mcp_memory.is_mcp_memory_service_export(value)),
        ("claude-mem", claude_mem.is_claude_mem_export(value)),
        ("letta", letta.is_letta(value)),
        ("zep", zep.is_zep(value)),
        ("mem0", bool(mem0.mem0_list(value))),
    )
    return next((program for program, is_it in recognised if is_it), None)


def _program_of_chats(value: Json) -> str | None:
    chat = json_object_of(value) or next(iter(objects(value)), {})
    if isinstance(chat.get("conversations"), list):
        chat = next(iter(objects(chat["conversations"])), {})
    if is_chatgpt_chat(chat):
        return "chatgpt"
    if is_claude_chat(chat):
        return "claude"
    if is_gemini_activity(chat) or is_gemini_session(chat):
        return "gemini"
    return None
