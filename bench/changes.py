"""Which notes does the product take to replace older ones? Labelled changes, and what comparing
costs beside embedding.
"""

from __future__ import annotations

import argparse
import time

from bench.material import ME, fresh
from bench.note_sets import NoteSet, load_set
from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.superseding import Superseding
from memolith.engine.validation import Intake, Limits
from memolith.storage import terms

NOTES_PER_STEP = 32


def fill(app: App, notes: NoteSet) -> None:
    """Write the notes at once, with their dates."""
    intake = Intake(Limits(), "allow")
    with app.store.writing(ME.tenant) as rows:
        for note in notes.notes:
            block = Block(note.text, at=note.at)
            draft = Draft(id=note.id, title=note.title, blocks=(block,), tags=note.tags)
            app.engine.writing.remember_in(rows, ME, draft, intake)


def marks(app: App, notes: NoteSet) -> set[tuple[str, str]]:
    """Each replaced note with the one that replaced it last."""
    with app.store.reading(ME.tenant) as rows:
        found = rows.superseded(ME.tenant, list(notes.by_id))
    return {(id, mark.by) for id, mark in found.items()}


def seconds_of_comparing(app: App, notes: NoteSet) -> float:
    """CPU seconds to compare all notes again, when all have vectors."""
    superseding = Superseding(app.store, terms, app.embeddings.meaning)
    ids = list(notes.by_id)
    started = time.process_time()
    for start in range(0, len(ids), NOTES_PER_STEP):
        superseding.mark(ME.tenant, ids[start : start + NOTES_PER_STEP])
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", nargs="*", default=["week", "team"], help="names in bench/notes")
    parser.add_argument("--show", action="store_true", help="show marks without a label")
    options = parser.parse_args()
    for name in options.set:
        notes = load_set(name)
        labelled = {(note.replaces, note.id) for note in notes.notes if note.replaces}
        with fresh("minilm") as app:
            fill(app, notes)
            started = time.process_time()
            app.embeddings.embed_waiting()
            total_s = time.process_time() - started
            found = marks(app, notes)
            comparing_s = seconds_of_comparing(app, notes)
        print(
            f"{name:8} {len(labelled & found):3} of {len(labelled)} labelled changes found, "
            f"{len(found - labelled)} marks beside them; comparing takes "
            f"{comparing_s / total_s:.0%} of the time to make vectors"
        )
        if options.show:
            for older, newer in sorted(found - labelled):
                print(f"  not labelled: {notes.by_id[older].text} -> {notes.by_id[newer].text}")


if __name__ == "__main__":
    main()
