"""Figures for Prometheus: calls by tool and outcome, and how many texts wait for a vector."""

import threading
from collections import Counter, defaultdict

CONTENT_TYPE = "text/plain; version=0.0.4"


class CallMetrics:
    """Counts what was called: how often, with what outcome, for how long, by whose tenant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self._seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def observe(self, tenant: str, tool: str, outcome: str, seconds: float) -> None:
        with self._lock:
            self._calls[tenant][tool, outcome] += 1
            self._seconds[tenant][tool] += seconds

    def text(self, tenant: str | None, pending_embeddings: int, failed_embeddings: int) -> str:
        """The figures of one tenant, or of all together, in the text format of Prometheus."""
        calls = Counter[tuple[str, str]]()
        seconds: dict[str, float] = defaultdict(float)
        with self._lock:
            tenants = list(self._calls) if tenant is None else [tenant]
            for name in tenants:
                calls.update(self._calls.get(name, {}))
                for tool, spent_s in self._seconds.get(name, {}).items():
                    seconds[tool] += spent_s
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
