"""LanOnasis intelligence with the built-in analyst: tags, related memories, duplicates, insights,
habits.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from bench.duplicates import edits, proper
from bench.sentences import sentences

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME, At
from tests.stores import each_store, each_store_in_full_run
from tests.tools.lanonasis_calls import MISSING, create, refused, run, settled

pytestmark = each_store

USER: dict[str, Any] = {"user_id": "local"}
TEXTS = sentences(60)


def tags(app: App, id: str, **more: Any) -> list[str]:
    return [
        one["tag"]
        for one in run(app, "intelligence_suggest_tags", memory_id=id, **USER, **more)[
            "suggestions"
        ]
    ]


def test_tags_come_from_the_text_and_from_what_the_user_tags_with(app: App) -> None:
    create(app, "Other words.", tags=["vpn", "unrelated"])
    id = create(
        app,
        "PostgreSQL runs behind the VPN. PostgreSQL needs backups.",
        title="Billing",
        tags=["Backups"],
    )
    body = run(app, "intelligence_suggest_tags", memory_id=id, **USER)
    assert body["existing_tags"] == ["Backups"]
    assert body["method"] == "built-in"
    sure = [one["confidence"] for one in body["suggestions"]]
    assert sure == sorted(sure, reverse=True)
    assert all(0 <= one["confidence"] <= 1 and one["reason"] for one in body["suggestions"])
    assert tags(app, id)[0] == "vpn", "a tag of the user that the text names"
    assert tags(app, id, include_existing_tags=False)[0] == "postgresql"
    assert "backups" not in tags(app, id, max_suggestions=20)
    assert len(tags(app, id, max_suggestions=2)) == 2
    assert body == run(app, "intelligence_suggest_tags", memory_id=id, **USER), (
        "the same text, the same answer"
    )


def test_related_memories_are_found_by_meaning(smart: App) -> None:
    tea = create(smart, "Maria prefers tea to coffee.", title="Drinks")
    near = create(smart, "Her favourite beverage is a cup of green tea.", title="Maria")
    far = create(smart, "The invoice from March was paid twice.", title="Money")
    body = run(settled(smart), "intelligence_find_related", memory_id=tea, **USER)
    assert body["source_memory_id"] == tea
    assert [one["id"] for one in body["related"]] == [near]
    lax = run(
        settled(smart), "intelligence_find_related", memory_id=tea, **USER, similarity_threshold=0
    )
    assert [one["id"] for one in lax["related"]] == [near, far]
    assert (
        len(
            run(
                settled(smart),
                "intelligence_find_related",
                memory_id=tea,
                **USER,
                similarity_threshold=0,
                limit=1,
            )["related"]
        )
        == 1
    )
    assert refused(smart, "intelligence_find_related", memory_id=MISSING, **USER) == (
        -32004,
        "memory_id",
    )


def test_a_changed_number_date_or_negation_is_never_a_duplicate(smart: App) -> None:
    first = create(
        smart, "The deploy of the billing service starts on Monday at 9.", title="Deploy"
    )
    same = create(smart, "The deploy of the billing service begins on Monday at 9.", title="Deploy")
    for text in (
        "The deploy of the billing service starts on Tuesday at 9.",
        "The deploy of the billing service starts on Monday at 10.",
        "The deploy of the billing service never starts on Monday at 9.",
    ):
        create(smart, text, title="Deploy")
    body = run(settled(smart), "intelligence_detect_duplicates", **USER)
    pairs = [{pair["memory_1"]["id"], pair["memory_2"]["id"]} for pair in body["duplicate_pairs"]]
    assert pairs == [{first, same}]
    assert (body["total_pairs"], body["threshold_used"]) == (1, 0.9)
    create(smart, "The deploy of the billing service begins on Monday at 9.", title="Deploy")
    more = run(settled(smart), "intelligence_detect_duplicates", **USER, max_pairs=2)
    assert (len(more["duplicate_pairs"]), more["total_pairs"]) == (2, 3)
    assert (
        run(settled(smart), "intelligence_detect_duplicates", **USER, similarity_threshold=1.0)[
            "total_pairs"
        ]
        == 1
    )
    assert (
        run(settled(smart), "intelligence_detect_duplicates", Caller(user="bob"), **USER)[
            "total_pairs"
        ]
        == 0
    )


def test_long_memories_are_duplicates_only_if_all_of_them_is_alike(smart: App) -> None:
    head, first, second = (" ".join(part) for part in (TEXTS[:12], TEXTS[12:36], TEXTS[36:]))
    create(smart, f"{head} {first}")
    create(smart, f"{head} {second}")
    assert run(settled(smart), "intelligence_detect_duplicates", **USER)["total_pairs"] == 0
    create(smart, f"{head} {second}")
    assert run(settled(smart), "intelligence_detect_duplicates", **USER)["total_pairs"] == 1


def test_the_search_for_duplicates_tells_how_far_it_is_and_can_be_cancelled(smart: App) -> None:
    create(smart)
    settled(smart)
    steps: list[tuple[float, float | None, str]] = []
    call = Call(ME, smart.engine, progress=lambda *step: steps.append(step))
    assert smart.registry.run("intelligence_detect_duplicates", USER, call).ok
    assert steps[-1][:2] == (1, 1)
    stopped = Call(ME, smart.engine, cancelled=lambda: True)
    outcome = smart.registry.run("intelligence_detect_duplicates", USER, stopped)
    assert "cancelled" in body_of(outcome)["message"]


def labelled(app: App, texts: list[str], kinds: list[str]) -> float:
    """The share of edited texts that the tool calls a duplicate of the original, each kind for a
    user of its own.
    """
    pick, found, count = random.Random(3), 0, 0
    for kind in kinds:
        edit, user = edits(proper(texts))[kind][1], Caller(user=kind)
        pairs = [(text, made) for text in texts if (made := edit(text, pick)) != text]
        for pair in pairs:
            for text in pair:
                run(app, "create_memory", user, title=text[:30], content=text)
        settled(app)
        body = run(app, "intelligence_detect_duplicates", user, user_id=kind, max_pairs=100)
        shown = {
            frozenset((one["memory_1"]["content"], one["memory_2"]["content"]))
            for one in body["duplicate_pairs"]
        }
        found += sum(frozenset(pair) in shown for pair in pairs)
        count += len(pairs)
    return found / count


@each_store_in_full_run
def test_edits_are_found_and_changed_facts_are_not(smart: App) -> None:
    assert labelled(smart, TEXTS, ["drop", "swap", "synonym", "case"]) >= 0.9
    assert labelled(smart, TEXTS, ["number", "date", "negation"]) <= 0.01


@pytest.fixture
def told(smart: App) -> dict[str, str]:
    made = {
        "one": create(
            smart,
            "We decided to use PostgreSQL for the billing service.",
            title="Billing database",
            memory_type="project",
        ),
        "two": create(
            smart,
            "The billing service keeps its invoices in PostgreSQL.",
            title="Billing storage",
            memory_type="project",
        ),
        "alone": create(smart, "Should the office plants get more light?", title="Office plants"),
    }
    settled(smart)
    return made


def test_insights_are_grouped_by_theme_with_what_supports_them(
    smart: App, told: dict[str, str]
) -> None:
    body = run(settled(smart), "intelligence_extract_insights", **USER)
    by = {one["category"]: one for one in body["insights"]}
    assert set(by) == {"theme", "gap", "decision", "open question"}
    assert set(by["theme"]["supporting_memories"]) == {told["one"], told["two"]}
    assert "billing" in by["theme"]["insight"]
    assert by["decision"]["insight"] == "We decided to use PostgreSQL for the billing service."
    assert by["open question"]["supporting_memories"] == [told["alone"]]
    assert (body["memories_analyzed"], body["topic"], body["method"]) == (3, "", "built-in")
    assert body["summary"].startswith("3 memories: ")
    assert body == run(settled(smart), "intelligence_extract_insights", **USER)


def test_topic_type_and_number_narrow_what_is_analysed(smart: App, told: dict[str, str]) -> None:
    plants = run(
        settled(smart), "intelligence_extract_insights", **USER, topic="plants in the office"
    )
    assert (plants["memories_analyzed"], plants["topic"]) == (1, "plants in the office")
    assert (
        run(settled(smart), "intelligence_extract_insights", **USER, memory_type="project")[
            "memories_analyzed"
        ]
        == 2
    )
    assert (
        run(settled(smart), "intelligence_extract_insights", **USER, max_memories=1)[
            "memories_analyzed"
        ]
        == 1
    )
    assert run(settled(smart), "intelligence_extract_insights", Caller(user="bob"), **USER) == {
        "insights": [],
        "summary": "0 memories: nothing.",
        "topic": "",
        "memories_analyzed": 0,
        "method": "built-in",
    }


@pytest.mark.parametrize("text", ["?", "12", "世", "İ ß", "a b c"])
def test_texts_without_words_are_analysed_too(app: App, text: str) -> None:
    id = create(app, text, title=text)
    assert run(app, "intelligence_extract_insights", **USER)["memories_analyzed"] == 1
    assert run(app, "intelligence_suggest_tags", memory_id=id, **USER)["memory_id"] == id


class Days:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at, self.tick = "2026-03-01T08", 0

    def now(self) -> str:
        self.tick += 1
        return f"{self.at}:00:00.{self.tick:06d}Z"


@pytest.mark.parametrize(
    "counts,trend",
    [
        ([0, 1, 2, 4], "increasing"),
        ([4, 2, 1, 0], "decreasing"),
        ([2, 2, 2, 2], "stable"),
        ([0, 0, 0, 0], "stable"),
    ],
)
def test_habits_come_from_real_times(tmp_path: Path, counts: list[Any], trend: str, at: At) -> None:
    clock = Days()
    clock.at = "2026-03-01T06"
    app = open_app(at(tmp_path), clock)
    create(app, "Before the range.", tags=["long-ago"], memory_type="personal")
    for day, count in enumerate(counts):
        for n in range(count):
            clock.at = f"2026-03-{10 + day}T{22 if n else 9:02d}"
            create(app, tags=["zoo"], memory_type="knowledge")
    clock.at = "2026-03-13T23"
    body = run(app, "intelligence_analyze_patterns", **USER, time_range_days=4)
    total = sum(counts)
    assert body["patterns"]["activity_trend"] == trend
    assert body["patterns"]["top_topics"] == ([{"topic": "zoo", "count": total}] if total else [])
    assert body["patterns"]["type_distribution"]["knowledge"] == total
    assert body["patterns"]["peak_usage_hours"] == ([9, 22] if total else [])
    wide = run(app, "intelligence_analyze_patterns", **USER, time_range_days=30)["patterns"]
    assert {"topic": "long-ago", "count": 1} in wide["top_topics"]
    assert wide["type_distribution"]["personal"] == 1
    app.close()
