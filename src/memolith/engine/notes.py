"""Memories as notes with a path and a permalink, which link to each other in their text.

Every memory is a note. Its path and its permalink are attributes; without them they follow from
its title. The links that stand in the text of a note are links between items, made when the note
is written and, where their target comes later, when that is written.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import join_blocks
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item, Patch, Similar
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.note_text import NoteLink, links_of, written_tags
from memolith.engine.reading import Reading
from memolith.engine.relation_labels import RELATED, word_of
from memolith.engine.work_ahead import WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, Conflict, InvalidInput, NotFound, VersionConflict
from memolith.ports.store import Store

KIND = "memory"
PATH = "path"
PERMALINK = "permalink"
TYPE = "type"
UNRESOLVED = "unresolved_links"
"""The attribute with the targets of a note's links that are not there yet."""
IN_TEXT = "in_text"
"""The attribute of links that stand in the text of a note, and go when they go from there."""
OWN_ATTRIBUTES = (PATH, PERMALINK, TYPE, UNRESOLVED)
DEFAULT_TYPE = "note"
SUFFIX = ".md"
SCHEME = "memory://"
MAX_NAMED = 5
MAX_PATH_CHARACTERS = 500
_FORBIDDEN = re.compile(r'[\x00-\x1f\\/:*?"<>|]+')
_NO_WORD = re.compile(r"[^\w]+|_+")


