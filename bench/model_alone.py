"""The floor of everything that embeds: processes that do nothing but run the model, each on its
own cores.

Where two of them together are not twice as fast as one, the machine is the limit, or others use it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memolith.retrieval.embedding.minilm import (
    MAX_TOKENS,
    MODEL_FILE,
    MODEL_FOLDER,
    VOCAB_FILE,
    batches,
)
from memolith.retrieval.embedding.wordpiece import WordPiece

WARM_RUNS = 5


class Rate(NamedTuple):
    """How many texts were run in a second, and in a second of CPU time."""

    per_s: float
    per_cpu_s: float


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def rate(
    texts: Sequence[str], processes: int = 1, threads: int = 1, in_batches: bool = True
) -> Rate:
    """The model alone: each process runs all of the texts, with so many threads for a run."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".json") as file:
        json.dump(list(texts), file)
        file.flush()
        children = []
        for number in range(processes):
            command = [sys.executable, "-m", "bench.model_alone", file.name]
            command += [str(number), str(threads), "batches" if in_batches else "singly"]
            pipe = subprocess.PIPE
            children.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        done = [Rate(*json.loads(child.communicate()[0])) for child in children]
    per_cpu_s = sum(one.per_cpu_s for one in done) / processes
    return Rate(sum(one.per_s for one in done), per_cpu_s)


def session_of(threads: int) -> Any:
    """The model as memolith runs it, but for the number of threads of a run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        MODEL_FOLDER / MODEL_FILE, options, providers=["CPUExecutionProvider"]
    )


def prepared(texts: Sequence[str], in_batches: bool) -> list[dict[str, Any]]:
    """What the model is given for these texts, run by run."""
    import numpy

    tokenizer = WordPiece(MODEL_FOLDER / VOCAB_FILE)
    rows = [tokenizer.ids(text, MAX_TOKENS) for text in texts]
    plan = [[place] for place in range(len(rows))]
    if in_batches:
        plan = list(batches({place: len(row) for place, row in enumerate(rows)}))
    runs = []
    for places in plan:
        some = [rows[place] for place in places]
        width = max(map(len, some))
        ids = [[*row, *[0] * (width - len(row))] for row in some]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in some]
        runs.append(
            {
                "input_ids": numpy.array(ids, "int64"),
                "attention_mask": numpy.array(mask, "int64"),
            }
        )
    return runs


def main(file: str, number: int, threads: int, how: str) -> None:
    """Run the model over the texts of a file, as the process with this number."""
    own = cores()
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {own[number % len(own)]})
    texts = json.loads(Path(file).read_text("utf-8"))
    runs = prepared(texts, how == "batches")
    session = session_of(threads)
    for inputs in runs[:WARM_RUNS]:
        session.run(["embedding"], inputs)
    print("ready", flush=True)
    sys.stdin.readline()
    wall = time.perf_counter()
    cpu = time.process_time()
    for inputs in runs:
        session.run(["embedding"], inputs)
    taken = (time.perf_counter() - wall, time.process_time() - cpu)
    print(json.dumps([len(texts) / part for part in taken]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
