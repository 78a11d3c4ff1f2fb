"""Vectors from an OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, LM Studio and many others."""

from __future__ import annotations

import array
import hashlib
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memolith.errors import EmbedderDown

BATCH = 64
TRIES = 3
LONGEST_PAUSE_S = 5.0


class HttpEmbedder:
    """Asks `POST {url}/embeddings` for vectors."""

    def __init__(self, url: str, model: str, key: str = "", dimension: int = 0, timeout_s: float = 20.0) -> None:
        # httpx2 costs 0.1 CPU seconds to import, and only this embedder needs it.
        import httpx2
        self._errors = httpx2
        self._model = model
        self._client = httpx2.Client(base_url=url.rstrip("/"), timeout=timeout_s, trust_env=False,
                                     headers={"Authorization": f"Bearer {key}"} if key else {})
        self.id = f"http/{model}"
        self.digest = hashlib.sha256(f"{url} {model}".encode()).hexdigest()
        self.dimension = dimension or self._ask_dimension()

    @property
    def ready(self) -> bool:
        """There is nothing to load here."""
        return True

    def wait(self, timeout_s: float) -> bool:
        """There is nothing to load here."""
        return True

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """One unit vector per text; None for a text without content."""
        wanted = [text for text in texts if text.strip()]
        made: list[bytes] = []
        for start in range(0, len(wanted), BATCH):
            made += self._request(wanted[start:start + BATCH])
        rest = iter(made)
        return [next(rest) if text.strip() else None for text in texts]

    def _ask_dimension(self) -> int:
        return len(self._vectors(["dimension"])[0])

    def _request(self, texts: list[str]) -> list[bytes]:
        vectors = self._vectors(texts)
        for vector in vectors:
            if len(vector) != self.dimension:
                raise EmbedderDown(f"{self.id} gave a vector of {len(vector)} numbers where {self.dimension} were "
                                   "expected; set embedder_dimension or use another model.")
        return [_unit(vector) for vector in vectors]

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        for attempt in range(1, TRIES + 1):
            with self._translated():
                answer = self._client.post("/embeddings", json={"model": self._model, "input": texts})
            if answer.status_code in (429, 500, 502, 503, 504) and attempt < TRIES:
                time.sleep(_pause(answer.headers.get("retry-after"), attempt))
                continue
            break
        if answer.status_code != 200:
            raise EmbedderDown(f"The embedder answered HTTP {answer.status_code}; check embedder_url, embedder_model "
                               "and embedder_key.")
        return _parsed(answer, len(texts))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._errors.TimeoutException as error:
            raise EmbedderDown("The embedder did not answer in time.") from error
        except (self._errors.HTTPError, self._errors.InvalidURL) as error:
            raise EmbedderDown("The embedder cannot be reached; check embedder_url and that it runs.") from error


def _parsed(answer: Any, count: int) -> list[list[float]]:
    try:
        rows = sorted(answer.json()["data"], key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderDown("The embedder's answer is not in OpenAI's form.") from error
    if len(vectors) != count or not all(math.isfinite(number) for vector in vectors for number in vector):
        raise EmbedderDown(f"The embedder gave {len(vectors)} usable vectors for {count} texts.")
    return vectors


def _unit(vector: list[float]) -> bytes:
    length = math.sqrt(sum(number * number for number in vector)) or 1.0
    made = array.array("f", (number / length for number in vector))
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def _pause(asked: str | None, attempt: int) -> float:
    """As long as the server asks for, or a little longer each time."""
    try:
        return min(float(asked or 0.2 * 2 ** attempt), LONGEST_PAUSE_S)
    except ValueError:
        return 1.0
