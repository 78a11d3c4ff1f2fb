"""How long do a new code runner and a call of it take, next to an unprotected Jupyter kernel?"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jupyter_client.manager import start_new_kernel

from memolith.errors import NotFound
from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox

OWNER = ("local", "local")
MODES = ("namespace", "landlock")
JUPYTER = "ipykernel, no sandbox"
RUNNERS = 20
CALLS = 1000
KERNELS = 3
KERNEL_CALLS = 50
MAX_CREATE_MS = 100
MAX_CALL_MS = 1
USE_PANDAS = "import pandas\nprint(pandas.DataFrame({'a': [1, 2]}).a.sum())"


class Timings(NamedTuple):
    """Milliseconds of each step."""

    first: float
    creations: list[float]
    uses_of_pandas: list[float]
    calls: list[float]

    @property
    def create_ms(self) -> float:
        return statistics.median(self.creations)

    @property
    def call_ms(self) -> float:
        return statistics.median(self.calls)


def timed_ms(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - started)


def no_documents(id: str) -> AbstractContextManager[tuple[str, Path]]:
    raise NotFound(f"There is no document {id!r}.")


def measure_sandbox(mode: str) -> Timings:
    """The first runner, more of them, the first use of pandas in each, and empty calls."""
    with tempfile.TemporaryDirectory() as folder:
        sandbox = LinuxSandbox(Path(folder), Bounds(), mode, preload=("pandas", "openpyxl"))
        executors: list[str] = []

        def create() -> None:
            executors.append(sandbox.create(OWNER))

        def run(code: str) -> None:
            result = sandbox.run(OWNER, executors[-1], code, no_documents, lambda: False)
            assert result.error is None

        timings = Timings(timed_ms(create), [], [], [])
        for _ in range(RUNNERS):
            timings.creations.append(timed_ms(create))
            timings.uses_of_pandas.append(timed_ms(lambda: run(USE_PANDAS)))
        for _ in range(CALLS):
            timings.calls.append(timed_ms(lambda: run("")))
        sandbox.close()
        return timings


def measure_jupyter() -> Timings:
    """The same with ipykernel."""
    creations: list[float] = []
    uses_of_pandas: list[float] = []
    calls: list[float] = []
    for _ in range(KERNELS):
        started = time.perf_counter()
        manager, client = start_new_kernel()
        creations.append(1000 * (time.perf_counter() - started))

        run = partial(client.execute_interactive, output_hook=lambda _: None)
        uses_of_pandas.append(timed_ms(partial(run, USE_PANDAS)))
        calls += [timed_ms(partial(run, "")) for _ in range(KERNEL_CALLS)]
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return Timings(creations[0], creations, uses_of_pandas, calls)


def measure_modes() -> dict[str, Timings]:
    """Every mode that works on this machine."""
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in MODES:
            probe = LinuxSandbox(Path(folder), Bounds(), mode)
            state = probe.state
            probe.close()
            if state.mode == mode:
                measured[mode] = measure_sandbox(mode)
            else:
                print(f"{mode}: not here: {state.note}")
    return measured


def print_table(measured: dict[str, Timings]) -> None:
    columns = f"{'first':>10}{'create':>10}{'pandas':>10}{'empty call':>12}{'p95':>10}"
    print(f"{'':24}{columns}   (ms, medians)")
    for name, timings in measured.items():
        pandas_ms = statistics.median(timings.uses_of_pandas)
        p95_ms = statistics.quantiles(timings.calls, n=20)[-1]
        print(
            f"{name:24}{timings.first:10.1f}{timings.create_ms:10.1f}{pandas_ms:10.1f}"
            f"{timings.call_ms:12.3f}{p95_ms:10.3f}"
        )


def main() -> None:
    """Measure and print."""
    modes = measure_modes()
    jupyter = measure_jupyter()
    print_table({**modes, JUPYTER: jupyter})
    for name, timings in modes.items():
        fast_enough = timings.create_ms < MAX_CREATE_MS and timings.call_ms < MAX_CALL_MS
        verdict = "ok" if fast_enough else "TOO SLOW"
        print(
            f"{name}: create {timings.create_ms:.1f} ms of {MAX_CREATE_MS}, "
            f"empty call {timings.call_ms:.3f} ms of {MAX_CALL_MS}: {verdict}"
        )
        factor = jupyter.call_ms / timings.call_ms
        print(f"{name}: {factor:.0f} times quicker per call than ipykernel")


if __name__ == "__main__":
    main()
