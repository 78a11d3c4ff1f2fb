"""How good is recall? Turn and session recall through the engine's own `recall`, beside plain
methods.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.checked import body_of

from bench.calibration import calibrate
from bench.stores import cluster
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.settings import Settings
from memolith.tools.call import Call

ME = Caller()


def data_folder() -> Path | None:
    """Where the retrieval sets lie: MEMOLITH_BENCH_DATA, or `shared/data` beside the project."""
    named = os.environ.get("MEMOLITH_BENCH_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder / "retrieval" if (folder / "retrieval" / "eval.py").is_file() else None


def load_eval(folder: Path) -> ModuleType:
    """The yardstick that comes with the data."""
    spec = importlib.util.spec_from_file_location("memolith_bench_eval", folder / "eval.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Memolith:
    """One conversation item per session, one block per turn, asked through `recall`."""

    mode = "hybrid"
    verbatim = False
    deep = False
    database: Callable[[], str] = staticmethod(lambda: "")

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memolith-bench-"))
        self.app: App = open_app(
            Settings(data=self.folder, secrets="allow", database=self.database())
        )
        self.ids: dict[tuple[str, int], str] = {}

    def index(self, docs: list[dict[str, Any]]) -> None:
        """Remember every turn."""
        groups: dict[object, list[dict[str, Any]]] = {}
        for doc in docs:
            groups.setdefault(doc["meta"].get("session", doc["id"]), []).append(doc)
        for turns in groups.values():
            spoken = bool(turns[0]["meta"].get("speaker"))
            blocks = tuple(self.block(turn, spoken) for turn in turns)
            kind = "conversation" if spoken else "memory"
            item = self.app.engine.writing.remember(ME, Draft(kind=kind, blocks=blocks)).item
            self.ids |= {(item.id, n): turn["id"] for n, turn in enumerate(turns)}
        self.app.upkeep.run()

    @staticmethod
    def block(turn: dict[str, Any], spoken: bool) -> Block:
        """A turn as a block."""
        meta = turn["meta"]
        text = turn["text"].split(": ", 1)[1] if spoken else turn["text"]
        return Block(text, speaker=meta.get("speaker") or None, at=meta.get("iso") or None)

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the turns found; a long one has several passages but counts once, by its best."""
        found = self.app.engine.recall.search(
            ME,
            Query(
                query,
                mode=self.mode,
                limit=k,
                verbatim=self.verbatim,
                deep=self.deep,
            ),
        )
        return list(dict.fromkeys(self.ids[hit.item.id, hit.passage.block] for hit in found.hits))

    def close(self) -> None:
        """Leave nothing behind."""
        self.app.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sekha(Memolith):
    """The same conversations through `memory_store` and `memory_search`."""

    def index(self, docs: list[dict[str, Any]]) -> None:
        """Store every session; a label without letters adds no words to what is searched."""
        groups: dict[object, list[dict[str, Any]]] = {}
        for doc in docs:
            groups.setdefault(doc["meta"].get("session", doc["id"]), []).append(doc)
        for turns in groups.values():
            blocks = [self.block(turn, bool(turn["meta"].get("speaker"))) for turn in turns]
            made = self.run(
                "memory_store",
                label="-",
                messages=[
                    {"role": block.speaker or "user", "content": block.text, "timestamp": block.at}
                    for block in blocks
                ],
            )
            self.ids |= {(made["id"], n): turn["id"] for n, turn in enumerate(turns)}
        self.app.upkeep.run()

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the messages found."""
        found = self.run("memory_search", query=query, limit=k)["results"]
        places = [hit["message_id"].split("#") for hit in found]
        return [self.ids[id, int(number)] for id, number in places]

    def run(self, tool: str, **arguments: object) -> dict[str, Any]:
        outcome = self.app.registry.run(tool, arguments, Call(ME, self.app.engine))
        assert outcome.ok, outcome.body
        return dict(body_of(outcome)["data"])


class Deep(Memolith):
    """With the judge of deep search over the best hits."""

    deep = True


class TextOnly(Memolith):
    """Our own text side alone."""

    mode = "text"


class VectorOnly(Memolith):
    """MiniLM alone, with speakers' names out of the query; where it understands too little, our
    text side answers.
    """

    mode = "vector"


class PlainMiniLM(VectorOnly):
    """MiniLM alone on the query as it stands."""

    verbatim = True


class Rrf60(Memolith):
    """Reciprocal rank fusion of both sides, the usual recipe."""

    verbatim = True

    def search(self, query: str, k: int) -> list[str]:
        """Both lists, fused by rank."""
        scores: dict[str, float] = {}
        for self.mode in ("text", "vector"):
            for n, id in enumerate(super().search(query, 100)):
                scores[id] = scores.get(id, 0.0) + 1 / (61 + n)
        return sorted(scores, key=lambda id: -scores[id])[:k]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-curve", action="store_true")
    parser.add_argument("--sets", nargs="*", default=["locomo_dev", "xquad_en", "xquad_zh"])
    parser.add_argument(
        "--only", nargs="*", default=["fts5", "minilm", "vector", "rrf60", "memolith", "sekha"]
    )
    parser.add_argument("--limit", type=int)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    options = parser.parse_args()
    if options.store == "sqlite":
        run(options)
        return
    with cluster(durable=False) as create:
        Memolith.database = staticmethod(create)
        run(options)


def run(options: argparse.Namespace) -> None:
    """A line per set and method."""
    folder = data_folder()
    if folder is None:
        print("retrieval: the data sets are not here; set MEMOLITH_BENCH_DATA")
        return
    module = load_eval(folder)
    ours = {
        "memolith": Memolith,
        "deep": Deep,
        "text": TextOnly,
        "vector": VectorOnly,
        "minilm": PlainMiniLM,
        "rrf60": Rrf60,
        "sekha": Sekha,
    }
    print(
        f"{'set':12} {'method':10} {'any@1':>6} {'r@5':>6} {'r@10':>6} {'mrr':>6} {'s@5':>6} {'s@10':>6} {'p50 ms':>7}"
    )
    for name in options.sets:
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for method in options.only:
            result = module.evaluate(
                ours.get(method) or module.BUILTIN[method],
                data,
                limit=options.limit,
                ks=(1, 5, 10, 20),
            )
            micro = result["micro"]
            print(
                f"{name:12} {method:10} {micro['any@1']:6.3f} {micro['r@5']:6.3f} {micro['r@10']:6.3f} {micro['mrr']:6.3f} "
                f"{micro['s@5']:6.3f} {micro['s@10']:6.3f} {result['latency_ms']['p50']:7.1f}",
                flush=True,
            )
        if name.startswith("locomo") and not options.no_curve:
            calibrate(Memolith, module, data, options.limit)


if __name__ == "__main__":
    main()
