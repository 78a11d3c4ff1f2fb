"""Questions with a passage that answers them: the form that many data sets share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from training.sources.pair import Pair
from training.sources.text import Bm25, pieces, same_text, word_set


@dataclass(frozen=True)
class AskedPassage:
    """A question, the passage that holds the answer, and the answer where it is known."""

    question: str
    passage: str
    answer: str = ""


def best_piece(asked: AskedPassage, parts: list[str]) -> int:
    """The number of the piece that holds the answer, else of the one closest to the question."""
    words = word_set(f"{asked.question} {asked.answer}")
    answer = asked.answer.strip().lower()

    def worth(number: int) -> tuple[bool, int]:
        part = parts[number]
        holds_answer = len(answer) > 1 and answer in part.lower()
        return holds_answer, len(words & word_set(part))

    return max(range(len(parts)), key=lambda number: (*worth(number), -number))


def passage_pairs(asked: Iterable[AskedPassage], negatives: int) -> Iterator[Pair]:
    """One pair a question. Negatives come from the rest of its passage, then from other passages.

    A long passage is cut into pieces, and only the piece that answers is right.
    """
    questions = list(dict.fromkeys(asked))
    parts_of = {question.passage: pieces(question.passage) for question in questions}
    all_parts = list(dict.fromkeys(part for parts in parts_of.values() for part in parts))
    search = Bm25(all_parts if negatives else [])
    for question in questions:
        parts = parts_of[question.passage]
        if not parts:
            continue
        right = best_piece(question, parts)
        wrong: list[str] = []
        if negatives:
            # The piece beside the right one may hold half of the answer.
            wrong = [part for n, part in enumerate(parts) if abs(n - right) > 1][:1]
            wrong += search.lookalikes(question.question, [*parts, *wrong], negatives - len(wrong))
        wrong = [text for text in wrong if not same_text(text, parts[right])]
        yield Pair(question.question, (parts[right],), tuple(wrong))
