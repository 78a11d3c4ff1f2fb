"""What seals the values of the vault."""

from typing import Protocol


class Cipher(Protocol):
    """Keeps values secret."""

    def seal(self, value: str, context: str) -> str:
        """The value as ciphertext, which opens only in the same context."""

    def open(self, sealed: str, context: str) -> str:
        """The value; Unavailable without its key, StoreCorrupt if it was changed or moved."""

    def fits(self, sealed: str) -> bool:
        """Whether the key that sealed this value is here."""

    def fresh(self, type: str) -> str:
        """A new random value for a secret of this type."""
