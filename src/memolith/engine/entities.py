"""Entities: whom and what memories speak of, found in texts, joined where two are one, linked by what is said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, cast, get_args

from memolith.engine.graph import seen
from memolith.engine.intake import Intake
from memolith.engine.model import Caller, Condition, Direction, Draft, Filter, Item, Json, Link, RelationType
from memolith.engine.ports import MOST_LISTED, Finding, Reader
from memolith.engine.recall import Query
from memolith.engine.verbs import sees_both, visible
from memolith.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memolith.engine.engine import Engine

MENTION, READ, TOGETHER = "MentionedIn", 50, 0.5
ENTITIES, MEMORIES = Filter(kinds=("entity",)), Filter(kinds=("memory",))
_SENTENCE = re.compile(r"(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!Mrs\.)(?<!vs\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])\s+|\s*\n\s*")
# Findings, who found them, and warnings.
Said = tuple[list[Finding], str, list[str]]


class _Preview(Exception):
    """Takes everything back that was done to see what would be."""


def find(engine: Engine, caller: Caller, name: str, field: str, chosen: Filter = ENTITIES) -> Item:
    """The entity with that id, or the only one with that name or alias."""
    # The documented ids look like `entity_alice`.
    spelled = (name, name.removeprefix("entity_").replace("_", " "))
    ways = [way for one in spelled for way in (
        replace(chosen, title=one), replace(chosen, where=(Condition("aliases", "has", one),)))]
    with engine.store.reading(caller.tenant) as rows:
        found = seen(rows, caller, [name], chosen) or {
            item.id: item for way in ways for item in rows.listing(caller, way, limit=MOST_LISTED).items
            if _names(item) & {one.casefold() for one in spelled}}
    if len(found) > 1:
        told = ", ".join(f"{item.id} ({item.scope.namespace})" for item in found.values())
        raise InvalidInput(f"Several entities are called {name[:100]!r}; use the id: {told[:400]}.", field=field)
    if not found:
        raise NotFound(f"There is no entity {name[:100]!r}.", field=field, id=name)
    return found.popitem()[1]


def relationship(engine: Engine, caller: Caller, id: str) -> Link:
    """The relationship with that id."""
    with engine.store.reading(caller.tenant) as rows:
        link = rows.link(caller.tenant, id=id)
        if link is None or link.type not in get_args(RelationType) or not sees_both(rows, caller, link):
            raise NotFound(f"There is no relationship {id[:100]!r}.", field="relationship_id", id=id)
    return link


def merge(engine: Engine, caller: Caller, items: Sequence[Item], name: str,
          dry_run: bool) -> tuple[Item, list[Link], int]:
    """Make one of several: the one that has the name, else the first, takes over names, properties and links;
    returns it, the links it got, and how many it had already or that led among them."""
    kept = next((item for item in items if item.title == name), items[0])
    gone, links = {item.id: item for item in items if item.id != kept.id}, list[Link]()
    title = Intake(engine.limits, engine.secrets).title(name) or kept.title
    aliases = dict.fromkeys(one for item in (kept, *gone.values()) for one in _spelled(item) if one != title)
    properties = (cast("dict[str, Json]", item.attributes.get("properties", {})) for item in (*gone.values(), kept))
    with suppress(_Preview), engine.store.writing(caller.tenant) as rows:
        for link in (old := rows.neighbours(caller.tenant, gone, Direction.BOTH)):
            engine.tell(rows, caller, link.id, "unlinked", {}, link)
            source, target = (kept.id if end in gone else end for end in (link.source, link.target))
            present = rows.link(caller.tenant, source=source, target=target, type=link.type)
            if source != target and not (present and present.strength >= link.strength):
                links.append(engine.link_in(rows, caller, source, target, link.type, link.strength,
                                            link.attributes, again=True))
        for id in gone:
            engine.tell(rows, caller, id, "forgotten", {}, visible(rows, caller, id))
        engine.tell(rows, caller, kept.id, "revised", {"title": title, "attributes": {
            "aliases": list(aliases), "properties": {key: one[key] for one in properties for key in one}}},
            visible(rows, caller, kept.id))
        merged = visible(rows, caller, kept.id)
        if dry_run:
            raise _Preview
    return merged, links, len(old) - len(links)


def extract(engine: Engine, caller: Caller, text: str, least: float) -> Said:
    """The entities of a text and what it says of pairs of them."""
    with engine.store.reading(caller.tenant) as rows:
        known = {name: str(item.scope.namespace) for item in _known(rows, caller) for name in _spelled(item)}
    found, method, warnings = engine.insights.ask(lambda analyst: analyst.entities(text, known))
    names = {one.text for one in found if not one.support and one.confidence >= least}
    return [one for one in found if one.confidence >= least and names.issuperset(one.support)], method, warnings


def keep(engine: Engine, caller: Caller, place: Draft, found: Sequence[Finding], memory: str | None) -> dict[str, str]:
    """Store what was found as far as it is new, mentioned in the memory; ids by name."""
    intake, ids = Intake(engine.limits, engine.secrets), dict[str, str]()
    with engine.store.writing(caller.tenant) as rows:
        known = {(name, item.scope.namespace): item.id for item in _known(rows, caller) for name in _names(item)}
        for one in found:
            if not one.support:
                draft = replace(place, title=one.text, namespace=one.label, attributes={"confidence": one.confidence})
                ids[one.text] = known.get((one.text.casefold(), one.label)) or engine.remember_in(
                    rows, caller, draft, intake).item.id
            type, said = (one.label, one.support) if one.support else (MENTION, (one.text, memory or ""))
            source, target, held = ids.get(said[0], said[0]), ids.get(said[1], said[1]), "".join(said[2:]) or memory
            if target not in ("", source) and not rows.link(caller.tenant, source=source, target=target, type=type):
                # The text of a memory is kept in no other place, so that it can be erased.
                engine.link_in(rows, caller, source, target, type, one.confidence,
                               {"memory_id": held} if held else {"evidence": one.text})
    return ids


def infer(engine: Engine, caller: Caller, items: Sequence[Item], least: float) -> Said:
    """What memories say of pairs of these entities; pairs that they only name together relate to each other."""
    names, near = {name: item.id for item in items for name in _names(item)}, defaultdict[str, set[str]](set)
    with engine.store.reading(caller.tenant) as rows:
        for link in rows.neighbours(caller.tenant, [item.id for item in items], Direction.OUT, [MENTION]):
            near[link.target].add(link.source)
        found = set(seen(rows, caller, near, MEMORIES))
    for item in items:
        query = Query(f'"{item.title}"', MEMORIES, mode="text", limit=READ, per_item=True)
        found |= {hit.item.id for hit in engine.recall(caller, query).hits}
    texts, known = engine.insights.texts(caller, sorted(found)), {one.title: str(one.scope.namespace) for one in items}
    stated, method, warnings = engine.insights.ask(lambda one: one.entities("\n".join(texts.values()), known))
    said: dict[tuple[str, ...], Finding] = {}
    for one in stated:
        ends = [names[name.casefold()] for name in one.support if name.casefold() in names]
        if len(set(ends)) == 2:
            _add(said, one._replace(support=(*ends, next((id for id, text in texts.items() if one.text in text), ""))))
    clear = {frozenset(key[:2]) for key in said}
    for id, text in texts.items():
        told = [(one, {names[name] for name in names if name in one.casefold()}) for one in sentences(text)]
        here = near[id].union(*(named for _, named in told))
        for pair in combinations([item.id for item in items if item.id in here], 2):
            if frozenset(pair) not in clear:
                sentence = next((one for one, named in told if named.issuperset(pair)), told[0][0])
                _add(said, Finding("RelatesTo", sentence, TOGETHER, (*pair, id)))
    sure = [one for one in said.values() if one.confidence >= least]
    return sorted(sure, key=lambda one: -one.confidence), method, warnings


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text."""
    return [one for one in _SENTENCE.split(text) if one.strip()]


def _add(said: dict[tuple[str, ...], Finding], one: Finding) -> None:
    """Each further sentence takes a part of the doubt away; the first stays as evidence."""
    before = said.get(key := (*one.support[:2], one.label), one._replace(confidence=0.0))
    said[key] = before._replace(confidence=round(1 - (1 - before.confidence) * (1 - one.confidence), 3))


def _known(rows: Reader, caller: Caller) -> tuple[Item, ...]:
    return rows.listing(caller, ENTITIES, "created_at", False, MOST_LISTED, counted=False).items


def _spelled(item: Item) -> list[str]:
    return [item.title, *cast("list[str]", item.attributes.get("aliases", []))]


def _names(item: Item) -> set[str]:
    return {name.casefold() for name in _spelled(item)}
