"""The answers of writing calls, kept so that a repeated call gets its first answer again."""

from typing import NamedTuple, Protocol


class KeptAnswer(NamedTuple):
    """What a call was answered under its idempotency key.

    The key and the request are digests. They are enough to recognise both and tell nothing of
    what they hold.
    """

    actor: str
    key: str
    request: str
    body: str
    """The answer as JSON; empty if it was removed because it quoted an item that was erased."""
    sealed: bool
    """Whether the body is ciphertext, because the answer shows a secret."""
    at: str


class Answers(Protocol):
    """Reads the answers that were kept."""

    def answer(self, tenant: str, actor: str, key: str) -> KeptAnswer | None:
        """What this actor was answered under this key."""
        ...

    def answers(self, tenant: str) -> list[KeptAnswer]:
        """Every answer of the tenant, oldest first."""
        ...

    def has_answers(self, before: str) -> bool:
        """Whether any tenant has an answer that is older than this."""
        ...


class AnswersWriter(Protocol):
    """Keeps and removes answers."""

    def put_answer(self, tenant: str, answer: KeptAnswer) -> None:
        """Keep an answer, in the place of an earlier one under the same key."""
        ...

    def delete_answers(self, before: str) -> None:
        """Remove some of the answers of all tenants that are older than this."""
        ...
