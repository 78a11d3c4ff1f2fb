"""An embedder behind HTTP."""

import json
import math
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field, FiniteFloat, TypeAdapter

from memolith.analysts.openai.client import Endpoint, OpenAIClient
from memolith.errors import EmbedderDown, translated

MAX_TEXTS_PER_REQUEST = 64
MAX_TEXTS_OF_SEARCH = 4
"""So few texts come from a search, for which somebody waits."""

SEARCH_TIMEOUT_S = 5.0
VECTORS = TypeAdapter(list[Annotated[list[FiniteFloat], Field(min_length=1)]])


class HttpEmbedder:
    """Asks `POST {url}/embeddings` for vectors."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        dimension: int | None = None,
        timeout_s: float = 20.0,
    ) -> None:
        self._client = OpenAIClient(Endpoint(url, model, key, timeout_s), "embedder", EmbedderDown)
        self._configured_dimension = dimension

    @cached_property
    def dimension(self) -> int:
        """The length of the vectors; the server is asked for one, if the settings do not say."""
        if self._configured_dimension:
            return self._configured_dimension
        return len(self._vectors(["dimension"])[0])

    @property
    def id(self) -> str:
        """The name of the model. With vectors of another length it is another model."""
        return f"http/{self._client.endpoint.model}/{self.dimension}"

    def wait(self, timeout_s: float) -> bool:
        """Whether the server has not just failed to answer; there is nothing to load."""
        return not self._client.is_resting

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return a unit vector for each text, or None if it is empty or means nothing."""
        places = [place for place, text in enumerate(texts) if text.strip()]
        vectors: list[list[float]] = []
        for start in range(0, len(places), MAX_TEXTS_PER_REQUEST):
            batch = places[start : start + MAX_TEXTS_PER_REQUEST]
            vectors += self._vectors([texts[place] for place in batch])
        units: list[bytes | None] = [None] * len(texts)
        for place, vector in zip(places, vectors, strict=True):
            units[place] = self._unit(vector)
        return units

    def _unit(self, vector: list[float]) -> bytes | None:
        """The vector with the length 1 as little-endian float32; None for a vector of zeros."""
        if len(vector) != self.dimension:
            raise EmbedderDown(
                f"{self.id} gave a vector of {len(vector)} numbers where {self.dimension} were "
                "expected; set embedder_dimension or use another model."
            )
        length = math.hypot(*vector)
        if not length:
            return None
        return struct.pack(f"<{len(vector)}f", *(number / length for number in vector))

    def _vectors(self, texts: list[str]) -> list[list[float]]:
        timeout_s = self._client.endpoint.timeout_s
        if len(texts) <= MAX_TEXTS_OF_SEARCH:
            timeout_s = min(timeout_s, SEARCH_TIMEOUT_S)
        answer = self._client.post("/embeddings", {"input": texts}, timeout_s)
        with translated(
            (ValueError, KeyError, TypeError),
            EmbedderDown,
            "The embedder's answer is not in OpenAI's form.",
        ):
            rows = [(int(row["index"]), row["embedding"]) for row in json.loads(answer)["data"]]
            vectors = VECTORS.validate_python([vector for _, vector in sorted(rows)])
        if len(vectors) != len(texts):
            raise EmbedderDown(f"The embedder gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors
