"""A directory of text files whose files are items of a memory, as Claude's memory tool wants it.

Each command answers with the sentence that the tool's documentation gives for it, because models
know these sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memolith.doors.library.memory import Memory
from memolith.doors.library.results import Change, Item, ListedItem, Remembered
from memolith.errors import Conflict, MemolithError, NotFound, VersionConflict
from memolith.integrations.transcripts import NO_TEXT, digest_tag, list_items, read_items

ROOT = "/memories"
FRAMEWORK = "claude-memory"
FILE_PREFIX = "claude-memory-file"
"""Tags that stand for the path of one file begin with this."""
PATH_NAME = "path"
BLANK_NAME = "blank"
"""The metadata in which a text of nothing but blanks is kept, which no item can have."""
DEFAULT_SPACE = "default"
MAX_PATH_CHARACTERS = 500
MAX_PATH_PARTS = 50
MAX_LINES = 999_999
LINE_NUMBER_WIDTH = 6
SHOWN_LEVELS = 2
LINES_AROUND_A_CHANGE = 2
MAX_ATTEMPTS = 5
"""How often an edit is tried again because somebody else changed the file meanwhile."""
PARAMETERS: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""What each command needs."""
UNLISTED_FOLDER = "node_modules"
SIZE_UNITS = ("B", "K", "M", "G")
ENCODED_STEPS = ("%2e", "%2f", "%5c")
"""Dots and slashes as addresses write them."""
DELETE_CHARACTER = "\x7f"


class CommandRefused(Exception):
    """A command that was not carried out; the message is for the model."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class File(NamedTuple):
    """A file as it is now."""

    path: str
    text: str
    item: Item


@dataclass(frozen=True, slots=True)
class FileText:
    """What is kept of a text: the content of an item, and the text itself if it is blank."""

    content: str
    blank: str | None

    @classmethod
    def of(cls, text: str) -> FileText:
        if text.strip():
            return cls(text, None)
        return cls(NO_TEXT, text)


class MemoryFiles:
    """The files below `/memories`. Directories are there as long as a file is in them.

    Each file is an item with its path as the title, so its history is kept, and what is deleted
    is forgotten and can be restored. Files of another `space` are other files.
    """

    def __init__(self, memory: Memory, space: str = DEFAULT_SPACE) -> None:
        self.memory = memory
        self.space = space

    def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """The lines of a file with their numbers, or what lies in a directory."""
        path = checked_path(path)
        file = self._file(path)
        if file is not None:
            return numbered_view(file, view_range)
        files = self._below(path)
        if not files and path != ROOT:
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        return directory_view(path, files)

    def create(self, path: str, text: str) -> str:
        """Make a new file."""
        path = checked_path(path)
        if path == ROOT or self._exists(path):
            raise CommandRefused(f"Error: File {path} already exists")
        self._refuse_file_above(path)
        kept = FileText.of(text)
        made = self.memory.remember(
            kept.content,
            title=path,
            tags=self._tags(path),
            metadata={PATH_NAME: path, BLANK_NAME: kept.blank},
        )
        # Another program may have made the same file at the same moment: the older one stays.
        if self._listed(path)[0].id != made.id:
            self._forget(made.id)
            raise CommandRefused(f"Error: File {path} already exists")
        return f"File created successfully at: {path}" + redaction_note(made)

    def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands once in a file."""
        path = checked_path(path)
        for _ in range(MAX_ATTEMPTS):
            file = self._file(path)
            if file is None:
                raise CommandRefused(
                    f"Error: The path {path} does not exist. Please provide a valid path."
                )
            position = only_position(file, old)
            text = file.text[:position] + new + file.text[position + len(old) :]
            change = self._write(file, text)
            if change is not None:
                snippet = lines_around(text, position, len(new))
                return f"The memory file has been edited.\n{snippet}" + redaction_note(change)
        raise busy(path)

    def insert(self, path: str, line: int, text: str) -> str:
        """Put a text below a line; 0 is the beginning of the file."""
        path = checked_path(path)
        for _ in range(MAX_ATTEMPTS):
            file = self._file(path)
            if file is None:
                raise CommandRefused(f"Error: The path {path} does not exist")
            change = self._write(file, with_inserted(file.text, line, text))
            if change is not None:
                return f"The file {path} has been edited." + redaction_note(change)
        raise busy(path)

    def delete(self, path: str) -> str:
        """Forget a file, or every file of a directory."""
        path = checked_path(path)
        if path == ROOT:
            raise CommandRefused(f"Error: Cannot delete the {ROOT} directory itself")
        listed = self._listed(path) or self._listed_below(path)
        if not listed:
            raise CommandRefused(f"Error: The path {path} does not exist")
        for item in listed:
            self._forget(item.id)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Give a file or a directory another path."""
        old_path = checked_path(old_path)
        new_path = checked_path(new_path)
        if old_path == ROOT:
            raise CommandRefused(f"Error: Cannot rename the {ROOT} directory itself")
        file = self._file(old_path)
        files = self._below(old_path) if file is None else [file]
        if not files:
            raise CommandRefused(f"Error: The path {old_path} does not exist")
        if is_below(new_path, old_path):
            raise CommandRefused(f"Error: Cannot move {old_path} into itself")
        if new_path == ROOT or self._exists(new_path):
            raise CommandRefused(f"Error: The destination {new_path} already exists")
        self._refuse_file_above(new_path)
        self._move([(file, checked_path(new_path + file.path[len(old_path) :])) for file in files])
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Forget every file."""
        for item in self._listed_below(ROOT):
            self._forget(item.id)
        return "All memory cleared"

    def _file(self, path: str) -> File | None:
        for listed in self._listed(path):
            for item in read_items(self.memory, [listed.id]):
                return file_of(item)
        return None

    def _listed(self, path: str) -> list[ListedItem]:
        """The item of a file, and any copies that other programs made just now, oldest first."""
        found = list(list_items(self.memory, [self._file_tag(path)]))
        return sorted(found, key=lambda item: (item.created_at, item.id))

    def _listed_below(self, path: str) -> list[ListedItem]:
        return list(list_items(self.memory, [self._directory_tag(path)]))

    def _below(self, path: str) -> list[File]:
        """The files of a directory and of those in it, by their paths."""
        ids = [item.id for item in self._listed_below(path)]
        files = [file_of(item) for item in read_items(self.memory, ids)]
        return sorted(files, key=lambda file: file.path.split("/"))

    def _exists(self, path: str) -> bool:
        return bool(self._listed(path) or self._listed_below(path))

    def _refuse_file_above(self, path: str) -> None:
        for directory in directories_of(path):
            if directory != ROOT and self._listed(directory):
                raise CommandRefused(f"Error: {directory} is a file, so nothing can be in it")

    def _write(self, file: File, text: str) -> Change | None:
        """Keep a new text; None if somebody else was faster."""
        kept = FileText.of(text)
        try:
            return self.memory.revise(
                file.item.id,
                kept.content,
                metadata={BLANK_NAME: kept.blank},
                expected_version=file.item.version,
            )
        except (VersionConflict, NotFound):
            return None

    def _move(self, moves: Sequence[tuple[File, str]]) -> None:
        """Give files new paths; if one is refused, all keep the old ones."""
        changes: list[Change] = []
        try:
            for file, path in moves:
                changes.append(self._move_file(file, path))
        except MemolithError:
            for change in reversed(changes):
                self.memory.undo(change.event)
            raise

    def _move_file(self, file: File, path: str) -> Change:
        own = set(self._tags(file.path))
        tags = [tag for tag in file.item.tags if tag not in own]
        return self.memory.revise(
            file.item.id,
            title=path,
            tags=[*tags, *self._tags(path)],
            metadata={PATH_NAME: path},
            expected_version=file.item.version,
        )

    def _forget(self, id: str) -> None:
        try:
            self.memory.forget(id)
        except (NotFound, Conflict):
            # It is forgotten already.
            return

    def _file_tag(self, path: str) -> str:
        return digest_tag(FILE_PREFIX, self.space, path)

    def _directory_tag(self, path: str) -> str:
        return digest_tag(FRAMEWORK, self.space, path)

    def _tags(self, path: str) -> list[str]:
        """One for each directory that a file is in, one of its own, and one of all files."""
        directories = [self._directory_tag(directory) for directory in directories_of(path)]
        return [FRAMEWORK, *directories, self._file_tag(path)]


