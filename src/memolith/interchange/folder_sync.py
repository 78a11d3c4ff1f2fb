"""Keeps a folder of Markdown notes and the store in step, both ways.

What each file and its item were after the last sync is kept in the folder. So it is known which
side has changed since. Where both have, the note says what the store says, and what the file said
lies beside it: nothing is lost, and every sync tells about it until somebody has removed that file.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memolith.domain.attributes import exact
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.links import Link
from memolith.domain.passages import Block
from memolith.engine.engine import Engine
from memolith.engine.foreign_import import moment
from memolith.engine.front_matter import Note, read_note, write_note
from memolith.engine.note_text import written_tags
from memolith.engine.notes import KIND, PATH
from memolith.engine.relation_labels import RELATED, word_of
from memolith.errors import InvalidInput, MemolithError, translated
from memolith.interchange.exporters.collection import ItemText, links_between, live_items
from memolith.interchange.exporters.folder import make_obsidian_vault, refuse_links, write_file
from memolith.interchange.importers.files import first, json_object_of, objects, read_text, text
from memolith.interchange.importers.notes import (
    CREATED_FIELDS,
    UPDATED_FIELDS,
    note_files,
    read_note_file,
    tags_of,
)
from memolith.interchange.note_files import (
    FOLDERS,
    ID_FIELD,
    WRITABLE_KINDS,
    Names,
    NoteContent,
    OutgoingLink,
    blocks_of,
    kind_of,
    link_targets,
    note_id,
    own_path,
    read_content,
    render,
)

STATE_FILE = ".memolith/sync.json"
STATE_FORMAT = 1
CONFLICT_FIELD = "memolith_conflict"
"""Stands in what a file said when both sides had changed, with the id of the item."""
MIN_FILES_TO_MISS = 10
"""From so many missing files on, a sync stops if they are more than half of all."""


class Synced(NamedTuple):
    """How a file and its item were after a sync."""

    item: str
    version: int
    digest: str
    """Of the file, which said the same as the item."""


@dataclass(slots=True)
class SyncReport:
    """What a sync changed on either side, and what needs somebody's attention."""

    written: list[str] = field(default_factory=list)
    """Files that are new or have changed in the store."""
    removed: list[str] = field(default_factory=list)
    """Files whose item was forgotten."""
    remembered: list[str] = field(default_factory=list)
    """New notes that the store has taken."""
    revised: list[str] = field(default_factory=list)
    """Notes whose change the store has taken."""
    forgotten: list[str] = field(default_factory=list)
    """Items that were forgotten because their file was removed; they can be restored."""
    conflicts: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Files that were not taken, and why."""


def sync_folder(
    engine: Engine, caller: Caller, folder: Path, *, accept_removals: bool = False
) -> SyncReport:
    """Bring the folder and the store to the same state."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is no folder.", field="folder")
    state = _read_state(folder, caller.tenant)
    # Before anything else: notes behind a link are not seen, so they would count as removed.
    for path in (*state, *(f"{name}/any.md" for name in FOLDERS.values())):
        refuse_links(folder, path)
    run = _Sync(engine, caller, folder, state)
    if not state:
        run.refuse_imported_notes()
    if not accept_removals:
        run.refuse_many_removals()
    try:
        run.take_files()
        run.write_items()
    finally:
        # Also after a failure: what was done so far is done.
        run.write_state()
    make_obsidian_vault(folder)
    return run.report


def _read_state(folder: Path, tenant: str) -> dict[str, Synced]:
    refuse_links(folder, STATE_FILE)
    path = folder / STATE_FILE
    if not path.exists():
        return {}
    with _reading_state(path):
        value = json_object_of(json.loads(read_text(path)))
    if value.get("format") != STATE_FORMAT:
        raise InvalidInput(
            f"{path} was written by another version of memolith; use that one, or remove the file.",
            field="folder",
        )
    if value.get("tenant") != tenant:
        raise InvalidInput(
            f"This folder is kept in step with the tenant {value.get('tenant')!r}; use another "
            "folder.",
            field="tenant",
        )
    with _reading_state(path):
        return {
            text(entry["path"]): Synced(
                text(entry["item"]), int(str(entry["version"])), text(entry["digest"])
            )
            for entry in objects(value.get("files"))
        }


