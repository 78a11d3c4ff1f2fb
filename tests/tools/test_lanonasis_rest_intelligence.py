"""The routes of LanOnasis below `/intelligence`: what they find, predict and learn."""

import json
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.tools.call import Call
from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.registry import Registry
from tests.checked import body_of, error_of
from tests.conftest import ME
from tests.stores import each_store

pytestmark = each_store
USER = "local"
ROUTES = Registry([], [route.tool for route in lanonasis_api.routes])
DEPLOY = "Need to deploy the parser to production"
STEPS: list[dict[str, Any]] = [
    {"tool": "run_tests", "parameters": {"target": "parser"}, "outcome": "success"},
    {"tool": "tag_release", "outcome": "success"},
    {"tool": "push_image", "duration_ms": 12.5, "timestamp": "2026-02-03T04:05:06Z"},
]

READS: dict[str, dict[str, Any]] = {
    "get_memories": {},
    "get_memory_stats": {},
    "search_memory": {"query": "otters"},
    "get_one_memory": {"memory_id": "MEMORY"},
    "get_topics": {"include_hierarchy": True},
    "get_topic": {"topic_id": "TOPIC"},
    "get_topic_memories": {"topic_id": "TOPIC"},
    "get_access_patterns": {},
    "get_extended_stats": {},
    "get_health": {},
    "query_memories": {"user_id": USER},
    "analyze_patterns": {"userId": USER},
    "suggest_tags": {"userId": USER, "memoryId": "MEMORY"},
    "find_related": {"userId": USER, "memoryId": "MEMORY"},
    "detect_duplicates": {"userId": USER},
    "extract_insights": {"userId": USER},
    "check_memory_health": {"userId": USER},
    "predict_memories": {"userId": USER, "context": {"contextText": "otters"}},
    "recall_behavior": {"user_id": USER, "context": {"current_task": "otters"}},
    "suggest_action": {"user_id": USER, "current_state": {"task_description": "otters"}},
    "list_behavior_patterns": {"user_id": USER},
}
"""A good call of every route that reads."""
REFUSED = {"get_search_analytics"}


