"""Notes and talk written for this project, with questions that say the same in other words.

A file is what one person, team or pair of people left. An entry has a `text`, `ask` if questions
are asked of it, and `instead_of` if it replaces an older note.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, tidy

FOLDER = "written/"
NEGATIVES = 4


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> its entry; negatives are the note that it replaces and others of the file."""
    for path in repository.all_paths():
        if path.startswith(FOLDER) and path.endswith(".toml"):
            yield from _pairs(tomllib.loads(repository.text(path)))


def _pairs(collection: dict[str, list[dict[str, str | list[str]]]]) -> Iterator[Pair]:
    entries = collection["entry"]
    texts = [tidy(str(entry["text"])) for entry in entries]
    replaced = [tidy(str(entry.get("instead_of", ""))) for entry in entries]
    search = Bm25([*texts, *filter(None, replaced)])
    is_talk = str(collection["kind"]) == "talk"
    for place, entry in enumerate(entries):
        text = texts[place]
        old = replaced[place]
        before = (texts[place - 1],) if is_talk and place else ()
        for asked in entry.get("ask", ()):
            # What shares words with the answer is near in subject, and is not the answer.
            near = search.lookalikes(f"{asked} {text}", [text, old], NEGATIVES)
            negatives = [old, *near] if old else near
            yield Pair(tidy(asked), (text,), tuple(negatives), before)
