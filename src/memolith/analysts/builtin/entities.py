"""The entities of a text, and what its sentences say about pairs of them."""

from collections.abc import Mapping

from memolith.analysts.builtin.mentions import Familiar, find_mentions
from memolith.analysts.builtin.relations import find_relations
from memolith.engine.statements import sentences
from memolith.ports.analyst import EntityReport, FoundEntity, FoundRelation


def find_entities(text: str, familiar_types: Mapping[str, str]) -> EntityReport:
    """Read entities and relations out of a text.

    `familiar_types` has the types of the entities that the user already has, by name.
    """
    familiar = {name.casefold(): Familiar(type, name) for name, type in familiar_types.items()}
    doubts: dict[tuple[str, str], float] = {}
    relations: list[FoundRelation] = []
    for sentence in sentences(text):
        mentions = find_mentions(sentence, familiar)
        for mention in mentions:
            entity = (mention.type, mention.name)
            # Every further mention takes a part of the doubt away.
            doubts[entity] = doubts.get(entity, 1.0) * (1 - mention.confidence)
        relations += find_relations(sentence, mentions)
    entities = [
        FoundEntity(name, type, round(1 - doubt, 3)) for (type, name), doubt in doubts.items()
    ]
    entities.sort(key=lambda entity: -entity.confidence)
    return EntityReport(entities, relations)
