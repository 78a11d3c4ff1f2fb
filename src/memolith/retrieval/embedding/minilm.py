"""The embedder in the package: a small network with 8-bit weights, on the CPU, without network.

It is all-MiniLM-L6-v2, trained further to find what answers a question; `training` has how.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from memolith.errors import EmbedderDown, translated
from memolith.retrieval.embedding.network import BULK_THREADS, Network, verify
from memolith.retrieval.embedding.wordpiece import UNKNOWN, WordPiece, share

MODEL_FILE = "embedder.onnx"
MODEL_PACKAGE = "memolith_model"
"""The networks are released as a package of their own, because they change seldom."""
MODEL_DIGEST = "78e362e23deca259a8fdba1beb671a2408e036c67928f2b3e3e7cd2bc17a8f22"
VOCAB_FILE = "vocab.txt"
VOCAB_DIGEST = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def find_model_folder(beside: Path) -> Path:
    """Where the networks are: beside the code in a checkout, in their own package otherwise."""
    if (beside / MODEL_FILE).exists():
        return beside
    package = find_spec(MODEL_PACKAGE)
    if package is None or package.origin is None:
        return beside
    return Path(package.origin).parent


MODEL_FOLDER = find_model_folder(Path(__file__).parent / "model")

MAX_TOKENS = 256
"""The model reads this much of a text."""

MAX_UNKNOWN_SHARE = 0.3
"""A text with more unknown tokens gets no vector."""

MAX_FOREIGN_SHARE = 0.7
"""A text with more letters of other scripts gets no vector.

Arabic, Cyrillic or Korean become single letters, not unknown tokens. A foreign name in an English
text is no obstacle.
"""

BATCH_ROWS = 32
BATCH_TOKENS = 256
"""Larger batches are no faster: the 8-bit weights are limited by arithmetic. 2048 tokens cost 80 MB
more."""

MAX_PADDING_TOKENS = 2
"""Texts that differ by more tokens do not share a run: a padding token costs as much as any other,
and a run as much as a few tokens."""

MIN_BULK_BATCHES = 4
"""With fewer batches a second thread saves less than it costs."""

RECENT_TEXTS = 512
"""The vectors of this many texts are remembered."""

PROGRAM_ENDS = "Nothing can be embedded while the program ends ({error})."


class MiniLM:
    """Makes vectors of English text with the model in the package, loaded on first need."""

    id = "memolith-embedder-2"
    dimension = 384

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or MODEL_FOLDER
        self._lock = threading.Lock()
        self._loader = ThreadPoolExecutor(1, "load-model")
        self._loading: Future[OnnxModel] | None = None
        self._recent: dict[bytes, bytes | None] = {}
        """The vectors of the latest texts by the hash of the text, the latest at the end."""

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        loading = self._loading
        return loading is not None and loading.done() and loading.exception() is None

    def wait(self, timeout_s: float) -> bool:
        """Load the model if need be, and return whether it is ready in that time.

        If it is not, `embed` raises the reason.
        """
        try:
            self._load().result(timeout_s)
        except (EmbedderDown, TimeoutError):
            return False
        return True

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return a unit vector for each text as little-endian float32.

        None stands for a text of which the model understands too little.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        vectors = self._recall(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            model = self._load().result()
            made = dict(zip(missing, model.embed(list(missing.values())), strict=True))
            self._remember(made)
            vectors.update(made)
        return [vectors[key] for key in keys]

    def _recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        """The vectors that are remembered; they become the latest ones."""
        with self._lock:
            vectors = {
                key: self._recent.pop(key) for key in dict.fromkeys(keys) if key in self._recent
            }
            self._recent.update(vectors)
        return vectors

    def _remember(self, vectors: Mapping[bytes, bytes | None]) -> None:
        with self._lock:
            self._recent.update(vectors)
            for oldest in list(self._recent)[:-RECENT_TEXTS]:
                del self._recent[oldest]

    def _load(self) -> Future[OnnxModel]:
        """Start loading the model in a thread of its own.

        After a failure it is tried again, because somebody may have repaired the cause.
        """
        with self._lock:
            if self._loading is None or (self._loading.done() and not self.ready):
                with translated(RuntimeError, EmbedderDown, PROGRAM_ENDS):
                    self._loading = self._loader.submit(OnnxModel, self._folder)
            return self._loading


class OnnxModel:
    """The tokenizer and the network of a folder, whose files are checked first.

    Any number of threads may use it.
    """

    def __init__(self, folder: Path) -> None:
        self._network = Network(folder / MODEL_FILE, MODEL_DIGEST)
        verify(folder / VOCAB_FILE, VOCAB_DIGEST)
        self._tokenizer = WordPiece(folder / VOCAB_FILE)

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return a unit vector for each text, or None if too little of it is understood."""
        rows = [self._tokenizer.ids(text, MAX_TOKENS) for text in texts]
        lengths = {place: len(row) for place, row in enumerate(rows) if self._understands(row)}
        planned = list(batches(lengths))
        threads = BULK_THREADS if len(planned) >= MIN_BULK_BATCHES else 1
        # Always in a pool, never in the caller's thread: the end of the process waits for a pool,
        # and would otherwise abort in native code. The network itself uses one thread only.
        with (
            translated(RuntimeError, EmbedderDown, PROGRAM_ENDS),
            ThreadPoolExecutor(threads, "memolith-embed") as pool,
        ):
            rows_of_batches = [[rows[place] for place in batch] for batch in planned]
            vectors_of_batches = list(pool.map(self._vectors, rows_of_batches))
        vectors: list[bytes | None] = [None] * len(rows)
        for batch, made in zip(planned, vectors_of_batches, strict=True):
            for place, vector in zip(batch, made, strict=True):
                vectors[place] = vector
        return vectors

    def _understands(self, row: Sequence[int]) -> bool:
        if share(row, {UNKNOWN}) > MAX_UNKNOWN_SHARE:
            return False
        return share(row, self._tokenizer.foreign) <= MAX_FOREIGN_SHARE

    def _vectors(self, rows: Sequence[Sequence[int]]) -> list[bytes]:
        vectors = self._network.run(rows, "embedding")
        return [vector.astype("<f4").tobytes() for vector in vectors]


def batches(lengths: Mapping[int, int]) -> Iterator[list[int]]:
    """Group places so that rows of nearly the same length run together, the longest first."""
    batch: list[int] = []
    for place in sorted(lengths, key=lengths.__getitem__, reverse=True):
        if batch and not _fits_into(batch, place, lengths):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _fits_into(batch: Sequence[int], place: int, lengths: Mapping[int, int]) -> bool:
    width = lengths[batch[0]]
    rows = len(batch) + 1
    if rows > BATCH_ROWS or width * rows > BATCH_TOKENS:
        return False
    return width - lengths[place] <= MAX_PADDING_TOKENS
