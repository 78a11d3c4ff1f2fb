"""Words, pieces and lookalikes."""

from training.sources.pair import Pair, usable
from training.sources.passages import AskedPassage, passage_pairs
from training.sources.text import (
    Bm25,
    detokenised,
    part_of_turn,
    pieces,
    same_text,
    shared_words,
    word_set,
)


def test_spaces_round_marks_are_taken_back() -> None:
    assert (
        detokenised("Who 's there ? `` It 's me -LRB- Ann -RRB- . ''")
        == "Who's there? \"It's me (Ann).\""
    )
    assert detokenised("I do n't know , sorry .") == "I don't know, sorry."


def test_a_long_text_is_cut_at_sentences() -> None:
    text = " ".join(f"Sentence number {n} says a little more than the last one." for n in range(30))
    parts = pieces(text)
    assert " ".join(parts) == text
    assert all(part.endswith(".") and len(part) <= 720 for part in parts)
    assert pieces("Short.") == ["Short."]


def test_a_text_without_sentences_is_cut_between_words() -> None:
    parts = pieces("word " * 400)
    assert max(len(part) for part in parts) <= 720
    assert " ".join(parts).split() == ["word"] * 400


def test_of_a_long_turn_the_piece_with_the_words_is_kept() -> None:
    turn = (
        "Ann: " + "We talked about nothing much for a while. " * 40 + "Then the goat ate the map."
    )
    part = part_of_turn(turn, word_set("Which map did the goat eat?"))
    assert part.startswith("Ann: ")
    assert part.endswith("the goat ate the map.")
    assert len(part) <= 740


def test_common_words_and_endings_do_not_count() -> None:
    assert shared_words("When are the cats fed?", "She was feeding a cat") == 1
    assert same_text("The red bicycle in the shed", "red bicycle, shed!")
    assert not same_text("The red bicycle in the shed", "The red boat on the lake")


def test_lookalikes_share_words_and_are_no_copies() -> None:
    texts = [
        "Anna feeds the grey cat",
        "Anna feeds the grey cats",
        "Anna sold the grey boat",
        "It rains",
    ]
    search = Bm25(texts)
    assert search.best("grey cat of Anna", 1) == [0]
    assert search.lookalikes("grey cat of Anna", ["Anna feeds the grey cat"], 2) == [
        "Anna sold the grey boat"
    ]


def test_the_piece_with_the_answer_is_right_and_a_far_one_is_wrong() -> None:
    filler = "The road goes on and on along the coast. " * 16
    passage = f"The museum opens at ten. {filler} {filler} The cellar is said to be haunted."
    asked = AskedPassage("When does the museum open?", passage, "ten")
    (pair,) = passage_pairs([asked], negatives=1)
    assert pair.passages[0].startswith("The museum opens at ten.")
    assert "museum" not in pair.negatives[0]


def test_a_pair_is_cut_to_its_limits_or_given_up() -> None:
    pair = usable(
        Pair("Where is the key?", ("x" * 900,), ("x" * 900, "in the cellar"), ("before " * 100,))
    )
    assert pair is not None
    assert len(pair.passages[0]) == 700
    assert pair.negatives == ("in the cellar",)
    assert len(pair.before[0]) <= 300
    assert usable(Pair("Why?", ("Because it rained all day.",))) is None
    assert usable(Pair("Where is the key?", ("Here.",))) is None
    assert usable(Pair("Where is the key?", ())) is None


def test_a_line_names_only_what_there_is() -> None:
    assert Pair("Where is it?", ("In the attic.",)).as_line("notes") == {
        "q": "Where is it?",
        "p": ["In the attic."],
        "s": "notes",
    }
    line = Pair("Where is it?", ("In the attic.",), ("In Rome.",), ("A: Hm.",)).as_line("irc")
    assert list(line) == ["q", "p", "n", "c", "s"]
