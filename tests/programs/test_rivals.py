"""Two processes that want the same thing at once: one gets it, the other is told, and nothing is
half done.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.tools.call import Call
from tests.conftest import ME
from tests.programs.children import HERE, Child


def at_once(app: App, tool: str, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes of calls that start together, each in a process of its own."""
    with ExitStack() as stack:
        rivals = [
            stack.enter_context(
                Child(HERE / "rival.py", Path(app.settings.data), tool, json.dumps(call))
            )
            for call in calls
        ]
        assert [rival.line() for rival in rivals] == ["ready"] * len(calls)
        for rival in rivals:
            rival.say()
        return [json.loads(rival.line()) for rival in rivals]


def run(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    return app.registry.run(tool, arguments, Call(ME, app.engine)).body


@pytest.fixture
def pair(app: App) -> list[str]:
    return [
        run(app, "create_concept", name=name, explanation="Some text.")["concept_id"]
        for name in ("A", "B")
    ]


def test_one_of_two_equal_relationships_wins(app: App, pair: list[str]) -> None:
    wanted = {"source_id": pair[0], "target_id": pair[1], "relationship_type": "includes"}
    won, lost = sorted(
        at_once(app, "create_relationship", [wanted, wanted]), key=lambda body: not body["success"]
    )
    assert (won["success"], lost["success"], lost["error"]) == (True, False, "validation_error")
    assert lost["details"]["resource_id"] == won["relationship_id"]
    assert run(app, "get_related_concepts", concept_id=pair[0])["total"] == 1
    assert app.engine.maintenance.verify() == []


def test_one_of_two_equal_names_wins(app: App) -> None:
    wanted = {"name": "Tea", "explanation": "Leaves in water.", "area": "Kitchen"}
    won, lost = sorted(
        at_once(app, "create_concept", [wanted, wanted]), key=lambda body: not body["success"]
    )
    assert (lost["error"], lost["details"]) == (
        "validation_error",
        {"field": "name", "resource_id": won["concept_id"]},
    )
    assert run(app, "get_recent_concepts")["total"] == 1
    assert app.engine.maintenance.verify() == []


def test_two_updates_of_a_concept_both_stand_in_its_history(app: App, pair: list[str]) -> None:
    texts = ["Said by one.", "Said by another."]
    done = at_once(
        app, "update_concept", [{"concept_id": pair[0], "explanation": text} for text in texts]
    )
    assert [body["success"] for body in done] == [True, True]
    concept = run(app, "get_concept", concept_id=pair[0], include_history=True)["concept"]
    told = [entry["explanation"] for entry in concept["explanation_history"]]
    assert (told[0], sorted(told[1:]), told[-1]) == (
        "Some text.",
        sorted(texts),
        concept["explanation"],
    )
    assert app.engine.maintenance.verify() == []
