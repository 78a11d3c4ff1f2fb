"""What do the two stores cost on the same 100,000 passages of 100 tenants, from a few hundred to
19,000 each?
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.sentences import question_vectors, questions, sentences, vectors
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Draft
from memolith.domain.passages import Block, passage_ref
from memolith.domain.queries import Filter, Query
from memolith.engine.search import MAX_CANDIDATES_PER_SIDE
from memolith.engine.validation import Intake, Limits
from memolith.ports.outbox import Job
from memolith.retrieval.embedding.minilm import MiniLM
from memolith.settings import Settings

BATCH = 100
BAR_DATABASE_MS, BAR_SERVER_MS, BAR_RECALL = 15.0, 10.0, 0.98
FILTERS = {
    "none": Filter(),
    "tag 1 %": Filter(tags_all=("hundredth",)),
    "project 5 %": Filter(projects=("p3",)),
    "since 10 %": Filter(since="2025-11-25T00:00:00Z"),
}


@dataclass
class Filled:
    """A store with its tenants; what lies where, and the processes of its database."""

    name: str
    app: App
    postmaster: psutil.Process | None = None
    database: str = ""
    places: dict[str, dict[int, int]] = field(default_factory=dict)

    def database_s(self) -> float:
        """CPU seconds that the backends of this database have used so far, without the server's own
        upkeep.
        """
        backends = self.postmaster.children() if self.postmaster else []
        used: float = sum(
            times.user + times.system
            for backend in backends
            if f" {self.database} " in backend.cmdline()[0]
            for times in [backend.cpu_times()]
        )
        return used


def shares(count: int, tenants: int) -> dict[str, range]:
    """Which sentences belong to which tenant; the n-th has a share of 1/n."""
    weights = [1 / (n + 1) for n in range(tenants)]
    ends = [round(count * sum(weights[:n]) / sum(weights)) for n in range(tenants + 1)]
    return {f"tenant-{n + 1}": range(ends[n], ends[n + 1]) for n in range(tenants)}


def fill(filled: Filled, split: dict[str, range]) -> None:
    """Remember every tenant's sentences, in turns as they would arrive, each with its real vector."""
    count = max(part.stop for part in split.values())
    rows, texts = vectors(count), sentences(count)
    parts = [
        (tenant, part[start : start + BATCH])
        for tenant, part in split.items()
        for start in range(0, len(part), BATCH)
    ]
    random.Random(5).shuffle(parts)
    app, intake = filled.app, Intake(Limits(), "allow")

    def remember(tenant: str, part: range) -> None:
        with app.store.writing(tenant) as store:
            for n in part:
                item = app.engine.writing.remember_in(
                    store, Caller(tenant), draft(n, texts[n]), intake
                ).item
                place = passage_ref(store.row_of(item), 0)
                digest = hashlib.blake2b(
                    embedded("", None, texts[n]).encode(), digest_size=16
                ).digest()
                with getattr(store.statements.db, "pipeline", nullcontext)():
                    store.put_vector(place, MiniLM.id, digest, app.stage.row(rows[n].tobytes()))
                    store.finish_job(Job(tenant, item.seq, "embed", item.id, 1))
                filled.places.setdefault(tenant, {})[place] = n

    with ThreadPoolExecutor(4 if filled.postmaster else 1) as pool:
        list(pool.map(remember, *zip(*parts, strict=True)))


def draft(n: int, text: str) -> Draft:
    """The n-th sentence with its marks."""
    at = time.strftime("%Y-%m-%dT12:00:00Z", time.gmtime(1735732800 + n % 365 * 86400))
    tags = ("hundredth",) if n % 100 == 7 else ("other",)
    return Draft(blocks=(Block(text, at=at),), tags=tags, project=f"p{n % 20}")


@contextmanager
def sqlite() -> Iterator[Filled]:
    """An empty data folder."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    app = open_app(Settings(data=folder, embedder="minilm"))
    try:
        yield Filled("sqlite", app)
    finally:
        app.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def cluster(durable: bool) -> Iterator[Callable[[], str]]:
    """A server of our own; each call gives the address of a new database."""
    # The tests know how to start a server as any user.
    from tests.postgres import Cluster

    made = Cluster(durable)
    try:
        yield made.create
    finally:
        made.close()


def owning(app: App) -> Any:
    """A connection as the owner of the database."""
    store: Any = app.store
    return store.owning()


@contextmanager
def postgres() -> Iterator[Filled]:
    """An empty database on a server that keeps what it says it has written."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
    with cluster(durable=True) as create:
        app = open_app(Settings(data=folder, embedder="minilm", database=create()))
        with owning(app) as db:
            pid, name = db.info.backend_pid, db.info.dbname
        try:
            yield Filled("postgres", app, psutil.Process(pid).parent(), name)
        finally:
            app.close()
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Cost:
    """What one call took, in milliseconds."""

    p50: float
    p95: float
    server: float
    database: float

    def __str__(self) -> str:
        return f"p50 {self.p50:7.2f}  p95 {self.p95:7.2f}  CPU {self.server:6.2f} + {self.database:5.2f}"


