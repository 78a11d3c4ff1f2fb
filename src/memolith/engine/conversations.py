"""Conversations: where they lie, how long they are, and which of them can go."""

import re
from datetime import datetime, timedelta
from typing import cast

from memolith.engine.engine import Engine
from memolith.engine.intake import folder_path, when
from memolith.engine.model import Caller, Condition, Filter, Item
from memolith.engine.ports import Place

PINNED, CHARACTERS_PER_TOKEN, PREVIEW = 10, 4, 100
# What is to be deleted rather than archived: of next to no importance, and untouched for long, whatever was asked for.
TRIFLING, LONG_DAYS = 2, 180
# Scripts without spaces between words count by the character.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def below(folder: str | None) -> tuple[Condition, ...]:
    """What lies in the folder or in one below it."""
    path = folder_path(folder or "")
    return () if path == "/" else (Condition("folder", "under", path),)


def stale(engine: Engine, caller: Caller, age_days: int, importance: float, most: int) -> tuple[
        list[tuple[Item, float, str, int, str, str]], int, int]:
    """What can go: its importance, last access, tokens, beginning and what to do; how many there are, all tokens."""
    now = datetime.fromisoformat(engine.clock.now())
    before, long_ago = (when("at", (now - timedelta(days=days)).isoformat())
                        for days in (age_days, max(2 * age_days, LONG_DAYS)))
    chosen = Filter(kinds=("conversation",), statuses=("active",), where=(
        Condition("importance_score", "le", importance), Condition("importance_score", "lt", PINNED)))
    with engine.store.reading(caller.tenant) as rows:
        items = rows.listing(caller, chosen, "updated_at", False, 2**31, counted=False).items
    reads = engine.accesses(caller, [item.id for item in items])
    last = {item.id: max(item.updated_at, reads.get(item.id, (0, ""))[1]) for item in items}
    scores = {item.id: float(cast(float, item.attributes["importance_score"])) for item in items}
    old = sorted((item for item in items if last[item.id] <= before),
                 key=lambda item: (scores[item.id], last[item.id], item.seq))
    with engine.store.reading(caller.tenant) as rows:
        sizes = rows.text_sizes(caller.tenant, [item.id for item in old])
        old = [item for item in old if item.id in sizes]
        firsts = rows.places({Place(sizes[item.id][0].item, n) for item in old[:most] for n in range(3)})
    begins = {item.id: "" for item in old}
    for _, (item, passage) in sorted(firsts.items()):
        begins[item.id] += passage.text if passage.block == 0 else ""
    tokens = {id: -(-length // CHARACTERS_PER_TOKEN) for id, (_, length, _) in sizes.items()}
    return [(item, scores[item.id], last[item.id], tokens[item.id], begins[item.id][:PREVIEW],
             "delete" if scores[item.id] <= TRIFLING and last[item.id] <= long_ago else "archive")
            for item in old[:most]], len(old), sum(tokens.values())
