"""Themes, gaps, decisions and open questions in memories."""

import re
from collections import Counter
from collections.abc import Sequence

from memolith.analysts.builtin.phrases import phrases, phrases_of_all, weight_of, whole_sentences
from memolith.ports.analyst import FoundInsight, InsightReport, Memory

CUES = {
    "decision": re.compile(
        r"\b(decided|decision|chose|chosen|agreed|settled on|going with|will use)\b", re.I
    ),
    "open question": re.compile(
        r"\?\s*$|\b(todo|tbd|open question|unclear|not sure|to be decided)\b", re.I
    ),
}
"""The words by which a sentence of a category is known."""

CONFIDENCE_OF_GAP = 0.3
CONFIDENCE_OF_CUE = 0.6
MAX_INSIGHTS_PER_CATEGORY = 10
MAX_PHRASES_PER_GROUP = 3
SHORT_SENTENCE_CHARS = 40
"""Added to the length that a sentence is measured by, so that the shortest do not always win."""


def find_insights(groups: Sequence[Sequence[Memory]], topic: str) -> InsightReport:
    """Find a theme for each group, a gap where a memory is alone, decisions and open questions.

    Each group has the memories that are about the same.
    """
    found = [*_themes_and_gaps(groups), *_sentences_with_cues(groups)]
    counts = Counter(insight.category for insight in found)
    kept = []
    for category in counts:
        of_category = [insight for insight in found if insight.category == category]
        kept += of_category[:MAX_INSIGHTS_PER_CATEGORY]
    return InsightReport(kept, _summary(sum(map(len, groups)), topic, counts))


def _themes_and_gaps(groups: Sequence[Sequence[Memory]]) -> list[FoundInsight]:
    memories_with_phrase: Counter[str] = Counter()
    for group in groups:
        for memory in group:
            memories_with_phrase.update(set(phrases(memory.text)))
    found = []
    for group in groups:
        weights = phrases_of_all(memory.text for memory in group)
        # Rare phrases tell more about a group than those that most memories have.
        telling = sorted(
            weights,
            key=lambda phrase: (-weights[phrase] / memories_with_phrase[phrase] ** 0.5, phrase),
        )
        subject = ", ".join(telling[:MAX_PHRASES_PER_GROUP])
        ids = tuple(memory.id for memory in group)
        if len(group) > 1:
            sentence = _best_sentence([memory.text for memory in group], weights)
            text = f"{len(group)} memories are about {subject}: {sentence}"
            confidence = round(1 - 1 / (len(group) + 1), 3)
            found.append(FoundInsight("theme", text, confidence, ids))
        elif subject:
            text = f"Only one memory is about {subject}."
            found.append(FoundInsight("gap", text, CONFIDENCE_OF_GAP, ids))
    return found


def _best_sentence(texts: Sequence[str], weights: Counter[str]) -> str:
    """The sentence that says most for its length."""
    sentences = [sentence for text in texts for sentence in whole_sentences(text)]
    return max(
        sentences,
        key=lambda sentence: weight_of(sentence, weights) / (len(sentence) + SHORT_SENTENCE_CHARS),
    )


def _sentences_with_cues(groups: Sequence[Sequence[Memory]]) -> list[FoundInsight]:
    memories = [memory for group in groups for memory in group]
    found = []
    for category, cue in CUES.items():
        for memory in memories:
            for sentence in whole_sentences(memory.text):
                if cue.search(sentence):
                    found.append(FoundInsight(category, sentence, CONFIDENCE_OF_CUE, (memory.id,)))
    return found


def _summary(memory_count: int, topic: str, counts: Counter[str]) -> str:
    about = f" about {topic}" if topic else ""
    listed = ", ".join(_counted(count, category) for category, count in counts.items())
    return f"{memory_count} memories{about}: {listed or 'nothing'}."


def _counted(count: int, category: str) -> str:
    if count > 1:
        return f"{count} {category}s"
    return f"{count} {category}"
