"""The embedder inside the package: all-MiniLM-L6-v2 with 8-bit weights, one CPU thread, no network."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from memolith.errors import EmbedderDown, translated
from memolith.retrieval.embedding.wordpiece import UNKNOWN, WordPiece, share

MODEL_FOLDER = Path(__file__).parent / "model"
MODEL_FILE, MODEL_DIGEST = (
    "model_nb8.onnx",
    "55ccc9ed1cb6eb7ab5c465f10761bab5eab3c1a7862b1f2c6a616c814d8e60bd",
)
VOCAB_FILE, VOCAB_DIGEST = (
    "vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)
MAX_TOKENS, MAX_UNKNOWN = 256, 0.3
# Arabic, Cyrillic or Korean become lone letters rather than [UNK]; a foreign name in an English text may stay.
MAX_FOREIGN = 0.7
BATCH_ROWS = 32
# Larger batches are no faster, for the kernel of the 8-bit weights is bound by arithmetic, but 2048 cost 80 MB more.
BATCH_TOKENS = 256
BULK_THREADS = 2
# Below this a second thread saves less than it costs.
BULK_BATCHES = 4
# A pad costs as much as a token and a run as much as a few, so rows that differ by more do not share a run.
BATCH_PADDING = 2
RECENT_TEXTS, LOG_ERRORS, ENDING = (
    512,
    3,
    "Nothing can be embedded while the program ends ({error}).",
)


class MiniLM:
    """Vectors of English text from the model in the package, loaded on first need."""

    id, dimension = "all-MiniLM-L6-v2/nb8", 384

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._lock = folder or MODEL_FOLDER, threading.Lock()
        self._loader = ThreadPoolExecutor(1, "load-model")
        self._loading: Future[Model] | None = None
        self._recent: dict[bytes, bytes | None] = {}
        """The results of the texts seen last, by the hash of the text; the latest stand at the end."""

    @property
    def ready(self) -> bool:
        return (
            self._loading is not None and self._loading.done() and self._loading.exception() is None
        )

    def wait(self, timeout_s: float) -> bool:
        """Load if need be and say whether the model is ready in that time; `embed` then raises why it is not."""
        try:
            self._load().result(timeout_s)
        except (EmbedderDown, TimeoutError):
            return False
        return True

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """A unit vector per text as little-endian float32, None where the model understands too little."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            known = {
                key: self._recent.pop(key) for key in dict.fromkeys(keys) if key in self._recent
            }
            self._recent |= known
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = dict(
                zip(missing, self._load().result().embed(list(missing.values())), strict=True)
            )
            known |= made
            with self._lock:
                self._recent |= made
                for oldest in list(self._recent)[:-RECENT_TEXTS]:
                    del self._recent[oldest]
        return [known[key] for key in keys]

    def _load(self) -> Future[Model]:
        """The model on its way, from a thread of its own; after a failure anew, for its cause may be repaired."""
        with self._lock:
            if self._loading is None or (self._loading.done() and not self.ready):
                with translated(RuntimeError, EmbedderDown, ENDING):
                    self._loading = self._loader.submit(Model, self._folder)
            return self._loading


class Model:
    """The tokenizer and the network of a folder, its files checked first; ready for use by any thread."""

    def __init__(self, folder: Path) -> None:
        verify(path := folder / MODEL_FILE, MODEL_DIGEST)
        verify(folder / VOCAB_FILE, VOCAB_DIGEST)
        self._tokenizer = WordPiece(folder / VOCAB_FILE)
        # From 1.29 on, onnxruntime reports home and writes into the home folder unless told not to.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        missing = "The embedding model needs numpy and onnxruntime; reinstall memolith ({error})."
        with translated(ImportError, EmbedderDown, missing):
            # Here and not above: these cost 0.15 s and 35 MB, which a program that embeds nothing must not pay.
            import numpy
            import onnxruntime
        # The errors of onnxruntime have no root of their own.
        kinds = vars(onnxruntime.capi.onnxruntime_pybind11_state).values()
        self._errors = tuple(
            kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Exception)
        )
        self._array = numpy.array
        # A query need not wait for the batches of documents, while many threads together cannot fill the memory.
        self._slots = threading.BoundedSemaphore(BULK_THREADS + 1)
        unfit = f"onnxruntime {onnxruntime.__version__} cannot load {path}; update it ({{error}})."
        with translated(self._errors, EmbedderDown, unfit):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = LOG_ERRORS
            # A plan kept for every shape seen costs memory and saves no time; the arena, however, saves both.
            options.enable_mem_pattern = False
            # A spinning thread would burn a core between two runs.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self._session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        rows = [self._tokenizer.ids(text, MAX_TOKENS) for text in texts]
        planned = list(
            batches(
                {
                    place: len(row)
                    for place, row in enumerate(rows)
                    if share(row, {UNKNOWN}) <= MAX_UNKNOWN
                    and share(row, self._tokenizer.foreign) <= MAX_FOREIGN
                }
            )
        )
        # Many batches go on two threads, for the network itself keeps to one. Never on the caller's thread: the end of
        # the process waits for a pool, and would abort in native code.
        with (
            translated(RuntimeError, EmbedderDown, ENDING),
            ThreadPoolExecutor(
                BULK_THREADS if len(planned) >= BULK_BATCHES else 1, "memolith-embed"
            ) as pool,
        ):
            found = list(
                pool.map(self._vectors, [[rows[place] for place in batch] for batch in planned])
            )
        made = dict(zip(chain.from_iterable(planned), chain.from_iterable(found), strict=True))
        return [made.get(place) for place in range(len(rows))]

    def _vectors(self, rows: Sequence[Sequence[int]]) -> list[bytes]:
        width = max(map(len, rows))
        ids = [[*row, *[0] * (width - len(row))] for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        with (
            self._slots,
            translated(self._errors, EmbedderDown, "The embedding model cannot run now ({error})."),
        ):
            inputs = {
                "input_ids": self._array(ids, "int64"),
                "attention_mask": self._array(mask, "int64"),
            }
            found = self._session.run(["embedding"], inputs)[0]
        return [vector.astype("<f4").tobytes() for vector in found]


def verify(path: Path, digest: str) -> None:
    """Raises EmbedderDown unless the file is there and has that sha256."""
    with translated(
        OSError,
        EmbedderDown,
        f"The model file {path} cannot be read; reinstall memolith ({{error}}).",
    ):
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise EmbedderDown(
            f"The model file {path} is damaged or of another version; reinstall memolith."
        )


def batches(lengths: Mapping[int, int]) -> Iterator[list[int]]:
    """The places grouped so that rows of nearly the same length run together, the longest first."""
    batch: list[int] = []
    for place in sorted(lengths, key=lengths.__getitem__, reverse=True):
        width, rows = lengths[batch[0]] if batch else 0, len(batch) + 1
        if batch and (
            rows > BATCH_ROWS
            or width * rows > BATCH_TOKENS
            or width - lengths[place] > BATCH_PADDING
        ):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
