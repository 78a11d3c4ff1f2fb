"""Counts of calls, in the text form that Prometheus reads."""

from __future__ import annotations

import threading
from collections import Counter


class Metrics:
    """What was called how often, with what outcome, and how long it took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, tool: str, outcome: str, seconds: float) -> None:
        """Note one call."""
        with self._lock:
            self._calls[tool, outcome] += 1
            self._seconds[tool] += seconds  # type: ignore[assignment]

    def text(self, gauges: dict[str, int]) -> str:
        """Everything, with the gauges of the moment."""
        with self._lock:
            calls, seconds = dict(self._calls), dict(self._seconds)
        lines = ["# HELP memolith_calls_total Calls of tools by outcome.", "# TYPE memolith_calls_total counter"]
        lines += [f'memolith_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}'
                  for (tool, outcome), count in sorted(calls.items())]
        lines += ["# HELP memolith_call_seconds_total Time spent in calls.",
                  "# TYPE memolith_call_seconds_total counter"]
        lines += [f'memolith_call_seconds_total{{tool="{tool}"}} {time:.6f}' for tool, time in sorted(seconds.items())]
        for name, value in gauges.items():
            lines += [f"# TYPE memolith_{name} gauge", f"memolith_{name} {value}"]
        return "\n".join(lines) + "\n"
