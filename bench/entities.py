"""Are the right entities found? Precision and recall by type, and how true the confidence is."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from memolith.analysts.builtin.analyst import BuiltinAnalyst
from memolith.analysts.builtin.mentions import find_mentions

find = BuiltinAnalyst().entities
LABELLED = Path(__file__).parents[1] / "tests" / "tools" / "entities.jsonl"
TYPES = ("Person", "Organization", "Technology", "Concept", "File")
MIN_CONFIDENCE = 0.6
BAR = 0.85
BINS = 5
Entity = tuple[str, str]


class Sentence(NamedTuple):
    """A sentence and the entities that it names."""

    text: str
    entities: set[Entity]


class Score(NamedTuple):
    """How many entities were found rightly, found at all, and labelled."""

    right: int
    found: int
    wanted: int


def labelled() -> list[Sentence]:
    """Every sentence of the set."""
    rows = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [Sentence(row["text"], {plain(*entity) for entity in row["entities"]}) for row in rows]


def plain(type: str, name: str) -> Entity:
    """An entity without case and plural, which do not count."""
    return type, name.casefold().removesuffix("s")


def score(rows: list[Sentence], min_confidence: float = MIN_CONFIDENCE) -> dict[str, Score]:
    """Count by type, and for all types together."""
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for row in rows:
        sure = {
            plain(entity.type, entity.name)
            for entity in find(row.text, {}).entities
            if entity.confidence >= min_confidence
        }
        right.update(type for type, _ in sure & row.entities)
        found.update(type for type, _ in sure)
        wanted.update(type for type, _ in row.entities)
    scores = {type: Score(right[type], found[type], wanted[type]) for type in TYPES}
    scores["all"] = Score(right.total(), found.total(), wanted.total())
    return scores


def show(title: str, rows: list[Sentence]) -> None:
    """Print precision and recall."""
    columns = f"{'precision':>9} {'recall':>7} {'right':>6} {'found':>6} {'wanted':>7}"
    print(f"{title:22} {columns}   at {MIN_CONFIDENCE}")
    for type, (right, found, wanted) in score(rows).items():
        precision = right / (found or 1)
        recall = right / (wanted or 1)
        print(f"  {type:20} {precision:9.3f} {recall:7.3f} {right:6} {found:6} {wanted:7}")


def show_rules(rows: list[Sentence]) -> None:
    """Print how often each confidence of a rule was right.

    One hit and one miss are added, because some rules found little.
    """
    outcomes: dict[float, list[bool]] = defaultdict(list)
    for row in rows:
        for mention in find_mentions(row.text, {}):
            is_right = plain(mention.type, mention.name) in row.entities
            outcomes[mention.confidence].append(is_right)
    print("told       right   of   true")
    for told, hits in sorted(outcomes.items()):
        print(f"  {told:<8} {sum(hits):5} {len(hits):4}   {(sum(hits) + 1) / (len(hits) + 2):.2f}")


def show_confidence(rows: list[Sentence]) -> None:
    """Print the mean confidence beside the share that was right."""
    bins: dict[float, list[tuple[float, bool]]] = defaultdict(list)
    for row in rows:
        for entity in find(row.text, {}).entities:
            lowest = min(int(entity.confidence * BINS) / BINS, 1 - 1 / BINS)
            is_right = plain(entity.type, entity.name) in row.entities
            bins[lowest].append((entity.confidence, is_right))
    for lowest, pairs in sorted(bins.items()):
        told = sum(confidence for confidence, _ in pairs) / len(pairs)
        true = sum(is_right for _, is_right in pairs) / len(pairs)
        print(f"  from {lowest:.1f}: {len(pairs):4} told {told:.2f} true {true:.2f}")


def main() -> None:
    rows = labelled()
    first_half = rows[::2]
    held_out = rows[1::2]
    show(f"first half ({len(first_half)})", first_half)
    show(f"held out ({len(held_out)})", held_out)
    show(f"all ({len(rows)}), bar {BAR}", rows)
    show_rules(first_half)
    print("confidence: told and true, held out")
    show_confidence(held_out)


if __name__ == "__main__":
    main()
