"""MedQuAD: questions about illnesses and drugs with answers from public health pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from training.sources.pair import Pair
from training.sources.passages import AskedPassage
from training.sources.repository import Repository
from training.sources.text import Bm25, detokenised, tidy

MAX_ANSWER_CHARS = 500
NEGATIVES = 1


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> how its answer begins; the negative answers a similar question."""
    asked = [found for path in repository.paths("", ".xml") for found in _answers(repository, path)]
    asked = list({(one.question, one.passage): one for one in asked}.values())
    search = Bm25([one.question for one in asked])
    for number, one in enumerate(asked):
        others = search.best(one.question, 6, skip={number})
        wrong = [asked[other].passage for other in others if asked[other].question != one.question]
        wrong = [text for text in wrong if text != one.passage]
        yield Pair(one.question, (one.passage,), tuple(wrong[:NEGATIVES]))


def _answers(repository: Repository, path: str) -> Iterator[AskedPassage]:
    document = ElementTree.fromstring(repository.text(path))
    for pair in document.iter("QAPair"):
        question = detokenised(pair.findtext("Question") or "").replace("is (are)", "is")
        answer = _without_question(tidy(pair.findtext("Answer") or ""))
        if len(answer) > 60:
            yield AskedPassage(question, _beginning(answer))


def _without_question(answer: str) -> str:
    """The answer without the question, which most answers repeat first."""
    return re.sub(r"^(?:What|How|Who|Is|Are|Do|Does|Where|When)\b[^?.]{5,160}\?\s+", "", answer)


def _beginning(answer: str) -> str:
    if len(answer) <= MAX_ANSWER_CHARS:
        return answer
    return answer[: answer.rfind(" ", 0, MAX_ANSWER_CHARS)]
