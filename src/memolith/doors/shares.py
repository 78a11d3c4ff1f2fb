"""How much of the server one key, and one tenant, holds at a time."""

from collections import Counter
from typing import NamedTuple


class Share(NamedTuple):
    """Whose share something counts against: a key, and the tenant that the key belongs to."""

    key: str
    tenant: str


class ShareCount:
    """Counts what each key and each tenant holds, up to a limit for either.

    The limit of the tenant is there because whoever may make keys can make many of them.
    """

    def __init__(self, per_key: int, per_tenant: int) -> None:
        self.per_key = per_key
        self.per_tenant = per_tenant
        self._of_key = Counter[str]()
        self._of_tenant = Counter[str]()

    def held(self, share: Share) -> int:
        """How much the key of a share holds."""
        return self._of_key[share.key]

    def has_room(self, share: Share, amount: int = 1) -> bool:
        return (
            self._of_key[share.key] + amount <= self.per_key
            and self._of_tenant[share.tenant] + amount <= self.per_tenant
        )

    def add(self, share: Share, amount: int = 1) -> None:
        self._of_key[share.key] += amount
        self._of_tenant[share.tenant] += amount

    def remove(self, share: Share, amount: int = 1) -> None:
        self._of_key[share.key] -= amount
        self._of_tenant[share.tenant] -= amount
        # What is zero is not kept: keys come and go.
        if not self._of_key[share.key]:
            del self._of_key[share.key]
        if not self._of_tenant[share.tenant]:
            del self._of_tenant[share.tenant]
