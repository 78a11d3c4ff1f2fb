"""How a certainty came about: the parts add up to the number that is shown."""

from typing import Any

import jsonschema
import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.domain.items import Patch
from memolith.tools.call import Call
from tests.checked import body_of, present
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
TEXT = "A zebra foal stands within 20 minutes after its birth and runs with the herd."
ANN = Caller("local", "ann")


def explain(app: App, id: str, caller: Caller = ME) -> dict[str, Any]:
    outcome = app.registry.run("explain_certainty", {"concept_id": id}, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    schema = present(app.registry.find("explain_certainty")).output_schema
    jsonschema.Draft202012Validator(schema).validate(outcome.body)
    return body_of(outcome)


def concept(app: App, id: str, text: str = TEXT, **fields: Any) -> None:
    draft = note(text, id=id, kind="concept", title=id, audience=Audience.ORG, **fields)
    app.engine.writing.remember(ME, draft)


def test_the_parts_add_up_to_the_certainty(app: App) -> None:
    concept(app, "foal")
    told = explain(app, "foal")
    parts = {part["evidence"]: part for part in told["parts"]}
    assert list(parts) == ["written", "length", "detail", "links"]
    points = sum(part["points"] for part in told["parts"])
    assert points == pytest.approx(told["certainty"], abs=0.2)
    assert (told["name"], told["source"], parts["links"]["count"]) == ("foal", "computed", 0)
    assert (parts["length"]["count"], parts["length"]["most"]) == (15, 35)
    assert parts["detail"]["count"] >= 1
    assert told["computed"] == told["certainty"]
    assert (told["near_copies"], told["contradictions"], told["neighbours"]) == (0, 0, [])


def test_links_and_neighbours_count(app: App) -> None:
    concept(app, "foal")
    alone = explain(app, "foal")
    concept(app, "herd", "Zebras live in herds.")
    app.engine.writing.link(ME, "herd", "foal", "includes")
    linked = explain(app, "foal")
    assert (linked["parts"][3]["count"], linked["certainty"] > alone["certainty"]) == (1, True)
    concept(app, "other", TEXT.replace("20", "60"))
    doubted = explain(app, "foal")
    assert (doubted["contradictions"], doubted["near_copies"]) == (1, 0)
    assert (doubted["contradictions_factor"], doubted["near_copies_factor"]) == (0.7, 1)
    assert doubted["neighbours"] == [{"id": "other", "name": "other"}]
    assert doubted["certainty"] == pytest.approx(linked["certainty"] * 0.7, abs=0.1)


def test_age_is_told_and_a_review_takes_it_away(app: App) -> None:
    concept(app, "foal")
    fresh = explain(app, "foal")
    app.engine.writing.revise(ME, "foal", Patch(attributes={"reviewed_at": "2020-01-01T00:00:00Z"}))
    old = explain(app, "foal")
    assert old["age_days"] > 365
    assert old["certainty"] == pytest.approx(old["computed"] * old["age_factor"], abs=0.1)
    assert old["certainty"] < fresh["certainty"] / 2
    assert old["computed"] == fresh["computed"]
    app.registry.run("review_concept", {"concept_id": "foal"}, Call(ME, app.engine))
    assert (explain(app, "foal")["age_days"], explain(app, "foal")["certainty"]) == (
        0,
        fresh["certainty"],
    )


def test_a_given_certainty_is_told_beside_the_computed_one(app: App) -> None:
    attributes = {"certainty_score": 99, "certainty_source": "given"}
    concept(app, "foal", attributes=attributes)
    told = explain(app, "foal")
    assert (told["source"], told["certainty"]) == ("given", 99)
    assert told["computed"] < 99


def test_a_concept_of_somebody_else_is_not_explained_or_named(app: App) -> None:
    concept(app, "foal")
    app.engine.writing.remember(
        ANN, note(TEXT.replace("20", "30"), id="hidden", kind="concept", title="hidden")
    )
    outcome = app.registry.run("explain_certainty", {"concept_id": "hidden"}, Call(ME, app.engine))
    assert outcome.error is not None
    assert outcome.error.status == 404
    assert explain(app, "foal")["neighbours"] == []
    assert explain(app, "hidden", ANN)["neighbours"] == [{"id": "foal", "name": "foal"}]