def cost(filled: Filled, run: Callable[..., object], jobs: list[tuple], clients: int = 1) -> Cost:  # type: ignore[type-arg]
    """What a call costs when so many clients call at once."""

    def timed(job: tuple) -> float:  # type: ignore[type-arg]
        started = time.perf_counter()
        run(*job)
        return (time.perf_counter() - started) * 1000

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(timed, jobs[: 10 * clients]))
        server, database = time.process_time(), filled.database_s()
        taken = sorted(pool.map(timed, jobs))
        used = time.process_time() - server, filled.database_s() - database
    return Cost(
        statistics.median(taken),
        taken[int(0.95 * len(taken))],
        *(part * 1000 / len(jobs) for part in used),
    )


def compare(title: str, measured: list[Cost], bars: str = "") -> None:
    """One line per store, and what lies between them."""
    ratio = (
        f"sqlite : postgres = 1 : {measured[-1].p50 / measured[0].p50:.1f}"
        if len(measured) > 1
        else ""
    )
    for name, one in zip(("sqlite", "postgres")[-len(measured) :], measured, strict=True):
        print(
            f"{title:24} {name:9} {one}   {ratio if name == 'postgres' else ''} {bars if name == 'postgres' else ''}",
            flush=True,
        )


def asked(split: dict[str, range], count: int, seed: int) -> list[tuple[str, str]]:
    """Questions to tenants, the large ones more often."""
    pick = random.Random(seed)
    tenants = pick.choices(list(split), [len(part) for part in split.values()], k=count)
    return list(zip(tenants, pick.choices(questions(200), k=count), strict=True))


def written(stores: list[Filled], split: dict[str, range], count: int) -> None:
    """Single durable writes."""
    jobs = [
        (tenant, Draft(blocks=(Block(f"{text} {n}"),), tags=("a", "b")))
        for n, (tenant, text) in enumerate(asked(split, count, 1))
    ]
    compare(
        "durable write",
        [
            cost(
                one,
                lambda tenant, new, a=one.app: a.engine.writing.remember(Caller(tenant), new),
                jobs,
            )
            for one in stores
        ],
    )


def searched(stores: list[Filled], split: dict[str, range], count: int) -> None:
    """Whole searches, whose questions the model knows already."""
    bars = f"(bars: {BAR_SERVER_MS:.0f} + {BAR_DATABASE_MS:.0f} ms CPU)"
    for one in stores:
        assert one.app.embedder is not None
        one.app.embedder.embed(questions(200))
    for name, chosen in FILTERS.items():
        for clients in (1, 8) if name == "none" else (1,):
            compare(
                f"hybrid, {name}, {clients} at once",
                [
                    cost(
                        one,
                        lambda tenant, text, a=one.app, c=chosen: a.engine.recall.search(
                            Caller(tenant), Query(text, c)
                        ),
                        asked(split, count, 2),
                        clients,
                    )
                    for one in stores
                ],
                bars,
            )
    for mode in ("text", "vector"):
        compare(
            f"{mode} only",
            [
                cost(
                    one,
                    lambda tenant, text, a=one.app, m=mode: a.engine.recall.search(
                        Caller(tenant), Query(text, mode=m)
                    ),
                    asked(split, count, 3),
                )
                for one in stores
            ],
        )


def exactness(stores: list[Filled], split: dict[str, range], queries: int = 50) -> None:
    """Recall@10 of the vector stage against float32 in numpy, by the size of the tenant."""
    chosen = [list(split)[n] for n in (0, 1, 4, 19, len(split) - 1) if n < len(split)]
    for tenant in chosen:
        found = [recall_at_10(one, tenant, queries) for one in stores]
        told = "  ".join(
            f"{one.name} {share:.3f}" for one, share in zip(stores, found, strict=True)
        )
        print(
            f"recall@10 of {len(split[tenant]):7,} passages   {told}   (bar {BAR_RECALL})",
            flush=True,
        )


def recall_at_10(filled: Filled, tenant: str, queries: int) -> float:
    """Which share of the ten nearest is found."""
    places = filled.places[tenant]
    numbers = np.array(sorted(places.values()))
    matrix, found, looked = (
        np.ascontiguousarray(vectors(numbers.max() + 1)[numbers]),
        0,
        question_vectors(queries),
    )
    stage = filled.app.stage.vectors(MiniLM())
    for query in looked:
        exact = set(numbers[np.argpartition(-(matrix @ query), 10)[:10]].tolist())
        with filled.app.store.reading(tenant) as rows:
            near = stage.nearest(
                rows, Caller(tenant), Filter(), query.tobytes(), MAX_CANDIDATES_PER_SIDE
            )[:10]
        found += len(exact & {places.get(ref, -1) for ref, _ in near})
    return found / 10 / len(looked)