def run(app: App, route: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    """What a route answers."""
    outcome = ROUTES.run(route, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def refused(app: App, route: str, caller: Caller = ME, **arguments: Any) -> tuple[int, str]:
    """The status and the words with which a route refuses."""
    outcome = ROUTES.run(route, arguments, Call(caller, app.engine))
    assert not outcome.ok, outcome.body
    return error_of(outcome).status, str(body_of(outcome)["message"])


def create(app: App, content: str, caller: Caller = ME, **more: Any) -> str:
    """The id of a new memory."""
    arguments = {"title": content[:20], "content": content, **more}
    return str(run(app, "post_memory", caller, **arguments)["id"])


def record(app: App, trigger: str = DEPLOY, **more: Any) -> dict[str, Any]:
    arguments = {"actions": STEPS, "final_outcome": "success", **more}
    return run(app, "record_behavior", user_id=USER, trigger=trigger, **arguments)


def predict(app: App, text: str = "otters hold hands", **more: Any) -> list[dict[str, Any]]:
    arguments = {"context": {"contextText": text}, "minConfidence": 0, **more}
    predictions: list[dict[str, Any]] = run(app, "predict_memories", userId=USER, **arguments)[
        "predictions"
    ]
    return predictions


# Who asks


def test_a_key_speaks_for_its_own_user_alone(app: App) -> None:
    status, message = refused(app, "query_memories", user_id="somebody")
    assert status == 403
    assert "speaks for the user 'local'" in message


def test_an_admin_may_ask_for_another_user(app: App) -> None:
    create(app, "Ann likes tea.", Caller(user="ann"))
    admin = Caller(admin=True)
    found = run(app, "query_memories", admin, user_id="ann")
    assert [memory["user_id"] for memory in found["memories"]] == ["ann"]


# What is found


def test_memories_are_queried_in_pages(app: App) -> None:
    create(app, "One.")
    id = create(app, "Two.", memory_type="personal", tags=["sea"])
    found = run(app, "query_memories", user_id=USER, limit=1)
    assert found["total"] == 2
    [memory] = found["memories"]
    assert (memory["id"], memory["type"], memory["tags"]) == (id, "personal", ["sea"])
    assert memory["organization_id"] == "local"
    [older] = run(app, "query_memories", user_id=USER, limit=1, offset=1)["memories"]
    assert older["content"] == "One."


@pytest.mark.parametrize("narrowed", [{"type": "personal"}, {"memory_types": ["personal"]}])
def test_queried_memories_are_narrowed_by_type(app: App, narrowed: dict[str, Any]) -> None:
    create(app, "One.")
    id = create(app, "Two.", memory_type="personal")
    found = run(app, "query_memories", user_id=USER, **narrowed)["memories"]
    assert [memory["id"] for memory in found] == [id]


def test_patterns_tell_what_was_written_and_who_counted(app: App) -> None:
    create(app, "Otters swim.", memory_type="knowledge", tags=["sea"])
    analysis = run(app, "analyze_patterns", userId=USER, timeRangeDays=7)
    assert analysis["total_memories"] == 1
    assert analysis["memories_by_type"] == {"knowledge": 1}
    assert sum(analysis["memories_by_day_of_week"].values()) == 1
    assert analysis["average_content_length"] == len("Otters swim.")
    assert analysis["most_common_tags"] == [{"tag": "sea", "count": 1}]
    assert analysis["creation_velocity"]["daily_average"] == 0.14
    assert analysis["insights"][0] == "1 of 1 memories are of the type knowledge."
    assert analysis["method"] == "built-in"


def test_patterns_are_narrowed_by_type(app: App) -> None:
    create(app, "Otters swim.")
    analysis = run(app, "analyze_patterns", userId=USER, memoryTypes=["personal"])
    assert analysis["insights"] == ["Nothing was written in the last 30 days."]


def test_tags_are_suggested_with_reasons(app: App) -> None:
    create(app, "Kubernetes runs containers.", tags=["kubernetes"])
    id = create(app, "The kubernetes cluster was upgraded, kubernetes is fine.")
    found = run(app, "suggest_tags", memoryId=id, userId=USER, maxSuggestions=1)
    assert [tag["tag"] for tag in found["suggestions"]] == ["kubernetes"]
    assert found["suggestions"][0]["reasoning"]
    assert found["context"] == {"memory_type": "context", "related_memories_analyzed": 2}
    assert found["method"] == "built-in"


def test_related_memories_share_tags_and_have_a_preview(app: App) -> None:
    id = create(app, "Otters hold hands while asleep.", tags=["sea", "a"])
    other = create(app, "Otters hold hands while they sleep.", tags=["sea", "b"])
    found = run(app, "find_related", memoryId=id, userId=USER, similarityThreshold=0.0)
    assert found["source_memory"]["id"] == id
    [related] = found["related_memories"]
    assert (related["id"], related["shared_tags"]) == (other, ["sea"])
    assert related["content_preview"] == "Otters hold hands while they sleep."
    narrowed = run(
        app,
        "find_related",
        memoryId=id,
        userId=USER,
        similarityThreshold=0.0,
        memoryTypes=["personal"],
    )
    assert narrowed["total_found"] == 0


def test_insights_have_the_types_of_the_sdk(app: App) -> None:
    id = create(app, "We decided to use PostgreSQL for the archive of the zoo.")
    found = run(app, "extract_insights", userId=USER)
    decisions = [one for one in found["insights"] if one["category"] == "decision"]
    assert [(one["type"], one["related_memory_ids"]) for one in decisions] == [("actions", [id])]
    assert set(found["insight_types"]) <= {"themes", "connections", "gaps", "actions", "summary"}
    assert (found["memories_analyzed"], found["method"]) == (1, "built-in")


def test_the_health_of_memories_names_what_they_lack(app: App) -> None:
    create(app, "A text that is long enough to be understood later.", tags=["a"])
    create(app, "Short.")
    health = run(app, "check_memory_health", userId=USER)
    assert health["health_score"]["breakdown"] == {
        "organization": 0,
        "tagging": 50,
        "recency": 100,
        "completeness": 50,
        "diversity": 17,
    }
    assert (health["health_score"]["overall"], health["status"]) == (43, "needs_attention")
    assert [issue["category"] for issue in health["issues"]] == [
        "tagging",
        "organization",
        "completeness",
    ]
    assert health["issues"][0]["description"] == "1 of 2 memories have no tags."
    assert health["statistics"]["recent_memories_30d"] == 2


def test_no_memories_are_in_poor_health(app: App) -> None:
    health = run(app, "check_memory_health", userId=USER)
    assert (health["status"], health["issues"]) == ("poor", [])


# Predictions


def test_what_is_like_the_context_is_predicted_first(app: App) -> None:
    id = create(app, "Otters hold hands.")
    create(app, "The invoice is due in March.")
    [first, second] = predict(app)
    assert (first["id"], first["reasonType"]) == (id, "semantic_match")
    assert first["contentPreview"] == "Otters hold hands."
    assert first["confidence"] > second["confidence"]


def test_a_prediction_is_explained_by_its_parts(app: App) -> None:
    create(app, "Otters hold hands.")
    [prediction] = predict(app)
    scores = prediction["scoreBreakdown"]
    assert (scores["semanticScore"], scores["temporalScore"]) == (100, 100)
    assert scores["combinedScore"] == prediction["confidence"] == 70
    assert prediction["daysSinceCreated"] == 0
    assert prediction["suggestedAction"] == "review"


def test_reads_speak_for_a_prediction(app: App) -> None:
    id = create(app, "Otters hold hands.")
    [before] = predict(app)
    for _ in range(3):
        run(app, "get_one_memory", memory_id=id)
    [after] = predict(app)
    assert after["confidence"] > before["confidence"]
    assert after["daysSinceAccessed"] == 0


@pytest.mark.parametrize(("useful", "sign"), [(True, 1), (False, -1)])
def test_feedback_moves_the_next_prediction(app: App, useful: bool, sign: int) -> None:
    id = create(app, "Otters hold hands.")
    [before] = predict(app)
    answer = run(
        app,
        "keep_prediction_feedback",
        memoryId=id,
        userId=USER,
        useful=useful,
        action="dismissed",
        dismissReason="not_now",
        timestamp="2026-02-03T04:05:06Z",
    )
    assert answer["success"] is True
    [after] = predict(app)
    assert (after["confidence"] - before["confidence"]) * sign > 0
    item, _ = app.engine.reading.read(ME, id)
    assert item.attributes["prediction_feedback"] == {
        "useful" if useful else "not_useful": 1,
        "dismissed": 1,
        "not_now": 1,
        "last": "2026-02-03T04:05:06.000000Z",
    }


@pytest.mark.parametrize(
    "narrowed",
    [
        {"minConfidence": 100},
        {"memoryTypes": ["personal"]},
        {"topicId": "123e4567-e89b-12d3-a456-426614174000"},
    ],
)
def test_predictions_are_narrowed(app: App, narrowed: dict[str, Any]) -> None:
    create(app, "Otters hold hands.")
    assert predict(app, **narrowed) == []


def test_no_more_predictions_than_wanted(app: App) -> None:
    create(app, "Otters hold hands.")
    create(app, "Otters hold paws.")
    assert len(predict(app, limit=1)) == 1


def test_predictions_tell_which_context_they_used(app: App) -> None:
    answer = run(
        app,
        "predict_memories",
        userId=USER,
        context={"currentProject": "zoo", "recentTopics": ["otters"], "activeFiles": ["a.py"]},
        includeSerendipity=False,
        timeWindowDays=30,
    )
    assert answer["contextUsed"] == {
        "projectContext": True,
        "topicsContext": True,
        "filesContext": True,
        "textContext": False,
        "teamContext": False,
    }
    assert answer["scoringWeights"]["serendipity"] == 0
    assert answer["algorithmInfo"]["version"] == "built-in"
    assert answer["algorithmInfo"]["timeWindowDays"] == 30


# Behaviour


def test_a_recorded_pattern_is_a_workflow_of_the_one_store(app: App) -> None:
    made = record(app, context={"project": "zoo"}, confidence=0.9)["data"]
    assert (made["trigger"], made["use_count"], made["confidence"]) == (DEPLOY, 1, 0.9)
    assert made["actions"][0] == STEPS[0]
    assert made["context"] == {"project": "zoo"}
    read = run(app, "get_one_memory", memory_id=made["id"])
    assert (read["memory_type"], read["content"]) == ("workflow", DEPLOY)


def test_the_same_occasion_renews_its_pattern(app: App) -> None:
    first = record(app)
    again = record(app, actions=[{"tool": "other"}], final_outcome="Done, and all is well")
    assert "duplicate" not in first["message"]
    assert "duplicate" in again["message"]
    assert again["data"]["id"] == first["data"]["id"]
    assert (again["data"]["use_count"], again["data"]["actions"]) == (2, [{"tool": "other"}])
    assert run(app, "list_behavior_patterns", user_id=USER)["total"] == 1


def test_an_opposite_occasion_is_another_pattern(app: App) -> None:
    record(app, "Need to deploy version 1 of the parser to the production servers today")
    record(app, "Need to deploy version 2 of the parser to the production servers today")
    assert run(app, "list_behavior_patterns", user_id=USER)["total"] == 2


def test_a_secret_in_an_action_is_not_kept(app: App) -> None:
    secret = "lano_" + "0f" * 32
    made = record(app, actions=[{"tool": "login", "parameters": {"key": secret}}])
    assert sum(made["redactions"].values()) == 1
    assert secret not in json.dumps(made)


def test_patterns_count_as_memories_of_the_user(app: App) -> None:
    limit = {"key": "max_memories", "value": "1"}
    assert app.registry.run("set_config", limit, Call(ME, app.engine)).ok
    record(app)
    status, message = refused(
        app,
        "record_behavior",
        user_id=USER,
        trigger="Write an invoice for the museum",
        actions=STEPS,
        final_outcome="success",
    )
    assert (status, "max_memories" in message) == (409, True)


def test_patterns_are_recalled_by_the_task(app: App) -> None:
    id = record(app)["data"]["id"]
    record(app, "Write an invoice for the museum")
    found = run(
        app,
        "recall_behavior",
        user_id=USER,
        context={"current_task": DEPLOY, "editor": "vim"},
        similarity_threshold=0.7,
    )
    [recalled] = found["patterns"]
    assert (recalled["pattern"]["id"], found["total_found"]) == (id, 1)
    assert recalled["similarity_score"] == 1
    assert recalled["relevance_reason"] == "Its occasion is 100% like the task."
    assert recalled["pattern"]["use_count"] == 2


@pytest.mark.parametrize(
    ("steps", "tool"),
    [
        (None, "run_tests"),
        ([{"tool": "run_tests"}], "tag_release"),
        (["RUN_TESTS for the parser", "tag_release"], "push_image"),
    ],
)
def test_the_next_action_follows_the_steps_that_are_done(
    app: App, steps: list[Any] | None, tool: str
) -> None:
    id = record(app, confidence=0.8)["data"]["id"]
    state = {"task_description": DEPLOY, "completed_steps": steps}
    answer = run(app, "suggest_action", user_id=USER, current_state=state)
    [suggestion] = answer["suggestions"]
    assert (suggestion["tool"], suggestion["confidence"]) == (tool, 0.8)
    assert suggestion["based_on_patterns"] == [id]
    assert suggestion["reasoning"] == "It came next in 1 pattern like this task."
    assert answer["method"] == "built-in"


def test_a_suggested_action_tells_its_parameters(app: App) -> None:
    record(app)
    state = {"task_description": DEPLOY}
    [suggestion] = run(app, "suggest_action", user_id=USER, current_state=state)["suggestions"]
    assert suggestion["action"] == "run_tests (target: parser)"


def test_a_pattern_that_failed_is_worth_less(app: App) -> None:
    record(app, final_outcome="failed", confidence=1.0)
    state = {"task_description": DEPLOY}
    [suggestion] = run(app, "suggest_action", user_id=USER, current_state=state)["suggestions"]
    assert suggestion["confidence"] == 0.3


def test_nothing_is_suggested_when_all_is_done(app: App) -> None:
    record(app)
    done = [step["tool"] for step in STEPS]
    state = {"task_description": DEPLOY, "completed_steps": done}
    assert run(app, "suggest_action", user_id=USER, current_state=state)["suggestions"] == []


def test_patterns_are_listed_in_pages(app: App) -> None:
    old = record(app)["data"]["id"]
    new = record(app, "Write an invoice for the museum")["data"]["id"]
    pages = [
        run(app, "list_behavior_patterns", user_id=USER, limit=1, offset=offset)["patterns"]
        for offset in range(2)
    ]
    assert [[one["id"] for one in page] for page in pages] == [[new], [old]]


def test_a_pattern_without_actions_is_refused(app: App) -> None:
    status, message = refused(
        app, "record_behavior", user_id=USER, trigger="A", actions=[], final_outcome="success"
    )
    assert status == 400
    assert "actions" in message


# All of them


def test_routes_that_read_leave_the_log_as_long_as_it_was(app: App) -> None:
    reading = {tool.name for tool in ROUTES.tools if tool.read_only}
    assert reading == READS.keys() | REFUSED
    memory = create(app, "Otters hold hands.")
    topic = run(app, "post_topic", name="Sea")["id"]
    record(app, "otters")
    before = app.engine.maintenance.event_count("local")
    for route, arguments in READS.items():
        text = json.dumps(arguments).replace("MEMORY", memory).replace("TOPIC", topic)
        run(app, route, **json.loads(text))
        assert app.engine.maintenance.event_count("local") == before, route


def test_duplicates_are_groups_with_the_oldest_first(smart: App) -> None:
    texts = ["The parser is written in Rust.", "The parser is written in Rust!", "Otters swim."]
    first, second, _ = [create(smart, text) for text in texts]
    found = run(smart, "detect_duplicates", userId=USER, similarityThreshold=0.8)
    [group] = found["duplicate_groups"]
    assert (group["primary_id"], [one["id"] for one in group["duplicates"]]) == (first, [second])
    assert (found["total_groups"], found["total_duplicates"]) == (1, 1)
    assert (found["memories_analyzed"], found["threshold_used"]) == (3, 0.8)
    assert found["potential_storage_savings"] == "0.0 KB"


def test_no_more_pairs_of_duplicates_than_wanted(smart: App) -> None:
    for text in ("Otters swim far.", "Otters swim far!", "Tea is hot now.", "Tea is hot now!"):
        create(smart, text)
    found = run(smart, "detect_duplicates", userId=USER, similarityThreshold=0.8, maxPairs=1)
    assert found["total_groups"] == 1


def test_another_scope_sees_what_others_share(app: App) -> None:
    ann = Caller(user="ann")
    draft = Draft(blocks=(Block("Ann shares tea."),), audience=Audience.ORG)
    app.engine.writing.remember(ann, draft)
    totals = {
        scope: run(app, "query_memories", user_id=USER, query_scope=scope)["total"]
        for scope in ("personal", "team", "organization", "hybrid")
    }
    assert totals == {"personal": 0, "team": 1, "organization": 1, "hybrid": 1}
