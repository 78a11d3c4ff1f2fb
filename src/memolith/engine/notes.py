"""Memories as notes with a path and a permalink, which link to each other in their text.

Every memory is a note. Its path and its permalink are attributes; without them they follow from
its title. The links that stand in the text of a note are links between items, made when the note
is written and, where their target comes later, when that is written.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from memolith.domain.attributes import Attributes, Json
from memolith.domain.blocks import join_blocks
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item, Patch, Similar
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter
from memolith.engine.matching import checked
from memolith.engine.note_text import NoteLink, links_of, written_tags
from memolith.engine.reading import Reading
from memolith.engine.relation_labels import RELATED, word_of
from memolith.engine.validation import RESERVED_NAMES
from memolith.engine.work_ahead import WorkAhead
from memolith.engine.writing import Writing
from memolith.errors import AlreadyExists, Conflict, InvalidInput, NotFound, VersionConflict
from memolith.ports.items import NoteRow
from memolith.ports.store import Store

MAX_PATTERN_CHARACTERS = 1000
"""No permalink is longer; a pattern of this size is compiled in no time."""
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
_Place = tuple[str, str | None]
"""A path in lower case, and its project."""
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


class KnownNote(NamedTuple):
    """The names of a note, without the note itself."""

    id: str
    title: str
    path: str
    permalink: str
    project: str | None
    waiting: str | None
    """The targets of its links that are not there yet, as a JSON list."""

    @property
    def names(self) -> tuple[str, ...]:
        """What links can call it, in lower case."""
        path = self.path.casefold()
        return (
            path,
            path.removesuffix(SUFFIX),
            self.permalink.casefold(),
            self.title.casefold(),
            self.id.casefold(),
        )

    @property
    def place(self) -> tuple[list[str], str]:
        """Sorts notes by their path."""
        return self.path.split("/"), self.id


class _Linking(NamedTuple):
    """The note whose links are looked up: it decides which of several notes a name means."""

    id: str = ""
    project: str | None = None
    linked: frozenset[str] = frozenset()
    """The notes that it links to already."""

    def preference(self, note: KnownNote) -> tuple[bool, bool, tuple[list[str], str]]:
        """Sorts notes of one name: of the same project, then linked already, then by path."""
        return note.project != self.project, note.id not in self.linked, note.place


class Waited(NamedTuple):
    """What became of the links of a note that were waiting."""

    made: int
    found: frozenset[str]
    """The names that lead to a note now, as `folded` writes them."""


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

    def known(self, caller: Caller, project: str | None = None) -> list[KnownNote]:
        """The names of every note that the caller sees, in no order.

        They are read without the notes, which takes a tenth of the time where there are many.
        """
        with self.store.reading(caller.tenant) as rows:
            found = rows.note_rows(caller, checked(_of_project(project)))
        return [_known(row) for row in found]

    def matching(self, caller: Caller, pattern: str, project: str | None = None) -> tuple[str, ...]:
        """The ids of the notes whose permalink is like a pattern such as `folder/*`, by path."""
        found = [
            note for note in self.known(caller, project) if fnmatchcase(note.permalink, pattern)
        ]
        return tuple(note.id for note in sorted(found, key=lambda note: note.place))

    def of_ids(self, caller: Caller, ids: Sequence[str]) -> list[Item]:
        """The notes with these ids, in this order."""
        if not ids:
            return []
        chosen = Filter(kinds=(KIND,), ids=tuple(ids))
        items = {item.id: item for item in self.reading.list_all(caller, chosen)}
        return [items[id] for id in ids if id in items]

    def find(self, caller: Caller, name: str, project: str | None = None) -> Item:
        """The note with this permalink, path, title or id."""
        plain = plain_name(name)
        found = self._called(caller, plain, project)
        if not found:
            raise NotFound(f"There is no note {name[:100]!r}.", field="identifier", id=name)
        if len(found) > 1:
            called = ", ".join(_told_apart(item) for item in found[:MAX_NAMED])
            raise Conflict(
                f"{len(found)} notes are called {name[:100]!r}; give the permalink of one, and its "
                f"project: {called}.",
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
        found_notes = [
            note for note in self.known(caller, project) if not names.isdisjoint(note.names)
        ]
        found_notes.sort(key=lambda note: note.place)
        return self.of_ids(caller, [note.id for note in found_notes])

    def read(self, caller: Caller, name: str, project: str | None = None) -> Note:
        """The note with this permalink, path, title or id, with its text."""
        return self.text_of(caller, self.find(caller, name, project).id)

    def text_of(self, caller: Caller, id: str) -> Note:
        """The note with this id, with its text."""
        read, blocks = self.reading.read(caller, id)
        return Note(read, "\n".join(block.text for block in blocks))

    def write(
        self,
        caller: Caller,
        new: NewNote,
        *,
        overwrite: bool = False,
        expected_checksum: str | None = None,
    ) -> SavedNote:
        """Write a new note or, with `overwrite`, replace the text of the one at its path.

        A note that is replaced keeps its tags and the fields that are not given.
        """
        path = checked_path(new.path)
        with self.store.writing(caller.tenant):
            known = self.known(caller)
            present = _occupied(known).get((path.casefold(), new.project))
            if present is None:
                if expected_checksum is not None:
                    raise NotFound(f"There is no note at {path!r}.", field="expected_checksum")
                return self._create(caller, new._replace(path=path), known)
            if not overwrite:
                raise AlreadyExists(
                    f"There is a note at {path!r} already; change it with edit_note, or say "
                    "overwrite=true to replace it.",
                    field="overwrite",
                    id=present,
                )
            note = self.text_of(caller, present)
            check_unchanged(note, expected_checksum)
            return self._replace(caller, note, new, known)

    def change_text(
        self, caller: Caller, note: Note, text: str, metadata: Attributes | None = None
    ) -> SavedNote:
        """Give a note another text, and new values of some fields."""
        with self.ahead.on(caller.tenant, [text]), self.store.writing(caller.tenant):
            linking = self._linking(caller, note.item)
            resolved = _resolved(links_of(text), self.known(caller), linking)
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
        with self.store.writing(caller.tenant):
            return self._moved(caller, item, path, _occupied(self.known(caller)))

    def _moved(self, caller: Caller, item: Item, path: str, occupied: Mapping[_Place, str]) -> Note:
        path = checked_path(path)
        present = occupied.get((path.casefold(), item.project))
        if present is not None:
            raise AlreadyExists(
                f"There is a note at {path!r} already; choose another destination.",
                field="destination_path",
                id=present,
            )
        attributes: dict[str, Json] = {PATH: path, PERMALINK: permalink_of(item)}
        self.writing.revise(caller, item.id, Patch(attributes=attributes), item.version)
        return self.text_of(caller, item.id)

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
            # All of them go to another directory under their own names, so none gets in the way
            # of another.
            occupied = _occupied(self.known(caller))
            moved: list[str] = []
            for item in self.in_directory(caller, source, project):
                path = target + path_of(item)[len(source) :]
                moved.append(path_of(self._moved(caller, item, path, occupied).item))
            return moved

    def in_directory(self, caller: Caller, directory: str, project: str | None) -> list[Item]:
        """The notes of a directory and of those in it; refused if there are none."""
        prefix = plain_directory(directory)
        if not prefix:
            return self.all(caller, project)
        inside = [
            note for note in self.known(caller, project) if note.path.startswith(f"{prefix}/")
        ]
        if not inside:
            raise NotFound(f"There is no directory {directory[:100]!r}.", field="identifier")
        inside.sort(key=lambda note: note.place)
        return self.of_ids(caller, [note.id for note in inside])

    def forget(self, caller: Caller, items: Iterable[Item]) -> None:
        """Forget notes; they can be restored."""
        with self.store.writing(caller.tenant):
            for item in items:
                self.writing.forget(caller, item.id)

    def _create(self, caller: Caller, new: NewNote, known: Sequence[KnownNote]) -> SavedNote:
        permalink = _unused(permalink_for(new.path), {note.permalink for note in known})
        resolved = _resolved(links_of(new.text), known, _Linking(project=new.project))
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
        self._resolve_older(caller, saved.note.item, known)
        return saved._replace(is_new=True, similar=written.similar)

    def _replace(
        self, caller: Caller, note: Note, new: NewNote, known: Sequence[KnownNote]
    ) -> SavedNote:
        item = note.item
        resolved = _resolved(links_of(new.text), known, self._linking(caller, item))
        attributes: dict[str, Json] = {
            **refused_own(new.metadata),
            PATH: path_of(item),
            PERMALINK: permalink_of(item),
            TYPE: new.type,
            **_waiting(resolved),
        }
        if not new.tags:
            given = set(item.tags) - set(written_tags(note.text))
            new = new._replace(tags=tuple(given))
        patch = Patch(
            title=new.title,
            blocks=(Block(new.text),),
            tags=_all_tags(new),
            attributes=attributes,
            dropped=_no_longer_waiting(item, resolved),
        )
        self.writing.revise(caller, item.id, patch, item.version)
        return self._linked(caller, item.id, resolved)

    def link_texts(self, caller: Caller, ids: Sequence[str]) -> None:
        """Make the links of notes those of their text, which something else has written."""
        if not ids:
            return
        with self.store.writing(caller.tenant):
            known = self.known(caller)
            for note in [self.text_of(caller, id) for id in ids]:
                item = note.item
                resolved = _resolved(links_of(note.text), known, self._linking(caller, item))
                patch = Patch(
                    attributes=_waiting(resolved),
                    dropped=_no_longer_waiting(item, resolved),
                    updated_at=item.updated_at,
                )
                self.writing.revise(caller, item.id, patch)
                self._linked(caller, item.id, resolved)
            self.resolve_all(caller, {})

    def _linking(self, caller: Caller, item: Item) -> _Linking:
        with self.store.reading(caller.tenant) as rows:
            links = rows.neighbours(caller.tenant, [item.id], "outgoing")
        return _Linking(item.id, item.project, frozenset(link.target for link in links))

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
            self._link(caller, id, resolved, present)
            item = rows.item(caller.tenant, id)
            assert item is not None, "it was written just now"
            text = "\n".join(block.text for block in join_blocks(rows.passages(caller.tenant, id)))
        return SavedNote(Note(item, text), False, len(resolved.links), resolved.unresolved)

    def _link(
        self, caller: Caller, id: str, resolved: _Resolved, present: Container[tuple[str, str]]
    ) -> int:
        """Make the links that are not there yet; how many."""
        missing = [key for key in resolved.links if key not in present]
        for type, target in missing:
            attributes: dict[str, Json] = {IN_TEXT: True, "label": resolved.links[type, target]}
            self.writing.link(caller, id, target, type, attributes=attributes)
        return len(missing)

    def _resolve_older(self, caller: Caller, new: Item, known: Sequence[KnownNote]) -> None:
        """Make the links of older notes that were waiting for this one."""
        own = _known_item(new)
        names = set(own.names)
        for older in known:
            waited = _waited_for(older.waiting)
            if not names.isdisjoint(waited):
                self._resolve_waiting(caller, older.id, waited, [*known, own])

    def resolve_all(self, caller: Caller, missing: Mapping[str, set[str]]) -> dict[str, Waited]:
        """After many notes came at once: make the links that were waiting for any of them.

        `missing` has names that lead nowhere, by the note whose text has them. They wait, too.
        """
        known = self.known(caller)
        waited = {
            note.id: _waited_for(note.waiting) | missing.get(note.id, set()) for note in known
        }
        wanted = set().union(*waited.values())
        called = [note for note in known if not wanted.isdisjoint(note.names)]
        there = {name for note in called for name in note.names}
        return {
            id: self._resolve_waiting(caller, id, names, called)
            for id, names in waited.items()
            if id in missing or not names.isdisjoint(there)
        }

    def _resolve_waiting(
        self, caller: Caller, id: str, waited: Container[str], known: Sequence[KnownNote]
    ) -> Waited:
        """Make the links of a note to these names, as far as they are there; others stay."""
        note = self.text_of(caller, id)
        links = [link for link in links_of(note.text) if folded(link.target) in waited]
        resolved = _resolved(links, known, _Linking(id, note.item.project))
        dropped = _no_longer_waiting(note.item, resolved)
        patch = Patch(
            attributes=_waiting(resolved),
            dropped=dropped,
            # Nobody has changed the note.
            updated_at=note.item.updated_at,
        )
        self.writing.revise(caller, id, patch)
        with self.store.reading(caller.tenant) as rows:
            outgoing = rows.neighbours(caller.tenant, [id], "outgoing")
        made = self._link(caller, id, resolved, {(link.type, link.target) for link in outgoing})
        names = {folded(link.target) for link in links}
        return Waited(made, frozenset(names.difference(map(folded, resolved.unresolved))))


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


def _told_apart(item: Item) -> str:
    """The permalink of a note, which a note of another project can have, too."""
    return permalink_of(item) + (f" (project {item.project})" if item.project else "")


def _known(row: NoteRow) -> KnownNote:
    """The names of a note; those that it has no attributes for follow from its title."""
    title = row.title or row.id
    path = (row.path or "").strip("/") or file_name(title)
    permalink = row.permalink or permalink_for(path)
    return KnownNote(row.id, title, path, permalink, row.project, row.waiting)


def _known_item(item: Item) -> KnownNote:
    return KnownNote(
        item.id, title_of(item), path_of(item), permalink_of(item), item.project, waiting=None
    )


def _occupied(known: Iterable[KnownNote]) -> dict[_Place, str]:
    """The ids of notes by where they are."""
    return {(note.path.casefold(), note.project): note.id for note in known}


def _waited_for(waiting: str | None) -> set[str]:
    """The names in a JSON list of targets; none if it is something else."""
    if waiting is None:
        return set()
    targets = json.loads(waiting)
    if not isinstance(targets, list):
        return set()
    return {folded(str(target)) for target in targets}


def file_name(title: str) -> str:
    return (" ".join(_FORBIDDEN.sub(" ", title).split()).strip(". ") or "note") + SUFFIX


def permalink_for(path: str) -> str:
    """A path in the form of permalinks: small letters, with dashes between words."""
    plain = unicodedata.normalize("NFC", path.removesuffix(SUFFIX)).casefold()
    parts = [_NO_WORD.sub("-", part).strip("-") for part in plain.split("/")]
    return "/".join(part for part in parts if part)


def plain_name(name: str) -> str:
    return name.strip().removeprefix(SCHEME).strip("/")


def folded(name: str) -> str:
    """A name as links are compared."""
    return plain_name(name).casefold()


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
    for name in (*OWN_ATTRIBUTES, *RESERVED_NAMES):
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


def _resolved(links: Sequence[NoteLink], known: Sequence[KnownNote], own: _Linking) -> _Resolved:
    wanted = {folded(link.target) for link in links}
    called = [note for note in known if not wanted.isdisjoint(note.names)] if wanted else []
    ids: dict[str, str] = {}
    for note in sorted(called, key=own.preference):
        for name in note.names:
            ids.setdefault(name, note.id)
    resolved: dict[tuple[str, str], str] = {}
    unresolved: list[str] = []
    for link in links:
        target = ids.get(folded(link.target))
        if target is None:
            unresolved.append(link.target)
        elif target != own.id:
            resolved.setdefault((word_of(link.label) or RELATED, target), link.label)
    return _Resolved(resolved, tuple(dict.fromkeys(unresolved)))


def checked_pattern(pattern: str, field: str) -> str:
    """A pattern such as `folder/*`, unless it is too long to match a name."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise InvalidInput(
            f"A pattern has at most {MAX_PATTERN_CHARACTERS:,} characters.", field=field
        )
    return pattern
