"""A network in an ONNX file, run by onnxruntime on the CPU."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memolith.errors import EmbedderDown, translated

if TYPE_CHECKING:
    from numpy.typing import NDArray

BULK_THREADS = 2
"""So many threads embed a bulk of texts."""

ORT_LOG_ERRORS = 3
"""The severity from which onnxruntime writes to the log: errors only."""


class Network:
    """A network whose file is checked before it is loaded. Any number of threads may run it."""

    def __init__(self, path: Path, digest: str) -> None:
        verify(path, digest)
        # From 1.29 on, onnxruntime reports home and writes into the home folder if this is not set.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        not_installed = (
            "The embedding model needs numpy and onnxruntime; reinstall memolith ({error})."
        )
        with translated(ImportError, EmbedderDown, not_installed):
            # They cost 0.15 s and 35 MB, which a program that embeds nothing must not pay.
            import numpy
            import onnxruntime
        self._array = numpy.array
        # The errors of onnxruntime have no common base class.
        error_types = vars(onnxruntime.capi.onnxruntime_pybind11_state).values()
        self._errors = tuple(
            kind for kind in error_types if isinstance(kind, type) and issubclass(kind, Exception)
        )
        # One more than the threads of a bulk, so that a query does not wait for it; and not more
        # than that, so that many threads together do not fill the memory.
        self._free_runs = threading.BoundedSemaphore(BULK_THREADS + 1)
        too_old = (
            f"onnxruntime {onnxruntime.__version__} cannot load {path}; update it ({{error}})."
        )
        with translated(self._errors, EmbedderDown, too_old):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            options.log_severity_level = ORT_LOG_ERRORS
            # A memory plan for every shape costs memory and saves no time. The arena saves both.
            options.enable_mem_pattern = False
            # A spinning thread would use a whole core between two runs.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )

    def run(self, rows: Sequence[Sequence[int]], output: str) -> NDArray[Any]:
        """Return an output of the network for rows of token ids."""
        width = max(map(len, rows))
        ids = [[*row, *[0] * (width - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        with (
            self._free_runs,
            translated(self._errors, EmbedderDown, "The embedding model cannot run now ({error})."),
        ):
            inputs = {
                "input_ids": self._array(ids, "int64"),
                "attention_mask": self._array(mask, "int64"),
            }
            made: NDArray[Any] = self._session.run([output], inputs)[0]
        return made


def verify(path: Path, digest: str) -> None:
    """Raise EmbedderDown unless the file is there and has that SHA-256 digest."""
    unreadable = f"The model file {path} cannot be read; reinstall memolith ({{error}})."
    with translated(OSError, EmbedderDown, unreadable):
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
    if actual != digest:
        raise EmbedderDown(
            f"The model file {path} is damaged or of another version; reinstall memolith."
        )
