"""Finds the items that a newer one on the same subject replaces, and marks them."""

from __future__ import annotations

import logging
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from memolith.domain.callers import Audience, Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Conflict, Draft, Item
from memolith.domain.passages import Passage, PassageRef
from memolith.domain.queries import Filter
from memolith.engine.change import (
    MAX_COMPARED_CHARACTERS,
    Verdict,
    compare,
    may_change_something,
    statement,
)
from memolith.engine.validation import InputRules
from memolith.engine.visibility import is_gone
from memolith.errors import MemolithError
from memolith.ports.ranker import Lexicon
from memolith.ports.store import Reader, Store
from memolith.ports.vectors import Meaning

COMPARED_KINDS = ("memory", "concept")
"""Conversations and files tell what was said once; they are not compared."""
MAX_NEIGHBOURS = 4
"""With how many older items a new one is compared."""
MAX_TERMS = 4
MAX_PASSAGES_WITH_TERMS = 150
"""The rarest words of a text choose its neighbours; so many passages may have them."""
MODEL_WAIT_S = 2.0
"""How long a write waits for the model, where something may have changed."""
SURE = 1.0
"""Stands in for a cosine that is not known yet."""

log = logging.getLogger(__name__)


class Note(NamedTuple):
    """A short item as it is compared: what it says, when, and who sees it."""

    kind: str
    owner: str
    audience: Audience
    project: str | None
    title: str
    text: str
    at: str
    seq: int
    id: str = ""
    speaker: str | None = None

    @property
    def statement(self) -> str:
        """What it says as one text."""
        return statement(self.title, self.text)

    @property
    def input(self) -> str:
        """What the model sees of it."""
        return embedded(self.title, self.speaker, self.text, "")

    def is_seen_as(self, other: Note) -> bool:
        """Whether the same people see both."""
        return (self.owner, self.audience, self.project) == (
            other.owner,
            other.audience,
            other.project,
        )

    def may_be_meant_by(self, newer: Note) -> bool:
        """Whether a newer text that only announces a change can mean this one.

        The title of a concept says what it is about, so another title is another subject.
        """
        return self.kind != "concept" or self.title.casefold() == newer.title.casefold()

    @classmethod
    def of(cls, item: Item, passage: Passage) -> Note:
        return cls(
            kind=item.kind,
            owner=item.owner,
            audience=item.audience,
            project=item.project,
            title=item.title,
            text=passage.text,
            at=passage.at,
            seq=item.seq,
            id=item.id,
            speaker=passage.speaker,
        )


class Change(NamedTuple):
    """Two items of which the newer one replaces the older one."""

    older: Note
    newer: Note
    cosine: float
    verdict: Verdict


