"""How many secrets are found, how many harmless texts are touched, and what does it cost?"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable

from tests.secret_samples import harmless_samples, secret_samples
from tests.secret_text import filled

from memolith.redaction.detector import redact

PROSE = "We decided to put the queue behind a cache, because the latency of the run was too high. "
COSTS = {
    "prose": PROSE * 1200,
    "base64": filled("{base64:100000}"),
    "urlsafe base64": filled("{urlsafe:100000}"),
    "code": "def find_all(self, name: str) -> list[Match]:\n    return self.rows[name]\n" * 1500,
}


def main() -> None:
    arguments = argparse.ArgumentParser(prog="bench.secrets", description=__doc__)
    arguments.add_argument("--missed", action="store_true", help="show what was missed or touched")
    show = arguments.parse_args().missed
    print_secrets(show)
    print_harmless(show)
    print_costs()


def print_secrets(show: bool) -> None:
    tried: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for sample in secret_samples():
        tried[sample.group] += 1
        clean, _ = redact(sample.text)
        if sample.secret not in clean.replace("\u200b", ""):
            found[sample.group] += 1
        elif show:
            print(f"missed, {sample.context}: {sample.text[:160]!r}")
    print(f"{'secrets':28} {'found':>7} {'tried':>7}")
    for group, count in tried.items():
        print(f"{group:28} {found[group]:7} {count:7}")
    print(f"{'all':28} {found.total():7} {tried.total():7}")


def print_harmless(show: bool) -> None:
    tried: Counter[str] = Counter()
    touched: Counter[str] = Counter()
    for group, text in harmless_samples():
        tried[group] += 1
        clean, counts = redact(text)
        if counts:
            touched[group] += 1
            if show:
                print(f"touched, {counts}: {text[:120]!r} -> {clean[:120]!r}")
    print(f"\n{'harmless texts':28} {'touched':>7} {'tried':>7}")
    for group, count in tried.items():
        print(f"{group:28} {touched[group]:7} {count:7}")
    print(f"{'all':28} {touched.total():7} {tried.total():7}")


def print_costs() -> None:
    print(f"\n{'microseconds of CPU':28} {'1 kB':>7} {'100 kB':>7}")
    for name, text in COSTS.items():
        small = cost(lambda text=text: redact(text[:1000]), 200)  # type: ignore[misc]
        large = cost(lambda text=text: redact(text[:100_000]), 5)  # type: ignore[misc]
        print(f"{name:28} {small:7.0f} {large:7.0f}")


def cost(run: Callable[[], object], times: int) -> float:
    """The median of five rounds, per run."""
    rounds = []
    for _ in range(5):
        started = time.process_time()
        for _ in range(times):
            run()
        rounds.append((time.process_time() - started) / times)
    return statistics.median(rounds) * 1e6


if __name__ == "__main__":
    main()
