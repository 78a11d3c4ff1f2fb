"""Entities, relationships and the graph: the documented examples, every action and every parameter."""

import json
import re
from typing import Any

import jsonschema
import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
NOBODY = "01a1e0a6-0000-7000-8000-000000000000"
NAMES = [
    'a "b" c',
    "x] --> [y",
    "C++ & C#",
    "end",
    "<b>bold</b>",
    "back\\slash",
    "`tick`",
    "{curly} |pipe|",
    "Zoë 漢字",
    '"; n9 -> n0; "',
    "100% #35; &amp;",
    "subgraph",
]


def ask(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(f"subcog_{tool}", arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    found = app.registry.find(f"subcog_{tool}")
    assert found is not None
    # The schemas themselves are checked once, in test_derived.
    jsonschema.Draft202012Validator(found.output_schema).validate(outcome.body)
    return body_of(outcome)


def refused(app: App, tool: str, **arguments: Any) -> tuple[int, str]:
    """The code of an error and the field that it names; nothing was written."""
    with app.store.reading(None) as rows:
        before = rows.last_seq(ME.tenant)
    outcome = app.registry.run(f"subcog_{tool}", arguments, Call(ME, app.engine))
    assert not outcome.ok, outcome.body
    with app.store.reading(None) as rows:
        assert rows.last_seq(ME.tenant) == before
    body = body_of(outcome)
    return body["code"], body["data"]["field"]


def make(app: App, *names: str, type: str = "Technology", caller: Caller = ME) -> list[str]:
    return [
        ask(app, "entities", caller, action="create", name=name, entity_type=type)["id"]
        for name in names
    ]


def tie(app: App, source: str, target: str, type: str = "Uses", **more: Any) -> dict[str, Any]:
    return ask(
        app,
        "relationships",
        action="create",
        from_entity=source,
        to_entity=target,
        relationship_type=type,
        **more,
    )


def named(body: dict[str, Any]) -> set[str]:
    return {one["name"] for one in body["entities"]}


def told(body: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {
        (one["from_entity"], one["relationship_type"], one["to_entity"])
        for one in body["relationships"]
    }


def refers(app: App, text: str) -> str:
    return app.engine.writing.remember(ME, note(text)).item.id


# Entities


def test_the_documented_example_extracts_and_stores_with_what_the_sentence_says(app: App) -> None:
    body = ask(
        app,
        "entities",
        action="extract",
        store=True,
        min_confidence=0.7,
        content="Alice from Anthropic uses Rust to build the Claude API.",
    )
    ids = {one["name"]: one["id"] for one in body["entities"]}
    assert {(one["entity_type"], one["name"]) for one in body["entities"]} == {
        ("Person", "Alice"),
        ("Organization", "Anthropic"),
        ("Technology", "Rust"),
        ("Technology", "Claude API"),
    }
    assert told(body) == {
        (ids["Alice"], "WorksAt", ids["Anthropic"]),
        (ids["Alice"], "Uses", ids["Rust"]),
    }
    assert {one["evidence"] for one in body["relationships"]} == {
        "Alice from Anthropic uses Rust to build the Claude API."
    }
    assert (body["entity_count"], body["relationship_count"], body["method"]) == (4, 2, "built-in")
    assert named(ask(app, "entities", action="list")) == set(ids)
    assert told(ask(app, "relationships", action="list")) == told(body)
    again = ask(app, "entities", action="extract", content="alice uses Rust.", store=True)
    assert {one["id"] for one in again["entities"]} <= set(ids.values()), (
        "what is known is not stored twice"
    )
    assert ask(app, "entities", action="list")["entity_count"] == 4


def test_what_two_sentences_say_is_told_once_and_is_surer(app: App) -> None:
    once = ask(app, "entities", action="extract", content="Alice works at Anthropic.")[
        "relationships"
    ]
    twice = ask(
        app,
        "entities",
        action="extract",
        content="Alice works at Anthropic. Alice from Anthropic wrote it.",
    )
    assert [link["relationship_type"] for link in twice["relationships"]] == ["WorksAt"]
    assert twice["relationships"][0]["evidence"] == "Alice works at Anthropic."
    assert once[0]["confidence"] < twice["relationships"][0]["confidence"] < 1


def test_extraction_stores_only_where_asked_and_keeps_to_the_confidence(app: App) -> None:
    text = "Oyelaran said that Kafka is down."
    shown = ask(app, "entities", action="extract", content=text)
    assert named(shown) == {"Oyelaran", "Kafka"}
    assert "id" not in shown["entities"][0]
    assert ask(app, "entities", action="list")["entity_count"] == 0
    assert named(ask(app, "entities", action="extract", content=text, min_confidence=0.9)) == {
        "Kafka"
    }
    assert named(ask(app, "entities", action="extract", content="Spark is nice.")) == set()
    assert named(
        ask(app, "entities", action="extract", content="Spark is nice.", min_confidence=0.3)
    ) == {"Spark"}


def test_what_the_graph_knows_is_found_by_name_and_by_alias_in_any_case(app: App) -> None:
    text = "We ask zorbulator about the flux."
    assert named(ask(app, "entities", action="extract", content=text)) == set()
    one, two = make(app, "Zorbulator", "Zorb 9000")
    ask(app, "entities", action="merge", entity_ids=[one, two], canonical_name="The Machine")
    found = ask(app, "entities", action="extract", content=text, store=True)["entities"]
    assert [(entity["name"], entity["id"]) for entity in found] == [("Zorbulator", one)]
    assert found[0]["confidence"] > 0.9


def test_a_memory_gives_its_text_and_gets_its_mentions(app: App) -> None:
    memory = refers(app, "Maria moved the cache to Redis.")
    body = ask(
        app,
        "entities",
        action="extract",
        memory_id=f"subcog://project/context/{memory}",
        store=True,
    )
    assert named(body) == {"Maria", "Redis"}
    ids = {one["name"]: one["id"] for one in body["entities"]}
    mentions = ask(app, "relationships", action="list", relationship_type="MentionedIn")
    assert told(mentions) == {(id, "MentionedIn", memory) for id in ids.values()}
    around = ask(
        app,
        "graph",
        operation="neighbors",
        entity_id="Maria",
        relationship_types=["MentionedIn"],
        depth=2,
    )
    assert {(one["entity_type"], one["id"]) for one in around["entities"]} == {
        ("Memory", memory),
        ("Technology", ids["Redis"]),
    }
    other = ask(
        app, "entities", action="extract", content="Tom knows.", memory_id=memory, store=True
    )
    assert named(other) == {"Tom"}, "a text that is given goes before that of the memory"
    assert refused(app, "entities", action="extract", memory_id=NOBODY) == (-32604, "memory_id")
    assert refused(app, "entities", action="extract", content=" \n") == (-32608, "content")


def test_an_entity_is_made_read_listed_by_type_and_limited(app: App) -> None:
    made = ask(
        app,
        "entities",
        action="create",
        name="PostgreSQL",
        entity_type="Technology",
        properties={"since": 1996},
    )
    assert (made["name"], made["entity_type"], made["properties"]) == (
        "PostgreSQL",
        "Technology",
        {"since": 1996},
    )
    assert (made["confidence"], made["aliases"]) == (1.0, [])
    for way in (
        made["id"],
        made["urn"],
        f"urn:subcog:entity:{made['id']}",
        "PostgreSQL",
        "postgresql",
        "entity_postgresql",
    ):
        assert ask(app, "entities", action="get", entity_id=way) == made
    make(app, "Maria", "Tom", type="Person")
    assert named(ask(app, "entities", action="list", entity_type="Person")) == {"Maria", "Tom"}
    page = ask(app, "entities", action="list", limit=1)
    assert (len(page["entities"]), page["entity_count"]) == (1, 3)


def test_a_name_stands_once_per_type_and_a_name_of_two_needs_the_id(app: App) -> None:
    (first,) = make(app, "Mercury")
    assert refused(app, "entities", action="create", name="Mercury", entity_type="Technology") == (
        -32608,
        "name",
    )
    make(app, "Mercury", type="Organization")
    assert refused(app, "entities", action="get", entity_id="mercury") == (-32608, "entity_id")
    assert ask(app, "entities", action="get", entity_id=first)["entity_type"] == "Technology"


def test_to_delete_an_entity_cuts_its_relationships_and_mentions(app: App) -> None:
    a, b, _ = make(app, "A", "B", "C")
    first = tie(app, "A", "B")
    tie(app, "C", "A")
    tie(app, "B", "C")
    tie(app, "A", refers(app, "Of A."), "MentionedIn")
    assert ask(app, "entities", action="delete", entity_id="A") == {
        "id": a,
        "deleted": True,
        "relationships_removed": 3,
    }
    assert named(ask(app, "entities", action="list")) == {"B", "C"}
    assert ask(app, "relationships", action="list")["relationship_count"] == 1
    assert refused(app, "relationships", action="get", relationship_id=first["id"])[0] == -32604
    assert named(ask(app, "graph", operation="neighbors", entity_id=b)) == {"C"}
    for action in ("get", "delete"):
        assert refused(app, "entities", action=action, entity_id=a) == (-32604, "entity_id")


def test_to_delete_an_entity_leaves_alone_what_the_caller_cannot_see(app: App) -> None:
    ann = Caller("acme", "ann")
    shared = app.engine.writing.remember(
        ann, Draft("entity", "Kafka", namespace="Technology", audience=Audience.ORG)
    ).item.id
    secret = app.engine.writing.remember(ann, note("Kafka is dear.")).item.id
    link = app.engine.writing.link(ann, shared, secret, "MentionedIn")
    bob = Caller("acme", "bob")
    removed = ask(app, "entities", bob, action="delete", entity_id=shared)
    assert removed["relationships_removed"] == 0
    with app.store.reading("acme") as rows:
        assert rows.link_by_id("acme", link.id) == link


def test_merge_shows_first_and_then_does_exactly_that(app: App) -> None:
    kept, gone, more = make(app, "PostgreSQL", "Postgres", "PG")
    ask(app, "entities", action="create", name="Maria", entity_type="Person")
    tie(app, "Maria", "PostgreSQL")
    tie(app, "Maria", "Postgres")
    tie(app, "Postgres", "PG", "RelatesTo")
    moved = tie(app, "PG", "Maria", "Created", properties={"n": 1}, valid_from="2020-01-01")
    asked: dict[str, Any] = {
        "action": "merge",
        "entity_ids": ["Postgres", "PG", "PostgreSQL"],
        "canonical_name": "PostgreSQL",
    }
    shown = ask(app, "entities", **asked, dry_run=True)
    assert ask(app, "entities", action="list")["entity_count"] == 4
    assert ask(app, "relationships", action="list")["relationship_count"] == 4
    done = ask(app, "entities", **asked)
    assert (done["entity"]["id"], sorted(done["entity"]["aliases"])) == (kept, ["PG", "Postgres"])
    assert done["merged"] == [gone, more]
    (new,) = done["relationships"]
    assert (new["from_entity"], new["properties"], new["valid_from"]) == (
        kept,
        {"n": 1},
        moved["valid_from"],
    )

    def steady(body: dict[str, Any]) -> str:
        return re.sub(r'rel-[\w-]+|\d{4}-\d\d-\d\dT[\d:.]+Z|"dry_run": \w+', "", json.dumps(body))

    assert steady(shown) == steady(done)
    assert named(ask(app, "entities", action="list")) == {"Maria", "PostgreSQL"}
    assert ask(app, "entities", action="get", entity_id="PG")["id"] == kept
    assert ask(app, "relationships", action="list")["relationship_count"] == 2


def test_merge_moves_only_what_leads_to_something_that_is_there_for_the_caller(app: App) -> None:
    make(app, "A", "B", "C", "D")
    memory = refers(app, "About B.")
    tie(app, "B", "C")
    tie(app, "B", "D")
    mention = tie(app, "B", memory, "MentionedIn")
    ask(app, "entities", action="delete", entity_id="C")
    app.engine.writing.forget(ME, memory)
    assert refused(app, "relationships", action="get", relationship_id=mention["id"])[0] == -32604
    done = ask(app, "entities", action="merge", entity_ids=["A", "B"])
    assert [one["relationship_type"] for one in done["relationships"]] == ["Uses"]
    assert named(ask(app, "graph", operation="neighbors", entity_id="A")) == {"D"}
    assert ask(app, "graph", operation="stats")["relationship_count"] == 1


def test_merge_takes_the_first_name_or_a_new_one_and_refuses_what_makes_no_sense(app: App) -> None:
    a, b, c = make(app, "A", "B", "C")
    ask(app, "entities", action="create", name="D", entity_type="Concept", properties={"x": 1})
    assert ask(app, "entities", action="merge", entity_ids=[a, b])["entity"]["name"] == "A"
    renamed = ask(app, "entities", action="merge", entity_ids=[c, "D"], canonical_name="Sea")
    assert (
        renamed["entity"]["name"],
        renamed["entity"]["aliases"],
        renamed["entity"]["properties"],
    ) == ("Sea", ["C", "D"], {"x": 1})
    assert refused(app, "entities", action="merge", entity_ids=[a]) == (-32602, "entity_ids")
    assert refused(app, "entities", action="merge", entity_ids=[a, "A"]) == (-32608, "entity_ids")
    assert refused(app, "entities", action="merge", entity_ids=[a, NOBODY]) == (
        -32604,
        "entity_ids",
    )
    for dry_run in (True, False):
        assert (
            refused(
                app,
                "entities",
                action="merge",
                entity_ids=[c, *make(app, f"E{dry_run}")],
                canonical_name="A",
                dry_run=dry_run,
            )[0]
            == -32608
        ), "the name of another"


# Relationships


def test_a_relationship_is_made_read_changed_and_cut(app: App) -> None:
    a, b = make(app, "A", "B")
    first = tie(app, "A", "B", "WorksAt", properties={"role": "cook"})
    assert (
        first["from_entity"],
        first["to_entity"],
        first["relationship_type"],
        first["confidence"],
    ) == (a, b, "WorksAt", 1.0)
    again = tie(app, a, b, "WorksAt", properties={"role": "chef"})
    assert (again["id"], again["properties"]) == (first["id"], {"role": "chef"})
    assert ask(app, "relationships", action="get", relationship_id=first["id"]) == again
    assert (
        ask(app, "relationships", action="delete", relationship_id=first["id"])["deleted"] is True
    )
    for action in ("get", "delete"):
        assert refused(app, "relationships", action=action, relationship_id=first["id"]) == (
            -32604,
            "relationship_id",
        )


@pytest.mark.parametrize(
    "type",
    [
        "WorksAt",
        "Created",
        "Uses",
        "Implements",
        "PartOf",
        "RelatesTo",
        "Supersedes",
        "ConflictsWith",
    ],
)
def test_every_type_is_taken_as_documented(app: App, type: str) -> None:
    make(app, "A", "B")
    assert tie(app, "A", "B", type)["relationship_type"] == type


def test_relationships_are_listed_by_entity_direction_type_and_limit(app: App) -> None:
    a, b, c = make(app, "A", "B", "C")
    tie(app, "A", "B")
    tie(app, "C", "A", "PartOf")
    tie(app, "B", "C")
    assert ask(app, "relationships", action="list")["relationship_count"] == 3
    assert told(ask(app, "relationships", action="list", entity_id="A")) == {
        (a, "Uses", b),
        (c, "PartOf", a),
    }
    assert told(ask(app, "relationships", action="list", entity_id="A", direction="outgoing")) == {
        (a, "Uses", b)
    }
    assert told(ask(app, "relationships", action="list", entity_id="A", direction="incoming")) == {
        (c, "PartOf", a)
    }
    assert told(ask(app, "relationships", action="list", relationship_type="PartOf")) == {
        (c, "PartOf", a)
    }
    page = ask(app, "relationships", action="list", limit=2)
    assert (len(page["relationships"]), page["relationship_count"]) == (2, 3)


def test_bad_relationships_are_refused_by_name(app: App) -> None:
    a, _ = make(app, "A", "B")
    good = {"action": "create", "from_entity": "A", "to_entity": "B", "relationship_type": "Uses"}
    for wrong, said in (
        ({"from_entity": NOBODY}, (-32604, "from_entity")),
        ({"to_entity": "Z"}, (-32604, "to_entity")),
        ({"to_entity": a}, (-32608, "to_entity")),
        ({"valid_from": "soon"}, (-32608, "valid_from")),
        ({"relationship_type": "Likes"}, (-32602, "relationship_type")),
        ({"relationship_type": "MentionedIn"}, (-32604, "to_entity")),
        ({"valid_from": "2024-01-02", "valid_to": "2024-01-02"}, (-32608, "valid_to")),
        ({"limit": 3}, (-32602, "limit")),
    ):
        assert refused(app, "relationships", **good | wrong) == said


def test_infer_reads_what_memories_state_and_gives_the_sentence(app: App) -> None:
    (alice,) = make(app, "Alice", type="Person")
    postgres, redis = make(app, "Postgres", "Redis")
    memory = refers(app, "The ledger is new. Alice uses Postgres for it. Nobody likes the name.")
    body = ask(
        app,
        "relationships",
        action="infer",
        entity_ids=["entity_alice", "entity_postgres"],
        store=True,
        min_confidence=0.7,
    )
    (said,) = body["relationships"]
    assert (said["from_entity"], said["relationship_type"], said["to_entity"]) == (
        alice,
        "Uses",
        postgres,
    )
    assert (said["evidence"], said["memory_id"]) == ("Alice uses Postgres for it.", memory)
    (kept,) = ask(app, "relationships", action="list")["relationships"]
    assert (kept["memory_id"], kept["confidence"]) == (memory, said["confidence"])
    assert "evidence" not in kept, (
        "the text of a memory lies in no other stream, so that it can be erased"
    )
    assert (
        ask(app, "relationships", action="infer", entity_ids=["Alice", redis])["relationships"]
        == []
    )


def test_infer_takes_shared_mentions_as_a_hint_that_grows(app: App) -> None:
    make(app, "Kafka", "Redis")
    pair: dict[str, Any] = {"action": "infer", "entity_ids": ["Kafka", "Redis"]}
    refers(app, "Kafka was slow on Monday while Redis was full.")
    assert ask(app, "relationships", **pair)["relationships"] == []
    (weak,) = ask(app, "relationships", **pair, min_confidence=0.5)["relationships"]
    refers(app, "On Tuesday Redis and then Kafka had to be started anew.")
    (strong,) = ask(app, "relationships", **pair)["relationships"]
    assert (weak["confidence"], strong["confidence"]) == (0.5, 0.75)
    assert strong["relationship_type"] == "RelatesTo"
    assert strong["evidence"] == "Kafka was slow on Monday while Redis was full."
    assert ask(app, "relationships", action="list")["relationships"] == [], (
        "nothing is stored unless asked"
    )
    ask(app, "relationships", **pair, store=True)
    ask(app, "relationships", **pair, store=True)
    assert ask(app, "relationships", action="list")["relationship_count"] == 1


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("Kafka was planned for a while.", 0),
        ("Kafka was given to Ann-Marie.", 1),
        ("Kafka: ask Ann.", 1),
        ("Anna and Kafka; ann_lee.", 0),
    ],
)
def test_a_name_is_no_part_of_a_word(app: App, text: str, relations: int) -> None:
    make(app, "Kafka")
    make(app, "Ann", type="Person")
    refers(app, text)
    pair: dict[str, Any] = {"action": "infer", "entity_ids": ["Kafka", "Ann"]}
    found = ask(app, "relationships", **pair, min_confidence=0.1)["relationships"]
    assert len(found) == relations


def test_a_relationship_has_an_id_of_the_documented_form(app: App) -> None:
    make(app, "A", "B")
    assert re.fullmatch("rel-[0-9a-f]{12}", tie(app, "A", "B")["id"])


def test_a_mention_counts_although_the_text_says_another_name(app: App) -> None:
    make(app, "Kafka", "Redis")
    for _ in range(2):
        memory = refers(app, "The queue and the cache belong together.")
        for name in ("Kafka", "Redis"):
            tie(app, name, memory, "MentionedIn")
    (said,) = ask(app, "relationships", action="infer", entity_ids=["Kafka", "Redis"])[
        "relationships"
    ]
    assert said["confidence"] == 0.75


# The graph


def chain(app: App) -> list[str]:
    ids = make(app, "A", "B", "C", "D")
    tie(app, "A", "B")
    tie(app, "C", "B", "PartOf")
    tie(app, "C", "D")
    return ids


def test_the_documented_graph_examples(app: App) -> None:
    make(app, "Postgres")
    make(app, "Alice", type="Person")
    make(app, "Sleep", type="Concept")
    tie(app, "Alice", "Postgres")
    tie(app, "Alice", "Sleep")
    around = ask(app, "graph", operation="neighbors", entity_id="entity_postgres", depth=2)
    assert named(around) == {"Alice", "Sleep"}
    shown = ask(
        app,
        "graph",
        operation="visualize",
        format="mermaid",
        entity_types=["Person", "Technology"],
        depth=2,
    )
    assert (shown["format"], shown["entity_count"], shown["relationship_count"]) == (
        "mermaid",
        2,
        1,
    )
    assert "Alice" in shown["content"]
    assert "Sleep" not in shown["content"]


def test_neighbors_by_depth_type_and_direction(app: App) -> None:
    a, b, _, _ = chain(app)
    near = ask(app, "graph", operation="neighbors", entity_id="A")
    assert (named(near), told(near)) == ({"B"}, {(a, "Uses", b)})
    assert (near["entity_count"], near["relationship_count"]) == (1, 1)
    assert named(ask(app, "graph", operation="neighbors", entity_id="A", depth=2)) == {"B", "C"}
    far = ask(app, "graph", operation="neighbors", entity_id="A", depth=3)
    assert [one["name"] for one in far["entities"]] == ["B", "C", "D"], "the nearest first"
    assert named(
        ask(app, "graph", operation="neighbors", entity_id="B", relationship_types=["PartOf"])
    ) == {"C"}
    assert named(
        ask(app, "graph", operation="neighbors", entity_id="A", depth=3, direction="outgoing")
    ) == {"B"}
    assert named(ask(app, "graph", operation="neighbors", entity_id="B", direction="incoming")) == {
        "A",
        "C",
    }
    for wrong, said in (
        ({"depth": 4}, (-32602, "depth")),
        ({"entity_id": NOBODY}, (-32604, "entity_id")),
        ({"relationship_types": ["Likes"]}, (-32602, "relationship_types.0")),
        ({"max_hops": 2}, (-32602, "max_hops")),
    ):
        assert refused(app, "graph", **{"operation": "neighbors", "entity_id": "A"} | wrong) == said


def test_a_path_is_the_shortest_in_either_direction_or_empty(app: App) -> None:
    a, b, c, d = chain(app)
    found = ask(app, "graph", operation="path", from_entity="A", to_entity="D")
    assert [one["name"] for one in found["entities"]] == ["A", "B", "C", "D"]
    assert [(one["from_entity"], one["to_entity"]) for one in found["relationships"]] == [
        (a, b),
        (c, b),
        (c, d),
    ]
    none = ask(app, "graph", operation="path", from_entity="A", to_entity="D", max_hops=2)
    assert (none["entities"], none["relationships"], none["entity_count"]) == ([], [], 0)
    assert named(ask(app, "graph", operation="path", from_entity="A", to_entity="A")) == {"A"}
    for name in ("from_entity", "to_entity"):
        assert refused(
            app,
            "graph",
            **{"operation": "path", "from_entity": "A", "to_entity": "B", name: NOBODY},
        ) == (-32604, name)


def test_stats_count_entities_relationships_and_mentions_by_type(app: App) -> None:
    chain(app)
    make(app, "Tom", type="Person")
    tie(app, "Tom", refers(app, "Tom."), "MentionedIn")
    assert ask(app, "graph", operation="stats") == {
        "entity_count": 5,
        "relationship_count": 3,
        "mention_count": 1,
        "entities_by_type": {"Technology": 4, "Person": 1},
        "relationships_by_type": {"Uses": 2, "PartOf": 1},
    }


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({}, {"A", "B", "C", "D", "Tom"}),
        ({"entity_id": "A"}, {"A", "B", "C"}),
        ({"entity_id": "A", "depth": 1}, {"A", "B"}),
        ({"entity_types": ["Person"]}, {"Tom"}),
        pytest.param({"limit": 2}, {"B", "C"}, id="the most linked ones"),
        ({"entity_id": "A", "limit": 2}, {"A", "B"}),
    ],
)
def test_visualize_shows_what_center_depth_type_and_limit_choose(
    app: App, choice: dict[str, Any], names: set[str]
) -> None:
    chain(app)
    make(app, "Tom", type="Person")
    content = ask(app, "graph", operation="visualize", format="json", **choice)["content"]
    assert {node["name"] for node in json.loads(content)["nodes"]} == names