class Superseding:
    """Compares short items with those on the same subject."""

    def __init__(
        self,
        store: Store,
        lexicon: Lexicon,
        meaning: Callable[[], Meaning | None],
        input_rules: InputRules = InputRules(),
    ) -> None:
        self.store = store
        self.input_rules = input_rules
        self.lexicon = lexicon
        self.meaning = meaning
        """The model that serves, with its vectors; None if search by meaning is off."""

    def conflicts(self, caller: Caller, draft: Draft) -> tuple[Conflict, ...]:
        """The items that a draft would replace, the nearest first; nothing where that fails.

        It costs the time of a text search, unless something may have changed.
        """
        if draft.kind not in COMPARED_KINDS or len(draft.blocks) != 1:
            return ()
        if len(draft.blocks[0].text) > MAX_COMPARED_CHARACTERS:
            return ()
        try:
            note = _new_note(caller, draft)
            if not may_change_something(note.statement):
                return ()
            with self.store.reading(caller.tenant) as rows:
                likely = self._likely_changes(rows, caller.tenant, note)
                if not likely:
                    return ()
                # The model may be far away, so it must not see secrets.
                note = _new_note(caller, self.input_rules.intake().draft(draft))
                changes = self._changes(rows, note, likely, MODEL_WAIT_S)
        except MemolithError as error:
            log.warning("a new item was not compared with others: %s", error)
            return ()
        return tuple(
            Conflict(
                change.older.id,
                change.older.title,
                round(change.cosine, 4),
                change.verdict.in_words,
            )
            for change in changes
            if change.newer is note
        )

    def mark(self, tenant: str, ids: Sequence[str]) -> None:
        """Compare items that have got their vectors, and mark what is replaced."""
        try:
            with self.store.reading(tenant) as rows:
                changes = []
                notes = _telling_notes(rows, tenant, ids)
                self._count_terms(rows, tenant, notes)
                for note in notes:
                    likely = self._likely_changes(rows, tenant, note)
                    changes += self._changes(rows, note, likely, wait_s=0.0)
            if changes:
                _write_marks(self.store, tenant, changes)
        except MemolithError as error:
            # The items are written and found; only the marks are missing.
            log.warning("new items were not compared with others: %s", error)

    def _likely_changes(self, rows: Reader, tenant: str, note: Note) -> dict[PassageRef, Note]:
        """The items that conflict with a note if they are alike by meaning; mostly none."""
        return {
            ref: other
            for ref, other in self._neighbours(rows, tenant, note)
            if _compared(note, other, SURE, is_nearest=True).verdict.kind == "conflict"
        }

    def _changes(
        self, rows: Reader, note: Note, likely: Mapping[PassageRef, Note], wait_s: float
    ) -> list[Change]:
        """What a note replaces, or is replaced by, the most alike first."""
        if not likely:
            return []
        cosines = self._cosines(rows, note, likely, wait_s)
        older = [ref for ref in cosines if _age(likely[ref]) < _age(note)]
        nearest = max(older, key=lambda ref: cosines[ref], default=None)
        compared = [
            _compared(note, likely[ref], cosine, is_nearest=ref == nearest)
            for ref, cosine in cosines.items()
        ]
        changes = [change for change in compared if change.verdict.kind == "conflict"]
        return sorted(changes, key=lambda change: -change.cosine)

    def _neighbours(
        self, rows: Reader, tenant: str, note: Note
    ) -> Iterator[tuple[PassageRef, Note]]:
        """The short items with the same rare words that the same people see."""
        owner = Caller(tenant, note.owner, note.project)
        terms = self._telling_terms(rows, owner, note)
        if not terms:
            return
        # The item itself is the best of all.
        own = 1 if note.id else 0
        chosen = Filter(kinds=(note.kind,))
        found = rows.search_text(owner, chosen, terms, [], False, MAX_NEIGHBOURS + own)
        if len(found) <= own:
            return
        read = rows.passages_at([ref for ref, _ in found])
        for ref, _ in found:
            item, passage = read[ref]
            if item.id == note.id or item.passages != 1:
                continue
            other = Note.of(item, passage)
            if other.is_seen_as(note) and not is_gone(item):
                yield ref, other

    def _count_terms(self, rows: Reader, tenant: str, notes: Sequence[Note]) -> None:
        """Count the terms of many notes at once; the reader remembers the counts."""
        terms: dict[Caller, set[str]] = defaultdict(set)
        for note in notes:
            owner = Caller(tenant, note.owner, note.project)
            terms[owner].update(self.lexicon.query_terms(note.statement))
        for owner, words in terms.items():
            rows.statistics_for(owner, words)

    def _telling_terms(self, rows: Reader, owner: Caller, note: Note) -> list[str]:
        """The rarest terms of a text that others have, too."""
        terms = self.lexicon.query_terms(note.statement)
        frequencies = rows.statistics_for(owner, terms).frequencies
        own = 1 if note.id else 0
        shared = [term for term in terms if frequencies.get(term, 0) > own]
        shared.sort(key=lambda term: frequencies[term])
        telling: list[str] = []
        passages = 0
        for term in shared[:MAX_TERMS]:
            passages += frequencies[term]
            if passages > MAX_PASSAGES_WITH_TERMS:
                break
            telling.append(term)
        return telling

    def _cosines(
        self, rows: Reader, note: Note, others: Mapping[PassageRef, Note], wait_s: float
    ) -> dict[PassageRef, float]:
        """How alike a note is to others by meaning; without a model, nothing."""
        meaning = self.meaning()
        if meaning is None or not meaning.embedder.wait(wait_s):
            return {}
        (own,) = meaning.embedder.embed([note.input])
        if own is None:
            return {}
        cosines = meaning.vectors.cosines(rows, own, list(others))
        # Those that have just been written have no stored vector yet.
        missing = [ref for ref in others if ref not in cosines]
        vectors = meaning.embedder.embed([others[ref].input for ref in missing])
        for ref, vector in zip(missing, vectors, strict=True):
            if vector is not None:
                cosines[ref] = sum(map(mul, array("f", own), array("f", vector)))
        return cosines


_LATEST = "~"
"""Sorts after every time."""
_LAST_SEQ = 2**63


def _new_note(caller: Caller, draft: Draft) -> Note:
    """A draft of one block as it is compared: newer than everything, unless it has a date."""
    block = draft.blocks[0]
    return Note(
        kind=draft.kind,
        owner=caller.user,
        audience=draft.audience,
        project=draft.project or None,
        title=draft.title,
        text=block.text,
        at=block.at or _LATEST,
        seq=_LAST_SEQ,
    )


def _compared(note: Note, other: Note, cosine: float, is_nearest: bool) -> Change:
    older, newer = sorted((note, other), key=_age)
    is_meant = is_nearest and older.may_be_meant_by(newer)
    verdict = compare(older.statement, newer.statement, cosine, is_meant)
    return Change(older, newer, cosine, verdict)


def _age(note: Note) -> tuple[str, int]:
    return note.at, note.seq


def _short_notes(rows: Reader, tenant: str, ids: Sequence[str]) -> list[Note]:
    """Those of the items that are compared."""
    items = rows.items(tenant, ids)
    short = [
        item
        for item in items.values()
        if item.kind in COMPARED_KINDS and item.passages == 1 and not is_gone(item)
    ]
    passages = rows.passages_of(tenant, [item.id for item in short])
    return [Note.of(item, passages[item.id][0]) for item in short]


def _telling_notes(rows: Reader, tenant: str, ids: Sequence[str]) -> list[Note]:
    """Those of them that may have changed something."""
    notes = _short_notes(rows, tenant, ids)
    return [note for note in notes if may_change_something(note.statement)]


def _write_marks(store: Store, tenant: str, changes: Sequence[Change]) -> None:
    """Mark what is replaced, unless a text has changed in the meantime."""
    ids = {note.id for change in changes for note in (change.older, change.newer)}
    with store.writing(tenant) as rows:
        texts = {note.id: note.text for note in _short_notes(rows, tenant, sorted(ids))}
        for older, newer, cosine, verdict in changes:
            if texts.get(older.id) == older.text and texts.get(newer.id) == newer.text:
                similarity = round(cosine, 4)
                rows.put_superseded(older.id, newer.id, newer.at, similarity, verdict.in_words)
