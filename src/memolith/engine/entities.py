"""Entities and relationships: found by name, merged, extracted from texts, and inferred."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple, cast, get_args

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.items import Draft, Item
from memolith.domain.links import Link, RelationType
from memolith.domain.queries import Condition, Filter, Query
from memolith.engine.graph.walking import visible_items
from memolith.engine.insights import Insights
from memolith.engine.recall import Recall
from memolith.engine.recording import Recorder
from memolith.engine.relation_labels import RELATED
from memolith.engine.statements import names, sentences
from memolith.engine.validation import InputRules
from memolith.engine.visibility import sees_both_ends, visible
from memolith.engine.writing import NewLink, Writing
from memolith.errors import InvalidInput, NotFound
from memolith.ports.analyst import FoundEntity, FoundRelation
from memolith.ports.items import MOST_LISTED
from memolith.ports.store import Reader, Store, Writer

MENTION = "MentionedIn"
"""The type of the link from an entity to a memory that names it."""
MAX_MEMORIES_PER_ENTITY = 50
CONFIDENCE_OF_CO_OCCURRENCE = 0.5
MAX_ENTITIES_PER_TEXT = 1000
MAX_RELATIONS_PER_TEXT = 2000
"""Storing what was found in a text is one write, which others wait for."""
ENTITIES = Filter(kinds=("entity",))
MEMORIES = Filter(kinds=("memory",))


class Extraction(NamedTuple):
    """What was found in texts, who found it, and what the caller should know."""

    entities: list[FoundEntity]
    relations: list[FoundRelation]
    method: str
    warnings: list[str]


class Merged(NamedTuple):
    """The entity that several became, and the links that it took over."""

    entity: Item
    moved: list[Link]


class _Preview(Exception):
    """Rolls back a write that was made only to see its outcome."""


@dataclass(frozen=True)
class Entities:
    """Finds, merges and stores entities and what is known about them."""

    store: Store
    writing: Writing
    recorder: Recorder
    recall: Recall
    insights: Insights
    input_rules: InputRules

    def find(self, caller: Caller, name: str, field: str, chosen: Filter = ENTITIES) -> Item:
        """The entity with that id, or the only one with that name or alias."""
        with self.store.reading(caller.tenant) as rows:
            found = visible_items(rows, caller, [name], chosen)
            if not found:
                found = _items_called(rows, caller, name, chosen)
        if not found:
            raise NotFound(f"There is no entity {name[:100]!r}.", field=field, id=name)
        if len(found) > 1:
            ids = ", ".join(f"{item.id} ({item.namespace})" for item in found.values())
            raise InvalidInput(
                f"Several entities are called {name[:100]!r}; use the id: {ids[:400]}.",
                field=field,
            )
        return next(iter(found.values()))

    def relationship(self, caller: Caller, id: str) -> Link:
        """The relationship with that id, if the caller may see both of its ends."""
        with self.store.reading(caller.tenant) as rows:
            link = rows.link_by_id(caller.tenant, id)
            is_relationship = link is not None and link.type in get_args(RelationType)
            if link is None or not is_relationship or not sees_both_ends(rows, caller, link, False):
                raise NotFound(
                    f"There is no relationship {id[:100]!r}.", field="relationship_id", id=id
                )
        return link

    def forget(self, caller: Caller, id: str) -> int:
        """Forget an entity and cut the links that the caller sees; returns how many there were."""
        with self.store.writing(caller.tenant) as rows:
            links = [
                link
                for link in rows.neighbours(caller.tenant, [id], "both")
                if sees_both_ends(rows, caller, link)
            ]
            for link in links:
                self.recorder.tell(rows, caller, link.id, "unlinked", {}, link)
            self._forget(rows, caller, id)
        return len(links)

    def merge(
        self, caller: Caller, items: Sequence[Item], name: str | None, dry_run: bool
    ) -> Merged:
        """Make one entity of several; it takes over their names, properties and links.

        The entity that has the name stays, else the first.
        """
        kept = next((item for item in items if item.title == name), items[0])
        others = [item for item in items if item.id != kept.id]
        title = kept.title
        if name:
            title = self.input_rules.intake().title(name) or kept.title
        data: dict[str, Json] = {
            "title": title,
            "attributes": {
                "aliases": _merged_aliases([kept, *others], title),
                "properties": _merged_properties([*others, kept]),
            },
        }
        with suppress(_Preview), self.store.writing(caller.tenant) as rows:
            moved = self._move_links(rows, caller, kept.id, {item.id for item in others})
            for item in others:
                self._forget(rows, caller, item.id)
            before = visible(rows, caller, kept.id)
            self.recorder.tell(rows, caller, kept.id, "revised", data, before)
            merged = Merged(visible(rows, caller, kept.id), moved)
            if dry_run:
                raise _Preview
        return merged

    def _forget(self, rows: Writer, caller: Caller, id: str) -> None:
        self.recorder.tell(rows, caller, id, "forgotten", {}, visible(rows, caller, id))

    def _move_links(self, rows: Writer, caller: Caller, kept: str, others: set[str]) -> list[Link]:
        """Cut the links of the other entities, and make them anew at the one that stays."""
        links = [
            link
            for link in rows.neighbours(caller.tenant, sorted(others), "both")
            if sees_both_ends(rows, caller, link, False)
        ]
        moved = []
        for link in links:
            self.recorder.tell(rows, caller, link.id, "unlinked", {}, link)
            source = kept if link.source in others else link.source
            target = kept if link.target in others else link.target
            if source == target:
                continue
            present = rows.link_between(caller.tenant, source, target, link.type)
            if present and present.strength >= link.strength:
                continue
            new = NewLink(source, target, link.type, link.strength, link.attributes)
            moved.append(self.writing.link_in(rows, caller, new, again=True))
        return moved

    def extract(self, caller: Caller, text: str, min_confidence: float) -> Extraction:
        """The entities that a text names, and what it says about pairs of them."""
        with self.store.reading(caller.tenant) as rows:
            types = {
                name: str(item.namespace)
                for item in _all_entities(rows, caller)
                for name in _names(item)
            }
        answer = self.insights.ask(lambda analyst: analyst.entities(text, types))
        entities = [
            entity for entity in answer.value.entities if entity.confidence >= min_confidence
        ]
        warnings = list(answer.warnings)
        if len(entities) > MAX_ENTITIES_PER_TEXT:
            warnings.append(
                f"The text names {len(entities):,} entities; these are the "
                f"{MAX_ENTITIES_PER_TEXT:,} surest. Extract from a part of it for the others."
            )
            entities.sort(key=lambda entity: -entity.confidence)
            del entities[MAX_ENTITIES_PER_TEXT:]
        names = {entity.name for entity in entities}
        stated = [
            relation
            for relation in answer.value.relations
            if names.issuperset((relation.source, relation.target))
        ]
        relations = _combined(stated, min_confidence)
        if len(relations) > MAX_RELATIONS_PER_TEXT:
            warnings.append(
                f"The text states {len(relations):,} relations; these are the "
                f"{MAX_RELATIONS_PER_TEXT:,} surest. Extract from a part of it for the others."
            )
            relations.sort(key=lambda relation: -relation.confidence)
            del relations[MAX_RELATIONS_PER_TEXT:]
        return Extraction(entities, relations, answer.method, warnings)

    def keep(
        self, caller: Caller, place: Draft, found: Extraction, memory: str | None
    ) -> dict[str, str]:
        """Store what is new of what was found, as mentioned in the memory; returns ids by name."""
        intake = self.input_rules.intake()
        ids: dict[str, str] = {}
        with self.store.writing(caller.tenant) as rows:
            known = {
                (name.casefold(), item.namespace): item.id
                for item in _all_entities(rows, caller)
                for name in _names(item)
            }
            for entity in found.entities:
                id = known.get((entity.name.casefold(), entity.type))
                if id is None:
                    draft = replace(
                        place,
                        title=entity.name,
                        namespace=entity.type,
                        attributes={"confidence": entity.confidence},
                    )
                    id = self.writing.remember_in(rows, caller, draft, intake).item.id
                ids[entity.name] = id
                if memory:
                    mention = NewLink(id, memory, MENTION, entity.confidence, {"memory_id": memory})
                    self._link_once(rows, caller, mention)
            for relation in found.relations:
                held_by = relation.memory or memory
                # The text of a memory is kept in no other place, so that it can be erased.
                attributes: dict[str, Json] = (
                    {"memory_id": held_by} if held_by else {"evidence": relation.sentence}
                )
                link = NewLink(
                    ids.get(relation.source, relation.source),
                    ids.get(relation.target, relation.target),
                    relation.type,
                    relation.confidence,
                    attributes,
                )
                self._link_once(rows, caller, link)
        return ids

    def _link_once(self, rows: Writer, caller: Caller, link: NewLink) -> None:
        if link.source == link.target:
            return
        present = rows.link_between(caller.tenant, link.source, link.target, link.type)
        if present is None:
            self.writing.link_in(rows, caller, link)

    def infer(self, caller: Caller, items: Sequence[Item], min_confidence: float) -> Extraction:
        """What memories say about pairs of these entities.

        Entities that a memory only names together relate to each other.
        """
        mentioned = self._mentions(caller, items)
        with self.store.reading(caller.tenant) as rows:
            memories = set(visible_items(rows, caller, mentioned, MEMORIES))
        for item in items:
            query = Query(
                f'"{item.title}"',
                MEMORIES,
                mode="text",
                limit=MAX_MEMORIES_PER_ENTITY,
                threshold=0.0,
                per_item=True,
                needs_phrases=True,
            )
            memories |= {hit.item.id for hit in self.recall.search(caller, query).hits}
        texts = self.insights.texts(caller, sorted(memories))
        types = {item.title: str(item.namespace) for item in items}
        answer = self.insights.ask(
            lambda analyst: analyst.entities("\n".join(texts.values()), types)
        )
        id_of = {name.casefold(): item.id for item in items for name in _names(item)}
        memory_of = _memories_of_sentences(texts)
        relations = []
        for relation in answer.value.relations:
            source = id_of.get(relation.source.casefold())
            target = id_of.get(relation.target.casefold())
            if source is None or target is None or source == target:
                continue
            memory = memory_of.get(relation.sentence)
            relations.append(relation._replace(source=source, target=target, memory=memory))
        stated = {frozenset((relation.source, relation.target)) for relation in relations}
        for memory, text in texts.items():
            for relation in _named_together(items, id_of, mentioned[memory], text):
                if frozenset((relation.source, relation.target)) not in stated:
                    relations.append(relation._replace(memory=memory))
        combined = _combined(relations, min_confidence)
        combined.sort(key=lambda relation: -relation.confidence)
        return Extraction([], combined, answer.method, answer.warnings)

    def _mentions(self, caller: Caller, items: Sequence[Item]) -> dict[str, set[str]]:
        """The ids of the entities that each memory mentions, by the links between them."""
        mentioned: dict[str, set[str]] = defaultdict(set)
        ids = [item.id for item in items]
        with self.store.reading(caller.tenant) as rows:
            for link in rows.neighbours(caller.tenant, ids, "outgoing", [MENTION]):
                mentioned[link.target].add(link.source)
        return mentioned


def _memories_of_sentences(texts: Mapping[str, str]) -> dict[str, str]:
    """The id of the first memory with each sentence."""
    memory_of: dict[str, str] = {}
    for id, text in texts.items():
        for sentence in sentences(text):
            memory_of.setdefault(sentence, id)
    return memory_of


def _items_called(rows: Reader, caller: Caller, name: str, chosen: Filter) -> dict[str, Item]:
    """The entities with that name or alias; the documented ids look like `entity_alice`."""
    spellings = (name, name.removeprefix("entity_").replace("_", " "))
    wanted = {spelling.casefold() for spelling in spellings}
    found = {}
    for spelling in spellings:
        by_title = replace(chosen, title=spelling)
        by_alias = replace(chosen, where=(Condition("aliases", "has", spelling),))
        for way in (by_title, by_alias):
            for item in rows.list_items(caller, way, limit=MOST_LISTED).items:
                if wanted & {known.casefold() for known in _names(item)}:
                    found[item.id] = item
    return found


def _named_together(
    items: Sequence[Item], id_of: Mapping[str, str], mentioned: set[str], text: str
) -> Iterator[FoundRelation]:
    """A relation for each pair of entities that one memory names.

    Its evidence is a sentence with both of them, if there is one.
    """
    named_in: list[tuple[str, set[str]]] = []
    for sentence in sentences(text):
        lowered = sentence.casefold()
        named_in.append((sentence, {id for name, id in id_of.items() if names(lowered, name)}))
    present = mentioned.union(*(named for _, named in named_in))
    for source, target in combinations([item.id for item in items if item.id in present], 2):
        evidence = named_in[0][0]
        for sentence, named in named_in:
            if source in named and target in named:
                evidence = sentence
                break
        yield FoundRelation(RELATED, source, target, evidence, CONFIDENCE_OF_CO_OCCURRENCE)


def _combined(relations: Sequence[FoundRelation], min_confidence: float) -> list[FoundRelation]:
    """One relation for those that say the same; each further sentence lowers the doubt."""
    combined: dict[tuple[str, str, str], FoundRelation] = {}
    for relation in relations:
        key = (relation.source, relation.target, relation.type)
        before = combined.get(key)
        if before is None:
            combined[key] = relation._replace(confidence=round(relation.confidence, 3))
        else:
            doubt = (1 - before.confidence) * (1 - relation.confidence)
            combined[key] = before._replace(confidence=round(1 - doubt, 3))
    return [relation for relation in combined.values() if relation.confidence >= min_confidence]


def _merged_aliases(items: Sequence[Item], title: str) -> list[Json]:
    """Every other name of the entities, each once, in order."""
    names = dict.fromkeys(name for item in items for name in _names(item))
    return [name for name in names if name != title]


def _merged_properties(items: Sequence[Item]) -> dict[str, Json]:
    """The properties of all entities; those of later ones win."""
    merged: dict[str, Json] = {}
    for item in items:
        merged |= cast("dict[str, Json]", item.attributes.get("properties", {}))
    return merged


def _all_entities(rows: Reader, caller: Caller) -> tuple[Item, ...]:
    return rows.list_items(caller, ENTITIES, "created_at", False, MOST_LISTED, counted=False).items


def _names(item: Item) -> list[str]:
    """The title of an entity and its aliases."""
    return [item.title, *cast("list[str]", item.attributes.get("aliases", []))]
