"""How long does a search by words take, for rare, ordinary and very common words, with and without
a narrow filter?
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import apsw

from bench.material import ME, fill, fresh, measure, texts, words
from memolith.domain.queries import Filter, Query

QUESTIONS = {"rare": slice(20_000, 20_004), "ordinary": slice(800, 804), "common": slice(0, 4)}


def plain_fts(count: int) -> apsw.Connection:
    """The floor: FTS5 as everybody uses it, without scope, stems or joins."""
    db = apsw.Connection(":memory:")
    db.execute("create virtual table f using fts5(t, tokenize='porter unicode61')")
    with db:
        db.executemany("insert into f values (?)", ((text,) for text in texts(count)))
    return db


def best_ten(db: apsw.Connection, match: str) -> object:
    statement = "select rowid from f where f match ? order by rank limit 10"
    return db.execute(statement, (match,)).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--million", action="store_true")
    options = parser.parse_args()
    vocabulary = words()
    print(
        f"{'passages':>9} {'words':9} {'filter':7} {'p50 ms':>8} {'p95 ms':>8} {'plain FTS5 OR':>14} {'ratio':>6}"
    )
    for size in options.sizes + ([1_000_000] if options.million else []):
        with fresh() as app:
            started = time.perf_counter()
            fill(app, size)
            print(f"{size:9,} filled at {size / (time.perf_counter() - started):,.0f} items/s")
            plain = plain_fts(size)
            for name, place in QUESTIONS.items():
                chosen = vocabulary[place]
                match = " OR ".join(chosen)
                floor, _ = measure(
                    partial(best_ten, plain, match),
                    15,
                )
                for label, tags in (("none", ()), ("1 %", ("special",))):
                    query = Query(" ".join(chosen), Filter(tags_all=tags), mode="text")
                    p50, p95 = measure(partial(app.engine.recall.search, ME, query), 31)
                    print(
                        f"{size:9,} {name:9} {label:7} {p50:8.2f} {p95:8.2f} {floor:14.2f} {p50 / floor:6.2f}"
                    )


if __name__ == "__main__":
    main()