def check_command(command: object) -> None:
    """Refuse what is no command, or lacks something, in words that the model can go by."""
    given = command if isinstance(command, Mapping) else {}
    name = given.get("command")
    if name not in PARAMETERS:
        raise CommandRefused(
            f"Error: There is no `command` {name!r}; use one of {', '.join(PARAMETERS)}"
        )
    for parameter, kind in PARAMETERS[name].items():
        if not isinstance(given.get(parameter), kind):
            form = "a number" if kind is int else "a text"
            raise CommandRefused(f"Error: The command `{name}` needs `{parameter}`, {form}")


def checked_path(path: str) -> str:
    """The path in its one form, if it is below `/memories` and leads nowhere else."""
    if path != ROOT and not path.startswith(ROOT + "/"):
        raise CommandRefused(f"Error: Path must start with {ROOT}, got: {path}")
    parts = [part for part in path.split("/") if part]
    is_traversal = ".." in parts or "." in parts or "\\" in path or has_encoded_steps(path)
    if is_traversal:
        raise CommandRefused(
            f"Error: Path {path} would escape {ROOT} directory; leave out `.`, `..`, backslashes "
            "and encoded characters"
        )
    if any(character < " " or character == DELETE_CHARACTER for character in path):
        raise CommandRefused("Error: The path holds a control character; leave it out")
    plain = "/" + "/".join(parts)
    if len(plain) > MAX_PATH_CHARACTERS or len(parts) > MAX_PATH_PARTS:
        raise CommandRefused(
            f"Error: A path has at most {MAX_PATH_CHARACTERS} characters and {MAX_PATH_PARTS} parts"
        )
    return plain


def has_encoded_steps(path: str) -> bool:
    small = path.lower()
    return any(step in small for step in ENCODED_STEPS)


