"""The Knowledge family: each tool does what it says, each parameter changes the outcome, and old
defects stay away.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.engine.graph.drawing import FORMATS, draw
from memolith.engine.graph.walking import Traversal
from memolith.errors import AlreadyExists, InvalidInput, NotUndoable
from memolith.tools.call import Call
from memolith.tools.knowledge.dialect import knowledge
from tests.checked import body_of, present
from tests.conftest import ME, engine_of, note, show_everything

MISSING = "00000000-0000-7000-8000-000000000000"
LONG = (
    "A for loop in Python runs its body once for each of the items of a list, a tuple or a string, in order, and "
    "ends by itself after the last of the 3 or 300 items; `break` ends it earlier."
)


def run(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return outcome.body


def refused(app: App, tool: str, **arguments: Any) -> tuple[str, str | None]:
    """The type and the field of the error; nothing was written."""
    before = run(app, "get_server_stats")["event_store"]
    outcome = app.registry.run(tool, arguments, Call(ME, app.engine))
    assert not outcome.ok, outcome.body
    assert run(app, "get_server_stats")["event_store"] == before
    body = body_of(outcome)
    assert (body["success"], body["error"], bool(body["message"])) == (
        False,
        body["error_type"],
        True,
    )
    return body["error"], body["details"].get("field")


def make(app: App, name: str, explanation: str = "", **places: Any) -> str:
    id = run(
        app, "create_concept", name=name, explanation=explanation or f"What {name} means.", **places
    )["concept_id"]
    assert isinstance(id, str)
    return id


def relate(app: App, source: str, target: str, type: str = "prerequisite", **more: Any) -> str:
    id = run(
        app,
        "create_relationship",
        source_id=source,
        target_id=target,
        relationship_type=type,
        **more,
    )["relationship_id"]
    assert isinstance(id, str)
    return id


def certainty(app: App, id: str) -> float:
    return float(run(app, "get_concept", concept_id=id)["concept"]["certainty_score"])


def names(body: dict[str, Any], key: str = "results") -> list[str]:
    return [row["name"] for row in body[key]]


@pytest.fixture
def course(app: App) -> dict[str, str]:
    """Six concepts: variables before functions before decorators, loops related to functions, one
    apart, one astray.
    """
    ids = {
        "variables": make(app, "Variables", area="Programming", topic="Python", certainty_score=95),
        "functions": make(
            app,
            "Functions",
            area="Programming",
            topic="Python",
            subtopic="Code",
            certainty_score=80,
        ),
        "decorators": make(
            app, "Decorators", area="Programming", topic="Python", certainty_score=40
        ),
        "loops": make(
            app,
            "For Loops",
            LONG,
            area="Programming",
            topic="C",
            subtopic="Code",
            certainty_score=60,
        ),
        "tea": make(app, "Tea", area="Kitchen", certainty_score=50),
        "stray": make(app, "100%_sure", certainty_score=20),
    }
    relate(app, ids["variables"], ids["functions"])
    relate(app, ids["functions"], ids["decorators"], notes="Functions come first.")
    relate(app, ids["loops"], ids["functions"], "relates_to", strength=0.4)
    return ids


# Every tool, every parameter


def test_ping_answers_with_its_name_and_the_time(app: App) -> None:
    body = run(app, "ping")
    assert (body["status"], body["server_name"], set(body)) == (
        "ok",
        "memolith",
        {"status", "message", "server_name", "timestamp"},
    )
    assert body["timestamp"].endswith("Z")


def test_create_keeps_what_was_given_and_get_shows_it(app: App) -> None:
    body = run(
        app,
        "create_concept",
        name="  Python   For Loops ",
        explanation=LONG,
        area="Programming",
        topic=" Python",
        subtopic="Control Flow",
        certainty_score=90,
    )
    assert (body["success"], body["message"], set(body)) == (
        True,
        "Created",
        {"success", "message", "concept_id"},
    )
    shown = run(app, "get_concept", concept_id=body["concept_id"])
    concept = shown["concept"]
    assert (shown["success"], shown["message"]) == (True, "Found")
    assert concept | {"created_at": 0, "last_modified": 0} == {
        "concept_id": body["concept_id"],
        "name": "Python For Loops",
        "explanation": LONG,
        "area": "Programming",
        "topic": "Python",
        "subtopic": "Control Flow",
        "certainty_score": 90,
        "certainty_source": "given",
        "created_at": 0,
        "last_modified": 0,
    }
    assert concept["created_at"] == concept["last_modified"]


def test_places_that_were_left_out_are_null(app: App) -> None:
    concept = run(app, "get_concept", concept_id=make(app, "Tea"))["concept"]
    assert (concept["area"], concept["topic"], concept["subtopic"]) == (None, None, None)


@pytest.mark.parametrize(
    "field, value",
    [
        ("name", "Loops"),
        ("explanation", "Said anew."),
        ("area", "Kitchen"),
        ("topic", "Tea"),
        ("subtopic", "Green"),
        ("certainty_score", 12.5),
    ],
)
def test_each_field_of_update_changes_that_field_alone(
    app: App, course: dict[str, str], field: str, value: Any
) -> None:
    before = run(app, "get_concept", concept_id=course["functions"])["concept"]
    body = run(app, "update_concept", concept_id=course["functions"], **{field: value})
    assert body == {"success": True, "concept_id": course["functions"], "message": "Updated"}
    after = run(app, "get_concept", concept_id=course["functions"])["concept"]
    assert {name for name in before if before[name] != after[name]} == {field, "last_modified"}
    assert after[field] == value


def test_an_empty_place_takes_the_old_one_away(app: App, course: dict[str, str]) -> None:
    run(app, "update_concept", concept_id=course["functions"], topic="", subtopic=" ")
    concept = run(app, "get_concept", concept_id=course["functions"])["concept"]
    assert (concept["area"], concept["topic"], concept["subtopic"]) == ("Programming", None, None)


def test_an_update_without_fields_is_refused(app: App, course: dict[str, str]) -> None:
    assert refused(app, "update_concept", concept_id=course["tea"])[0] == "validation_error"


def test_delete_hides_a_concept_from_every_read(app: App, course: dict[str, str]) -> None:
    gone = course["functions"]
    assert run(app, "delete_concept", concept_id=gone) == {
        "success": True,
        "concept_id": gone,
        "message": "Deleted",
    }
    for tool, arguments in (
        ("get_concept", {"concept_id": gone}),
        ("get_related_concepts", {"concept_id": gone}),
        ("update_concept", {"concept_id": gone, "name": "x"}),
        ("get_prerequisites", {"concept_id": gone}),
        ("get_concept_chain", {"start_concept_id": gone, "end_concept_id": course["tea"]}),
        (
            "create_relationship",
            {"source_id": gone, "target_id": course["tea"], "relationship_type": "includes"},
        ),
    ):
        assert refused(app, tool, **arguments)[0] == "concept_not_found", tool
    assert "Functions" not in names(run(app, "search_concepts_exact", limit=100))
    assert "Functions" not in names(run(app, "search_concepts_semantic", query="functions"))
    assert names(run(app, "get_related_concepts", concept_id=course["decorators"])) == []


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({}, {"Variables", "Functions", "Decorators", "For Loops", "Tea", "100%_sure"}),
        ({"limit": 2}, 2),
        ({"min_certainty": 60}, {"Variables", "Functions", "For Loops"}),
        ({"area": "Kitchen"}, {"Tea"}),
        ({"topic": "C"}, {"For Loops"}),
        (
            {"area": "Programming", "topic": "Python", "min_certainty": 80},
            {"Variables", "Functions"},
        ),
    ],
    ids=range(6),
)
def test_each_parameter_of_the_semantic_search_narrows_it(
    app: App, course: dict[str, str], arguments: dict[str, Any], wanted: set[Any] | int
) -> None:
    show_everything(app)
    body = run(
        app,
        "search_concepts_semantic",
        query="what tea functions variables decorators loop 100 sure means",
        **arguments,
    )
    found = names(body)
    assert len(found) == wanted if isinstance(wanted, int) else set(found) == wanted
    assert run(app, "search_concepts_semantic", query="tea")["results"][0]["name"] == "Tea"
    similar = [row["similarity"] for row in body["results"]]
    assert similar == sorted(similar, reverse=True)
    assert body["results"][0].keys() == {
        "concept_id",
        "name",
        "similarity",
        "area",
        "topic",
        "certainty_score",
        "created_at",
        "updated_at",
    }


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({"limit": 2}, ["100%_sure", "Tea"]),
        ({"name": "LOOP"}, ["For Loops"]),
        ({"name": "%"}, ["100%_sure"]),
        ({"name": "_"}, ["100%_sure"]),
        ({"area": "Kitchen"}, ["Tea"]),
        ({"area": "kitchen"}, []),
        ({"topic": "Python"}, ["Decorators", "Functions", "Variables"]),
        ({"subtopic": "Code"}, ["For Loops", "Functions"]),
        ({"min_certainty": 80}, ["Functions", "Variables"]),
        ({"name": "Func", "area": "Kitchen"}, []),
    ],
    ids=str,
)
def test_each_parameter_of_the_exact_search_narrows_it_newest_first(
    app: App, course: dict[str, str], arguments: dict[str, Any], wanted: list[Any]
) -> None:
    body = run(app, "search_concepts_exact", **arguments)
    assert names(body) == wanted
    assert body["total"] == (6 if "limit" in arguments else len(wanted))
    assert body["message"] == f"Found {body['total']} concepts matching criteria"
    for row in body["results"]:
        assert row.keys() == {
            "concept_id",
            "name",
            "area",
            "topic",
            "subtopic",
            "certainty_score",
            "created_at",
        }


def test_a_part_of_a_name_is_found_in_any_case_of_any_script(app: App) -> None:
    make(app, "Über ÄSTHETIK")
    assert names(run(app, "search_concepts_exact", name="üBER ästh")) == ["Über ÄSTHETIK"]


def test_recent_concepts_come_newest_first_up_to_the_limit(
    app: App, course: dict[str, str]
) -> None:
    body = run(app, "get_recent_concepts", limit=2)
    assert (names(body), body["total"]) == (["100%_sure", "Tea"], 6)
    assert body["results"][0].keys() == {"concept_id", "name", "area", "topic", "created_at"}
    assert len(run(app, "get_recent_concepts")["results"]) == 6


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({}, ["Variables", "Decorators", "For Loops"]),
        ({"direction": "outgoing"}, ["Decorators"]),
        ({"direction": "incoming"}, ["Variables", "For Loops"]),
        ({"relationship_type": "relates_to"}, ["For Loops"]),
        ({"limit": 1}, ["Variables"]),
    ],
    ids=str,
)
def test_each_parameter_of_related_narrows_it_strongest_first(
    app: App, course: dict[str, str], arguments: dict[str, Any], wanted: list[Any]
) -> None:
    body = run(app, "get_related_concepts", concept_id=course["functions"], **arguments)
    assert (names(body), body["total"]) == (wanted, 3 if "limit" in arguments else len(wanted))


def test_a_related_row_tells_type_direction_strength_and_notes(
    app: App, course: dict[str, str]
) -> None:
    rows = run(app, "get_related_concepts", concept_id=course["functions"])["results"]
    assert rows[1] == {
        "concept_id": course["decorators"],
        "name": "Decorators",
        "relationship_type": "PREREQUISITE",
        "direction": "outgoing",
        "strength": 1.0,
        "notes": "Functions come first.",
    }
    assert (rows[2]["direction"], rows[2]["strength"], rows[2]["notes"]) == ("incoming", 0.4, None)


def test_prerequisites_reach_as_deep_as_asked(app: App, course: dict[str, str]) -> None:
    last = course["decorators"]
    assert names(run(app, "get_prerequisites", concept_id=last, depth=1), "prerequisites") == [
        "Functions"
    ]
    assert names(run(app, "get_prerequisites", concept_id=last), "prerequisites") == [
        "Functions",
        "Variables",
    ]


def test_a_chain_is_as_long_as_allowed(app: App, course: dict[str, str]) -> None:
    ends: dict[str, Any] = {
        "start_concept_id": course["variables"],
        "end_concept_id": course["decorators"],
    }
    assert run(app, "get_concept_chain", **ends)["length"] == 2
    assert refused(app, "get_concept_chain", **ends, max_depth=1) == (
        "path_not_found",
        "end_concept_id",
    )


def test_delete_relationship_cuts_exactly_that_one(app: App, course: dict[str, str]) -> None:
    relate(app, course["variables"], course["functions"], "includes")
    ends: dict[str, Any] = {"source_id": course["variables"], "target_id": course["functions"]}
    cut = run(app, "delete_relationship", **ends, relationship_type="PREREQUISITE")
    assert (cut["relationship_id"][:4], cut["message"]) == ("rel-", "Relationship deleted")
    rows = run(app, "get_related_concepts", concept_id=course["variables"])["results"]
    assert [row["relationship_type"] for row in rows] == ["INCLUDES"]
    assert refused(app, "delete_relationship", **ends, relationship_type="prerequisite") == (
        "relationship_not_found",
        "relationship_type",
    )
    back = {"source_id": course["functions"], "target_id": course["variables"]}
    assert (
        refused(app, "delete_relationship", **back, relationship_type="includes")[0]
        == "relationship_not_found"
    )


def test_the_hierarchy_counts_every_level(app: App, course: dict[str, str]) -> None:
    body = run(app, "list_hierarchy")
    assert (body["total_concepts"], body["message"]) == (
        6,
        "Hierarchy contains 3 areas with 6 concepts",
    )
    assert body["areas"] == [
        {
            "name": "Kitchen",
            "concept_count": 1,
            "topics": [
                {
                    "name": "General",
                    "concept_count": 1,
                    "subtopics": [{"name": "General", "concept_count": 1}],
                }
            ],
        },
        {
            "name": "Programming",
            "concept_count": 4,
            "topics": [
                {
                    "name": "C",
                    "concept_count": 1,
                    "subtopics": [{"name": "Code", "concept_count": 1}],
                },
                {
                    "name": "Python",
                    "concept_count": 3,
                    "subtopics": [
                        {"name": "Code", "concept_count": 1},
                        {"name": "General", "concept_count": 2},
                    ],
                },
            ],
        },
        {
            "name": "Uncategorized",
            "concept_count": 1,
            "topics": [
                {
                    "name": "General",
                    "concept_count": 1,
                    "subtopics": [{"name": "General", "concept_count": 1}],
                }
            ],
        },
    ]


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        ({}, ["100%_sure", "Decorators", "Tea", "For Loops", "Functions", "Variables"]),
        ({"min_certainty": 80}, ["Functions", "Variables"]),
        ({"max_certainty": 40}, ["100%_sure", "Decorators"]),
        ({"limit": 1}, ["100%_sure"]),
        ({"sort_order": "desc", "limit": 2}, ["Variables", "Functions"]),
        ({"min_certainty": 50, "max_certainty": 50}, ["Tea"]),
    ],
    ids=str,
)
def test_each_parameter_of_certainty_narrows_or_sorts_it(
    app: App, course: dict[str, str], arguments: dict[str, Any], wanted: list[Any]
) -> None:
    assert names(run(app, "get_concepts_by_certainty", **arguments)) == wanted


def test_equal_certainties_are_sorted_by_name_and_crossed_bounds_refused(app: App) -> None:
    for name in ("pear", "Apple", "fig"):
        make(app, name, certainty_score=50)
    assert names(run(app, "get_concepts_by_certainty")) == ["Apple", "fig", "pear"]
    assert refused(app, "get_concepts_by_certainty", min_certainty=60, max_certainty=50) == (
        "validation_error",
        "min_certainty",
    )


def test_an_idempotency_key_makes_a_repeated_create_return_the_first_concept(app: App) -> None:
    call = Call(ME, app.engine, idempotency_key="once")
    arguments = {"name": "Tea", "explanation": "Leaves."}
    first, again = (app.registry.run("create_concept", arguments, call).body for _ in range(2))
    assert first == again
    assert run(app, "get_recent_concepts")["total"] == 1


def test_secrets_are_redacted_and_told(app: App) -> None:
    body = run(app, "create_concept", name="Deploy", explanation="Use gh" + "p_" + "Zx9" * 12)
    assert body["redactions"] == {"github-token": 1}
    assert (
        "[REDACTED]"
        in run(app, "get_concept", concept_id=body["concept_id"])["concept"]["explanation"]
    )


# The defects of the original server


def test_defect_1_a_name_of_more_than_200_characters_is_refused(app: App) -> None:
    make(app, "n" * 200)
    assert refused(app, "create_concept", name="n" * 201, explanation="Too long.") == (
        "validation_error",
        "name",
    )


def test_defect_2_history_holds_every_explanation_oldest_first(app: App) -> None:
    id = make(app, "Tea", "First.")
    run(app, "update_concept", concept_id=id, explanation="Second.")
    run(app, "update_concept", concept_id=id, name="Green tea")
    run(app, "update_concept", concept_id=id, explanation="Third.")
    assert "explanation_history" not in run(app, "get_concept", concept_id=id)["concept"]
    told = run(app, "get_concept", concept_id=id, include_history=True)["concept"][
        "explanation_history"
    ]
    assert [entry["explanation"] for entry in told] == ["First.", "Second.", "Third."]
    assert sorted(entry["timestamp"] for entry in told) == [entry["timestamp"] for entry in told]


def test_defect_3_an_update_of_an_unknown_id_is_concept_not_found(app: App) -> None:
    assert refused(app, "update_concept", concept_id=MISSING, name="x")[0] == "concept_not_found"


def test_defect_4_a_delete_of_an_unknown_id_is_concept_not_found_and_so_is_a_second_delete(
    app: App,
) -> None:
    assert refused(app, "delete_concept", concept_id=MISSING)[0] == "concept_not_found"
    run(app, "delete_concept", concept_id=(id := make(app, "Tea")))
    assert refused(app, "delete_concept", concept_id=id)[0] == "concept_not_found"


def test_defect_5_area_topic_and_certainty_together_give_full_pages(smart: App) -> None:
    # Three hundred nearer concepts elsewhere: a filter after the choice of the nearest would leave
    # nothing.
    for n in range(300):
        make(
            smart,
            f"Green tea {n}",
            "A cup of hot green tea.",
            area="Kitchen",
            topic=f"Cup {n}",
            certainty_score=90,
        )
    for n in range(30):
        make(
            smart,
            f"Valve {n}",
            "Steam from a boiler.",
            area="Machines",
            topic="Steam",
            certainty_score=n * 3,
        )
    smart.upkeep.run()
    show_everything(smart)
    body = run(
        smart,
        "search_concepts_semantic",
        query="a cup of hot green tea",
        area="Machines",
        topic="Steam",
        min_certainty=30,
        limit=20,
    )
    assert (len(body["results"]), body["total"]) == (20, 20)
    assert all(
        row["area"] == "Machines" and row["certainty_score"] >= 30 for row in body["results"]
    )


def test_defect_6_what_has_no_place_is_found_where_the_hierarchy_counts_it(
    app: App, course: dict[str, str]
) -> None:
    make(app, "Also astray", area="Uncategorized")
    assert names(run(app, "search_concepts_exact", area="Uncategorized")) == [
        "Also astray",
        "100%_sure",
    ]
    assert names(
        run(app, "search_concepts_exact", area="Kitchen", topic="General", subtopic="General")
    ) == ["Tea"]
    assert "100%_sure" in names(
        run(app, "search_concepts_semantic", query="100 sure", area="Uncategorized")
    )


def test_defect_7_certainty_can_be_sorted_both_ways(app: App, course: dict[str, str]) -> None:
    up, down = (
        names(run(app, "get_concepts_by_certainty", sort_order=order)) for order in ("asc", "desc")
    )
    assert up == list(reversed(down))


def test_defect_8_statistics_count_the_log_and_the_outbox_zeros_included(
    app: App, course: dict[str, str]
) -> None:
    empty = run(app, "get_server_stats", Caller("elsewhere"))
    assert empty == {
        "success": True,
        "event_store": {"total_events": 0, "concept_events": 0},
        "outbox": {"pending": 0, "processed": 0, "failed": 0},
        "status": "healthy",
    }
    before = run(app, "get_server_stats")
    assert before["event_store"] == {"total_events": 9, "concept_events": 6}
    assert before["outbox"] == {"pending": 6, "processed": 0, "failed": 0}
    run(app, "delete_concept", concept_id=course["tea"])
    assert run(app, "get_server_stats")["event_store"] == {"total_events": 10, "concept_events": 7}


def test_defect_9_the_hierarchy_is_right_immediately_after_every_write(app: App) -> None:
    def shape() -> dict[str, int]:
        return {area["name"]: area["concept_count"] for area in run(app, "list_hierarchy")["areas"]}

    assert shape() == {}
    id = make(app, "Tea", area="Kitchen")
    assert shape() == {"Kitchen": 1}
    run(app, "update_concept", concept_id=id, area="Garden")
    assert shape() == {"Garden": 1}
    run(app, "delete_concept", concept_id=id)
    assert shape() == {}
    run(app, "restore_item", id=id)
    assert shape() == {"Garden": 1}


@pytest.mark.parametrize(
    "tool, arguments",
    [
        ("search_concepts_semantic", {"query": "x", "limit": 51}),
        ("search_concepts_exact", {"limit": 101}),
        ("get_recent_concepts", {"limit": 0}),
        ("get_concepts_by_certainty", {"min_certainty": -1}),
        ("get_prerequisites", {"concept_id": "x", "depth": 6}),
        ("get_related_concepts", {"concept_id": "x", "limit": 51}),
        ("get_concept_chain", {"start_concept_id": "x", "end_concept_id": "x", "max_depth": 11}),
        ("create_concept", {"name": "x", "explanation": "x", "certainty_score": 101}),
        ("create_concept", {"name": "x", "explanation": "x", "area": "a" * 101}),
        ("create_concept", {"explanation": "x", "name": " \t"}),
        ("create_concept", {"name": "x", "explanation": "\n"}),
        (
            "create_relationship",
            {"source_id": "x", "target_id": "y", "relationship_type": "includes", "strength": 1.1},
        ),
        (
            "create_relationship",
            {"source_id": "x", "target_id": "y", "relationship_type": "causes"},
        ),
    ],
    ids=str,
)
def test_values_out_of_range_are_refused_by_name_and_never_clamped(
    app: App, tool: str, arguments: dict[str, Any]
) -> None:
    assert refused(app, tool, **arguments) == ("validation_error", list(arguments)[-1])


# Readings of what the document leaves open


def test_there_are_17_tools_and_availability_lists_itself(app: App) -> None:
    body = run(app, "get_tool_availability")
    assert (body["total_tools"], len(body["available"]), body["unavailable"]) == (17, 17, [])
    assert body["available"] == sorted(tool.name for tool in knowledge.tools)
    assert {"ping", "get_server_stats", "get_tool_availability"} <= set(body["available"])
    search = body["service_status"]["search_tools"]
    assert search == {"neo4j_service": True, "chromadb_service": False, "embedding_service": False}


def test_availability_reports_the_model_that_is_there(smart: App) -> None:
    assert (
        run(smart, "get_tool_availability")["service_status"]["search_tools"]["embedding_service"]
        is True
    )


def test_the_length_of_a_chain_counts_edges(app: App, course: dict[str, str]) -> None:
    body = run(
        app,
        "get_concept_chain",
        start_concept_id=course["variables"],
        end_concept_id=course["decorators"],
    )
    assert (body["length"], body["message"]) == (2, "Found path of length 2")
    assert [(step["name"], step["relationship_to_next"]) for step in body["path"]] == [
        ("Variables", "PREREQUISITE"),
        ("Functions", "PREREQUISITE"),
        ("Decorators", None),
    ]
    same = run(
        app, "get_concept_chain", start_concept_id=course["tea"], end_concept_id=course["tea"]
    )
    assert (same["length"], names(same, "path")) == (0, ["Tea"])


def test_a_chain_follows_links_in_either_direction(app: App, course: dict[str, str]) -> None:
    body = run(
        app,
        "get_concept_chain",
        start_concept_id=course["decorators"],
        end_concept_id=course["loops"],
    )
    assert [(step["name"], step["relationship_to_next"]) for step in body["path"]] == [
        ("Decorators", "PREREQUISITE"),
        ("Functions", "RELATES_TO"),
        ("For Loops", None),
    ]


def test_no_chain_is_path_not_found(app: App, course: dict[str, str]) -> None:
    assert refused(
        app, "get_concept_chain", start_concept_id=course["tea"], end_concept_id=course["loops"]
    ) == ("path_not_found", "end_concept_id")


def test_a_chain_is_a_shortest_one_whatever_the_graph(app: App) -> None:
    # A ring of 12 with a shortcut: every pair is checked against plain breadth-first search.
    ids = [make(app, f"Node {n}", certainty_score=1) for n in range(12)]
    pairs = [(n, (n + 1) % 12) for n in range(12)] + [(0, 6)]
    for a, b in pairs:
        relate(app, ids[a], ids[b], "relates_to")
    for start in range(12):
        far = {start: 0}
        for here in (queue := [start]):
            for a, b in pairs:
                other = {a: b, b: a}.get(here)
                if other is not None and other not in far:
                    far[other] = far[here] + 1
                    queue.append(other)
        for end in range(12):
            found = run(
                app,
                "get_concept_chain",
                start_concept_id=ids[start],
                end_concept_id=ids[end],
                max_depth=10,
            )
            assert found["length"] == far[end]


def test_a_prerequisite_comes_before_and_depth_counts_hops_ascending(
    app: App, course: dict[str, str]
) -> None:
    top = make(app, "Assignment")
    relate(app, top, course["variables"])
    relate(app, course["variables"], course["decorators"])
    rows = run(app, "get_prerequisites", concept_id=course["decorators"])["prerequisites"]
    assert [(row["name"], row["depth"]) for row in rows] == [
        ("Functions", 1),
        ("Variables", 1),
        ("Assignment", 2),
    ]
    assert run(app, "get_prerequisites", concept_id=top)["total"] == 0


def test_prerequisites_survive_a_cycle_and_never_list_the_concept_itself(
    app: App, course: dict[str, str]
) -> None:
    relate(app, course["decorators"], course["variables"])
    assert names(
        run(app, "get_prerequisites", concept_id=course["decorators"], depth=5), "prerequisites"
    ) == ["Functions", "Variables"]


def test_relationship_types_are_taken_in_any_case_and_shown_in_upper_case(
    app: App, course: dict[str, str]
) -> None:
    relate(app, course["tea"], course["stray"], "Relates_To")
    assert (
        run(app, "get_related_concepts", concept_id=course["tea"], relationship_type="RELATES_TO")[
            "results"
        ][0]["relationship_type"]
        == "RELATES_TO"
    )
    assert (
        refused(
            app,
            "create_relationship",
            source_id=course["tea"],
            target_id=course["stray"],
            relationship_type="RELATES_TO",
        )[0]
        == "validation_error"
    )


def test_a_link_to_itself_and_a_duplicate_link_are_refused(
    app: App, course: dict[str, str]
) -> None:
    ends: dict[str, Any] = {
        "source_id": course["variables"],
        "target_id": course["functions"],
        "relationship_type": "prerequisite",
    }
    outcome = app.registry.run("create_relationship", ends, Call(ME, app.engine))
    assert outcome.body["error"] == "validation_error"
    assert body_of(outcome)["details"]["resource_id"].startswith("rel-")
    assert refused(app, "create_relationship", **(ends | {"target_id": course["variables"]})) == (
        "validation_error",
        "target_id",
    )
    assert (
        refused(app, "create_relationship", **(ends | {"target_id": MISSING}))[0]
        == "concept_not_found"
    )


def test_a_name_is_unique_within_its_area_and_topic_among_the_living(app: App) -> None:
    first = make(app, "Tea", area="Kitchen")
    for places in ({}, {"area": "Kitchen", "topic": "Drinks"}, {"area": "Garden"}):
        make(app, "Tea", **places)
    make(app, "tea", area="Kitchen")
    twin = {"name": "Tea", "explanation": "Again.", "area": "Kitchen", "subtopic": "Other"}
    assert refused(app, "create_concept", **twin) == ("validation_error", "name")
    other = make(app, "Coffee", area="Kitchen")
    assert refused(app, "update_concept", concept_id=other, name="Tea") == (
        "validation_error",
        "name",
    )
    run(app, "delete_concept", concept_id=first)
    run(app, "update_concept", concept_id=other, name="Tea")
    with pytest.raises(AlreadyExists):
        app.engine.writing.restore(ME, first)


def test_errors_have_one_shape(app: App) -> None:
    body = app.registry.run("get_concept", {"concept_id": MISSING}, Call(ME, app.engine)).body
    assert (body["success"], body["error"], body["error_type"]) == (
        False,
        "concept_not_found",
        "concept_not_found",
    )
    assert body["details"] == {"resource_id": MISSING}
    long = app.registry.run(
        "create_concept", {"name": "n" * 300, "explanation": "x"}, Call(ME, app.engine)
    ).body
    assert long["details"] == {"field": "name", "invalid_value": "n" * 50}


def test_name_and_explanation_are_both_embedded_and_both_changes_embed_again(smart: App) -> None:
    id = make(smart, "Photosynthesis", "How leaves live.")
    make(smart, "Bookkeeping", "How firms count.")
    changes: list[tuple[dict[str, Any], str]] = [
        ({}, "photosynthesis"),
        ({}, "how do leaves live"),
        ({"name": "Volcano"}, "lava and magma"),
        ({"explanation": "A string instrument."}, "violin"),
    ]
    for change, query in changes:
        if change:
            run(smart, "update_concept", concept_id=id, **change)
        smart.upkeep.run()
        assert run(smart, "search_concepts_semantic", query=query)["results"][0]["concept_id"] == id


def test_a_deleted_concept_keeps_its_links_and_comes_back_with_them(
    app: App, course: dict[str, str]
) -> None:
    run(app, "delete_concept", concept_id=course["functions"])
    assert (
        refused(
            app,
            "get_concept_chain",
            start_concept_id=course["variables"],
            end_concept_id=course["decorators"],
        )[0]
        == "path_not_found"
    )
    assert run(app, "get_prerequisites", concept_id=course["decorators"])["total"] == 0
    run(app, "restore_item", id=course["functions"])
    assert run(app, "get_related_concepts", concept_id=course["functions"])["total"] == 3
    assert run(app, "get_prerequisites", concept_id=course["decorators"])["total"] == 2


def test_only_concepts_count_as_concepts(app: App, course: dict[str, str]) -> None:
    memory = app.engine.writing.remember(ME, note("No concept.")).item.id
    app.engine.writing.link(ME, memory, course["tea"], "relates_to")
    app.engine.writing.link(ME, memory, course["stray"], "relates_to")
    assert refused(app, "get_concept", concept_id=memory)[0] == "concept_not_found"
    assert run(app, "get_related_concepts", concept_id=course["tea"])["total"] == 0
    assert (
        refused(
            app, "get_concept_chain", start_concept_id=course["tea"], end_concept_id=course["stray"]
        )[0]
        == "path_not_found"
    )


def test_concepts_belong_to_the_organisation_and_to_no_other(
    app: App, course: dict[str, str]
) -> None:
    colleague, stranger = Caller(user="ann"), Caller("elsewhere", "ann")
    assert run(app, "get_concept", colleague, concept_id=course["tea"])["concept"]["name"] == "Tea"
    assert run(app, "list_hierarchy", colleague)["total_concepts"] == 6
    assert run(app, "list_hierarchy", stranger)["areas"] == []
    body = app.registry.run(
        "get_concept", {"concept_id": course["tea"]}, Call(stranger, app.engine)
    ).body
    assert body["error"] == "concept_not_found"


def test_a_private_concept_is_no_step_for_others(app: App) -> None:
    a, b = make(app, "A"), make(app, "B")
    hidden = app.engine.writing.remember(
        ME, note("Mine alone.", kind="concept", title="Hidden")
    ).item.id
    for end in (a, b):
        relate(app, hidden, end)
    ends: dict[str, Any] = {"start_concept_id": a, "end_concept_id": b}
    assert run(app, "get_concept_chain", **ends)["length"] == 2
    assert (
        app.registry.run("get_concept_chain", ends, Call(Caller(user="ann"), app.engine)).body[
            "error"
        ]
        == "path_not_found"
    )
    assert run(app, "get_prerequisites", Caller(user="ann"), concept_id=a)["total"] == 0


def test_a_walk_stops_at_its_bound_and_says_so(app: App, course: dict[str, str]) -> None:
    whole = app.engine.graph.explore(ME, course["functions"], Traversal(2))
    cut = app.engine.graph.explore(ME, course["functions"], Traversal(2, max_items=2))
    assert (len(whole.items), whole.cut, len(cut.items), cut.cut) == (4, False, 2, True)


# Certainty that nobody gave


def test_an_omitted_certainty_is_computed_and_says_so(app: App) -> None:
    first, second = make(app, "Loops", LONG), make(app, "Tea", "Leaves.")
    shown = run(app, "get_concept", concept_id=first)["concept"]
    assert shown["certainty_source"] == "computed"
    assert 0 < certainty(app, second) < shown["certainty_score"] < 100
    assert names(run(app, "get_concepts_by_certainty")) == ["Tea", "Loops"]
    bound = shown["certainty_score"]
    assert names(run(app, "search_concepts_exact", min_certainty=bound)) == ["Loops"]
    assert names(
        run(app, "search_concepts_semantic", query="loop leaves", min_certainty=bound)
    ) == ["Loops"]


def test_a_computed_certainty_follows_its_evidence(app: App) -> None:
    id, other = make(app, "Loops", "Runs again."), make(app, "Tea", "Leaves in water.")
    bare = certainty(app, id)
    run(app, "update_concept", concept_id=id, explanation=LONG)
    told = certainty(app, id)
    changed = run(app, "get_concept", concept_id=id)["concept"]["last_modified"]
    relate(app, id, other)
    linked = certainty(app, id)
    assert bare < told < linked
    assert run(app, "get_concept", concept_id=id)["concept"]["last_modified"] == changed
    run(app, "delete_relationship", source_id=id, target_id=other, relationship_type="prerequisite")
    assert certainty(app, id) == told


def test_twins_lower_a_computed_certainty_and_rivals_lower_it_more(app: App) -> None:
    id = make(app, "Loops", LONG)
    alone = certainty(app, id)
    twin = run(
        app,
        "create_concept",
        name="Loops again",
        explanation=LONG.replace("in order", "in their order"),
    )
    assert twin["warnings"]
    doubled = certainty(app, id)
    run(app, "delete_concept", concept_id=twin["concept_id"])
    assert certainty(app, id) == alone
    make(app, "No loops", LONG.replace("runs its body", "never runs its body"))
    assert certainty(app, id) < doubled < alone


def test_a_given_certainty_is_never_overwritten(app: App) -> None:
    id, other = make(app, "Loops", LONG, certainty_score=33), make(app, "Tea", LONG + " Or so.")
    relate(app, id, other)
    run(app, "update_concept", concept_id=id, explanation="Short.")
    run(app, "review_concept", concept_id=id)
    assert certainty(app, id) == 33
    run(app, "update_concept", concept_id=other, certainty_score=0)
    assert certainty(app, other) == 0


class Shifted:
    """A clock that is so many days ahead or behind."""

    def __init__(self, app: App, days: int) -> None:
        self.clock, self.days = app.clock, days

    def now(self) -> str:
        moment = datetime.fromisoformat(self.clock.now()) + timedelta(days=self.days)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_computed_certainty_halves_in_a_year_without_review(app: App) -> None:
    id, given = make(app, "Loops", LONG), make(app, "Tea", certainty_score=50)
    later = Call(ME, engine_of(app, Shifted(app, 365)))
    faded, still = (
        body_of(app.registry.run("get_concept", {"concept_id": one}, later))["concept"]
        for one in (id, given)
    )
    assert faded["certainty_score"] == pytest.approx(certainty(app, id) / 2, abs=0.01)
    assert still["certainty_score"] == 50


def test_what_fades_fades_in_filters_and_order_and_a_review_makes_it_fresh(app: App) -> None:
    past = Call(ME, engine_of(app, Shifted(app, -730)))
    created = app.registry.run("create_concept", {"name": "Old", "explanation": LONG}, past)
    old = body_of(created)["concept_id"]
    run(app, "create_concept", name="New", explanation="Short and new.")
    assert names(run(app, "get_concepts_by_certainty")) == ["Old", "New"]
    assert names(run(app, "search_concepts_exact", min_certainty=certainty(app, old) + 0.01)) == [
        "New"
    ]
    assert "Old" in names(run(app, "search_concepts_exact", min_certainty=certainty(app, old)))
    run(app, "review_concept", concept_id=old)
    assert names(run(app, "get_concepts_by_certainty")) == ["New", "Old"]


def test_undo_passes_over_what_is_computed(app: App) -> None:
    id, other = make(app, "Loops", "Runs again."), make(app, "Tea")
    before = certainty(app, id)
    run(app, "update_concept", concept_id=id, explanation=LONG)
    relate(app, id, other)
    assert app.engine.history.last(ME, id).type == "revised"
    app.engine.history.undo(ME, app.engine.history.last(ME, id).seq)
    assert run(app, "get_concept", concept_id=id)["concept"]["explanation"] == "Runs again."
    run(app, "delete_relationship", source_id=id, target_id=other, relationship_type="prerequisite")
    assert certainty(app, id) == before
    with app.store.reading(None) as rows:
        appraised = next(event for event in rows.events(ME.tenant, id) if event.type == "appraised")
    with pytest.raises(NotUndoable):
        app.engine.history.undo(ME, appraised.seq)


def test_erasing_a_concept_appraises_its_neighbours_and_leaves_the_log_whole(app: App) -> None:
    id, other = make(app, "Loops", LONG), make(app, "Tea")
    before = certainty(app, other)
    relate(app, id, other)
    app.engine.writing.erase(ME, id)
    assert certainty(app, other) == before
    assert app.engine.maintenance.verify() == []


def test_only_a_concept_can_be_reviewed(app: App) -> None:
    memory = app.engine.writing.remember(ME, note("No concept.")).item.id
    body = app.registry.run("review_concept", {"concept_id": memory}, Call(ME, app.engine)).body
    assert (body["error"], body["field"]) == ("not_found", "concept_id")


@pytest.mark.parametrize(
    "metadata",
    [
        {"area": 5},
        {"topic": None},
        {"subtopic": ["x"]},
        {"reviewed_at": "soon"},
        {"reviewed_at": 7},
        {"certainty_score": "high", "certainty_source": "given"},
        {"certainty_score": True},
        {"certainty_score": 101},
    ],
    ids=str,
)
def test_no_family_can_write_a_concept_that_this_one_could_not_show(
    app: App, metadata: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        app.engine.writing.remember(
            ME, note("Odd.", kind="concept", title="Odd", attributes=metadata)
        )
    assert refusal.value.field == next(iter(metadata))
    assert run(app, "get_server_stats")["event_store"]["total_events"] == 0


def test_a_given_certainty_is_its_own_bound_to_the_last_digit(app: App) -> None:
    make(app, "Tea", certainty_score=33.3333)
    for tool in ("search_concepts_exact", "get_concepts_by_certainty"):
        assert names(run(app, tool, min_certainty=33.3333)) == ["Tea"]
        assert names(run(app, tool, min_certainty=33.3334)) == []


# The resource and the picture


def test_a_concept_is_a_resource_with_its_history(app: App, course: dict[str, str]) -> None:
    resources = present(knowledge.resources)
    concept: Any = resources.read(Call(ME, app.engine), f"concept://{course['tea']}")
    assert (concept["name"], len(concept["explanation_history"])) == ("Tea", 1)


READ: dict[str, Callable[[str], object]] = {
    "mermaid": lambda text: text.startswith("graph LR\n"),
    "dot": lambda text: text.startswith("digraph "),
    "svg": ElementTree.fromstring,
}


# Plain text is tested with the entities.
@pytest.mark.parametrize("format", sorted(FORMATS.keys() - {"ascii"}))
def test_a_picture_has_every_neighbour_and_no_name_breaks_out(
    app: App, course: dict[str, str], format: Any
) -> None:
    evil = make(app, 'x"]; <script>&alert(1)</script> \\" } -->')
    relate(app, evil, course["functions"], "includes")
    text = draw(app.engine.graph.explore(ME, course["functions"]), format)
    assert READ[format](text) is not False
    for name in ("Functions", "Variables", "Decorators", "For Loops"):
        assert name in text
    assert text.count("prerequisite") == 2
    assert "<script" not in text
    assert '"]; ' not in text
    assert "\\" not in text
