"""Rows of vectors."""

from typing import Protocol


class VectorRows(Protocol):
    """Reads which passages have a vector, and of which model."""

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None: ...
    def unembedded(
        self, tenant: str, stream: str, model: str
    ) -> list[tuple[int, str, bytes | None]]: ...
    def models(self) -> dict[str, int]: ...


class VectorRowsWriter(Protocol):
    """Keeps vectors."""

    def put_vector(self, ref: int, model: str, digest: bytes, v: str | bytes | None) -> None: ...
