"""Rows of vectors."""

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

from memolith.domain.passages import PassageRef


class EmbeddingInput(NamedTuple):
    """A passage as the embedder sees it."""

    ref: PassageRef
    text: str
    digest: bytes | None
    """The digest of the text that the passage's vector was made from; None if it has none."""


class NewVector(NamedTuple):
    """A vector, in the form in which the store keeps it, for a passage that has none."""

    ref: PassageRef
    digest: bytes
    """The digest of the text that it was made from."""
    v: str | bytes


class VectorPlace(NamedTuple):
    """Whose vector it is: a passage of a tenant."""

    tenant: str
    passage: PassageRef


class VectorRows(Protocol):
    """Reads which passages have a vector, and of which model."""

    def vector_by_digest(self, tenant: str, digest: bytes, model: str) -> str | bytes | None:
        """The vector that the same text got before, in the form in which the store keeps it."""
        ...

    def vectors_by_digest(
        self, tenant: str, digests: Collection[bytes], model: str
    ) -> dict[bytes, str | bytes]:
        """The vectors that these texts got before, by their digests; those without are left out."""
        ...

    def unembedded(self, tenant: str, stream: str, model: str) -> list[EmbeddingInput]:
        """The passages of an item, each with the digest of what its vector was made from."""
        ...

    def unembedded_of(
        self, tenant: str, streams: Collection[str], model: str
    ) -> dict[str, list[EmbeddingInput]]:
        """The same for several items at once, by their ids."""
        ...

    def models(self) -> dict[str, int]:
        """How many vectors of each model there are."""
        ...

    def items_without_vectors(self, tenant: str, model: str, after: str, limit: int) -> list[str]:
        """The next items after an id that have no vector of this model."""
        ...

    def vectors_of_other_models(self, model: str, limit: int) -> list[VectorPlace]:
        """Some of the vectors that other models made."""
        ...


class VectorRowsWriter(Protocol):
    """Keeps vectors."""

    def put_vector(self, ref: PassageRef, model: str, digest: bytes, v: str | bytes | None) -> None:
        """Give a passage its vector; None if the model can make nothing of its text."""
        ...

    def put_new_vectors(self, model: str, vectors: Iterable[NewVector]) -> None:
        """Give passages that have no vector of this model theirs, all at once."""
        ...

    def queue_missing_vectors(self, ids: Collection[str], now: str) -> None:
        """Queue these items of the tenant to be embedded."""
        ...

    def drop_vectors_of_other_models(self, model: str, places: Collection[VectorPlace]) -> None:
        """Remove the vectors of these passages that are not of this model."""
        ...
