"""The facts that the built-in analyst finds in a talk, and how they are kept."""

from __future__ import annotations

import pytest

from memolith.analysts.builtin.analyst import BuiltinAnalyst
from memolith.bootstrap import App
from memolith.domain.items import Draft
from memolith.ports.analyst import ChatMessage
from tests.conftest import ME
from tests.stores import each_store


def facts(*texts: str) -> list[str]:
    return BuiltinAnalyst().facts([ChatMessage("user", text) for text in texts])


@pytest.mark.parametrize(
    "text", ["I'm allergic to nuts.", "We meet on Mondays", "Is what it is, she said."]
)
def test_a_sentence_that_states_something_is_a_fact(text: str) -> None:
    assert facts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook tonight?",
        "how do I cook nuts",
        "Tell me about your nuts.",
        "Hello there!",
        "Thanks a lot.",
        "OK.",
        "",
    ],
)
def test_a_question_a_request_and_a_greeting_are_none(text: str) -> None:
    assert facts(text) == []


def test_what_people_say_first_is_left_out() -> None:
    assert facts("Hi, well, my cat is called Tom.") == ["My cat is called Tom."]


def test_a_fact_that_is_said_twice_is_one() -> None:
    assert facts("I like tea a lot.", "I like tea a lot. I play chess.") == [
        "I like tea a lot.",
        "I play chess.",
    ]


@each_store
def test_a_known_fact_is_not_kept_again(app: App) -> None:
    talk = [ChatMessage("user", "I like tea a lot.")]
    place = Draft(attributes={"user_id": "ann"})
    assert app.engine.facts.keep(ME, talk, place).texts == ["I like tea a lot."]
    assert app.engine.facts.keep(ME, talk, place).texts == []


@each_store
def test_the_same_fact_of_somebody_else_is_kept(app: App) -> None:
    talk = [ChatMessage("user", "I like tea a lot.")]
    app.engine.facts.keep(ME, talk, Draft(attributes={"user_id": "ann"}))
    kept = app.engine.facts.keep(ME, talk, Draft(attributes={"user_id": "ben"}))
    assert kept.items[0].attributes == {"user_id": "ben"}


@each_store
def test_a_secret_is_told_as_it_is_stored(app: App) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    kept = app.engine.facts.keep_verbatim(ME, [f"My token is {key[:40]}."], Draft())
    assert key[:40] not in kept.texts[0]
