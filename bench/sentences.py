"""English sentences in any number, and their vectors from the real model, kept in `.cache`."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path

import numpy as np

from memolith.retrieval.embedding.minilm import MiniLM

CACHE = Path(__file__).parents[1] / ".cache" / "bench"
WHO = (
    "Maria",
    "the backend team",
    "our customer in Oslo",
    "Jonas",
    "the night shift",
    "a new intern",
    "my sister",
    "the auditor",
    "Dr. Chen",
    "the release manager",
    "everyone at the retreat",
    "the neighbour",
    "Priya",
    "the vendor",
)
DID = (
    "fixed",
    "postponed",
    "asked about",
    "complained about",
    "wrote a note on",
    "paid for",
    "forgot",
    "praised",
    "rebuilt",
    "cancelled",
    "measured",
    "explained",
    "bought",
    "lost",
    "tested",
    "drew a picture of",
    "moved",
)
WHAT = (
    "the login timeout",
    "the green bicycle",
    "the quarterly report",
    "a leaking pipe",
    "the search index",
    "the piano lesson",
    "our backup policy",
    "a table for six",
    "the invoice from March",
    "the staging database",
    "the hiking trip",
    "a broken sensor",
    "the vaccine appointment",
    "the pricing page",
    "the old compiler",
    "the wedding speech",
    "a crate of apples",
    "the firewall rule",
    "the chess club",
    "the solar panels",
)
HOW = (
    "in Lisbon",
    "before lunch",
    "because of the storm",
    "after the second outage",
    "without telling anyone",
    "for the third time",
    "with a borrowed tool",
    "on the train to Berlin",
    "during the migration",
    "last Friday",
    "as agreed in the meeting",
    "despite the warning",
    "to save money",
    "while waiting for the doctor",
)
AND = (
    "and the result was better than expected.",
    "but nobody noticed.",
    "so we changed the plan.",
    "and it cost 40 euros.",
    "which surprised the whole office.",
    "and then went home early.",
    "so the ticket is closed.",
    "but it needs a review.",
    "and learned a lot about patience.",
    "which is documented in the wiki.",
    "and we should do it again.",
    "for once.",
)


def sentences(count: int) -> list[str]:
    """Sentences in a fixed, mixed order; the first 799,680 are distinct, then they come again."""
    every = list(itertools.product(WHO, DID, WHAT, HOW, AND))
    random.Random(11).shuffle(every)
    chosen = itertools.islice(itertools.cycle(every), count)
    return [f"{who} {did} {what} {how}, {rest}" for who, did, what, how, rest in chosen]


def quick_vectors(count: int) -> np.ndarray:
    """Stand-ins for their vectors, each made of those of the parts of the sentence.

    They are there in a second, and near where the real ones are.
    """
    parts = [*WHO, *DID, *WHAT, *HOW, *AND]
    made = [np.frombuffer(vector, "<f4") for vector in MiniLM().embed(parts) if vector is not None]
    place = {part: number for number, part in enumerate(parts)}
    every = list(itertools.product(WHO, DID, WHAT, HOW, AND))
    random.Random(11).shuffle(every)
    chosen = np.array([[place[part] for part in sentence] for sentence in every[:count]])
    sums = np.stack(made)[chosen].sum(axis=1)
    unit: np.ndarray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return unit.astype("<f4")


def questions(count: int) -> list[str]:
    """Questions about such things."""
    pick = random.Random(12)
    return [f"Who {pick.choice(DID)} {pick.choice(WHAT)} {pick.choice(HOW)}?" for _ in range(count)]


def vectors(count: int) -> np.ndarray:
    """The vectors of the first sentences; made once, then read from the cache."""
    larger = [
        size
        for path in CACHE.glob("vectors-*.npy")
        if (size := int(path.stem.split("-")[1])) >= count
    ]
    file = CACHE / f"vectors-{min(larger, default=count)}.npy"
    if not file.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        model, made, texts = MiniLM(), [], sentences(count)
        for start in range(0, count, 1000):
            made += [
                np.frombuffer(vector, "<f4")
                for vector in model.embed(texts[start : start + 1000])
                if vector is not None
            ]
            print(f"\rembedding {len(made):,} of {count:,}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        np.save(file, np.stack(made))
    kept: np.ndarray = np.load(file, mmap_mode="r")
    return kept[:count]


def question_vectors(count: int) -> np.ndarray:
    """The vectors of questions."""
    return np.stack(
        [
            np.frombuffer(vector, "<f4")
            for vector in MiniLM().embed(questions(count))
            if vector is not None
        ]
    )
