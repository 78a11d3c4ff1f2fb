"""Memories that say the same become one, or get a summary: planned first, then done exactly as planned."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.claims import contradicts
from memolith.engine.engine import Engine
from memolith.engine.insights import ALIKE, ON_TOPIC, grouped
from memolith.engine.recall import SIDE
from memolith.engine.titles import headline
from memolith.errors import Unavailable, VersionConflict
from memolith.ports.items import MOST_LISTED

# Memories that belong together, the oldest first, how similar they are at least, and what is made of them.
Group = tuple[list[Item], float, str]
LINKS = {"merge": "Supersedes", "dedupe": "Supersedes", "summarize": "RelatesTo"}


def plan(
    engine: Engine,
    caller: Caller,
    chosen: Filter,
    strategy: str,
    query: str,
    tell: Callable[[int, int], None],
) -> tuple[list[Group], list[str]]:
    """What a consolidation would do with a caller's own memories, and what he should know."""
    summing = strategy == "summarize"
    chosen = replace(
        chosen,
        owner=caller.user,
        where=tuple(
            Condition(name, "eq", None) for name in ("is_summary", "summarized_in")[: 1 + summing]
        ),
    )
    if query not in ("", "*"):
        about = Query(query, chosen, limit=SIDE, threshold=ON_TOPIC, per_item=True)
        chosen = replace(
            chosen, ids=tuple(hit.item.id for hit in engine.recall(caller, about).hits) or ("-",)
        )
    least = ALIKE if summing else engine.configuration.number(caller.tenant, "duplicate_threshold")
    with suppress(Unavailable):
        # A plan without the newest memories would not be what is then done.
        engine.search.drain(caller.tenant, 30.0)
    near, warnings = engine.insights.duplicates(caller, chosen, least, tell)
    items = {
        item.id: item
        for item in engine.listing(caller, chosen, descending=False, limit=MOST_LISTED).items
    }
    texts = {
        item.id: "\n".join(block.text for block in blocks)
        for item, blocks in engine.read_many(caller, [*items])
    }
    first: dict[tuple[str | None, ...], Item] = {}
    same = [
        (first.setdefault((*_place(item), " ".join(texts[id].casefold().split())), item), item, 1.0)
        for id, item in items.items()
    ]
    planned: list[Group] = []
    alike = [*same, *(pair for pair in near if _place(pair[0]) == _place(pair[1]))]
    # Each may be like the next, and yet the last contradict the first.
    for ids, similarity in grouped(
        texts,
        alike,
        lambda ours, theirs: (
            not any(contradicts(texts[mine], texts[other]) for mine in ours for other in theirs)
        ),
    ):
        if len(told := [texts[id] for id in ids]) > 1:
            content, more = (
                (told[0], []) if strategy == "dedupe" else rewritten(engine, strategy, told)
            )
            planned.append(([items[id] for id in ids], similarity, content))
            warnings += [warning for warning in more if warning not in warnings]
    return planned, warnings


def _place(item: Item) -> tuple[str | None, ...]:
    return item.owner, item.audience, item.project, item.namespace


def carry_out(
    engine: Engine, caller: Caller, groups: Sequence[Group], strategy: str
) -> tuple[list[str], list[int]]:
    """Do what was planned, all or nothing; the memories that stand for the groups, and the events to undo it by."""
    left, events, summing = [], [], strategy == "summarize"
    with engine.store.writing(caller.tenant) as rows:
        for items, _, content in groups:
            stands, *sources = items
            if strategy != "dedupe":
                kept = {
                    name: value
                    for name, value in stands.attributes.items()
                    if all(item.attributes.get(name) == value for item in items)
                }
                tags = sorted({tag for item in items for tag in item.tags})[: engine.limits.tags]
                written = engine.remember_in(
                    rows,
                    caller,
                    Draft(
                        "memory",
                        headline(content),
                        (Block(content),),
                        tuple(tags),
                        kept | {"is_summary": True} if summing else kept,
                        "active",
                        stands.audience,
                        stands.project,
                        stands.namespace,
                    ),
                    engine.intake(),
                )
                stands, sources = written.item, items
                events.append(written.seq)
            new: dict[str, Json] = (
                {"attributes": {"summarized_in": stands.id}}
                if summing
                else {"status": "superseded"}
            )
            for source in sources:
                if (
                    now := rows.item(caller.tenant, source.id)
                ) is None or now.version != source.version:
                    raise VersionConflict(id=source.id)
                before = rows.last_seq(caller.tenant)
                link = engine.link(
                    caller, stands.id, source.id, LINKS[strategy], again=True, within=rows
                )
                # One that was there already is not taken back with the rest.
                events += [link.seq] * (link.seq > before)
                events.append(engine.tell(rows, caller, source.id, "revised", new, now).seq)
            left.append(stands.id)
    return left, events


def rewritten(engine: Engine, task: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """What the analyst makes of texts, and warnings; where he changed a fact the built-in one does it."""
    made, name, warnings = engine.insights.ask(lambda analyst: analyst.rewrite(task, texts))
    builtin = engine.insights.analysts[-1]
    if name == builtin.name or not any(contradicts(made, text) for text in texts):
        return made, warnings
    return builtin.rewrite(task, texts), [
        *warnings,
        f"{name} changed a fact; done by the built-in analyst.",
    ]