def test_visualize_says_when_there_is_more_than_it_shows(app: App) -> None:
    chain(app)
    assert ask(app, "graph", operation="visualize", limit=2)["warnings"] == [
        "There is more than is shown."
    ]


def test_visualize_draws_in_the_format_that_is_asked_for(app: App) -> None:
    chain(app)
    assert ask(app, "graph", operation="visualize", entity_id="A", depth=1, format="ascii")[
        "content"
    ] == ('"A"\n"B"\n"A" --Uses--> "B"\n')
    edges = json.loads(ask(app, "graph", operation="visualize", format="json")["content"])["edges"]
    assert {(edge["relationship_type"], edge["confidence"]) for edge in edges} == {
        ("Uses", 1.0),
        ("PartOf", 1.0),
    }
    assert ask(app, "graph", operation="visualize")["format"] == "mermaid"
    assert refused(app, "graph", operation="visualize", format="png") == (-32602, "format")


def test_no_name_can_pass_for_a_link_in_plain_text(app: App) -> None:
    make(app, *NAMES)
    content = ask(app, "graph", operation="visualize", format="ascii")["content"]
    assert [json.loads(line) for line in content.splitlines()] == NAMES


# Time


def test_valid_time_chooses_what_held_and_known_time_what_the_log_knew(app: App) -> None:
    _, _, start = make(app, "Maria", type="Person") + make(
        app, "Nokia", "Bosch", type="Organization"
    )
    assert start
    old = tie(app, "Maria", "Nokia", "WorksAt", valid_from="2015-01-01", valid_to="2020-01-01")
    tie(app, "Maria", "Bosch", "WorksAt", valid_from="2020-01-01")

    def where(**more: Any) -> set[str]:
        return named(ask(app, "graph", operation="neighbors", entity_id="Maria", **more))

    assert where() == {"Nokia", "Bosch"}
    assert (
        where(valid_at="2014-01-01"),
        where(valid_at="2018-05-05"),
        where(valid_at="2020-01-01"),
    ) == (set(), {"Nokia"}, {"Bosch"})
    assert where(as_of=old["created_at"]) == {"Nokia"}
    ask(app, "relationships", action="delete", relationship_id=old["id"])
    before = app.engine.clock.now()
    ask(app, "entities", action="delete", entity_id="Bosch")
    assert where() == set()
    assert where(as_of=before) == {"Bosch"}
    assert where(as_of=old["created_at"], valid_at="2018-05-05", direction="outgoing") == {"Nokia"}
    assert where(as_of=old["created_at"], direction="incoming") == set()
    assert where(as_of=old["created_at"], relationship_types=["Uses"]) == set()


def test_every_reading_of_the_graph_can_be_of_the_past(app: App) -> None:
    a, b, c = make(app, "A", "B", "C")
    tie(app, "A", "B", valid_to="2020-01-01")
    tie(app, "B", "C", valid_from="2019-01-01")
    then = app.engine.clock.now()
    ask(app, "entities", action="merge", entity_ids=[c, b], canonical_name="New")

    def names(**more: Any) -> list[str]:
        found = ask(app, "graph", operation="path", from_entity=a, to_entity=c, **more)
        return [one["name"] for one in found["entities"]]

    assert (names(), names(as_of=then)) == (["A", "New"], ["A", "B", "C"])
    assert (names(as_of=then, valid_at="2019-06-01"), names(as_of=then, valid_at="2018-01-01")) == (
        ["A", "B", "C"],
        [],
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("relationships", {"action": "list"}),
        ("relationships", {"action": "list", "entity_id": b}),
        ("graph", {"operation": "visualize"}),
        ("graph", {"operation": "visualize", "entity_id": b}),
    ]
    for tool, more in calls:
        assert ask(app, tool, **more, as_of=then)["relationship_count"] == 2
        assert ask(app, tool, **more, as_of=then, valid_at="2018-01-01")["relationship_count"] == 1
    assert (
        ask(app, "relationships", action="list", valid_at="2021-01-01")["relationship_count"] == 0
    )
    assert refused(app, "graph", operation="neighbors", entity_id="A", as_of="then") == (
        -32608,
        "as_of",
    )
    assert refused(app, "relationships", action="list", valid_at="then") == (-32608, "valid_at")


