"""How long does a process need to see what another one wrote: one write, and a thousand?"""

from __future__ import annotations

import hashlib
import time

from bench.filled import fill
from bench.material import ME, fresh, measure
from bench.sentences import sentences, vectors
from memolith.bootstrap import open_app
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Query
from memolith.engine.validation import Intake, Limits
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.retrieval.vectors.encoding import quantised
from memolith.retrieval.vectors.index import VectorIndex
from memolith.storage.sqlite.vector_slots import SqliteSlotReader

BEFORE, FOREIGN = 9_000, 1_000


def write(app, numbers: range) -> None:  # type: ignore[no-untyped-def]
    """Sentences and their vectors, written by somebody else."""
    rows, texts = vectors(10_000), sentences(10_000)
    with app.store.writing(ME.tenant) as store:
        for n in numbers:
            item = app.engine.writing.remember_in(
                store, ME, Draft(blocks=(Block(texts[n]),)), Intake(Limits(), "allow")
            ).item
            for ref, _, _ in store.unembedded(ME.tenant, item.id, MiniLM.id):
                digest = hashlib.blake2b(texts[n].encode(), digest_size=16).digest()
                store.put_vector(ref, MiniLM.id, digest, quantised(rows[n].tobytes()))


def main() -> None:
    with fresh("minilm") as ours:
        fill(ours, BEFORE)
        theirs = open_app(ours.settings)
        index = ours.stage.vectors(MiniLM())
        query = vectors(10_000)[0].tobytes()
        assert isinstance(index, VectorIndex)
        with ours.store.reading(None) as rows:
            index.nearest(rows, ME, Filter(), query, 10)
        write(theirs, range(BEFORE, BEFORE + 1))
        with ours.store.reading(None) as rows:
            assert isinstance(rows, SqliteSlotReader)
            started = time.perf_counter()
            index.follow(rows)
            one = (time.perf_counter() - started) * 1000
        write(theirs, range(BEFORE + 1, BEFORE + FOREIGN))
        with ours.store.reading(None) as rows:
            assert isinstance(rows, SqliteSlotReader)
            started = time.perf_counter()
            index.follow(rows)
            many = (time.perf_counter() - started) * 1000
            again, _ = measure(lambda: index.follow(rows), 101)
            started = time.perf_counter()
            VectorIndex(ours.settings.data, MiniLM.id, MiniLM.dimension).follow(rows)
            whole = (time.perf_counter() - started) * 1000
        found = ours.engine.recall.search(
            ME, Query(sentences(10_000)[BEFORE + FOREIGN - 1], mode="text", limit=1)
        )
        assert found.hits, "the newest foreign write is found at once"
        print(
            f"after 1 foreign write {one:.2f} ms, after {FOREIGN - 1} {many:.1f} ms, with nothing new {again:.3f} ms"
        )
        print(f"reading all {BEFORE + FOREIGN:,} anew {whole:.1f} ms: ratio {whole / many:.1f}")
        theirs.close()


if __name__ == "__main__":
    main()
