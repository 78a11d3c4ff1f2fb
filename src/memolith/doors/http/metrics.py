"""Figures for Prometheus: calls by tool and outcome, and how many texts wait for a vector."""

import threading
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from itertools import accumulate
from typing import NamedTuple

from memolith import __version__
from memolith.ports.telemetry import DURATION_BOUNDS_S, Waiting

CONTENT_TYPE = "text/plain; version=0.0.4"
DURATION = "memolith_call_duration_seconds"
MAX_LATEST_SEARCHES = 60
"""How many searches of a tenant are remembered one by one."""
SEARCH_TOOLS = (
    "recall",
    "explain_search",
    "context",
    "search_memories",
    "memory_search",
    "search_memory",
    "search_concepts_semantic",
    "subcog_recall",
)


class SearchTime(NamedTuple):
    """How often a search tool was called, and how long a call took on average."""

    tool: str
    calls: int
    mean_ms: float


class LatestSearch(NamedTuple):
    """How long one search took."""

    tool: str
    ms: float


class Durations:
    """How long the calls of a tool took: how many fall into each bucket, and all together."""

    def __init__(self) -> None:
        self.counts = [0] * (len(DURATION_BOUNDS_S) + 1)
        """The last one is for those that took longer than every bound."""
        self.seconds = 0.0

    def record(self, seconds: float) -> None:
        self.counts[bisect_left(DURATION_BOUNDS_S, seconds)] += 1
        self.seconds += seconds

    def add(self, other: "Durations") -> None:
        """Count what the other has counted, too."""
        self.counts = [sum(pair) for pair in zip(self.counts, other.counts, strict=True)]
        self.seconds += other.seconds

    def lines(self, tool: str) -> list[str]:
        """The histogram of a tool, where each bucket counts the shorter ones, too."""
        bounds = [*(str(bound) for bound in DURATION_BOUNDS_S), "+Inf"]
        counts = list(accumulate(self.counts))
        lines = [
            f'{DURATION}_bucket{{tool="{tool}",le="{bound}"}} {count}'
            for bound, count in zip(bounds, counts, strict=True)
        ]
        lines.append(f'{DURATION}_sum{{tool="{tool}"}} {self.seconds}')
        lines.append(f'{DURATION}_count{{tool="{tool}"}} {counts[-1]}')
        return lines


class CallMetrics:
    """Counts what was called: how often, with what outcome, for how long, by whose tenant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._durations: dict[str, dict[str, Durations]] = defaultdict(
            lambda: defaultdict(Durations)
        )
        self._latest: dict[str, deque[LatestSearch]] = defaultdict(
            lambda: deque(maxlen=MAX_LATEST_SEARCHES)
        )

    def observe(self, tenant: str, tool: str, outcome: str, seconds: float) -> None:
        with self._lock:
            self._calls[tenant][tool, outcome] += 1
            self._durations[tenant][tool].record(seconds)
            if tool in SEARCH_TOOLS:
                self._latest[tenant].append(LatestSearch(tool, 1000 * seconds))

    def latest_searches(self, tenant: str) -> list[LatestSearch]:
        """How long the latest searches of a tenant took, the newest last."""
        with self._lock:
            return list(self._latest.get(tenant, ()))

    def search_times(self, tenant: str) -> list[SearchTime]:
        """How long the searches of a tenant took since the server started, by tool."""
        with self._lock:
            durations = self._durations.get(tenant, {})
            measured = [(tool, durations[tool]) for tool in SEARCH_TOOLS if tool in durations]
            return [
                SearchTime(tool, sum(times.counts), 1000 * times.seconds / sum(times.counts))
                for tool, times in measured
            ]

    def text(self, tenant: str | None, waiting: Waiting) -> str:
        """The figures of one tenant, or of all together, in the text format of Prometheus."""
        calls = Counter[tuple[str, str]]()
        durations: dict[str, Durations] = defaultdict(Durations)
        with self._lock:
            tenants = list(self._calls) if tenant is None else [tenant]
            for name in tenants:
                calls.update(self._calls.get(name, {}))
                for tool, measured in self._durations.get(name, {}).items():
                    durations[tool].add(measured)
        lines = heading("memolith_build_info", "gauge", "The version of memolith, always 1.")
        lines.append(f'memolith_build_info{{version="{__version__}"}} 1')
        lines += heading("memolith_calls_total", "counter", "Calls of tools, by outcome.")
        for (tool, outcome), count in sorted(calls.items()):
            lines.append(f'memolith_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}')
        lines += heading(DURATION, "histogram", "How long calls of tools took.")
        for tool in sorted(durations):
            lines += durations[tool].lines(tool)
        lines += heading("memolith_embeddings_pending", "gauge", "Texts that wait for a vector.")
        lines.append(f"memolith_embeddings_pending {waiting.pending}")
        lines += heading("memolith_embeddings_failed", "gauge", "Texts that got no vector.")
        lines.append(f"memolith_embeddings_failed {waiting.failed}")
        return "\n".join(lines) + "\n"


def heading(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
