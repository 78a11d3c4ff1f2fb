"""Vectors and the columns of their items, in blocks of columns."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from memolith.ports.vector_slots import Slot, SlotItem
from memolith.retrieval.vectors.encoding import Array, microseconds, sign_bits, word_code

BLOCK_SLOTS = 8192
"""How many slots a block has."""

ADDED_AT_ONCE = 512
"""How many slots are read from the database at a time. More would leave the memory of the process
in pieces that it cannot give back."""

WORD_COLUMNS = ("tenant", "kind", "status", "owner", "sees", "project", "namespace", "speaker")
"""The columns with words, which are kept as their codes."""


class Slots:
    """A growing number of slots. A slot is a vector with what filters ask for.

    The columns of a block are arrays: `rows` has the vectors as int8, `norm` their lengths, and
    `bits` their signs, word by word. A slot that is not used, or no longer, has the tenant 0.
    """

    def __init__(self, dimension: int, blocks: Array | None = None) -> None:
        if blocks is None:
            blocks = np.zeros(0, block_type(dimension))
        self.blocks = blocks
        self.count = len(blocks) * BLOCK_SLOTS

    def add(self, slots: Iterable[Slot]) -> None:
        """Put slots at the end."""
        left = iter(slots)
        while batch := list(islice(left, ADDED_AT_ONCE)):
            self._add_batch(batch)

    def _add_batch(self, slots: Sequence[Slot]) -> None:
        end = self.count + len(slots)
        self._grow(end)
        place = np.divmod(np.arange(self.count, end), BLOCK_SLOTS)
        columns = dict(zip(Slot._fields, zip(*slots, strict=True), strict=True))
        for name in ("id", "item", "forgotten"):
            self.blocks[name][place] = columns[name]
        for name in WORD_COLUMNS:
            self.blocks[name][place] = [word_code(word) for word in columns[name]]
        self.blocks["at"][place] = [microseconds(at) for at in columns["at"]]
        rows = np.frombuffer(b"".join(columns["vector"]), "i1").reshape(len(slots), -1)
        self.blocks["rows"][place] = rows
        self.blocks["norm"][place] = np.linalg.norm(rows.astype("f4"), axis=1)
        block, slot = place
        self.blocks["bits"][block, :, slot] = sign_bits(rows)
        self.count = end

    def update(self, items: Iterable[SlotItem]) -> None:
        """Take over the columns of changed items."""
        changed = {item.item: item for item in items}
        for block, slot in np.argwhere(np.isin(self.blocks["item"], list(changed))):
            item = changed[int(self.blocks["item"][block, slot])]
            self.blocks["forgotten"][block, slot] = item.forgotten
            for name in WORD_COLUMNS:
                # The speaker belongs to the passage, not to the item.
                if name != "speaker":
                    self.blocks[name][block, slot] = word_code(getattr(item, name))

    def bury(self, ids: Sequence[int]) -> None:
        """Give vectors to no tenant and no item, so that no search and no change finds them."""
        gone = np.isin(self.blocks["id"], ids)
        self.blocks["tenant"][gone] = 0
        self.blocks["item"][gone] = 0

    def _grow(self, count: int) -> None:
        """Make room for that many slots."""
        missing_blocks = -(-count // BLOCK_SLOTS) - len(self.blocks)
        if missing_blocks > 0:
            empty = np.zeros(missing_blocks, self.blocks.dtype)
            self.blocks = np.concatenate((self.blocks, empty))


def block_type(dimension: int) -> np.dtype[np.void]:
    """Return the layout of a block, in memory and in a snapshot file."""
    words_per_vector = -(-dimension // 64)
    return np.dtype(
        [
            ("id", "<i8", BLOCK_SLOTS),
            ("item", "<i8", BLOCK_SLOTS),
            ("at", "<i8", BLOCK_SLOTS),
            *[(name, "<u4", BLOCK_SLOTS) for name in WORD_COLUMNS],
            ("forgotten", "u1", BLOCK_SLOTS),
            ("norm", "<f4", BLOCK_SLOTS),
            ("bits", "<u8", (words_per_vector, BLOCK_SLOTS)),
            ("rows", "i1", (BLOCK_SLOTS, dimension)),
        ]
    )
