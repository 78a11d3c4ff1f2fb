"""The judge of deep search: a small network that reads a question and a passage together."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memolith.errors import EmbedderDown, translated
from memolith.retrieval.embedding.minilm import MODEL_FOLDER, VOCAB_DIGEST, VOCAB_FILE, batches
from memolith.retrieval.embedding.network import Network, verify
from memolith.retrieval.embedding.wordpiece import WordPiece

JUDGE_FILE = "judge.onnx"
JUDGE_DIGEST = "59beb3b3825edb30dc57f7127430ad1139944ae2b7b71d9635a7c0d1ed9f5542"

MAX_QUESTION_TOKENS = 64
MAX_PASSAGE_TOKENS = 140

PROGRAM_ENDS = "Nothing can be judged while the program ends ({error})."


class CrossEncoder:
    """Judges with the network in the package, which is loaded on first need."""

    def __init__(self, folder: Path = MODEL_FOLDER) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Network] | None = None

    def judge(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return a verdict for each passage; above 0 it rather answers than not."""
        # Never in the caller's thread: the end of the process waits for a pool, and would
        # otherwise abort in native code.
        with (
            translated(RuntimeError, EmbedderDown, PROGRAM_ENDS),
            ThreadPoolExecutor(1, "memolith-judge") as pool,
        ):
            return pool.submit(self._verdicts, question, passages).result()

    def _verdicts(self, question: str, passages: Sequence[str]) -> list[float]:
        tokenizer, network = self._load()
        asked = tokenizer.ids(question, MAX_QUESTION_TOKENS)
        rows = [[*asked, *tokenizer.ids(text, MAX_PASSAGE_TOKENS)[1:]] for text in passages]
        verdicts = [0.0] * len(rows)
        for batch in batches({place: len(row) for place, row in enumerate(rows)}):
            relevance = network.run([rows[place] for place in batch], "relevance")
            for place, verdict in zip(batch, relevance, strict=True):
                verdicts[place] = float(verdict[0])
        return verdicts

    def _load(self) -> tuple[WordPiece, Network]:
        with self._lock:
            if self._loaded is None:
                verify(self._folder / VOCAB_FILE, VOCAB_DIGEST)
                tokenizer = WordPiece(self._folder / VOCAB_FILE)
                network = Network(self._folder / JUDGE_FILE, JUDGE_DIGEST)
                self._loaded = (tokenizer, network)
            return self._loaded
