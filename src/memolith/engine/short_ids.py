"""Short ids for people: the beginning of an id that no other item of the tenant shares."""

from collections.abc import Sequence

from memolith.domain.callers import Caller
from memolith.errors import InvalidInput
from memolith.ports.store import Reader, Store

MIN_SHOWN_CHARACTERS = 8
MIN_TYPED_CHARACTERS = 4
"""A shorter beginning is taken for a whole id."""
NAMED_IDS = 3
"""How many ids an error names."""


class ShortIds:
    """Shortens ids, and finds the id that a beginning stands for."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def shortened(self, caller: Caller, ids: Sequence[str]) -> dict[str, str]:
        """For each id the shortest beginning, of 8 characters at least, that means only it."""
        with self.store.reading(caller.tenant) as rows:
            return {id: _shortest(rows, caller.tenant, id) for id in ids}

    def whole(self, caller: Caller, beginning: str) -> str:
        """The id that begins so; what begins no id is returned as it is.

        A beginning of several ids that the caller may see is refused.
        """
        if len(beginning) < MIN_TYPED_CHARACTERS:
            return beginning
        with self.store.reading(caller.tenant) as rows:
            if rows.item(caller.tenant, beginning) is not None:
                return beginning
            candidates = _ids_beginning(rows, caller, beginning, NAMED_IDS)
        if not candidates:
            return beginning
        if len(candidates) > 1:
            raise InvalidInput(
                f"{beginning!r} begins several ids, among them {', '.join(candidates)}; type more "
                "of the one you mean.",
                field="id",
                value=beginning,
            )
        return candidates[0]


def _ids_beginning(rows: Reader, caller: Caller, beginning: str, limit: int) -> list[str]:
    """The first ids that begin so, of items that the caller may see."""
    found: list[str] = []
    start = beginning
    while len(found) < limit:
        ids = rows.item_ids_from(caller.tenant, start, limit)
        same = [id for id in ids if id.startswith(beginning)]
        items = rows.items(caller.tenant, same)
        found += [id for id in same if items[id].admits(caller)]
        if len(same) < limit:
            break
        # The next ids come after the last one; nothing comes before it but itself.
        start = same[-1] + "\x01"
    return found[:limit]


def _shared_length(id: str, other: str) -> int:
    """With how many characters both begin."""
    for position, (own, others) in enumerate(zip(id, other, strict=False)):
        if own != others:
            return position
    return min(len(id), len(other))


def _shortest(rows: Reader, tenant: str, id: str) -> str:
    following = [other for other in rows.item_ids_from(tenant, id, 2) if other != id]
    before = rows.item_id_before(tenant, id)
    shared = 0
    for neighbour in (*following, before):
        if neighbour is not None:
            shared = max(shared, _shared_length(id, neighbour))
    return id[: max(MIN_SHOWN_CHARACTERS, shared + 1)]
