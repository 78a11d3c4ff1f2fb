"""What does a durable write cost beside a bare INSERT with the same fsync? And how fast is an
import?
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import apsw

from bench.material import ME, fresh, texts
from memolith.domain.items import Draft
from memolith.domain.passages import Block


def alternate(
    first: Callable[[], object], second: Callable[[], object], times: int
) -> list[tuple[float, ...]]:
    """Median, 95th percentile and mean CPU of two things done in turn, so that both meet the same
    disk.
    """
    taken: tuple[list[float], list[float]] = ([], [])
    used = [0.0, 0.0]
    for _ in range(times):
        for n, run in enumerate((first, second)):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            taken[n].append((time.perf_counter() - wall) * 1000)
            used[n] += (time.process_time() - cpu) * 1000
    return [
        (sorted(t)[times // 2], sorted(t)[int(times * 0.95)], u / times)
        for t, u in zip(taken, used, strict=True)
    ]


def main() -> None:
    with fresh() as app:
        source = texts(2_000)
        bare = apsw.Connection(str(app.settings.data / "bare.db"))
        for pragma in ("journal_mode=wal", "synchronous=full"):
            bare.execute(f"pragma {pragma}").fetchall()
        bare.execute("create table event (seq integer primary key, data text)")
        best, floor = alternate(
            lambda: app.engine.writing.remember(
                ME, Draft(blocks=(Block(next(source)),), tags=("a", "b"))
            ),
            lambda: bare.execute("insert into event (data) values (?)", (next(source),)),
            500,
        )
        print(
            f"durable write   p50 {best[0]:6.2f} ms   p95 {best[1]:6.2f} ms   CPU {best[2]:.2f} ms"
        )
        print(
            f"bare INSERT     p50 {floor[0]:6.2f} ms   p95 {floor[1]:6.2f} ms   CPU {floor[2]:.2f} ms"
        )
        print(
            f"                on top: p50 {best[0] - floor[0]:.2f} ms, CPU {best[2] - floor[2]:.2f} ms (bar: 1 ms), "
            f"ratio {best[0] / floor[0]:.1f}"
        )
        lines = [json.dumps({"content": text}) for text in texts(20_000)]
        started = time.perf_counter()
        app.engine.maintenance.import_(ME, lines)
        rate = len(lines) / (time.perf_counter() - started)
        started = time.perf_counter()
        with bare:
            bare.executemany("insert into event (data) values (?)", ((line,) for line in lines))
        floor_rate = len(lines) / (time.perf_counter() - started)
        print(
            f"import          {rate:9,.0f} items/s; bare INSERT in one transaction {floor_rate:,.0f}/s, "
            f"ratio {floor_rate / rate:.1f}"
        )
        bare.close()


if __name__ == "__main__":
    main()
