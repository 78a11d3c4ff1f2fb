"""The lines of the comparison: where each figure is in the results, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.peers.results import Figures

Known = Mapping[str, Figures]
"""The contents of the result files by the names of the peers."""
OWN = ("memolith", "memolith-stock")
CLEAR = 0.02
"""Peers are ahead if they are better by more than this share; less is noise."""


def figures_of(known: Figures, measure: str) -> Figures | None:
    """The figures of a measure, if there are any."""
    found: Figures | None = known["measures"].get(measure, {}).get("figures")
    return found


def at(measure: str, *path: str) -> Callable[[Figures], float | None]:
    """A figure by its place."""

    def find(known: Figures) -> float | None:
        value: Any = figures_of(known, measure)
        for key in path:
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return float(value) if isinstance(value, (int, float)) else None

    return find


def share(measure: str, part: str, whole: str) -> Callable[[Figures], float | None]:
    """One figure as a share of another."""

    def find(known: Figures) -> float | None:
        above, below = at(measure, part)(known), at(measure, whole)(known)
        return above / below if above is not None and below else None

    return find


@dataclass(frozen=True)
class Line:
    """One thing that is compared."""

    name: str
    find: Callable[[Figures], float | None]
    less_is_better: bool = True
    digits: int = 1
    servers_only: bool = False

    def values(self, known: Known) -> dict[str, float]:
        """The figure of every peer that has one."""
        found = {}
        for name, results in known.items():
            value = self.find(results)
            if value is not None and not (self.servers_only and not results["is_server"]):
                found[name] = value
        return found

    def ahead_of_us(self, known: Known) -> dict[str, float]:
        """The peers that are clearly better than memolith with its own model, the best first."""
        values = self.values(known)
        if OWN[0] not in values:
            return {}
        own = values[OWN[0]]
        sign = 1 if self.less_is_better else -1
        better = {
            name: value
            for name, value in values.items()
            if name not in OWN and sign * (own - value) > CLEAR * max(abs(own), abs(value))
        }
        return dict(sorted(better.items(), key=lambda entry: sign * entry[1]))


LINES = (
    Line("install size, MB", at("install", "mb"), digits=0),
    Line("packages", at("install", "packages"), digits=0),
    Line("tokens of the list of tools", at("tools", "tokens"), digits=0, servers_only=True),
    Line("CPU s to the list of tools", at("start", "cpu_s"), digits=2),
    Line("seconds to the list of tools", at("start", "wall_s"), digits=2),
    Line("acknowledged write, p50 ms", at("write", "p50_ms")),
    Line("acknowledged write, p95 ms", at("write", "p95_ms")),
    Line("acknowledged write, CPU ms", at("write", "cpu_ms")),
    Line("private memory after writes, MB", at("write", "private_mb"), digits=0),
    Line("texts loaded per second", at("scale", "per_s"), less_is_better=False),
    *(
        Line(f"{title} at {size:,}, {figure} ms", at("scale", "sizes", str(size), key, f"{figure}_ms"))
        for size in (1_000, 10_000, 100_000)
        for title, key in (("search", "search"), ("filtered search", "filtered"))
        for figure in ("p50", "p95")
    ),
    *(
        Line(f"private memory at {size:,}, MB", at("scale", "sizes", str(size), "private_mb"), digits=0)
        for size in (1_000, 10_000, 100_000)
    ),
    Line("3 writers: kept of what was asked", share("writers3", "found", "asked"), False, 2),
    Line("8 writers: kept of what was asked", share("writers8", "found", "asked"), False, 2),
    Line("3 writers: kept of what was acknowledged", share("writers3", "found", "acknowledged"), False, 2),
    Line("8 writers: kept of what was acknowledged", share("writers8", "found", "acknowledged"), False, 2),
    Line("kill -9: kept of what was acknowledged", share("kill", "found", "acknowledged"), False, 2),
    Line("seconds until another process sees a write", at("seen", "delay_s"), digits=2),
    Line("no hit where nothing answers", share("unanswered", "no_hit", "unanswerable"), False, 2),
    Line("no hit that it is sure of where nothing answers", share("unanswered", "none_sure", "unanswerable"), False, 2),
    Line("right note among 5", share("unanswered", "right_in_5", "answerable"), False, 2),
    Line("right note among those of 5 that it is sure of", share("unanswered", "right_sure", "answerable"), False, 2),
)  # fmt: skip


def questions_asked(known: Known) -> dict[str, int]:
    """The sets of the recall, with the most questions that a peer was asked in its time."""
    asked: dict[str, int] = {}
    for results in known.values():
        for name, figures in (figures_of(results, "recall") or {}).items():
            asked[name] = max(asked.get(name, 0), figures["questions"])
    return dict(sorted(asked.items()))


def recall_lines(known: Known) -> list[Line]:
    """A line for each set, level and depth."""
    lines = []
    for name, most in questions_asked(known).items():
        levels = ("session",) if name.endswith(" session") else ("turn", "session")
        lines += [
            Line(f"{name}, {level}@{k}", recall_at(name, f"{level}@{k}", most), False, 3)
            for level in levels
            for k in (5, 10)
            if level == "turn" or name.startswith("locomo")
        ]
    return lines


def recall_at(name: str, key: str, questions: int) -> Callable[[Figures], float | None]:
    """A figure of the recall; whoever was not asked all the questions has none."""
    find, count = at("recall", name, key), at("recall", name, "questions")
    return lambda known: find(known) if count(known) == questions else None