def _reading_state(path: Path) -> AbstractContextManager[None]:
    errors = (ValueError, KeyError, RecursionError)
    return translated(errors, InvalidInput, f"{path} is damaged; remove it.", "folder")


class _Sync:
    """One sync of a folder."""

    def __init__(
        self, engine: Engine, caller: Caller, folder: Path, state: dict[str, Synced]
    ) -> None:
        self.engine = engine
        self.caller = caller
        self.folder = folder
        self.state = state
        """What was in step after the last sync, by the path of the file."""
        self.report = SyncReport()
        self.items: dict[str, ItemText] = {}
        self.links: dict[str, list[Link]] = {}
        self.files: dict[str, str] = {}
        """What the files say, by their path."""
        self.paths: dict[str, str] = {}
        """The path of the file of each item."""
        self.last_paths = {synced.item: path for path, synced in state.items()}
        self.new_notes: dict[str, NoteContent] = {}
        """What new notes say, by the item that they became."""
        self.retold: list[str] = []
        """Memories whose text was taken, with the links in it."""
        self.kept_apart: set[str] = set()
        """Items whose file was not taken, and must not be written over."""
        self._read_store()
        self._read_files()
        self._pair()

    def _read_store(self) -> None:
        self.items = {entry.item.id: entry for entry in live_items(self.engine, self.caller)}
        self.links = links_between(self.engine, self.caller, set(self.items))

    def _read_files(self) -> None:
        for path in note_files(self.folder):
            name = path.relative_to(self.folder).as_posix()
            try:
                # Some editors on Windows end lines in their own way.
                content = read_note_file(path).replace("\r\n", "\n")
            except InvalidInput as error:
                self.report.refused.append(f"{name}: {error.message}")
                if name in self.state:
                    self.kept_apart.add(self.state[name].item)
                    self.paths[self.state[name].item] = name
                continue
            conflict = text(read_note(content).fields.get(CONFLICT_FIELD))
            if conflict:
                self.report.conflicts.append(
                    f"{name} is what a file said when both sides had changed: take over what you "
                    "want to keep, then remove it."
                )
                continue
            self.files[name] = content

    def _pair(self) -> None:
        """Find the file of each item: by the last sync, or by the id that the file says."""
        for name, synced in self.state.items():
            if name in self.files and note_id(self.files[name]) == synced.item:
                self.paths[synced.item] = name
        for name, content in self.files.items():
            id = note_id(content)
            if id in self.items and id not in self.paths:
                # New in this folder, or moved by its owner.
                self.paths[id] = name

    def refuse_imported_notes(self) -> None:
        """Stop where the folder is one that was imported: every note would be there twice."""
        imported = {
            item.attributes.get("path")
            for item, _ in self.items.values()
            if "source" in item.attributes
        }
        known = [
            name
            for name, content in sorted(self.files.items())
            if name in imported and not note_id(content)
        ]
        if known:
            raise InvalidInput(
                f"Notes in {self.folder} were imported before ({len(known):,} of "
                f"{len(self.files):,}, such as {known[0]}). A sync would take them a second time "
                "and write into these files. Sync a new folder: it gets the imported notes, too.",
                field="folder",
            )

    def refuse_many_removals(self) -> None:
        """Stop where most notes are gone: more likely the folder is not what it was."""
        known = [synced.item for synced in self.state.values() if synced.item in self.items]
        missing = [id for id in known if id not in self.paths]
        if len(missing) >= MIN_FILES_TO_MISS and len(missing) * 2 > len(known):
            raise InvalidInput(
                f"{len(missing):,} of {len(known):,} notes are missing in {self.folder}. If you "
                "removed them, repeat with --accept-removals, and they are forgotten; they can be "
                "restored.",
                field="folder",
            )

    def take_files(self) -> None:
        """Bring what changed in the folder into the store."""
        synced_of = {synced.item: synced for synced in self.state.values()}
        for name, content in sorted(self.files.items()):
            id = note_id(content)
            try:
                if id and self.paths.get(id) == name and id in self.items:
                    self._take_change(name, content, synced_of.get(id))
                elif id and self.paths.get(id) != name and id in self.items:
                    # A copy of a note is a new note.
                    self._take_new(name, content)
                elif id:
                    self._take_orphan(name, content, synced_of.get(id))
                else:
                    self._take_new(name, content)
            except MemolithError as error:
                self.report.refused.append(f"{name}: {error.message}")
                self.kept_apart.add(id)
        for name, synced in self.state.items():
            if synced.item in self.items and synced.item not in self.paths:
                self._take_removal(name, synced)
        self._link_new_notes()
        self.engine.notes.link_texts(self.caller, self.retold)
        self._read_store()

    def _take_change(self, name: str, content: str, synced: Synced | None) -> None:
        rendered = self._rendered(self.items[note_id(content)])
        file_changed = synced is None or _digest(content) != synced.digest
        if not file_changed or content == rendered:
            return
        item, _ = self.items[note_id(content)]
        base = read_content(rendered, Path(name).stem)
        now = read_content(content, Path(name).stem)
        if now == base:
            # Only the form has changed, or both sides in the same way.
            return
        if synced is None or _digest(rendered) != synced.digest:
            self._keep_both(name, content, item)
        elif item.kind not in WRITABLE_KINDS:
            self._keep_both(name, content, item)
            self.report.refused.append(f"{name}: a {item.kind} cannot be changed in its file")
        else:
            self._revise(item, base, now)
            self.report.revised.append(name)

    def _revise(self, item: Item, base: NoteContent, now: NoteContent) -> None:
        changed = {
            key: value
            for key, value in now.attributes.items()
            if key not in base.attributes or exact(base.attributes[key]) != exact(value)
        }
        tags = _with_written(now, base)
        patch = Patch(
            title=now.title if now.title != base.title else None,
            blocks=blocks_of(now, item.kind) if now.text != base.text else None,
            tags=tags if tags != base.tags else None,
            attributes=changed or None,
            dropped=tuple(key for key in base.attributes if key not in now.attributes),
            status=now.status if now.status != base.status else None,
            project=now.project if now.project != base.project else None,
            namespace=now.namespace if now.namespace != base.namespace else None,
        )
        with self.engine.writing.store.writing(self.caller.tenant):
            self.engine.writing.revise(self.caller, item.id, patch)
            if patch.blocks is not None and item.kind == KIND:
                self.retold.append(item.id)
            if now.links != base.links:
                self._change_links(item.id, now)

    def _change_links(self, id: str, now: NoteContent) -> None:
        targets = self._link_targets()
        wanted = set()
        for link in now.links:
            target = targets.get(link.target.lower())
            if target is None:
                raise InvalidInput(f"there is no note {link.target!r} to link to")
            wanted.add((word_of(link.label) or RELATED, target))
        present = {(link.type, link.target): link for link in self.links.get(id, ())}
        for type, target in sorted(wanted - present.keys()):
            self.engine.writing.link(self.caller, id, target, type)
        for key in present.keys() - wanted:
            self.engine.writing.unlink(self.caller, present[key].id)

    def _take_new(self, name: str, content: str) -> None:
        """Remember a note that somebody wrote in the folder; it gets its id."""
        stem = Path(name).stem
        note = read_note(content)
        said = read_content(content, stem)
        kind = kind_of(content)
        path = own_path(name, kind)
        draft = Draft(
            kind=kind,
            title=said.title or stem,
            blocks=blocks_of(said, kind),
            tags=tuple(sorted({*said.tags, *tags_of(note)})),
            attributes={**said.attributes, PATH: path} if path else said.attributes,
            status=said.status,
            project=said.project or None,
            namespace=said.namespace or None,
            created_at=moment(first(note.fields, *CREATED_FIELDS)),
            updated_at=moment(first(note.fields, *UPDATED_FIELDS)),
        )
        item = self.engine.writing.remember(self.caller, draft).item
        self.paths[item.id] = name
        self.new_notes[item.id] = said
        if kind == KIND:
            self.retold.append(item.id)
        self.report.remembered.append(name)

    def _link_new_notes(self) -> None:
        """Make the links of new notes, once every note has its item.

        What leads nowhere becomes a part of the text.
        """
        targets = self._link_targets()
        for id, said in self.new_notes.items():
            lines = []
            for link in said.links:
                target = targets.get(link.target.lower())
                if target is not None and target != id:
                    type = word_of(link.label) or RELATED
                    self.engine.writing.link(self.caller, id, target, type, again=True)
                else:
                    lines.append(f"- {link.label} [[{link.target}]]")
            if lines:
                _, blocks = self.engine.reading.read(self.caller, id)
                text_with_lines = "\n".join([*(block.text for block in blocks), "", *lines])
                patch = Patch(blocks=(Block(text_with_lines),))
                self.engine.writing.revise(self.caller, id, patch)

    def _link_targets(self) -> dict[str, str]:
        return link_targets({path: item for item, path in self.paths.items()})

    def _take_orphan(self, name: str, content: str, synced: Synced | None) -> None:
        """A note whose item was forgotten, or is not in this store at all."""
        id = note_id(content)
        if synced is None:
            self._take_new(name, content)
        elif _digest(content) == synced.digest:
            os.remove(self.folder / name)
            self.report.removed.append(name)
        else:
            self._set_aside(name, content, id)
            os.remove(self.folder / name)
            self.report.conflicts.append(
                f"{name} was changed here, and its item was forgotten: its text is kept beside it."
            )

    def _take_removal(self, name: str, synced: Synced) -> None:
        """Forget an item whose file was removed, unless it has changed meanwhile."""
        if _digest(self._rendered(self.items[synced.item])) == synced.digest:
            self.engine.writing.forget(self.caller, synced.item)
            self.report.forgotten.append(name)
        else:
            self.report.conflicts.append(
                f"{name} was removed here, but has changed in the store: it is written again."
            )

    def _keep_both(self, name: str, content: str, item: Item) -> None:
        aside = self._set_aside(name, content, item.id)
        self.report.conflicts.append(
            f"{name} has changed on both sides: it says what the store says, and what the file "
            f"said is in {aside}."
        )

    def _set_aside(self, name: str, content: str, id: str) -> str:
        """Keep what a file says under another name, where no sync changes it."""
        note = read_note(content)
        fields = {CONFLICT_FIELD: id, **note.fields}
        fields.pop(ID_FIELD, None)
        stem = name.removesuffix(".md")
        number = 1
        while (self.folder / f"{stem} (conflict {number}).md").exists():
            number += 1
        aside = f"{stem} (conflict {number}).md"
        write_file(self.folder, aside, write_note(Note(fields, note.body)))
        return aside

    def write_items(self) -> None:
        """Bring what the store says into the folder."""
        # Also the names of files that were not taken: they must not be written over.
        names = Names({path.stem.lower() for path in note_files(self.folder)})
        for id, (item, blocks) in self.items.items():
            if id not in self.paths:
                self.paths[id] = names.path_of(item, blocks)
        told = {*self.report.remembered, *self.report.revised}
        for id, entry in self.items.items():
            name = self.paths[id]
            if id in self.kept_apart:
                continue
            rendered = self._rendered(entry)
            if self._present(name) != rendered:
                write_file(self.folder, name, rendered)
                if name not in told:
                    self.report.written.append(name)

    def _present(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_bytes().decode("utf-8", "replace") if path.exists() else None

    def write_state(self) -> None:
        files = [
            {"path": name, "item": synced.item, "version": synced.version, "digest": synced.digest}
            for name, synced in sorted(self._synced())
        ]
        state = {"format": STATE_FORMAT, "tenant": self.caller.tenant, "files": files}
        write_file(self.folder, STATE_FILE, json.dumps(state, ensure_ascii=False, indent=1) + "\n")

    def _synced(self) -> Iterator[tuple[str, Synced]]:
        """What is in step now; a file that was not taken keeps what was in step before."""
        synced_of = {synced.item: synced for synced in self.state.values()}
        for id, name in self.paths.items():
            before = synced_of.get(id)
            if id in self.items and id not in self.kept_apart:
                rendered = self._rendered(self.items[id])
                if self._present(name) == rendered:
                    yield name, Synced(id, self.items[id].item.version, _digest(rendered))
                    continue
            if before is not None:
                yield name, before

    def _rendered(self, entry: ItemText) -> str:
        outgoing = []
        for link in self.links.get(entry.item.id, ()):
            target = self.paths.get(link.target) or self.last_paths.get(link.target)
            if target is not None:
                outgoing.append(OutgoingLink(link.type, target, ""))
        return render(entry.item, entry.blocks, outgoing, "wiki")


def _with_written(now: NoteContent, base: NoteContent) -> tuple[str, ...]:
    """The tags in the fields of a note, and those that its text did not say before."""
    new = set(written_tags(now.text)).difference(written_tags(base.text))
    return tuple(sorted({*now.tags, *new}))


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
