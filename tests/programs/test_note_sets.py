"""The labelled notes of `bench.notes`: the labels agree with the notes, and every tool is asked."""

from __future__ import annotations

from collections import Counter

import pytest
from bench.note_sets import FOLDER, KINDS, Note, NoteSet, Question, load_set
from bench.notes import TOOLS, measure

SETS = [load_set(path.stem) for path in sorted(FOLDER.glob("*.toml"))]
every_set = pytest.mark.parametrize("notes", SETS, ids=lambda notes: notes.name)
WEEK = load_set("week")
TEAM = load_set("team")


@every_set
def test_every_note_has_an_id_and_a_name_of_its_own(notes: NoteSet) -> None:
    """Some tools refuse a second note of the same name."""
    assert len({note.id for note in notes.notes}) == len(notes.notes)
    assert len({note.name for note in notes.notes}) == len(notes.notes)


@every_set
def test_notes_stand_in_the_order_of_their_times(notes: NoteSet) -> None:
    times = [note.at for note in notes.notes]
    assert times == sorted(set(times))


@every_set
def test_notes_are_short(notes: NoteSet) -> None:
    lengths = {note.id: len(note.text.split()) for note in notes.notes}
    assert {id: words for id, words in lengths.items() if not 5 <= words <= 60} == {}


@every_set
def test_a_note_replaces_an_older_one_once(notes: NoteSet) -> None:
    replaced = [note.replaces for note in notes.notes if note.replaces]
    assert len(set(replaced)) == len(replaced)
    for note in notes.notes:
        if note.replaces:
            assert notes.by_id[note.replaces].at < note.at


@every_set
def test_twins_exist_and_are_not_changes(notes: NoteSet) -> None:
    for note in notes.notes:
        if note.twin:
            assert note.twin in notes.by_id
            assert note.twin not in (note.id, note.replaces)


@every_set
def test_right_notes_exist_and_are_still_true(notes: NoteSet) -> None:
    replaced = {note.replaces for note in notes.notes}
    for question in notes.questions:
        assert question.kind in KINDS
        assert (question.right is None) == (question.kind == "none"), question.ask
        if question.right:
            assert question.right in notes.by_id, question.ask
            assert question.right not in replaced, question.ask


@every_set
def test_only_questions_about_changes_ask_for_a_note_that_replaces_one(notes: NoteSet) -> None:
    for question in notes.questions:
        if question.right:
            is_change = notes.by_id[question.right].replaces is not None
            assert is_change == (question.kind == "changed"), question.ask


@every_set
def test_no_question_is_asked_twice(notes: NoteSet) -> None:
    assert len({question.ask for question in notes.questions}) == len(notes.questions)
    rights = [question.right for question in notes.questions if question.right]
    assert len(set(rights)) == len(rights)


def test_the_week_has_enough_of_everything() -> None:
    assert len(WEEK.notes) >= 300
    assert sum(note.replaces is not None for note in WEEK.notes) >= 14
    assert sum(note.twin is not None for note in WEEK.notes) >= 15
    kinds = Counter(question.kind for question in WEEK.questions)
    assert kinds == {"changed": 12, "date": 5, "person": 5, "plain": 28, "none": 10}


def test_the_team_has_enough_of_everything() -> None:
    assert len(TEAM.notes) >= 140
    assert sum(note.replaces is not None for note in TEAM.notes) >= 12
    assert sum(note.twin is not None for note in TEAM.notes) >= 12
    kinds = Counter(question.kind for question in TEAM.questions)
    assert kinds == {"changed": 12, "date": 4, "person": 5, "plain": 12, "none": 7}


def test_every_search_tool_is_asked_about_what_its_family_wrote() -> None:
    notes = (
        Note("otter", "2026-02-23T08:00:00.000000Z", "Otters hold hands while they sleep."),
        Note("kettle", "2026-02-24T08:00:00.000000Z", "The kettle must be descaled with vinegar."),
    )
    questions = (Question("plain", "How do otters sleep?", "otter"),)
    reports = measure(NoteSet("small", notes, questions))
    assert tuple(report.tool for report in reports) == TOOLS
    assert [report.tool for report in reports if not report.results[0].is_first] == []
