"""Are the right entities found? Precision and recall per type on labelled sentences, and whether
confidence is true.
"""

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
LEAST, BAR = 0.6, 0.85
Entity = tuple[str, str]


class Sentence(NamedTuple):
    """A sentence and the entities that it names."""

    text: str
    entities: set[Entity]


def labelled() -> list[Sentence]:
    """Every sentence of the set."""
    rows = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [Sentence(row["text"], {plain(*one) for one in row["entities"]}) for row in rows]


def plain(type: str, name: str) -> Entity:
    """Whether a name is large or small or one of many is no matter of finding it."""
    return type, name.casefold().removesuffix("s")


def score(rows: list[Sentence], least: float = LEAST) -> dict[str, tuple[int, int, int]]:
    """Right, found and wanted per type, and of all."""
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        told = {
            plain(one.label, one.text)
            for one in find(row.text, {})
            if not one.support and one.confidence >= least
        }
        for count, entities in (
            (right, told & row.entities),
            (found, told),
            (wanted, row.entities),
        ):
            count.update(type for type, _ in entities)
    every = {type: (right[type], found[type], wanted[type]) for type in TYPES}
    return every | {"all": (right.total(), found.total(), wanted.total())}


def show(title: str, rows: list[Sentence]) -> None:
    print(
        f"{title:22} {'precision':>9} {'recall':>7} {'right':>6} {'found':>6} {'wanted':>7}   at {LEAST}"
    )
    for type, (right, found, wanted) in score(rows).items():
        print(
            f"  {type:20} {right / (found or 1):9.3f} {right / (wanted or 1):7.3f} {right:6} {found:6} {wanted:7}"
        )


def rules(rows: list[Sentence]) -> None:
    """How often what was told with a confidence was right; with so few, one more hit and one more
    miss are added.
    """
    seen: dict[float, list[bool]] = defaultdict(list)
    for row in rows:
        for one in find_mentions(row.text, {}):
            seen[one.confidence].append(plain(one.type, one.name) in row.entities)
    print("told       right   of   true")
    for told, hits in sorted(seen.items()):
        print(f"  {told:<8} {sum(hits):5} {len(hits):4}   {(sum(hits) + 1) / (len(hits) + 2):.2f}")


def main() -> None:
    rows = labelled()
    dev, held = rows[::2], rows[1::2]
    show(f"first half ({len(dev)})", dev)
    show(f"held out ({len(held)})", held)
    show(f"all ({len(rows)}), bar {BAR}", rows)
    rules(dev)
    print("confidence: told and true, held out")
    bins: dict[float, list[tuple[float, bool]]] = defaultdict(list)
    for row in held:
        for one in find(row.text, {}):
            if not one.support:
                bins[min(int(one.confidence * 5) / 5, 0.8)].append(
                    (one.confidence, plain(one.label, one.text) in row.entities)
                )
    for low, pairs in sorted(bins.items()):
        told, true = (sum(part) / len(pairs) for part in zip(*pairs, strict=True))
        print(f"  from {low:.1f}: {len(pairs):4} told {told:.2f} true {true:.2f}")


if __name__ == "__main__":
    main()