def test_an_erased_entity_is_in_no_past(app: App) -> None:
    a, _ = make(app, "A", "B")
    tie(app, "A", "B")
    then = app.engine.clock.now()
    app.engine.writing.erase(ME, a)
    assert ask(app, "graph", operation="neighbors", entity_id="B", as_of=then)["entities"] == []
    assert ask(app, "graph", operation="visualize", as_of=then)["entity_count"] == 1


# Who sees what


def test_a_project_shares_its_entities_and_others_do_not_see_them(app: App) -> None:
    mine, mate, other = (
        Caller(user="a", project="x"),
        Caller(user="b", project="x"),
        Caller(user="c", project="y"),
    )
    (id,) = make(app, "Zebra", caller=mine)
    assert ask(app, "entities", mate, action="get", entity_id="Zebra")["id"] == id
    assert ask(app, "entities", mate, action="get", entity_id=id)["urn"].startswith(
        "subcog://project/Technology/"
    )
    assert ask(app, "entities", other, action="list")["entity_count"] == 0
    assert ask(app, "graph", other, operation="stats")["entity_count"] == 0
    outcome = app.registry.run(
        "subcog_entities", {"action": "get", "entity_id": id}, Call(other, app.engine)
    )
    assert outcome.body["code"] == -32604
    assert named(ask(app, "entities", other, action="extract", content="the zebra")) == set(), (
        "nor by its name"
    )


def test_secrets_are_redacted_from_what_is_kept(app: App) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLZ"
    body = ask(
        app,
        "entities",
        action="create",
        name="Store",
        entity_type="Concept",
        properties={"key": key},
    )
    assert key not in json.dumps(body)
