"""Words, pieces and the search for passages that look right and are not."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from functools import lru_cache
from heapq import nsmallest

PIECE_CHARS = 600
LONG_PASSAGE_CHARS = 720
SAME_TEXT_SHARE = 0.8
BM25_K1 = 1.2
BM25_B = 0.75
MAX_POSTINGS = 2_000
"""A search reads the rarest words of the question first, and stops after so many finds."""

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could
    did do does doing don down for from get go got had has have having he her here hers him his how
    i if in into is it its just know like ll m may me might more most much my no nor not now of off
    on one only or other our out over own re s said same say she should so some such t than that
    the their them then there these they thing things this those through to too up us ve very want
    was we were what when where which while who whom why will with would yes you your""".split()
)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BROKEN_WORD = re.compile("\u00ad\\s?")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_SPACE_BEFORE_MARK = re.compile(r"\s+([.,;:!?%)\]}’]|n't\b|'(?:s|re|ve|ll|d|m)\b)")
_SPACE_AFTER_MARK = re.compile(r"([(\[{$#])\s+")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_SPLIT_WORDS = {"gon na": "gonna", "wan na": "wanna", "got ta": "gotta", "can not": "cannot"}


def tidy(text: str) -> str:
    """The text on one line, without the hyphens that only mark where a word was broken."""
    return _SPACE.sub(" ", _BROKEN_WORD.sub("", text)).strip()


def detokenised(text: str) -> str:
    """Text whose words and marks were set apart by spaces, written as people write it."""
    for mark, bracket in _BRACKETS.items():
        text = text.replace(mark, bracket)
    for apart, together in _SPLIT_WORDS.items():
        text = text.replace(f" {apart} ", f" {together} ")
    text = text.replace("``", '"').replace("''", '"')
    text = _SPACE_BEFORE_MARK.sub(r"\1", text)
    text = _SPACE_AFTER_MARK.sub(r"\1", text)
    text = re.sub(r'(^|\s)"\s+([^"]*?)\s*"', r'\1"\2"', text)
    return tidy(text)


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in lower case and in order, cut to a rough stem."""
    words = (word.lower() for word in _WORD.findall(text))
    return [stem(word) for word in words if word not in STOP_WORDS]


@lru_cache(maxsize=100_000)
def word_set(text: str) -> frozenset[str]:
    """The different words of meaning in a text."""
    return frozenset(content_words(text))


def stem(word: str) -> str:
    """The word without the commonest English endings."""
    word = re.sub(r"['’]s$", "", word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def shared_words(left: str, right: str) -> int:
    """How many different words of meaning two texts share."""
    return len(word_set(left) & word_set(right))


def same_text(left: str, right: str) -> bool:
    """Whether two texts say nearly the same: most words of the shorter stand in the other."""
    left_words = word_set(left)
    right_words = word_set(right)
    shorter = min(len(left_words), len(right_words))
    if shorter == 0:
        return tidy(left).lower() == tidy(right).lower()
    return len(left_words & right_words) >= SAME_TEXT_SHARE * shorter


def sentences(text: str) -> list[str]:
    """The text cut after each sentence."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def pieces(text: str, size: int = PIECE_CHARS) -> list[str]:
    """The text as it is when it is short, else cut at sentences into pieces of about the size."""
    if len(text) <= LONG_PASSAGE_CHARS:
        return [text]
    found: list[str] = []
    current = ""
    for sentence in sentences(text):
        if current and len(current) + len(sentence) > size:
            found.append(current)
            current = ""
        current = f"{current} {sentence}".strip()
        while len(current) > LONG_PASSAGE_CHARS:
            cut = current.rfind(" ", 0, size)
            cut = cut if cut > 0 else size
            found.append(current[:cut].strip())
            current = current[cut:].strip()
    if current:
        found.append(current)
    return found


def part_of_turn(turn: str, words: Collection[str]) -> str:
    """What somebody said as it is when it is short, else the piece with most of the words."""
    if len(turn) <= LONG_PASSAGE_CHARS:
        return turn
    speaker, _, said = turn.partition(": ")
    parts = pieces(said)
    best = max(parts, key=lambda part: len(word_set(part).intersection(words)))
    return f"{speaker}: {best}"


class Bm25:
    """Finds the texts of a collection that share the most telling words with a question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        counts = [Counter(content_words(text)) for text in texts]
        self._lengths = [sum(count.values()) for count in counts]
        self._mean_length = max(1.0, sum(self._lengths) / max(1, len(texts)))
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for word, times in count.items():
                self._postings[word].append((number, times))

    def weight(self, word: str) -> float:
        """How telling a word is: the rarer the more."""
        found_in = len(self._postings.get(word, ()))
        return math.log(1 + (len(self._texts) - found_in + 0.5) / (found_in + 0.5))

    def scores(self, question: str) -> dict[int, float]:
        """The score of every text that shares a word with the question."""
        scores: dict[int, float] = defaultdict(float)
        read = 0
        known = [word for word in word_set(question) if word in self._postings]
        for word in sorted(known, key=lambda word: (len(self._postings[word]), word)):
            read += len(self._postings[word])
            if scores and read > MAX_POSTINGS:
                break
            weight = self.weight(word)
            for number, times in self._postings[word]:
                length = self._lengths[number] / self._mean_length
                damped = times + BM25_K1 * (1 - BM25_B + BM25_B * length)
                scores[number] += weight * times * (BM25_K1 + 1) / damped
        return scores

    def best(self, question: str, count: int, skip: Collection[int] = ()) -> list[int]:
        """The numbers of the best texts, best first, without those to skip."""
        scores = self.scores(question)
        found = (number for number in scores if number not in skip)
        return nsmallest(count, found, key=lambda number: (-scores[number], number))

    def lookalikes(self, question: str, right: Sequence[str], count: int) -> list[str]:
        """Texts that fit the words of the question but are none of the right ones or copies."""
        found: list[str] = []
        for number in self.best(question, count * 4 + len(right)):
            text = self._texts[number]
            copies = (same_text(text, other) for other in (*right, *found))
            if not any(copies):
                found.append(text)
            if len(found) == count:
                break
        return found

    def overlap(self, text: str, words: Collection[str]) -> float:
        """The weight of the words that stand in the text."""
        return sum(self.weight(word) for word in sorted(word_set(text).intersection(words)))
