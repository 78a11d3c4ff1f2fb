"""Vectors from an OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, LM Studio and many others."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Sequence
from functools import cached_property

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from memolith.adapters.endpoint import Endpoint
from memolith.errors import EmbedderDown

BATCH = 64
SEARCH_S = 5.0


class Row(BaseModel):
    """One vector of an answer."""

    index: int
    embedding: list[FiniteFloat] = Field(min_length=1)


class Answer(BaseModel):
    """What the endpoint sends, as far as it matters here."""

    data: list[Row]


class HttpEmbedder:
    """Asks `POST {url}/embeddings` for vectors."""

    def __init__(self, url: str, model: str, key: str = "", dimension: int = 0, timeout_s: float = 20.0) -> None:
        self._endpoint = Endpoint("embedder", url, key, EmbedderDown)
        self._model = model
        self._timeout_s = timeout_s
        self._given_dimension = dimension

    @cached_property
    def dimension(self) -> int:
        """How long the vectors are; asked for once, if the settings do not say."""
        return self._given_dimension or len(self._vectors(["dimension"])[0])

    @property
    def id(self) -> str:
        """The model's name; vectors of another length are those of another model, whatever the server calls it."""
        return f"http/{self._model}/{self.dimension}"

    @property
    def ready(self) -> bool:
        """Whether the embedder has not just failed."""
        return time.monotonic() >= self._endpoint.quiet_until

    def wait(self, timeout_s: float) -> bool:
        """Whether the embedder has not just failed; there is nothing to load."""
        return self.ready

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """One unit vector per text; None for a text that is empty or means nothing to the model."""
        wanted = [text for text in texts if text.strip()]
        made = iter([vector for start in range(0, len(wanted), BATCH)
                     for vector in self._vectors(wanted[start:start + BATCH])])
        return [self._unit(next(made)) if text.strip() else None for text in texts]

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        # Somebody waits for a search; a bulk may take its time.
        patience = min(self._timeout_s, SEARCH_S) if len(texts) <= 4 else self._timeout_s
        answer = self._endpoint.post("/embeddings", {"model": self._model, "input": texts}, patience)
        try:
            rows = sorted(Answer.model_validate_json(answer).data, key=lambda row: row.index)
        except ValidationError as error:
            raise EmbedderDown("The embedder's answer is not in OpenAI's form.") from error
        if len(rows) != len(texts):
            raise EmbedderDown(f"The embedder gave {len(rows)} vectors for {len(texts)} texts.")
        return [row.embedding for row in rows]

    def _unit(self, vector: list[float]) -> bytes | None:
        """The vector with length one, little-endian, or None where it has no direction."""
        if len(vector) != self.dimension:
            raise EmbedderDown(f"{self.id} gave a vector of {len(vector)} numbers where {self.dimension} were "
                               "expected; set embedder_dimension or use another model.")
        length = math.hypot(*vector)
        return struct.pack(f"<{len(vector)}f", *(number / length for number in vector)) if length else None
