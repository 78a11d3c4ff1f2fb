"""Vectors from an OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, LM Studio and many others."""

from __future__ import annotations

import array
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memolith.errors import EmbedderDown

BATCH = 64
TRIES = 3
SEARCH_S = 5.0
LONGEST_PAUSE_S = 5.0
QUIET_FACTOR = 2


class HttpEmbedder:
    """Asks `POST {url}/embeddings` for vectors."""

    def __init__(self, url: str, model: str, key: str = "", dimension: int = 0, timeout_s: float = 20.0) -> None:
        # httpx2 costs 0.1 CPU seconds to import, and only this embedder needs it.
        import httpx2
        self._errors = httpx2
        self._model = model
        self._quiet_until = 0.0
        if not key.isascii() or not key.isprintable():
            raise EmbedderDown("embedder_key has characters that no HTTP header can carry; check it.")
        with self._translated():
            self._client = httpx2.Client(base_url=url.rstrip("/"), timeout=timeout_s, trust_env=False,
                                         headers={"Authorization": f"Bearer {key}"} if key else {})
        self._timeout_s = timeout_s
        self._known_dimension = dimension

    @property
    def dimension(self) -> int:
        """How long the vectors are; asked for once, if the settings do not say."""
        if not self._known_dimension:
            self._known_dimension = len(self._vectors(["dimension"])[0])
        return self._known_dimension

    @property
    def id(self) -> str:
        """The model's name; vectors of another length are those of another model, whatever the server calls it."""
        return f"http/{self._model}/{self.dimension}"

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    @property
    def ready(self) -> bool:
        """Whether the embedder has not just failed."""
        return time.monotonic() >= self._quiet_until

    def wait(self, timeout_s: float) -> bool:
        """Whether the embedder has not just failed; there is nothing to load."""
        return self.ready

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """One unit vector per text; None for a text that is empty or means nothing to the model."""
        wanted = [text for text in texts if text.strip()]
        made: list[bytes | None] = []
        for start in range(0, len(wanted), BATCH):
            made += self._request(wanted[start:start + BATCH])
        rest = iter(made)
        return [next(rest) if text.strip() else None for text in texts]

    def _request(self, texts: list[str]) -> list[bytes | None]:
        vectors = self._vectors(texts)
        for vector in vectors:
            if len(vector) != self.dimension:
                raise EmbedderDown(f"{self.id} gave a vector of {len(vector)} numbers where {self.dimension} were "
                                   "expected; set embedder_dimension or use another model.")
        return [_unit(vector) for vector in vectors]

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        for attempt in range(1, TRIES + 1):
            with self._translated():
                # Somebody waits for a search; a bulk may take its time.
                patience = min(self._timeout_s, SEARCH_S) if len(texts) <= 4 else self._timeout_s
                answer = self._client.post("/embeddings", json={"model": self._model, "input": texts},
                                           timeout=patience)
            if answer.status_code not in (429, 500, 502, 503, 504) or attempt == TRIES:
                break
            time.sleep(_pause(answer.headers.get("retry-after"), attempt))
        if answer.status_code != 200:
            raise EmbedderDown(f"The embedder answered HTTP {answer.status_code}; check embedder_url, embedder_model "
                               "and embedder_key.")
        return _parsed(answer, len(texts))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        except self._errors.TimeoutException as error:
            # Searches go on without it for a while, so that not every one of them waits as long.
            self._quiet_until = time.monotonic() + QUIET_FACTOR * (time.monotonic() - started)
            raise EmbedderDown("The embedder did not answer in time.") from error
        except (self._errors.HTTPError, self._errors.InvalidURL) as error:
            raise EmbedderDown("The embedder cannot be reached; check embedder_url and that it runs.") from error


def _parsed(answer: Any, count: int) -> list[list[float]]:
    try:
        rows = sorted(answer.json()["data"], key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise EmbedderDown("The embedder's answer is not in OpenAI's form.") from error
    if len(vectors) != count or not all(vector and all(map(math.isfinite, vector)) for vector in vectors):
        raise EmbedderDown(f"The embedder gave {len(vectors)} usable vectors for {count} texts.")
    return vectors


def _unit(vector: list[float]) -> bytes | None:
    """The vector with length one, or None where it has no direction."""
    length = math.hypot(*vector)
    if not length:
        return None
    made = array.array("f", (number / length for number in vector))
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def _pause(asked: str | None, attempt: int) -> float:
    """As long as the server asks for, or a little longer each time."""
    usual: float = 0.2 * 2 ** attempt
    try:
        wanted = float(asked) if asked else usual
    except ValueError:
        return usual
    return min(wanted, LONGEST_PAUSE_S) if wanted >= 0 else usual
