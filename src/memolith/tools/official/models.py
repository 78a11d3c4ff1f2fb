"""What the tools of the family official take and return."""

from typing import Annotated, TypedDict

from pydantic import ConfigDict, Field

from memolith.engine.named_graph import NamedEntity, NamedPart, NamedRelation
from memolith.tools.result_schema import Described
from memolith.tools.schema import Schema
from memolith.tools.signature import OpenArgument

NAME = "What the entity is called."
TYPE = "What kind of thing it is, such as person or project."
OBSERVATIONS = "What is known of it, one fact each."
START = "The entity that the relation starts from."
END = "The entity that it leads to."
RELATION_TYPE = "How the two are related, such as works at."


def _drop_description(schema: Schema) -> None:
    schema.pop("description", None)


class GivenObject(OpenArgument):
    """An object inside the arguments. Its class has a description, its schema has none."""

    model_config = ConfigDict(json_schema_extra=_drop_description)


class GivenEntity(GivenObject):
    """An entity as a client sends it."""

    name: str = Field(description=NAME)
    entity_type: str = Field(alias="entityType", description=TYPE)
    observations: list[str] = Field(description=OBSERVATIONS)

    @property
    def named(self) -> NamedEntity:
        return NamedEntity(self.name, self.entity_type, tuple(self.observations))


class GivenRelation(GivenObject):
    """A relation as a client sends it."""

    source: str = Field(alias="from", description=START)
    target: str = Field(alias="to", description=END)
    relation_type: str = Field(alias="relationType", description=RELATION_TYPE)

    @property
    def named(self) -> NamedRelation:
        return NamedRelation(self.source, self.target, self.relation_type)


class GivenObservations(GivenObject):
    """What was observed of an entity."""

    entity_name: str = Field(alias="entityName", description="The entity that they are about.")
    contents: list[str] = Field(description="What was learned of it, one fact each.")


class DroppedObservations(GivenObject):
    """What does not hold of an entity."""

    entity_name: str = Field(alias="entityName", description="The entity that has them.")
    observations: list[str] = Field(description="What no longer holds, word for word.")


class EntityBody(TypedDict):
    """An entity with its observations."""

    name: Annotated[str, Described(NAME)]
    entityType: Annotated[str, Described(TYPE)]
    observations: Annotated[list[str], Described(OBSERVATIONS)]


RelationBody = TypedDict(
    "RelationBody",
    {
        "from": Annotated[str, Described(START)],
        "to": Annotated[str, Described(END)],
        "relationType": Annotated[str, Described(RELATION_TYPE)],
    },
)
"""What one entity has to do with another."""


class CreatedEntities(TypedDict):
    """The result of `create_entities`."""

    entities: list[EntityBody]


class CreatedRelations(TypedDict):
    """The result of `create_relations`."""

    relations: list[RelationBody]


class AddedObservations(TypedDict):
    """What was new of one entity."""

    entityName: str
    addedObservations: list[str]


class ObservationResults(TypedDict):
    """The result of `add_observations`."""

    results: list[AddedObservations]


class Deleted(TypedDict):
    """The result of a tool that deletes."""

    success: bool
    message: str


class GraphBody(TypedDict):
    """Entities, and the relations that start or end at one of them."""

    entities: list[EntityBody]
    relations: list[RelationBody]


def entity_body(entity: NamedEntity) -> EntityBody:
    return {
        "name": entity.name,
        "entityType": entity.type,
        "observations": list(entity.observations),
    }


def relation_body(relation: NamedRelation) -> RelationBody:
    return {"from": relation.source, "to": relation.target, "relationType": relation.label}


def graph_body(part: NamedPart) -> GraphBody:
    return {
        "entities": [entity_body(entity) for entity in part.entities],
        "relations": [relation_body(relation) for relation in part.relations],
    }