def directories_of(path: str) -> list[str]:
    """The directories that a path is in, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]


def is_below(path: str, directory: str) -> bool:
    return path.startswith(directory + "/")


def file_of(item: Item) -> File:
    metadata = item.metadata or {}
    blank = metadata.get(BLANK_NAME)
    is_blank = item.content == NO_TEXT and isinstance(blank, str)
    return File(metadata[PATH_NAME], str(blank) if is_blank else item.content, item)


def numbered_view(file: File, view_range: Sequence[int] | None) -> str:
    lines = file.text.split("\n")
    if len(lines) > MAX_LINES:
        raise CommandRefused(f"File {file.path} exceeds maximum line limit of 999,999 lines.")
    first = 1
    last = len(lines)
    if view_range:
        first, last = checked_range(view_range, len(lines))
    return f"Here's the content of {file.path} with line numbers:\n" + numbered(lines, first, last)


def checked_range(view_range: Sequence[int], line_count: int) -> tuple[int, int]:
    """The first and the last line to show; -1 stands for the end of the file."""
    if len(view_range) != 2:
        raise CommandRefused("Error: Invalid `view_range` parameter: it has two line numbers")
    first, last = view_range
    if last == -1:
        last = line_count
    if not 1 <= first <= line_count or last < first:
        raise CommandRefused(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be within the "
            f"range of lines of the file: [1, {line_count}]"
        )
    return first, min(last, line_count)


def numbered(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(
        f"{number:>{LINE_NUMBER_WIDTH}}\t{lines[number - 1]}" for number in range(first, last + 1)
    )


def directory_view(path: str, files: Sequence[File]) -> str:
    """The sizes and paths of what lies in a directory, two levels deep."""
    sizes: dict[str, int] = {path: 0}
    for file in files:
        size = len(file.text.encode())
        for entry in shown_entries(path, file.path):
            sizes[entry] = sizes.get(entry, 0) + size
    header = (
        f"Here're the files and directories up to {SHOWN_LEVELS} levels deep in {path}, excluding "
        f"hidden items and {UNLISTED_FOLDER}:"
    )
    return "\n".join([header, *(f"{readable(size)}\t{entry}" for entry, size in sizes.items())])


def shown_entries(directory: str, path: str) -> Iterator[str]:
    """The directory, and what a listing of it shows because of a file in it."""
    yield directory
    steps = path[len(directory) + 1 :].split("/")
    entry = directory
    for depth, step in enumerate(steps[:SHOWN_LEVELS], start=1):
        if step.startswith(".") or step == UNLISTED_FOLDER:
            return
        entry += "/" + step
        # A directory ends with a slash.
        yield entry if depth == len(steps) else entry + "/"


def readable(size: int) -> str:
    """A number of bytes for people: 512B, 5.5K, 1.2M."""
    value = float(size)
    unit = 0
    while value >= 1024 and unit < len(SIZE_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{value:.1f}".removesuffix(".0") + SIZE_UNITS[unit]


def only_position(file: File, old: str) -> int:
    """Where a text stands, if it stands there once."""
    positions = positions_of(file.text, old)
    if not positions:
        raise CommandRefused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {file.path}."
        )
    if len(positions) > 1:
        lines = [str(file.text.count("\n", 0, position) + 1) for position in positions]
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(lines)}. Please ensure it is unique"
        )
    return positions[0]


def positions_of(text: str, part: str) -> list[int]:
    if not part:
        return []
    positions = []
    position = text.find(part)
    while position != -1:
        positions.append(position)
        position = text.find(part, position + 1)
    return positions


def lines_around(text: str, position: int, length: int) -> str:
    """The changed lines and those beside them, with their numbers."""
    lines = text.split("\n")
    first = text.count("\n", 0, position) + 1
    last = text.count("\n", 0, position + length) + 1
    return numbered(
        lines,
        max(first - LINES_AROUND_A_CHANGE, 1),
        min(last + LINES_AROUND_A_CHANGE, len(lines)),
    )


def with_inserted(text: str, line: int, inserted: str) -> str:
    """The text with another one below a line, on lines of its own."""
    lines = lines_with_ends(text)
    if not 0 <= line <= len(lines):
        raise CommandRefused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of "
            f"lines of the file: [0, {len(lines)}]"
        )
    before = "".join(lines[:line])
    if before and not before.endswith("\n"):
        before += "\n"
    if inserted and not inserted.endswith("\n"):
        inserted += "\n"
    return before + inserted + "".join(lines[line:])


def lines_with_ends(text: str) -> list[str]:
    """The lines; other marks that some programs take for their end are parts of the text."""
    *whole, last = text.split("\n")
    lines = [line + "\n" for line in whole]
    return [*lines, last] if last else lines


def busy(path: str) -> CommandRefused:
    return CommandRefused(
        f"Error: The file {path} is being changed by another program; view it and try again"
    )


def redaction_note(written: Remembered | Change) -> str:
    """Tells the model that what is kept is not what it wrote, where that is so."""
    count = sum((written.redactions or {}).values())
    if not count:
        return ""
    return f"\nNote: {count} secret{'s were' if count > 1 else ' was'} replaced by [REDACTED]."
