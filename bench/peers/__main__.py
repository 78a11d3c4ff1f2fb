"""Runs every measure on every peer: `python -m bench.peers`, or `make bench-peers`.

What is already in the result files is not measured again, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time

from bench.peers.environments import CACHE, CannotInstall
from bench.peers.measures import FULL, MEASURES, SMOKE, THOROUGH, run_measure
from bench.peers.page import write_page
from bench.peers.registry import PEERS
from bench.peers.results import FOLDER, Results, machine, stamp

SMOKE_FOLDER = CACHE / "smoke-results"


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--measures", nargs="*", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--again", action="store_true", help="measure also what is known")
    parser.add_argument("--install", action="store_true", help="only make the environments")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument(
        "--smoke", action="store_true", help="tiny sizes, to try an adapter; results are not kept"
    )
    parser.add_argument(
        "--thorough", action="store_true", help="ten times the budgets and all questions: hours"
    )
    parser.add_argument("--minutes", type=float, default=58, help="start nothing after that")
    return parser.parse_args()


def main() -> int:
    # A harness that is told to end ends what it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    if options.page:
        write_page()
        return 0
    ready = []
    for name in options.peers:
        try:
            PEERS[name].install()
            ready.append(name)
        except CannotInstall as error:
            print(f"{name}: cannot be installed: {error}", flush=True)
    if options.install:
        return 0
    measure_all(options, ready)
    if not options.smoke:
        write_page()
    return 0


def measure_all(options: argparse.Namespace, names: list[str]) -> None:
    """Measure by measure, so that all peers meet the same machine for each."""
    scale = SMOKE if options.smoke else THOROUGH if options.thorough else FULL
    folder = SMOKE_FOLDER if options.smoke else FOLDER
    began = time.monotonic()
    for measure in options.measures:
        for name in names:
            if PEERS[name].only and measure not in PEERS[name].only:
                continue
            results = Results(folder / f"{name}.json")
            if results.has(measure) and not (options.again or options.smoke):
                continue
            if time.monotonic() - began > options.minutes * 60:
                print("the time is up; run it again to go on", flush=True)
                return
            when = stamp()
            outcome = run_measure(PEERS[name], measure, scale)
            results.keep(PEERS[name], measure, {**outcome, **when, "machine": machine()})
            shown = outcome.get("figures", outcome.get("failed"))
            print(f"{measure:10} {name:20} {outcome['took_s']:6.1f} s  {shown}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
