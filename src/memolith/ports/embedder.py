"""The model that turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into unit vectors of little-endian float32, or None where the model understands too little."""

    @property
    def id(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    def wait(self, timeout_s: float) -> bool: ...
    def embed(self, texts: Sequence[str]) -> list[bytes | None]: ...
