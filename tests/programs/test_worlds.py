"""The worlds that the ranking is tuned on are whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bench.worlds import World, load_world, load_worlds, problems_of

WORLDS = load_worlds()
NAMES = [world.name for world in WORLDS]
MIN_UNANSWERABLE_SHARE = 0.15
LANGUAGES = ["ar", "de", "el", "es", "hi", "ru", "th", "tr", "vi", "zh"]


@pytest.fixture(params=WORLDS, ids=NAMES)
def world(request: pytest.FixtureRequest) -> World:
    found = request.param
    assert isinstance(found, World)
    return found


def test_worlds_have_different_names() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_notes_come_in_stores_of_very_different_size() -> None:
    sizes = [len(world.items) for world in load_worlds(language="en", kind="notes")]

    assert sizes == [1, 3, 5, 8, 12, 20, 40, 60, 100, 160]


def test_there_are_two_conversations_of_more_than_a_hundred_turns() -> None:
    sizes = [len(world.items) for world in load_worlds(kind="conversation")]

    assert len(sizes) == 2
    assert min(sizes) > 100


def test_ten_other_languages_have_a_world_of_25_notes() -> None:
    others = [world for world in WORLDS if world.language != "en"]

    assert sorted(world.language for world in others) == LANGUAGES
    assert {len(world.items) for world in others} == {25}


def test_enough_questions_have_no_answer(world: World) -> None:
    without = [question for question in world.questions if not question.answerable]

    assert len(without) / len(world.questions) >= MIN_UNANSWERABLE_SHARE


def test_no_question_is_asked_twice(world: World) -> None:
    questions = [question.text for question in world.questions]

    assert len(set(questions)) == len(questions)


def test_no_text_or_question_is_empty(world: World) -> None:
    assert all(item.text.strip() for item in world.items)
    assert all(question.text.strip() for question in world.questions)


def test_turns_of_a_conversation_have_a_speaker_and_a_session() -> None:
    for conversation in load_worlds(kind="conversation"):
        assert all(item.speaker and item.session for item in conversation.items)


def test_a_wrong_world_is_refused_with_the_file_and_the_reason(tmp_path: Path) -> None:
    first = {"id": "a", "at": "2026-01-02T08:00:00", "text": "tea"}
    second = {"id": "a", "at": "2026-01-01T08:00:00", "text": "coffee"}
    question = {"question": "What do I drink?", "right": ["b"], "category": "indirect"}
    path = tmp_path / "drinks.json"
    path.write_text(
        json.dumps(
            {
                "name": "drinks",
                "language": "en",
                "kind": "notes",
                "items": [first, second],
                "questions": [question],
            }
        )
    )

    with pytest.raises(ValueError, match=r"drinks\.json: two items have the id 'a'"):
        load_world(path)


def test_all_problems_of_a_world_are_named() -> None:
    world = WORLDS[-1]
    unanswered = replace(world.questions[0], right=(), category="indirect")
    misplaced = replace(world.questions[1], right=("nowhere",))
    newest_first = tuple(reversed(world.items))

    problems = problems_of(replace(world, items=newest_first, questions=(unanswered, misplaced)))

    assert any("is older than" in problem for problem in problems)
    assert any("have no answer" in problem for problem in problems)
    assert any("'nowhere'" in problem for problem in problems)
