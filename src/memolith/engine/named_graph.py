"""The graph of entities by their names, as the reference memory server of MCP knows it.

An entity is an item, its observations are the blocks of its text, and a relation is a link. The
server lets relations name what is no entity; such an end is an entity with the status `implied`
until somebody creates it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memolith.domain.blocks import join_blocks
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.links import DISTINCT_FROM, IMPLIED, Link
from memolith.domain.passages import Block
from memolith.engine.entities import ENTITIES, MENTION, Entities
from memolith.engine.matching import checked
from memolith.engine.relation_labels import label_of, labelled_link
from memolith.engine.validation import InputRules
from memolith.engine.visibility import is_gone
from memolith.engine.writing import Writing
from memolith.errors import InvalidInput, NotFound
from memolith.ports.event_log import NO_LIMIT
from memolith.ports.store import Reader, Store, Writer

NO_RELATIONS = (MENTION, DISTINCT_FROM)
"""Types of links between entities and others that say nothing about the world."""


class NamedEntity(NamedTuple):
    """An entity with all that was observed of it."""

    name: str
    type: str
    observations: tuple[str, ...]


class NamedRelation(NamedTuple):
    """What one entity has to do with another."""

    source: str
    target: str
    label: str


class NamedPart(NamedTuple):
    """Some entities, and the relations that start or end at one of them."""

    entities: list[NamedEntity]
    relations: list[NamedRelation]


@dataclass(frozen=True)
class NamedGraph:
    """Reads and changes the graph of a caller by names."""

    store: Store
    writing: Writing
    entities: Entities
    input_rules: InputRules

    def read(self, caller: Caller) -> NamedPart:
        """Everything, the oldest first."""
        with self.store.reading(caller.tenant) as rows:
            page = rows.list_items(caller, checked(ENTITIES), limit=NO_LIMIT, counted=False)
            return _part(rows, caller, sorted(page.items, key=_age))

    def open(self, caller: Caller, names: Iterable[str]) -> NamedPart:
        """The entities with these names, the oldest first."""
        with self.store.reading(caller.tenant) as rows:
            found: dict[str, Item] = {}
            for name in names:
                found.update((item.id, item) for item in _called(rows, caller, name))
            return _part(rows, caller, sorted(found.values(), key=_age))

    def around(self, caller: Caller, ids: Sequence[str]) -> NamedPart:
        """The entities with these ids, in this order."""
        with self.store.reading(caller.tenant) as rows:
            found = rows.items(caller.tenant, ids)
            items = [found[id] for id in ids if id in found and _is_seen(caller, found[id])]
            return _part(rows, caller, items)

    def create_entities(self, caller: Caller, entities: Iterable[NamedEntity]) -> list[NamedEntity]:
        """Keep the entities whose names are new, and return these."""
        created: list[Item] = []
        with self.store.writing(caller.tenant) as rows:
            for entity in entities:
                known = _called(rows, caller, _checked("name", "entities", entity.name))
                if not known:
                    created.append(self._create(rows, caller, entity))
                elif all(item.status == IMPLIED for item in known):
                    created.append(self._make_real(caller, known[0], entity))
            return _described(rows, caller, created)

    def create_relations(
        self, caller: Caller, relations: Iterable[NamedRelation]
    ) -> list[NamedRelation]:
        """Keep the relations that are new, and return these."""
        created = []
        with self.store.writing(caller.tenant) as rows:
            for relation in relations:
                source = self._end(rows, caller, relation.source)
                target = self._end(rows, caller, relation.target)
                if source.id == target.id:
                    raise InvalidInput(
                        f"{source.title!r} cannot be related to itself; name another entity.",
                        field="relations",
                    )
                if _links_between(rows, caller, relation):
                    continue
                label = _checked("relationType", "relations", relation.label)
                link = labelled_link(rows, caller.tenant, source.id, target.id, label)
                made = self.writing.link_in(rows, caller, link)
                created.append(NamedRelation(source.title, target.title, label_of(made)))
        return created

    def add_observations(self, caller: Caller, name: str, observations: Sequence[str]) -> list[str]:
        """Add what is new to the entity, and return it as it is kept."""
        with self.store.writing(caller.tenant) as rows:
            entity = next(iter(_real(_called(rows, caller, name))), None)
            if entity is None:
                raise NotFound(
                    f"Entity with name {name[:100]} not found", field="observations", id=name
                )
            known = _observations(rows, caller, [entity])[entity.id]
            new = [text for text in observations if text not in known]
            if not new:
                return []
            self.writing.append(caller, entity.id, [Block(text) for text in new])
            return list(_observations(rows, caller, [entity])[entity.id][len(known) :])

    def remove_entities(self, caller: Caller, names: Iterable[str]) -> None:
        """Forget the entities with these names and cut their relations."""
        with self.store.writing(caller.tenant) as rows:
            for name in names:
                for item in _called(rows, caller, name):
                    others = _other_ends(rows, caller, item.id)
                    self.entities.forget(caller, item.id)
                    self._forget_unused(rows, caller, others)

    def remove_observations(self, caller: Caller, name: str, observations: Collection[str]) -> None:
        """Take these observations away from the entity, if it has them."""
        with self.store.writing(caller.tenant) as rows:
            for item in _real(_called(rows, caller, name)):
                blocks = join_blocks(rows.passages(caller.tenant, item.id))
                kept = tuple(block for block in blocks if block.text not in observations)
                if len(kept) < len(blocks):
                    self.writing.revise(caller, item.id, Patch(blocks=kept))

    def remove_relations(self, caller: Caller, relations: Iterable[NamedRelation]) -> None:
        """Cut these relations, as far as there are any."""
        with self.store.writing(caller.tenant) as rows:
            for relation in relations:
                for link in _links_between(rows, caller, relation):
                    self.writing.unlink(caller, link.id)
                    self._forget_unused(rows, caller, (link.source, link.target))

    def _create(
        self, rows: Writer, caller: Caller, entity: NamedEntity, status: str = "active"
    ) -> Item:
        draft = Draft(
            kind="entity",
            title=entity.name,
            namespace=entity.type,
            status=status,
            blocks=tuple(Block(text) for text in entity.observations),
            audience=Audience.PROJECT if caller.project else Audience.USER,
            project=caller.project,
        )
        intake = self.input_rules.intake()
        return self.writing.remember_in(rows, caller, draft, intake).item

    def _make_real(self, caller: Caller, item: Item, entity: NamedEntity) -> Item:
        """An entity that only relations named, now with its type and what is known of it."""
        patch = Patch(
            status="active",
            namespace=entity.type,
            blocks=tuple(Block(text) for text in entity.observations),
        )
        return self.writing.revise(caller, item.id, patch).item

    def _end(self, rows: Writer, caller: Caller, name: str) -> Item:
        """The entity at the end of a relation; one that nobody created is implied."""
        known = _called(rows, caller, _checked("name at both ends", "relations", name))
        if known:
            return next(iter(_real(known)), known[0])
        return self._create(rows, caller, NamedEntity(name, "", ()), status=IMPLIED)

    def _forget_unused(self, rows: Writer, caller: Caller, ids: Collection[str]) -> None:
        """Forget implied entities that no relation names any more."""
        for item in rows.items(caller.tenant, ids).values():
            is_unused = not rows.neighbours(caller.tenant, [item.id], "both")
            if is_unused and item.status == IMPLIED and not is_gone(item):
                self.writing.forget(caller, item.id)


def _age(item: Item) -> int:
    return item.seq


def _name(name: str) -> str:
    """A name in the one form in which titles are kept."""
    return " ".join(name.split())


def _checked(what: str, field: str, text: str) -> str:
    """The text, if it says something."""
    if not text.strip():
        raise InvalidInput(f"Each of the {field} needs a {what}.", field=field)
    return text


def _is_seen(caller: Caller, item: Item) -> bool:
    return item.kind == "entity" and item.admits(caller) and not is_gone(item)


def _called(rows: Reader, caller: Caller, name: str) -> list[Item]:
    """The entities with exactly this name that the caller sees, the oldest first."""
    titled = rows.items_titled(caller.tenant, "entity", _name(name))
    return sorted((item for item in titled if _is_seen(caller, item)), key=_age)


def _real(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.status != IMPLIED]


def _observations(
    rows: Reader, caller: Caller, items: Sequence[Item]
) -> dict[str, tuple[str, ...]]:
    passages = rows.passages_of(caller.tenant, [item.id for item in items])
    return {
        item.id: tuple(block.text for block in join_blocks(passages[item.id])) for item in items
    }


def _described(rows: Reader, caller: Caller, items: Sequence[Item]) -> list[NamedEntity]:
    observations = _observations(rows, caller, items)
    return [NamedEntity(item.title, item.namespace or "", observations[item.id]) for item in items]


def _relation_links(rows: Reader, caller: Caller, ids: Collection[str]) -> list[Link]:
    """The links of entities that stand for relations, the oldest first."""
    links = rows.neighbours(caller.tenant, ids, "both")
    return [link for link in links if link.type not in NO_RELATIONS]


def _links_between(rows: Reader, caller: Caller, relation: NamedRelation) -> list[Link]:
    """The links that stand for a relation."""
    sources = {item.id for item in _called(rows, caller, relation.source)}
    targets = {item.id for item in _called(rows, caller, relation.target)}
    return [
        link
        for link in rows.neighbours(caller.tenant, sources, "outgoing")
        if link.target in targets and label_of(link) == relation.label
    ]


def _other_ends(rows: Reader, caller: Caller, id: str) -> set[str]:
    links = _relation_links(rows, caller, [id])
    return {end for link in links for end in (link.source, link.target)} - {id}


def _part(rows: Reader, caller: Caller, items: Sequence[Item]) -> NamedPart:
    """These entities, without those that are only implied, and their relations."""
    shown = _real(items)
    links = _relation_links(rows, caller, [item.id for item in shown])
    ends = {end for link in links for end in (link.source, link.target)}
    names = {
        item.id: item.title
        for item in rows.items(caller.tenant, ends).values()
        if _is_seen(caller, item)
    }
    relations = [
        NamedRelation(names[link.source], names[link.target], label_of(link))
        for link in links
        if link.source in names and link.target in names
    ]
    return NamedPart(_described(rows, caller, shown), relations)
