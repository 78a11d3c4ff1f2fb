"""The model that turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def id(self) -> str:
        """The name of the model; vectors of different names cannot be compared."""
        ...

    @property
    def dimension(self) -> int:
        """The length of the vectors."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Return whether the model is ready, after at most that long."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes | None]:
        """Return a unit vector for each text as little-endian float32.

        None stands for a text of which the model understands too little.
        """
        ...
