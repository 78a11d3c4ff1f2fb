"""How fast is the vector stage beside float32 brute force and chromadb, on the same real vectors,
and how exact?
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.filled import FILTERS, fill, marked, passing, sizes
from bench.material import ME, fresh, measure
from bench.sentences import question_vectors, vectors
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.vectors.index import VectorIndex
from memolith.storage.sqlite.vector_slots import SqliteSlotReader

QUERIES = 100


def chroma(rows: np.ndarray) -> Any:
    """The same vectors in chromadb, where it is installed."""
    try:
        import chromadb
    except ImportError:
        return None
    client = chromadb.PersistentClient(str(Path(tempfile.mkdtemp(prefix="memolith-bench-"))))
    made = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(rows), 5000):
        part = rows[start : start + 5000]
        metadata = [
            {
                "hundredth": bool(marked(n)["tags"]),
                "namespace": marked(n)["namespace"],
                "kind": marked(n)["kind"],
            }
            for n in range(start, start + len(part))
        ]
        made.add(
            ids=[str(n) for n in range(start, start + len(part))],
            embeddings=part,
            metadatas=metadata,
        )
    return made


WHERE = {
    "none": None,
    "1 %": {"hundredth": True},
    "20 %": {"namespace": "fifth"},
    "95 %": {"kind": "memory"},
}


def compare(count: int, with_chroma: bool) -> None:
    """One size: a row per filter."""
    rows, asked = vectors(count), question_vectors(QUERIES)
    with fresh("minilm") as app:
        numbers = fill(app, count)
        index = app.stage.vectors(MiniLM())
        with app.store.reading(ME.tenant) as store:
            assert isinstance(store, SqliteSlotReader)
            started = time.perf_counter()
            assert isinstance(index, VectorIndex)
            assert isinstance(store, SqliteSlotReader)
            index.snapshot(store)
            print(f"{count:>9,} snapshot written in {time.perf_counter() - started:.2f} s")
            items = {
                app.engine.reading.read(ME, id)[0].seq: n for id, n in list(numbers.items())[:1]
            }
            assert items
            peer = chroma(rows) if with_chroma else None
            for name, chosen in FILTERS.items():
                report(count, name, rows, asked, numbers, store, index, chosen, peer)


def report(count, name, rows, asked, numbers, store, index, chosen, peer) -> None:  # type: ignore[no-untyped-def]
    """Times and exactness under one filter."""
    kept = passing(name, count)
    matrix = np.ascontiguousarray(rows[kept])
    turn = iter(range(10_000))

    def ours() -> Any:
        return index.nearest(store, ME, chosen, asked[next(turn) % len(asked)].tobytes(), 10)

    def brute() -> np.ndarray:
        return np.argpartition(-(matrix @ asked[next(turn) % len(asked)]), 10)[:10]

    ours()
    p50, p95 = measure(ours, QUERIES)
    floor, _ = measure(brute, 31)
    found = 0
    for query in asked:
        exact = set(kept[np.argpartition(-(matrix @ query), 10)[:10]].tolist())
        places = [ref for ref, _ in index.nearest(store, ME, chosen, query.tobytes(), 10)]
        ids = {place: item.id for place, (item, _) in store.passages_at(places).items()}
        found += len(exact & {numbers[ids[place]] for place in places})
    line = (
        f"{count:>9,} {name:6} ours p50 {p50:6.2f} p95 {p95:6.2f} ms  recall@10 {found / 10 / len(asked):.3f}  "
        f"float32 brute {floor:7.2f} ms (x{floor / p50:.1f})"
    )
    if peer is not None:
        theirs, _ = measure(
            lambda: peer.query(
                query_embeddings=asked[next(turn) % len(asked)][None],
                n_results=10,
                where=WHERE[name],
                include=[],
            ),
            31,
        )
        line += f"  chromadb {theirs:7.2f} ms (x{theirs / p50:.1f})"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--only", type=int)
    parser.add_argument("--no-chroma", action="store_true")
    options = parser.parse_args()
    for count in [options.only] if options.only else sizes(options.million):
        compare(count, not options.no_chroma)


if __name__ == "__main__":
    main()
