"""How fast are the graph tools at 100,000 concepts and 1,000,000 links, beside networkx on the same
graph?
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import networkx
from tests.checked import body_of

from bench.material import ME, fresh
from memolith.bootstrap import App
from memolith.domain.fold import fold
from memolith.domain.ids import new_id
from memolith.tools.call import Call

CONCEPTS, LINKS, BATCH = 100_000, 1_000_000, 20_000
TYPES = ("prerequisite", "relates_to", "includes")
Edge = tuple[int, int, str]


def edges() -> list[Edge]:
    """Distinct links between any two concepts."""
    pick = random.Random(5)
    found: dict[Edge, None] = {}
    while len(found) < LINKS:
        source, target = pick.randrange(CONCEPTS), pick.randrange(CONCEPTS)
        if source != target:
            found[source, target, pick.choice(TYPES)] = None
    return list(found)


def write(app: App, streams: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Append first events in large transactions, as an import does."""
    source = iter(streams)
    while batch := list(islice(source, BATCH)):
        with app.store.writing(ME.tenant) as rows:
            for stream, type, data in batch:
                event = rows.next_event(stream, 1, type, data, ME.user, app.clock.now())
                rows.append(event, fold(None, event))


def concept(n: int) -> dict[str, object]:
    places = {
        "area": f"Area {n % 20}",
        "topic": f"Topic {n // 20 % 20}",
        "subtopic": f"Subtopic {n // 400 % 10}",
    }
    return {
        "kind": "concept",
        "title": f"Concept {n}",
        "status": "active",
        "owner": ME.user,
        "audience": "org",
        "attributes": {**places, "certainty_score": n % 101, "certainty_source": "given"},
        "blocks": [{"text": f"What concept {n} means."}],
    }


def medians(run: Callable[[], object], times: int) -> tuple[float, float]:
    """Wall and CPU time in milliseconds; on a busy machine only the second tells what the work
    costs.
    """
    wall, cpu = [], []
    for _ in range(times):
        started, used = time.perf_counter(), time.process_time()
        run()
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - used) * 1000)
    return sorted(wall)[times // 2], sorted(cpu)[times // 2]


def show(
    name: str,
    bar_ms: float | None,
    ours: Callable[[], object],
    floor: Callable[[], object] | None = None,
    times: int = 200,
) -> None:
    """The medians of ours beside those of networkx."""
    wall, cpu = medians(ours, times)
    bar = f"bar {bar_ms:3.0f} ms" if bar_ms else ""
    beside = ""
    if floor:
        other = medians(floor, times)[1]
        beside = f"networkx {other:7.3f} ms CPU, ratio {cpu / other:6.1f}"
    print(f"{name:24} p50 {wall:7.2f} ms, {cpu:7.2f} ms CPU  {bar:11} {beside}", flush=True)


def main() -> None:
    """Fill, then measure."""
    links, pick = edges(), random.Random(6)
    with fresh() as app:
        ids = [new_id() for _ in range(CONCEPTS)]
        started = time.perf_counter()
        write(app, [(id, "remembered", concept(n)) for n, id in enumerate(ids)])
        write(
            app,
            [
                (
                    f"rel-{n}",
                    "linked",
                    {"source": ids[a], "target": ids[b], "type": type, "strength": 1.0},
                )
                for n, (a, b, type) in enumerate(links)
            ],
        )
        print(
            f"{CONCEPTS:,} concepts and {LINKS:,} links written in {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        graph = networkx.MultiDiGraph()
        graph.add_nodes_from(range(CONCEPTS))
        graph.add_edges_from((a, b, type) for a, b, type in links)
        both = networkx.Graph(graph)
        before = networkx.DiGraph((b, a) for a, b, type in links if type == "prerequisite")
        before.add_nodes_from(range(CONCEPTS))

        def call(tool: str, **arguments: object) -> dict[str, Any]:
            outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
            assert outcome.ok or outcome.body["error"] == "path_not_found", outcome.body
            return body_of(outcome)

        def any_one() -> int:
            return pick.randrange(CONCEPTS)

        show(
            "related",
            2,
            lambda: call("get_related_concepts", concept_id=ids[any_one()]),
            lambda: list(networkx.all_neighbors(graph, any_one())),
        )
        show(
            "prerequisites, depth 5",
            10,
            lambda: call("get_prerequisites", concept_id=ids[any_one()], depth=5),
            lambda: networkx.single_source_shortest_path_length(before, any_one(), 5),
        )
        show(
            "chain, depth 10",
            10,
            lambda: call(
                "get_concept_chain",
                start_concept_id=ids[any_one()],
                end_concept_id=ids[any_one()],
                max_depth=10,
            ),
            lambda: networkx.bidirectional_shortest_path(both, any_one(), any_one()),
        )
        show("hierarchy", 50, lambda: call("list_hierarchy"), times=20)
        made = iter(range(1000))
        show(
            "write, then hierarchy",
            50,
            lambda: (
                call("create_concept", name=f"New {next(made)}", explanation="New."),
                call("list_hierarchy"),
            ),
            times=20,
        )
        show(
            "by certainty",
            None,
            lambda: call("get_concepts_by_certainty", min_certainty=30),
            times=20,
        )
        show(
            "exact search",
            None,
            lambda: call("search_concepts_exact", name="concept 77", area="Area 7"),
            times=20,
        )
        show(
            "create a relationship",
            None,
            lambda: call(
                "create_relationship",
                source_id=ids[any_one()],
                target_id=ids[any_one()],
                relationship_type=pick.choice(TYPES),
            ),
        )
        wrong = sum(
            len(
                call(
                    "get_concept_chain",
                    start_concept_id=ids[a],
                    end_concept_id=ids[b],
                    max_depth=10,
                )["path"]
            )
            != len(networkx.bidirectional_shortest_path(both, a, b))
            for a, b in ((any_one(), any_one()) for _ in range(100))
        )
        print(f"chains of another length than networkx finds: {wrong} of 100")


if __name__ == "__main__":
    main()
