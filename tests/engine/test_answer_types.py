"""What kind of answer a question asks for, and whether a passage has one."""

import pytest

from memolith.retrieval.ranking.answer_types import asked_type, has_type


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When does the sofa arrive?", "time"),
        ("What day is the review?", "time"),
        ("Since when does she live there?", "time"),
        ("How much did the new sofa cost?", "number"),
        ("And how many people came?", "number"),
        ("Where is the spare key?", "place"),
        ("In which city was the fair?", "place"),
        ("Who repairs the boiler?", "person"),
        ("Whose bike is in the hall?", "person"),
        ("What does Maren drink?", ""),
        ("the sofa", ""),
    ],
)
def test_a_question_says_what_it_asks_for(question: str, kind: str) -> None:
    assert asked_type(question) == kind


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("time", "The sofa arrives on Tuesday."),
        ("time", "At 9:30 in the small room."),
        ("number", "We paid 480 for it."),
        ("number", "Twelve people came."),
        ("place", "It hangs behind the door."),
        ("person", "Ask my sister."),
        ("person", "The boiler: call Pavel."),
    ],
)
def test_a_text_has_what_is_asked_for(kind: str, text: str) -> None:
    assert has_type(kind, text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("time", "The sofa is green and soft."),
        ("number", "The sofa is green and soft."),
        ("place", "The sofa is green and soft."),
        ("person", "The sofa is green and soft."),
    ],
)
def test_a_text_lacks_what_is_asked_for(kind: str, text: str) -> None:
    assert not has_type(kind, text)
