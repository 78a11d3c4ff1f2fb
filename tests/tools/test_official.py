"""The family official: what the reference memory server answers, on the same items as all others."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.queries import Filter
from memolith.interchange.exporters.official import write_official
from memolith.tools.call import Call
from memolith.tools.registry import Outcome
from tests.checked import body_of, error_of
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
MARIA = {"name": "Maria", "entityType": "person", "observations": ["Prefers tea.", "Is 40."]}
ACME = {"name": "Acme", "entityType": "organization", "observations": []}
WORKS_AT = {"from": "Maria", "to": "Acme", "relationType": "works at"}


def attempt(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> Outcome:
    registry = app.registry.choose("official")
    return registry.run(tool, arguments, Call(caller, app.engine))


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = attempt(app, tool, caller, **arguments)
    assert outcome.ok, outcome.body
    return body_of(outcome)


def subcog(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(f"subcog_{tool}", arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


@pytest.fixture
def graph(app: App) -> App:
    """Two entities and a relation between them."""
    ask(app, "create_entities", entities=[MARIA, ACME])
    ask(app, "create_relations", relations=[WORKS_AT])
    return app


def test_the_graph_is_read_as_it_was_written(graph: App) -> None:
    assert ask(graph, "read_graph") == {"entities": [MARIA, ACME], "relations": [WORKS_AT]}


def test_only_entities_with_new_names_are_created(graph: App) -> None:
    bob = {"name": "Bob", "entityType": "person", "observations": []}
    other_maria = {**MARIA, "entityType": "saint"}
    assert ask(graph, "create_entities", entities=[other_maria, bob]) == {"entities": [bob]}
    assert ask(graph, "read_graph")["entities"] == [MARIA, ACME, bob]


def test_a_relation_is_created_once(graph: App) -> None:
    knows = {**WORKS_AT, "relationType": "knows"}
    assert ask(graph, "create_relations", relations=[WORKS_AT, knows]) == {"relations": [knows]}


def test_relations_whose_names_have_the_same_word_are_two(graph: App) -> None:
    alike = {**WORKS_AT, "relationType": "works_at"}
    assert ask(graph, "create_relations", relations=[alike]) == {"relations": [alike]}
    assert ask(graph, "create_relations", relations=[alike]) == {"relations": []}
    assert ask(graph, "read_graph")["relations"] == [WORKS_AT, alike]


@pytest.mark.parametrize("label", ["→", "-", "ist älter als", "x" * 100, "has\nmany lines"])
def test_a_relation_may_be_called_anything(graph: App, label: str) -> None:
    relation = {**WORKS_AT, "relationType": label}
    assert ask(graph, "create_relations", relations=[relation]) == {"relations": [relation]}


def test_only_new_observations_are_added(graph: App) -> None:
    added = ask(
        graph,
        "add_observations",
        observations=[{"entityName": "Maria", "contents": ["Is 40.", "Sings."]}],
    )
    assert added == {"results": [{"entityName": "Maria", "addedObservations": ["Sings."]}]}
    observations = ask(graph, "open_nodes", names=["Maria"])["entities"][0]["observations"]
    assert observations == ["Prefers tea.", "Is 40.", "Sings."]


def test_observations_of_an_unknown_entity_are_refused_and_nothing_is_written(graph: App) -> None:
    outcome = attempt(
        graph,
        "add_observations",
        observations=[
            {"entityName": "Maria", "contents": ["Sings."]},
            {"entityName": "Nobody", "contents": ["Sings."]},
        ],
    )
    assert outcome.text == "Entity with name Nobody not found"
    assert ask(graph, "open_nodes", names=["Maria"])["entities"] == [MARIA]


def test_a_deleted_entity_takes_its_relations_with_it(graph: App) -> None:
    ask(graph, "delete_entities", entityNames=["Acme", "Nobody"])
    assert ask(graph, "read_graph") == {"entities": [MARIA], "relations": []}


def test_observations_are_deleted_by_their_text(graph: App) -> None:
    deletions = [
        {"entityName": "Maria", "observations": ["Is 40.", "Is 41."]},
        {"entityName": "Nobody", "observations": ["Is 40."]},
    ]
    ask(graph, "delete_observations", deletions=deletions)
    found = ask(graph, "open_nodes", names=["Maria"])["entities"]
    assert found == [{**MARIA, "observations": ["Prefers tea."]}]


def test_the_last_observation_can_be_deleted(graph: App) -> None:
    deletions = [{"entityName": "Maria", "observations": MARIA["observations"]}]
    ask(graph, "delete_observations", deletions=deletions)
    found = ask(graph, "open_nodes", names=["Maria"])["entities"]
    assert found == [{**MARIA, "observations": []}]


def test_relations_are_deleted_by_their_names(graph: App) -> None:
    knows = {**WORKS_AT, "relationType": "knows"}
    ask(graph, "create_relations", relations=[knows])
    ask(graph, "delete_relations", relations=[WORKS_AT])
    assert ask(graph, "read_graph")["relations"] == [knows]


def test_nodes_come_with_the_relations_to_others(graph: App) -> None:
    found = ask(graph, "open_nodes", names=["Acme", "Nobody"])
    assert found == {"entities": [ACME], "relations": [WORKS_AT]}


@pytest.mark.parametrize("query", ["tea", "Maria", "person"])
def test_nodes_are_found_by_observation_name_and_type(graph: App, query: str) -> None:
    found = ask(graph, "search_nodes", query=query)
    assert found == {"entities": [MARIA], "relations": [WORKS_AT]}


def test_nothing_is_found_where_nothing_fits(graph: App) -> None:
    assert ask(graph, "search_nodes", query="volcano") == {"entities": [], "relations": []}


def test_an_empty_query_finds_everything(graph: App) -> None:
    assert ask(graph, "search_nodes", query="") == ask(graph, "read_graph")


def test_a_relation_may_name_what_nobody_created_yet(graph: App) -> None:
    knows = {"from": "Maria", "to": "Bob", "relationType": "knows"}
    assert ask(graph, "create_relations", relations=[knows]) == {"relations": [knows]}
    read = ask(graph, "read_graph")
    assert read == {"entities": [MARIA, ACME], "relations": [WORKS_AT, knows]}


def test_what_a_relation_named_can_be_created_later(graph: App) -> None:
    knows = {"from": "Maria", "to": "Bob", "relationType": "knows"}
    ask(graph, "create_relations", relations=[knows])
    bob = {"name": "Bob", "entityType": "person", "observations": ["Is shy."]}
    assert ask(graph, "create_entities", entities=[bob]) == {"entities": [bob]}
    assert ask(graph, "open_nodes", names=["Bob"]) == {"entities": [bob], "relations": [knows]}


def test_what_only_a_relation_named_goes_with_the_relation(graph: App) -> None:
    knows = {"from": "Maria", "to": "Bob", "relationType": "knows"}
    ask(graph, "create_relations", relations=[knows])
    ask(graph, "delete_relations", relations=[knows])
    names = [entity["name"] for entity in subcog(graph, "entities", action="list")["entities"]]
    assert sorted(names) == ["Acme", "Maria"]


def test_an_entity_is_not_related_to_itself(graph: App) -> None:
    outcome = attempt(graph, "create_relations", relations=[{**WORKS_AT, "to": "Maria"}])
    assert error_of(outcome).field == "relations"
    assert outcome.text == "'Maria' cannot be related to itself; name another entity."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_entities", {"entities": [{**ACME, "name": " "}]}),
        ("create_relations", {"relations": [{**WORKS_AT, "to": ""}]}),
        ("create_relations", {"relations": [{**WORKS_AT, "relationType": ""}]}),
    ],
)
def test_a_name_that_says_nothing_is_refused(
    graph: App, tool: str, arguments: dict[str, Any]
) -> None:
    assert error_of(attempt(graph, tool, **arguments)).field in arguments


def test_arguments_that_nobody_knows_are_dropped(app: App) -> None:
    more = {**MARIA, "color": "blue"}
    assert ask(app, "create_entities", entities=[more], surprise=1) == {"entities": [MARIA]}


def test_a_model_reads_the_list_alone_the_message_or_the_graph(app: App) -> None:
    created = attempt(app, "create_entities", entities=[ACME])
    assert created.text == json.dumps([ACME], indent=2)
    assert attempt(app, "read_graph").text == json.dumps(
        {"entities": [ACME], "relations": []}, indent=2
    )
    deleted = attempt(app, "delete_entities", entityNames=["Acme"])
    assert deleted.text == "Entities deleted successfully"


def test_the_same_entity_is_in_the_graph_of_subcog(graph: App) -> None:
    listed = subcog(graph, "entities", action="list")["entities"]
    assert {(entity["name"], entity["entity_type"]) for entity in listed} == {
        ("Maria", "person"),
        ("Acme", "organization"),
    }
    around = subcog(graph, "graph", operation="neighbors", entity_id="Maria")
    assert [entity["name"] for entity in around["entities"]] == ["Acme"]


def test_what_subcog_keeps_is_in_this_graph(app: App) -> None:
    for name, kind in (("Rust", "Technology"), ("Ann", "Person")):
        subcog(app, "entities", action="create", name=name, entity_type=kind)
    subcog(
        app,
        "relationships",
        action="create",
        from_entity="Ann",
        to_entity="Rust",
        relationship_type="Uses",
    )
    assert ask(app, "read_graph") == {
        "entities": [
            {"name": "Rust", "entityType": "Technology", "observations": []},
            {"name": "Ann", "entityType": "Person", "observations": []},
        ],
        "relations": [{"from": "Ann", "to": "Rust", "relationType": "Uses"}],
    }


def test_recall_finds_what_was_observed(graph: App) -> None:
    outcome = graph.registry.run("recall", {"query": "who prefers tea?"}, Call(ME, graph.engine))
    assert body_of(outcome)["hits"][0]["title"] == "Maria"


def test_the_mention_of_an_entity_is_no_relation(graph: App) -> None:
    memory = graph.engine.writing.remember(ME, note("Maria sings.")).item
    maria = graph.engine.entities.find(ME, "Maria", "name")
    graph.engine.writing.link(ME, maria.id, memory.id, "MentionedIn")
    assert ask(graph, "read_graph")["relations"] == [WORKS_AT]


def test_others_have_a_graph_of_their_own(graph: App) -> None:
    other = replace(ME, user="other")
    assert ask(graph, "read_graph", other) == {"entities": [], "relations": []}
    ask(graph, "create_entities", other, entities=[MARIA])
    ask(graph, "delete_entities", other, entityNames=["Maria"])
    assert ask(graph, "read_graph")["entities"] == [MARIA, ACME]


def test_a_project_shares_its_graph(app: App) -> None:
    ann = Caller(user="ann", project="zoo")
    ask(app, "create_entities", ann, entities=[MARIA])
    assert ask(app, "read_graph", replace(ann, user="ben"))["entities"] == [MARIA]


def test_a_deletion_can_be_undone(graph: App) -> None:
    ask(graph, "delete_entities", entityNames=["Acme"])
    acme = graph.engine.reading.list_all(ME, Filter(forgotten=True))[0]
    graph.engine.writing.restore(ME, acme.id)
    assert ask(graph, "open_nodes", names=["Acme"])["entities"] == [ACME]


def test_the_export_is_the_file_of_the_server(graph: App) -> None:
    graph.engine.writing.remember(ME, note("No entity."))
    file = io.StringIO()
    assert write_official(graph.engine, ME, file) == (2, 1)
    assert file.getvalue() == (
        '{"type":"entity","name":"Maria","entityType":"person",'
        '"observations":["Prefers tea.","Is 40."]}\n'
        '{"type":"entity","name":"Acme","entityType":"organization","observations":[]}\n'
        '{"type":"relation","from":"Maria","to":"Acme","relationType":"works at"}'
    )
