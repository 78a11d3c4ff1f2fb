"""A pack of context: what goes into it beside the hits, what stays out, and how it is shown."""

from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.chunking import weigh
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Filter, Found, Query
from memolith.engine.packing import LEFT_OUT, is_filler
from tests.conftest import ME, note

QUESTION = "Which instrument does Tomas play?"
TALK = (
    ("Ida", "The heating was repaired on Tuesday."),
    ("Ida", "Do you still play an instrument, Tomas?"),
    ("Tomas", "Thanks!"),
    ("Tomas", "The oboe, since school. My teacher was Mrs Varga."),
    ("Ida", "She lives next to the bakery now."),
    ("Tomas", "Sounds good"),
    ("Ida", "The bus was late again, as usual."),
    ("Tomas", "It rained all week."),
)


def conversation(*messages: tuple[str, str], id: str = "talk") -> Draft:
    blocks = tuple(
        Block(text, speaker=speaker, at="2024-03-05T10:00:00Z") for speaker, text in messages
    )
    return Draft(kind="conversation", title="Evening", blocks=blocks, id=id)


def remember(app: App, *drafts: Draft) -> None:
    for draft in drafts:
        app.engine.writing.remember(ME, draft)
    app.upkeep.run()


@pytest.fixture
def talk(smart: App) -> App:
    remember(smart, conversation(*TALK), replace(note("Flour is cheaper on Mondays."), id="other"))
    return smart


def counted(app: App, monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """The queries that the recall of an app is asked from now on."""
    queries: list[Query] = []
    search = app.engine.recall.search

    def counting(caller: Any, query: Query) -> Found:
        queries.append(query)
        return search(caller, query)

    monkeypatch.setattr(app.engine.context.recall, "search", counting)
    return queries


def test_what_was_said_around_a_hit_stands_with_it_in_reading_order(talk: App) -> None:
    pack = talk.engine.context.pack(ME, QUESTION, 500)
    first = pack.text.split("\n\n")[0].split("\n")
    lines = [line for line in first[1:] if line != LEFT_OUT]
    spoken = [f"{speaker}: {text}" for speaker, text in TALK]
    assert lines == [line for line in spoken if line in lines]
    assert "Tomas: The oboe, since school. My teacher was Mrs Varga." in lines
    assert "Ida: She lives next to the bakery now." in lines
    assert first[0].startswith("[1] Evening, messages ")
    assert pack.citations[0].cite in first[0]


def test_a_gap_within_a_part_is_shown(talk: App) -> None:
    pack = talk.engine.context.pack(ME, QUESTION, 500)
    shown = "Ida: Do you still play an instrument, Tomas?\n…\nTomas: The oboe"
    assert shown in pack.text, "the thanks in between are left out"
    assert "messages 1-2, 4-5" in pack.citations[0].cite


def test_fillers_are_never_shown(talk: App) -> None:
    for question in (QUESTION, "thanks", "sounds good"):
        text = talk.engine.context.pack(ME, question, 2000).text
        assert "Thanks!" not in text
        assert "Sounds good" not in text


@pytest.mark.parametrize(
    "text", ["Noted.", "Thanks!", "Sounds good", "OK, thank you so much!", "Great, see you soon!"]
)
def test_a_text_that_only_agrees_or_thanks_is_a_filler(text: str) -> None:
    assert is_filler(text)


@pytest.mark.parametrize(
    "text", ["Yes.", "No, thanks.", "Thanks to Maria.", "At nine.", "Good, 40 euros.", "42", ""]
)
def test_a_text_that_may_answer_a_question_is_no_filler(text: str) -> None:
    assert not is_filler(text)


def test_a_neighbour_must_pass_the_filter_too(talk: App) -> None:
    chosen = Filter(speakers=("Tomas",))
    text = talk.engine.context.pack(ME, QUESTION, 500, chosen).text
    assert "The oboe" in text
    assert "Ida:" not in text


def test_a_neighbour_goes_in_only_with_its_hit(talk: App) -> None:
    for budget in range(20, 80, 5):
        pack = talk.engine.context.pack(ME, QUESTION, budget)
        assert weigh(pack.text) == pack.tokens <= budget
        assert all(citation.score > 0 for citation in pack.citations)


def test_what_is_linked_to_a_hit_goes_with_it(smart: App) -> None:
    remember(
        smart,
        replace(note("The boiler in the cellar was made by Ferrolux."), id="boiler"),
        replace(note("Invoices are in the blue folder."), id="folder"),
        replace(note("Swimming is on Thursdays."), id="swim"),
    )
    question = "Who made the boiler in the cellar?"
    assert "blue folder" not in smart.engine.context.pack(ME, question, 500).text
    smart.engine.writing.link(ME, "boiler", "folder", "documented_in", 1.0)
    pack = smart.engine.context.pack(ME, question, 500)
    assert [citation.id for citation in pack.citations][:2] == ["boiler", "folder"]
    assert "Swimming" not in pack.text


def test_two_parts_do_not_say_the_same(smart: App) -> None:
    text = "The spare key of the boat house hangs behind the third shutter on the left."
    remember(
        smart,
        replace(note(text), id="first"),
        replace(note(f"Remember: {text.lower()}"), id="second"),
    )
    pack = smart.engine.context.pack(ME, "where is the spare key of the boat house?", 500)
    assert len(pack.citations) == 1


def test_the_best_hit_comes_first_even_if_it_is_long(smart: App) -> None:
    long = "The oboe of Tomas was built in Vienna. " + "It has a case of dark wood. " * 5
    remember(smart, replace(note(long), id="long"), replace(note("Tomas likes music."), id="short"))
    pack = smart.engine.context.pack(ME, "where was the oboe of Tomas built?", weigh(long) + 12)
    assert pack.citations[0].id == "long"


def test_a_note_below_the_floor_stays_out(talk: App) -> None:
    assert "Flour" not in talk.engine.context.pack(ME, QUESTION, 2000).text


def test_without_links_a_pack_takes_one_search(talk: App, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = counted(talk, monkeypatch)
    talk.engine.context.pack(ME, QUESTION, 2000)
    assert len(queries) == 1


def test_a_question_about_nothing_gives_an_empty_pack(
    talk: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = counted(talk, monkeypatch)
    pack = talk.engine.context.pack(ME, "zorvakt quorblen", 2000)
    assert (pack.text, pack.citations, pack.tokens) == ("", (), 0)
    assert len(queries) == 1


def test_without_a_model_a_pack_is_made_by_words(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(app, conversation(*TALK))
    queries = counted(app, monkeypatch)
    pack = app.engine.context.pack(ME, "oboe teacher Varga", 500)
    assert "The oboe" in pack.text
    assert len(queries) == 1
