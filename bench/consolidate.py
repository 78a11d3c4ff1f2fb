"""Does consolidating find planted duplicates, leave contradictions alone, and do exactly what its
dry run shows?
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from tests.checked import body_of

from bench.duplicates import edits, material, proper
from bench.material import ME, fresh
from memolith.bootstrap import App
from memolith.tools.call import Call

Pair = tuple[int, int]


def planted(
    count: int, twins: int, rivals: int, pick: random.Random
) -> tuple[list[str], list[Pair], list[Pair]]:
    """Texts in any order, among them edited copies and copies with another fact; the places of each
    with its own.
    """
    own = list(dict.fromkeys(material(2 * (count - twins - rivals))))[: count - twins - rivals]
    kinds = edits(proper(own))
    texts, pairs = list(own), {True: list[Pair](), False: list[Pair]()}
    for same, wanted in ((True, twins), (False, rivals)):
        ways = [edit for stays, edit in kinds.values() if stays is same]
        for place in pick.sample(range(len(own)), len(own)):
            made = ways[len(pairs[same]) % len(ways)](own[place], pick)
            if len(pairs[same]) < wanted and made != own[place] and made not in texts:
                pairs[same].append((place, len(texts)))
                texts.append(made)
    return texts, pairs[True], pairs[False]


def consolidate(app: App, dry_run: bool) -> dict[str, Any]:
    asked = {"namespace": "learnings", "dry_run": dry_run}
    outcome = app.registry.run("subcog_consolidate", asked, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return outcome.body


def run_all(
    app: App, texts: list[str], twins: list[Pair], rivals: list[Pair]
) -> tuple[float, int, bool]:
    """The share of the copies that were merged, how many contradictions were, and whether the dry
    run was right.
    """
    ids: list[str] = [
        body_of(
            app.registry.run(
                "subcog_capture", {"content": text, "namespace": "learnings"}, Call(ME, app.engine)
            )
        )["id"]
        for text in texts
    ]
    app.upkeep.run()
    shown, done = consolidate(app, True), consolidate(app, False)
    groups = [set(one["memories"]) for one in done["candidate_merges"]]
    superseded = {
        item.id for item, _ in app.engine.reading.read_many(ME, ids) if item.status == "superseded"
    }

    def together(pair: Pair) -> bool:
        return any({ids[place] for place in pair} <= group for group in groups)

    equal = shown["candidate_merges"] == done["candidate_merges"] and superseded == set().union(
        *groups
    )
    return sum(map(together, twins)) / len(twins), sum(map(together, rivals)), equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    options = parser.parse_args()
    texts, twins, rivals = planted(
        options.count, options.count * 3 // 50, options.count // 50, random.Random(7)
    )
    with fresh("minilm") as app:
        started = time.perf_counter()
        share, merged, equal = run_all(app, texts, twins, rivals)
        took = time.perf_counter() - started
    print(
        f"{len(texts):,} captures, {len(twins)} planted duplicates, {len(rivals)} planted contradictions"
    )
    print(f"duplicates merged      {share:8.1%}   (bar: at least 90 %)")
    print(f"contradictions merged  {merged:8}   (bar: 0)")
    print(
        f"dry run = real run     {'yes' if equal else 'no':>8}   ({took:.0f} s with capturing and embedding)"
    )


if __name__ == "__main__":
    main()
