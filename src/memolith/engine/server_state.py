"""What the owner of a server wants to know about it: its settings and its tenants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.callers import MACHINE_TENANT, Caller
from memolith.domain.queries import Filter
from memolith.engine.shown_setting import ShownSetting
from memolith.errors import Denied
from memolith.ports.client_keys import ClientKeys
from memolith.ports.store import Store


class TenantSize(NamedTuple):
    """How much a tenant has."""

    tenant: str
    events: int
    items: int
    keys: int


class TenantPage(NamedTuple):
    """A stretch of the list of tenants, and how many there are in all."""

    tenants: tuple[TenantSize, ...]
    total: int


@dataclass(frozen=True)
class ServerState:
    """Tells about the server as a whole.

    The tenant of this machine owns the server. The admins of other tenants see their own only.
    """

    store: Store
    keys: Callable[[], ClientKeys]
    shown_settings: Callable[[], Sequence[ShownSetting]]
    disk_sizes: Callable[[], dict[str, int]]
    address: Callable[[], str]
    """Where clients reach the server; empty if there is none."""

    def settings(self, caller: Caller) -> Sequence[ShownSetting]:
        """Every setting of the server, for its owner."""
        if caller.tenant != MACHINE_TENANT:
            raise Denied("Only an admin of the tenant that owns this server sees its settings.")
        return self.shown_settings()

    def sizes(self, caller: Caller) -> dict[str, int]:
        """How many bytes the store has on disk, for its owner."""
        return self.disk_sizes() if caller.tenant == MACHINE_TENANT else {}

    def tenants(self, caller: Caller, limit: int, offset: int = 0) -> TenantPage:
        """The tenants that the caller may know of, in the order of their names."""
        names = [caller.tenant]
        if caller.tenant == MACHINE_TENANT:
            with self.store.reading(None) as rows:
                names = sorted({*rows.tenants(), caller.tenant})
        keys = [key.tenant for key in self.keys().all() if not key.revoked]
        shown = names[offset : offset + limit]
        return TenantPage(
            tuple(self._size(tenant, keys.count(tenant)) for tenant in shown), len(names)
        )

    def _size(self, tenant: str, keys: int) -> TenantSize:
        everybody = Caller(tenant, admin=True)
        with self.store.reading(tenant) as rows:
            counts = rows.count_items_by(everybody, Filter(forgotten=None), "kind")
            return TenantSize(tenant, rows.last_seq(tenant), sum(counts.values()), keys)
