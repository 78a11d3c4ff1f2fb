"""Tasks of Natural Instructions with questions about passages, one function for each form."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from training.sources.pair import Builder, Pair
from training.sources.passages import AskedPassage, passage_pairs
from training.sources.repository import Repository
from training.sources.text import Bm25, detokenised, sentences, shared_words, tidy

MAX_QUESTIONS_PER_PASSAGE = 4
MAX_REPLIES = 5
SPEAKERS = ("Sam", "Alex", "Kim", "Robin", "Chris", "Jo", "Dana", "Lee")


@dataclass(frozen=True)
class Instance:
    """What a task shows and what it expects."""

    shown: str
    expected: tuple[str, ...]


Reader = Callable[[Instance], Iterator[AskedPassage]]
"""Takes the questions with their passage out of one instance of a task."""


@dataclass(frozen=True)
class Task:
    """A file of the collection and how its instances are read."""

    name: str
    read: Reader


def instances(repository: Repository, task: str) -> list[Instance]:
    """The instances of a task, in the order of the file."""
    rows = json.loads(repository.text(f"tasks/{task}.json"))["Instances"]
    return [Instance(row["input"], tuple(row["output"])) for row in rows]


def questions_about_passages(*tasks: Task, negatives: int, min_shared: int = 0) -> Builder:
    """The builder for tasks whose instances hold questions and a passage."""
    return partial(_build_passages, tasks=tasks, negatives=negatives, min_shared=min_shared)


def _build_passages(
    repository: Repository, tasks: tuple[Task, ...], negatives: int, min_shared: int
) -> Iterator[Pair]:
    asked = []
    for task in tasks:
        for instance in instances(repository, task.name):
            for found in task.read(instance):
                if shared_words(found.question, found.passage) >= min_shared:
                    asked.append(found)
    return passage_pairs(asked, negatives)


def question_is_expected(
    pattern: str = r"(?P<passage>.*)", limit: int = MAX_QUESTIONS_PER_PASSAGE
) -> Reader:
    """For tasks that show a passage and expect questions about it, of which the first are taken.

    The pattern names the part `passage` of what is shown, and `answer` where there is one.
    """
    compiled = re.compile(pattern, re.DOTALL)

    def read(instance: Instance) -> Iterator[AskedPassage]:
        found = compiled.fullmatch(instance.shown.strip())
        if found is None:
            return
        passage = detokenised(found.group("passage"))
        answer = detokenised(found.groupdict().get("answer") or "")
        for question in instance.expected[:limit]:
            yield AskedPassage(detokenised(question), passage, answer)

    return read


def question_is_shown(pattern: str, wanted: str = "") -> Reader:
    """For tasks that show a passage with a question and expect the answer.

    With `wanted`, only instances that expect this are taken.
    """
    compiled = re.compile(pattern, re.DOTALL)

    def read(instance: Instance) -> Iterator[AskedPassage]:
        found = compiled.fullmatch(instance.shown.strip())
        if found is None or (wanted and wanted not in instance.expected):
            return
        question = detokenised(found.group("question"))
        passage = detokenised(found.group("passage"))
        yield AskedPassage(question, passage, detokenised(instance.expected[0]))

    return read


def follow_up_questions(instance: Instance) -> Iterator[AskedPassage]:
    """DoQA: a passage, a question with its answer, and a further question."""
    parts = [part.strip() for part in instance.shown.split("<sep>")]
    if len(parts) != 3:
        return
    passage = tidy(parts[0].removeprefix("CONTEXT:"))
    first = re.match(r"Q: (.+?) A: (.*)", parts[1], re.DOTALL)
    if first is not None and first.group(2).strip().upper() != "CANNOTANSWER":
        yield AskedPassage(tidy(first.group(1)), passage, tidy(first.group(2)))
    answered = instance.expected[0].strip().lower() not in ("no", "cannotanswer")
    if answered:
        yield AskedPassage(tidy(parts[2].removeprefix("FOLLOWUP_Q:")), passage)


def title_is_expected(instance: Instance) -> Iterator[AskedPassage]:
    """Reviews and other texts whose title says what they are about."""
    title = tidy(instance.expected[0])
    text = re.sub(r"<[^>]+>", " ", instance.shown)
    if len(title.split()) >= 3:
        yield AskedPassage(title, tidy(text))


def summary_is_shown(instance: Instance) -> Iterator[AskedPassage]:
    """Hippocorpus: a summary, and the story of a memory that it sums up."""
    story = tidy(instance.expected[0])
    for sentence in sentences(tidy(instance.shown)):
        if len(sentence.split()) >= 5:
            yield AskedPassage(sentence, story)


def two_facts(instance: Instance) -> Iterator[AskedPassage]:
    """IIRC: a sentence, one of a page it links to, and a question that needs both."""
    found = re.fullmatch(
        r"Context: (.+?) Link Information: (.+?) Answer: .*", instance.shown.strip(), re.DOTALL
    )
    if found is None:
        return
    context = tidy(found.group(1))
    linked = tidy(found.group(2))
    # Where the answer stands on no linked page, the task says "none".
    alone = linked == "none" or linked.startswith(context)
    passage = context if alone else f"{context} {linked}"
    yield AskedPassage(tidy(instance.expected[0]), passage)


def story_after_background(instance: Instance) -> Iterator[AskedPassage]:
    """ROPES: a background paragraph, a story, and questions about the story."""
    found = re.search(r"Story(?: Paragraph)?: *(.+)", instance.shown, re.DOTALL)
    if found is None:
        return
    for question in instance.expected[:MAX_QUESTIONS_PER_PASSAGE]:
        yield AskedPassage(tidy(question), tidy(found.group(1)))


def multiple_choice(instance: Instance) -> Iterator[AskedPassage]:
    """QuaRTz: a paragraph, a question and its choices."""
    found = re.fullmatch(
        r"Paragraph: (.+?)\n *Question: (.+?)\n *Choices: .*", instance.shown.strip(), re.DOTALL
    )
    if found is not None:
        yield AskedPassage(tidy(found.group(2)), tidy(found.group(1)), tidy(instance.expected[0]))


def explained_answer(instance: Instance) -> Iterator[AskedPassage]:
    """QuaRTz the other way round: a question with its answer, and the paragraph behind it."""
    found = re.fullmatch(r"Question: (.+?)\n *Answer: .*", instance.shown.strip(), re.DOTALL)
    if found is not None:
        yield AskedPassage(tidy(found.group(1)), tidy(instance.expected[0]))


def build_replies(repository: Repository) -> Iterator[Pair]:
    """Circa: a question -> indirect replies, said by somebody; negatives are other replies."""
    rows = instances(repository, "task565_circa_answer_generation")
    replies_of: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        replies_of[tidy(row.shown)].extend(tidy(reply) for reply in row.expected)
    search = Bm25([reply for replies in replies_of.values() for reply in replies])
    for number, (question, replies) in enumerate(sorted(replies_of.items())):
        speaker = SPEAKERS[number % len(SPEAKERS)]
        right = list(dict.fromkeys(replies))[:MAX_REPLIES]
        wrong = search.lookalikes(question, replies, 3)
        yield Pair(
            question,
            tuple(f"{speaker}: {reply}" for reply in right),
            tuple(f"{speaker}: {reply}" for reply in wrong),
            tuple(f"A: {question}" for _ in right),
        )


def build_key_points(repository: Repository) -> Iterator[Pair]:
    """ArgKP: a key point -> arguments that make it; negatives match another key point."""
    right: dict[str, list[str]] = defaultdict(list)
    wrong: dict[str, list[str]] = defaultdict(list)
    for row in instances(repository, "task1285_kpa_keypoint_matching"):
        parts = [part.partition(":")[2].strip() for part in row.shown.split("<sep>")]
        if len(parts) == 3:
            _topic, argument, key_point = parts
            group = right if row.expected[0] == "True" else wrong
            group[key_point].append(argument)
    for key_point, arguments in sorted(right.items()):
        search = Bm25(wrong[key_point])
        found = search.lookalikes(key_point, arguments, 12)
        for first in range(0, len(arguments), 2):
            negatives = found[first % 12 : first % 12 + 3]
            yield Pair(key_point, tuple(arguments[first : first + 2]), tuple(negatives))


def build_paraphrases(repository: Repository) -> Iterator[Pair]:
    """PAWS: a sentence -> the same in other words; negatives use its words for something else."""
    same: dict[str, list[str]] = defaultdict(list)
    other: dict[str, list[str]] = defaultdict(list)
    for row in instances(repository, "task400_paws_paraphrase_classification"):
        first, _, second = row.shown.partition("\n")
        group = same if row.expected[0] == "Paraphrase" else other
        group[detokenised(first)].append(detokenised(second))
        group[detokenised(second)].append(detokenised(first))
    given: set[frozenset[str]] = set()
    for sentence, paraphrases in same.items():
        fresh = [text for text in dict.fromkeys(paraphrases) if text != sentence]
        fresh = [text for text in fresh if frozenset((sentence, text)) not in given]
        if fresh:
            given.update(frozenset((sentence, text)) for text in fresh)
            negatives = list(dict.fromkeys(other.get(sentence, ())))
            negatives += [text for match in fresh for text in other.get(match, ())]
            yield Pair(sentence, tuple(fresh), tuple(negatives[:3]))
