"""Folders of Markdown notes: an Obsidian vault, a project of basic-memory, or any other."""

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import (
    ForeignData,
    ForeignFolder,
    ForeignLink,
    ForeignRecord,
)
from memolith.engine.front_matter import Note, faults_of, read_note
from memolith.engine.note_text import links_of, written_tags
from memolith.errors import InvalidInput
from memolith.interchange.importers.files import first, read_text, text, texts

NOTE_SUFFIXES = (".md", ".markdown")
CREATED_FIELDS = ("created", "created_at", "date created", "creation_date", "date")
UPDATED_FIELDS = ("updated", "modified", "updated_at", "modified_at", "date modified")
KNOWN_FIELDS = {"title", "tags", "tag", "author", "project"}
MAX_LOOKED_AT = 50
MAX_SHOWN_LINE = 100
MAX_NOTE_BYTES = 64 << 20
PLACE_CHARACTERS = 32
BASIC_MEMORY = "basic-memory"


@dataclass(slots=True)
class _Folder:
    """The notes of a folder, and by which names links can mean them."""

    ids: dict[str, str] = field(default_factory=dict)
    """The id of a note by its path, its name, its title and its aliases, in lower case."""

    def learn(self, id: str, path: str, note: Note) -> None:
        without_suffix = path.rsplit(".", 1)[0]
        names = [path, without_suffix, text(note.fields.get("permalink"))]
        names += [without_suffix.rsplit("/", 1)[-1], text(note.fields.get("title"))]
        names += texts(first(note.fields, "aliases", "alias"))
        for name in names:
            if name:
                # The first note of a name is the one that a link means.
                self.ids.setdefault(name.lower(), id)

    def find(self, target: str, path: str) -> str:
        """The note that a link in another one means; the target itself if there is none."""
        beside = os.path.normpath(os.path.join(os.path.dirname(path), target))
        for name in (target, beside.replace(os.sep, "/"), target.rsplit("/", 1)[-1]):
            found = self.ids.get(name.lower())
            if found is not None:
                return found
        return target


def note_files(folder: Path) -> Iterator[Path]:
    """The notes of a folder and of those in it, hidden ones left out, in a fixed order."""
    for path in visible_files(folder):
        if path.suffix.lower() in NOTE_SUFFIXES:
            yield path


def visible_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place, name)


def read_note_file(path: Path) -> str:
    """The text of a note in a folder. Only plain files are read.

    A link would bring in a file from anywhere on the machine, and a pipe has no end.
    """
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(
            "A link or a device is not read. Put the note itself here.", field="file"
        )
    if status.st_size > MAX_NOTE_BYTES:
        raise InvalidInput(f"A note has at most {MAX_NOTE_BYTES:,} bytes.", field="file")
    return read_text(path)


def is_basic_memory(folder: Path) -> bool:
    """Whether notes of the folder have what basic-memory writes into each: a permalink."""
    for number, path in enumerate(note_files(folder)):
        if number == MAX_LOOKED_AT:
            return False
        # What cannot be read, the import tells.
        with suppress(InvalidInput):
            if "permalink" in read_note(read_note_file(path)).fields:
                return True
    return False


def read_obsidian(place: Path) -> ForeignData:
    return read_note_folder(place, "obsidian")


def read_basic_memory(place: Path) -> ForeignData:
    return read_note_folder(place, BASIC_MEMORY)


def read_note_folder(place: Path, program: str) -> ForeignData:
    """The notes of a folder and the links between them."""
    folder = place if place.is_dir() else place.parent
    data = ForeignData(program, folder=_folder(folder, program))
    notes: dict[str, Note] = {}
    names = _Folder()
    for path in visible_files(place) if place.is_dir() else [place]:
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in NOTE_SUFFIXES:
            data.left_out.add(
                "a file that is no Markdown note; `memolith ingest` takes files", name
            )
            continue
        try:
            content = read_note_file(path) if path != place else read_text(path)
        except InvalidInput as error:
            data.left_out.add(error.message, name)
            continue
        note = read_note(content)
        if not note.body.strip():
            data.left_out.add("a note without text", name)
            continue
        for fault, line in faults_of(content):
            data.left_out.add(fault, f"{name}: {line[:MAX_SHOWN_LINE]}")
        notes[name] = note
        id = _id(program, name, note)
        names.learn(id, name, note)
        data.records.append(_record(program, id, name, note, path.stat()))
    prefix = _prefix(notes) if program == BASIC_MEMORY else ""
    if prefix and data.folder is not None:
        data.folder = replace(data.folder, name=prefix)
    for name, note in notes.items():
        id = _id(program, name, note)
        for link in links_of(note.body):
            target = names.find(link.target, name)
            if target != id:
                data.links.append(ForeignLink(source=id, target=target, label=link.label))
    return data


def _folder(folder: Path, program: str) -> ForeignFolder:
    place = folder.resolve()
    digest = hashlib.sha256(str(place).encode(errors="surrogateescape")).hexdigest()
    return ForeignFolder(
        name=place.name.encode(errors="replace").decode() or program,
        place=digest[:PLACE_CHARACTERS],
        is_project=program == BASIC_MEMORY,
    )


def _prefix(notes: Mapping[str, Note]) -> str:
    """The project that most permalinks begin with, before the folders of the note; else none."""
    permalinks = {name: text(note.fields.get("permalink")) for name, note in notes.items()}
    prefixes = Counter(
        permalink.split("/")[0]
        for name, permalink in permalinks.items()
        if permalink.count("/") == name.count("/") + 1
    )
    for prefix, count in prefixes.most_common(1):
        if count * 2 > sum(map(bool, permalinks.values())):
            return prefix
    return ""


def _id(program: str, name: str, note: Note) -> str:
    """basic-memory calls a note by its permalink, which stays when the file is moved."""
    permalink = text(note.fields.get("permalink"))
    return permalink if permalink and program == BASIC_MEMORY else name


def _record(program: str, id: str, name: str, note: Note, status: os.stat_result) -> ForeignRecord:
    fields = note.fields
    born = getattr(status, "st_birthtime", status.st_mtime)
    # Elsewhere the field is the project; a project of basic-memory is a folder.
    own_project = text(fields.get("project")) if program != BASIC_MEMORY else ""
    used = KNOWN_FIELDS - {"project"} if program == BASIC_MEMORY else KNOWN_FIELDS
    used = used | set(CREATED_FIELDS) | set(UPDATED_FIELDS)
    rest = {field: value for field, value in fields.items() if field not in used}
    return ForeignRecord(
        source_id=id,
        title=text(fields.get("title")) or Path(name).stem,
        blocks=(Block(note.body.strip("\n")),),
        tags=tags_of(note),
        created_at=first(fields, *CREATED_FIELDS) or min(born, status.st_mtime),
        updated_at=first(fields, *UPDATED_FIELDS) or status.st_mtime,
        author=text(fields.get("author")),
        project=own_project,
        attributes={**rest, "path": name},
    )


def tags_of(note: Note) -> tuple[str, ...]:
    """The tags in the fields and in the text of a note, each once."""
    listed: Json = first(note.fields, "tags", "tag")
    if isinstance(listed, str):
        named = re.split(r"[,\s]+", listed)
    else:
        # basic-memory may write several tags into one entry.
        named = [tag for entry in texts(listed) for tag in entry.split(",")]
    tags = [tag.strip().removeprefix("#") for tag in (*named, *written_tags(note.body))]
    return tuple(dict.fromkeys(tag for tag in tags if tag))
