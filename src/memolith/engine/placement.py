"""Where tenants live, and which moves would fill databases evenly."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

MAX_UNEVENNESS = 1.2
"""Nothing is proposed for a database that has less than this times its share."""

MAX_PROPOSALS = 10


class TenantPlace(NamedTuple):
    """A tenant, the database that it lives in, and about how large it is there."""

    tenant: str
    database: str
    events: int
    bytes: int


class ProposedMove(NamedTuple):
    """A tenant that would better live in another database."""

    tenant: str
    source: str
    target: str
    bytes: int


def proposed_moves(places: Sequence[TenantPlace], databases: Sequence[str]) -> list[ProposedMove]:
    """Moves from the fullest database to the emptiest, until all have about the same.

    Each takes the largest tenant that does not make the emptiest one fuller than its share.
    """
    tenants: dict[str, list[TenantPlace]] = defaultdict(list)
    for place in places:
        tenants[place.database].append(place)
    used = {name: sum(place.bytes for place in tenants[name]) for name in databases}
    share = sum(used.values()) / max(1, len(databases))
    moves: list[ProposedMove] = []
    while len(moves) < MAX_PROPOSALS:
        fullest = max(databases, key=used.__getitem__)
        emptiest = min(databases, key=used.__getitem__)
        if used[fullest] <= share * MAX_UNEVENNESS:
            break
        room = share - used[emptiest]
        fitting = [place for place in tenants[fullest] if 0 < place.bytes <= room]
        if not fitting:
            break
        chosen = max(fitting, key=lambda place: (place.bytes, place.tenant))
        tenants[fullest].remove(chosen)
        used[fullest] -= chosen.bytes
        used[emptiest] += chosen.bytes
        moves.append(ProposedMove(chosen.tenant, fullest, emptiest, chosen.bytes))
    return moves