def nearest(filled: Filled, tenant: str, count: int) -> Cost:
    """The vector stage alone."""
    stage, looked = filled.app.stage.vectors(MiniLM()), question_vectors(50)

    def run(n: int) -> None:
        with filled.app.store.reading(tenant) as rows:
            stage.nearest(
                rows,
                Caller(tenant),
                Filter(),
                looked[n % len(looked)].tobytes(),
                MAX_CANDIDATES_PER_SIDE,
            )

    return cost(filled, run, [(n,) for n in range(count)])


def large(filled: Filled, count: int) -> None:
    """All passages as one tenant, without and with an index of its own."""
    with owning(filled.app) as db:
        for statement in LARGE.split(";"):
            db.execute(statement)
        filled.places["large"] = {
            passage_ref(n, 0): number
            for tenant, row, n in db.execute("select * from numbered")
            if (number := filled.places[tenant].get(passage_ref(row, 0))) is not None
        }
        print(
            f"one tenant of {len(filled.places['large']):,}, exact scan   {nearest(filled, 'large', count)}   "
            f"recall@10 {recall_at_10(filled, 'large', 50):.3f}",
            flush=True,
        )
        started, used = time.perf_counter(), filled.database_s()
        filled.app.embeddings.renew_index()
        print(
            f"   its own index: built in {time.perf_counter() - started:.0f} s, {filled.database_s() - used:.0f} s "
            "of CPU, while it can be written"
        )
        print(
            f"   with its own index          {nearest(filled, 'large', count)}   "
            f"recall@10 {recall_at_10(filled, 'large', 50):.3f}",
            flush=True,
        )


LARGE = """
insert into head (tenant, seq, passages) select 'large', count(*), count(*) from item;
create temp table numbered as select tenant, row, row_number() over (order by tenant, row) as n from item;
insert into item select n.n, 'large', id || '-' || i.tenant, kind, title, status, owner, audience, project, namespace,
    tags, attributes, version, n.n, created_at, updated_at, blocks, passages, forgotten
from item i join numbered n on n.tenant = i.tenant and n.row = i.row;
insert into embedding (tenant, model, passage, digest, v) select 'large', v.model, n.n << 20, v.digest, v.v
from embedding v join numbered n on n.tenant = v.tenant and n.row = v.passage >> 20;
analyze
"""
SIZES = """
select coalesce(p.relname, c.relname) as name, sum(pg_table_size(c.oid)) as table_bytes,
    sum(pg_indexes_size(c.oid)) as index_bytes, sum(c.reltuples) as row_count
from pg_class c left join pg_inherits h on h.inhrelid = c.oid left join pg_class p on p.oid = h.inhparent
where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.reltuples > 0
group by 1 having sum(c.reltuples) > 1000 order by 2 desc
"""


def sizes(filled: Filled, count: int) -> None:
    """Bytes per passage of each table."""
    with owning(filled.app) as db:
        db.execute("vacuum analyze")
        db.execute("checkpoint")
        for table, rows, indexes, tuples in db.execute(SIZES).fetchall():
            print(
                f"size of {table:12} {int(rows) // count:5} B of rows + {int(indexes) // count:5} B of indexes per "
                f"passage, {tuples / count:.1f} rows"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    parser.add_argument("--no-large", action="store_true")
    parser.add_argument(
        "--million",
        action="store_true",
        help="one tenant of 1,000 to 1,000,000 passages instead: the curve of bench.curve",
    )
    options = parser.parse_args()
    if options.million:
        # It imports this module.
        from bench import curve

        only = ["--only", options.only] if options.only else []
        curve.main(["--most", "1000000", *only])
        return
    split = shares(options.size, options.tenants)
    print(
        f"{options.size:,} passages of {options.tenants} tenants with {len(split['tenant-1']):,} to "
        f"{len(list(split.values())[-1]):,} each; milliseconds; CPU: server + database"
    )
    with ExitStack() as opened:
        stores = [
            opened.enter_context(make())
            for make in (sqlite, postgres)
            if options.only in (None, make.__name__)
        ]
        for one in stores:
            started, used, database = time.perf_counter(), time.process_time(), one.database_s()
            fill(one, split)
            print(
                f"{one.name}: loaded in {time.perf_counter() - started:.0f} s, CPU "
                f"{time.process_time() - used:.0f} + {one.database_s() - database:.0f} s",
                flush=True,
            )
            if one.postmaster:
                sizes(one, options.size)
            one.app.embeddings.renew_index(always=True)
        exactness(stores, split)
        # What this bench keeps in mind is no part of a server: the collector need not walk through
        # it at every search.
        gc.collect()
        gc.freeze()
        searched(stores, split, options.rounds)
        if stores[-1].postmaster and not options.no_large:
            large(stores[-1], options.rounds // 4)
        written(stores, split, options.rounds)


if __name__ == "__main__":
    main()
