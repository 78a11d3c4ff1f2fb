"""Figures for Prometheus: calls by tool and outcome, and how many texts wait for a vector."""

import threading
from collections import defaultdict

CONTENT_TYPE = "text/plain; version=0.0.4"


class CallMetrics:
    """Counts what was called through any door: how often, with what outcome, for how long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[tuple[str, str], int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)

    def observe(self, tool: str, outcome: str, seconds: float) -> None:
        with self._lock:
            self._calls[tool, outcome] += 1
            self._seconds[tool] += seconds

    def text(self, pending_embeddings: int, failed_embeddings: int) -> str:
        """All figures in the text format of Prometheus."""
        with self._lock:
            calls = dict(self._calls)
            seconds = dict(self._seconds)
        call_samples = {
            f'memolith_calls_total{{tool="{tool}",outcome="{outcome}"}}': count
            for (tool, outcome), count in calls.items()
        }
        second_samples = {
            f'memolith_call_seconds_total{{tool="{tool}"}}': total
            for tool, total in seconds.items()
        }
        pending = {"memolith_embeddings_pending": pending_embeddings}
        failed = {"memolith_embeddings_failed": failed_embeddings}
        return (
            metric("memolith_calls_total", "counter", call_samples)
            + metric("memolith_call_seconds_total", "counter", second_samples)
            + metric("memolith_embeddings_pending", "gauge", pending)
            + metric("memolith_embeddings_failed", "gauge", failed)
        )


def metric(name: str, kind: str, samples: dict[str, int] | dict[str, float]) -> str:
    lines = [f"# TYPE {name} {kind}"]
    lines += [f"{sample} {value}" for sample, value in sorted(samples.items())]
    return "\n".join(lines) + "\n"