class Note(NamedTuple):
    """A note with its text."""

    item: Item
    text: str

    @property
    def checksum(self) -> str:
        """Changes whenever something in the note does."""
        said = [self.item.title, self.text, sorted(self.item.tags), dict(self.item.attributes)]
        whole = json.dumps(said, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()


class NewNote(NamedTuple):
    """What a note is to say, and where it is to be."""

    title: str
    text: str
    path: str
    tags: Sequence[str] = ()
    type: str = DEFAULT_TYPE
    metadata: Attributes = {}  # noqa: RUF012 - it is only read
    project: str | None = None


class SavedNote(NamedTuple):
    """A note after a write."""

    note: Note
    is_new: bool
    resolved: int
    """How many of the links in its text lead to a note."""
    unresolved: tuple[str, ...]
    similar: tuple[Similar, ...] = ()


class _Resolved(NamedTuple):
    """The links of a text: those to notes that are there, and the other targets."""

    links: dict[tuple[str, str], str]
    """The label by the type of the link and the id of the target."""
    unresolved: tuple[str, ...]


@dataclass(frozen=True)
class Notes:
    """Finds, writes and moves notes."""

    store: Store
    writing: Writing
    reading: Reading
    ahead: WorkAhead

    def all(self, caller: Caller, project: str | None = None) -> list[Item]:
        """Every note that the caller sees, by its path."""
        items = self.reading.list_all(caller, _of_project(project))
        return sorted(items, key=lambda item: (path_of(item).split("/"), item.id))

    def find(self, caller: Caller, name: str, project: str | None = None) -> Item:
        """The note with this permalink, path, title or id."""
        plain = plain_name(name)
        found = self._called(caller, plain, project)
        if not found:
            raise NotFound(f"There is no note {name[:100]!r}.", field="identifier", id=name)
        if len(found) > 1:
            links = ", ".join(permalink_of(item) for item in found[:MAX_NAMED])
            raise Conflict(
                f"{len(found)} notes are called {name[:100]!r}; give the permalink of one: "
                f"{links}.",
                field="identifier",
            )
        return found[0]

    def _called(self, caller: Caller, name: str, project: str | None) -> list[Item]:
        path = name if name.endswith(SUFFIX) else name + SUFFIX
        for condition in (
            Condition(PERMALINK, "eq", name),
            Condition(PATH, "in", [name, path]),
        ):
            chosen = _of_project(project, where=(condition,))
            found = self.reading.list_all(caller, chosen)
            if found:
                return list(found)
        titled = self.reading.list_all(caller, _of_project(project, titles=(name,)))
        if titled:
            return list(titled)
        by_id = self.reading.find(caller, KIND, name)
        if by_id is not None and project in (None, by_id.project):
            return [by_id]
        names = {name.casefold(), path.casefold()}
        return [item for item in self.all(caller, project) if names & set(names_of(item))]

    def read(self, caller: Caller, name: str, project: str | None = None) -> Note:
        """The note with this permalink, path, title or id, with its text."""
        return self.text_of(caller, self.find(caller, name, project))

    def text_of(self, caller: Caller, item: Item) -> Note:
        read, blocks = self.reading.read(caller, item.id)
        return Note(read, "\n".join(block.text for block in blocks))

    def write(
        self,
        caller: Caller,
        new: NewNote,
        *,
        overwrite: bool = False,
        expected_checksum: str | None = None,
    ) -> SavedNote:
        """Write a new note or, with `overwrite`, replace the one at its path."""
        path = checked_path(new.path)
        with self.store.writing(caller.tenant):
            present = self._at(caller, path, new.project)
            if present is None:
                if expected_checksum is not None:
                    raise NotFound(f"There is no note at {path!r}.", field="expected_checksum")
                return self._create(caller, new._replace(path=path))
            if not overwrite:
                raise AlreadyExists(
                    f"There is a note at {path!r} already; change it with edit_note, or say "
                    "overwrite=true to replace it.",
                    field="overwrite",
                    id=present.id,
                )
            note = self.text_of(caller, present)
            check_unchanged(note, expected_checksum)
            return self._replace(caller, note, new)

    def change_text(
        self, caller: Caller, note: Note, text: str, metadata: Attributes | None = None
    ) -> SavedNote:
        """Give a note another text, and new values of some fields."""
        with self.ahead.on(caller.tenant, [text]), self.store.writing(caller.tenant):
            resolved = self._resolve(caller, note.item, text)
            patch = Patch(
                blocks=(Block(text),),
                tags=tuple(sorted({*note.item.tags, *written_tags(text)})),
                attributes={**refused_own(metadata or {}), **_waiting(resolved)},
                dropped=_no_longer_waiting(note.item, resolved),
            )
            self.writing.revise(caller, note.item.id, patch, note.item.version)
            return self._linked(caller, note.item.id, resolved)

    def move(self, caller: Caller, item: Item, path: str) -> Note:
        """Give a note another path; its permalink stays, so that links to it do."""
        path = checked_path(path)
        with self.store.writing(caller.tenant):
            present = self._at(caller, path, item.project)
            if present is not None:
                raise AlreadyExists(
                    f"There is a note at {path!r} already; choose another destination.",
                    field="destination_path",
                    id=present.id,
                )
            attributes: dict[str, Json] = {PATH: path, PERMALINK: permalink_of(item)}
            self.writing.revise(caller, item.id, Patch(attributes=attributes), item.version)
            return self.text_of(caller, item)

    def move_directory(
        self, caller: Caller, directory: str, destination: str, project: str | None
    ) -> list[str]:
        """Move every note of a directory; the new paths."""
        source = plain_directory(directory)
        target = plain_directory(destination)
        if not source or not target or f"{target}/".startswith(f"{source}/"):
            raise InvalidInput(
                "Name a directory, and another one outside of it as the destination.",
                field="destination_path",
            )
        with self.store.writing(caller.tenant):
            return [
                path_of(self.move(caller, item, target + path_of(item)[len(source) :]).item)
                for item in self.in_directory(caller, source, project)
            ]

    def in_directory(self, caller: Caller, directory: str, project: str | None) -> list[Item]:
        """The notes of a directory and of those in it; refused if there are none."""
        prefix = plain_directory(directory)
        notes = [
            item
            for item in self.all(caller, project)
            if not prefix or path_of(item).startswith(f"{prefix}/")
        ]
        if not notes and prefix:
            raise NotFound(f"There is no directory {directory[:100]!r}.", field="identifier")
        return notes

    def forget(self, caller: Caller, items: Iterable[Item]) -> None:
        """Forget notes; they can be restored."""
        with self.store.writing(caller.tenant):
            for item in items:
                self.writing.forget(caller, item.id)

    def _at(self, caller: Caller, path: str, project: str | None) -> Item | None:
        for item in self.all(caller):
            if path_of(item).casefold() == path.casefold() and item.project == project:
                return item
        return None

    def _create(self, caller: Caller, new: NewNote) -> SavedNote:
        notes = self.all(caller)
        permalink = _unused(permalink_for(new.path), {permalink_of(item) for item in notes})
        resolved = _resolved(links_of(new.text), notes, own_id="")
        attributes: dict[str, Json] = {
            **refused_own(new.metadata),
            PATH: new.path,
            PERMALINK: permalink,
            TYPE: new.type,
            **_waiting(resolved),
        }
        draft = Draft(
            kind=KIND,
            title=new.title,
            blocks=(Block(new.text),),
            tags=_all_tags(new),
            attributes=attributes,
            project=new.project,
        )
        written = self.writing.remember(caller, draft)
        saved = self._linked(caller, written.item.id, resolved)
        self._resolve_older(caller, saved.note.item, notes)
        return saved._replace(is_new=True, similar=written.similar)

    def _replace(self, caller: Caller, note: Note, new: NewNote) -> SavedNote:
        item = note.item
        resolved = self._resolve(caller, item, new.text)
        attributes: dict[str, Json] = {
            **refused_own(new.metadata),
            PATH: path_of(item),
            PERMALINK: permalink_of(item),
            TYPE: new.type,
            **_waiting(resolved),
        }
        patch = Patch(
            title=new.title,
            blocks=(Block(new.text),),
            tags=_all_tags(new),
            attributes=attributes,
            dropped=tuple(name for name in item.attributes if name not in attributes),
        )
        self.writing.revise(caller, item.id, patch, item.version)
        return self._linked(caller, item.id, resolved)

    def _resolve(self, caller: Caller, item: Item, text: str) -> _Resolved:
        return _resolved(links_of(text), self.all(caller), item.id)

    def _linked(self, caller: Caller, id: str, resolved: _Resolved) -> SavedNote:
        """Make the links of a note those of its text; links that people made stay."""
        with self.store.writing(caller.tenant) as rows:
            present = {
                (link.type, link.target): link
                for link in rows.neighbours(caller.tenant, [id], "outgoing")
            }
            for key, link in present.items():
                if key not in resolved.links and link.attributes.get(IN_TEXT):
                    self.writing.unlink(caller, link.id)
            for (type, target), label in resolved.links.items():
                if (type, target) not in present:
                    attributes: dict[str, Json] = {IN_TEXT: True, "label": label}
                    self.writing.link(caller, id, target, type, attributes=attributes)
            item = rows.item(caller.tenant, id)
            assert item is not None, "it was written just now"
            text = "\n".join(block.text for block in join_blocks(rows.passages(caller.tenant, id)))
        return SavedNote(Note(item, text), False, len(resolved.links), resolved.unresolved)

    def _resolve_older(self, caller: Caller, new: Item, notes: Sequence[Item]) -> None:
        """Make the links of older notes that were waiting for this one."""
        names = set(names_of(new))
        for item in notes:
            waiting = item.attributes.get(UNRESOLVED)
            targets = [str(target) for target in waiting] if isinstance(waiting, list) else []
            if not names & {plain_name(target).casefold() for target in targets}:
                continue
            note = self.text_of(caller, item)
            resolved = _resolved(links_of(note.text), [*notes, new], item.id)
            patch = Patch(attributes=_waiting(resolved), dropped=_no_longer_waiting(item, resolved))
            self.writing.revise(caller, item.id, patch)
            self._linked(caller, item.id, resolved)


def title_of(item: Item) -> str:
    return item.title or item.id


def path_of(item: Item) -> str:
    """Where a note is; without a path of its own at the top, under its title."""
    path = item.attributes.get(PATH)
    if isinstance(path, str) and path.strip("/"):
        return path.strip("/")
    return file_name(title_of(item))


def permalink_of(item: Item) -> str:
    """The name by which links mean a note; it stays when the note is moved."""
    permalink = item.attributes.get(PERMALINK)
    if isinstance(permalink, str) and permalink:
        return permalink
    return permalink_for(path_of(item))


def names_of(item: Item) -> list[str]:
    """What links can call a note, in lower case."""
    path = path_of(item)
    names = [path, path.removesuffix(SUFFIX), permalink_of(item), title_of(item), item.id]
    return [name.casefold() for name in names]


def file_name(title: str) -> str:
    return (" ".join(_FORBIDDEN.sub(" ", title).split()).strip(". ") or "note") + SUFFIX


def permalink_for(path: str) -> str:
    """A path in the form of permalinks: small letters, with dashes between words."""
    plain = unicodedata.normalize("NFC", path.removesuffix(SUFFIX)).casefold()
    parts = [_NO_WORD.sub("-", part).strip("-") for part in plain.split("/")]
    return "/".join(part for part in parts if part)


def plain_name(name: str) -> str:
    return name.strip().removeprefix(SCHEME).strip("/")


def plain_directory(directory: str) -> str:
    """A directory without slashes around it; empty for the top."""
    plain = directory.strip().removeprefix(SCHEME).strip("/")
    _refuse_traversal(plain, "directory")
    return plain


def checked_path(path: str) -> str:
    """The path of a note in its one form; what leads elsewhere is refused."""
    plain = "/".join(part.strip() for part in path.split("/") if part.strip())
    _refuse_traversal(plain, "path")
    if not plain.lower().endswith((SUFFIX, ".markdown")):
        plain += SUFFIX
    if len(plain) > MAX_PATH_CHARACTERS:
        raise InvalidInput(
            f"A path has at most {MAX_PATH_CHARACTERS} characters; choose a shorter one.",
            field="path",
        )
    return plain


def _refuse_traversal(path: str, field: str) -> None:
    parts = path.split("/")
    if "\\" in path or path.startswith("~") or ".." in parts or "." in parts:
        raise InvalidInput(
            f"{path[:100]!r} is no place for notes; leave out `.`, `..`, `~` and backslashes.",
            field=field,
            value=path,
        )


def check_unchanged(note: Note, expected_checksum: str | None) -> None:
    """Refuse to write over a note that is not the one the caller has read."""
    if expected_checksum is not None and expected_checksum != note.checksum:
        raise VersionConflict(
            "The note has changed since you read it; read it again and repeat.",
            field="expected_checksum",
        )


def refused_own(metadata: Attributes) -> dict[str, Json]:
    """The fields that a caller gives; those that a note has anyway are refused."""
    for name in OWN_ATTRIBUTES:
        if name in metadata:
            raise InvalidInput(
                f"The field {name!r} cannot be given as metadata; leave it out.",
                field="metadata",
                value=name,
            )
    return dict(metadata)


def _of_project(
    project: str | None,
    *,
    where: tuple[Condition, ...] = (),
    titles: tuple[str, ...] = (),
) -> Filter:
    projects = () if project is None else (project,)
    return Filter(kinds=(KIND,), projects=projects, where=where, titles=titles)


def _all_tags(new: NewNote) -> tuple[str, ...]:
    return tuple(sorted({*new.tags, *written_tags(new.text)}))


def _waiting(resolved: _Resolved) -> dict[str, Json]:
    """The attribute that tells which targets are not there yet."""
    return {UNRESOLVED: list(resolved.unresolved)} if resolved.unresolved else {}


def _no_longer_waiting(item: Item, resolved: _Resolved) -> tuple[str, ...]:
    is_done = UNRESOLVED in item.attributes and not resolved.unresolved
    return (UNRESOLVED,) if is_done else ()


def _unused(permalink: str, taken: set[str]) -> str:
    number = 0
    unused = permalink
    while unused in taken:
        number += 1
        unused = f"{permalink}-{number}"
    return unused


def _resolved(links: Sequence[NoteLink], notes: Sequence[Item], own_id: str) -> _Resolved:
    ids: dict[str, str] = {}
    for item in notes:
        for name in names_of(item):
            ids.setdefault(name, item.id)
    resolved: dict[tuple[str, str], str] = {}
    unresolved: list[str] = []
    for link in links:
        target = ids.get(plain_name(link.target).casefold())
        if target is None:
            unresolved.append(link.target)
        elif target != own_id:
            resolved.setdefault((word_of(link.label) or RELATED, target), link.label)
    return _Resolved(resolved, tuple(dict.fromkeys(unresolved)))
