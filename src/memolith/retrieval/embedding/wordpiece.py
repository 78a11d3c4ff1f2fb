"""The WordPiece tokenizer: text to token ids, for the uncased vocabulary of BERT."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

UNKNOWN = 100
"""The id of [UNK]."""
START = 101
"""The id of [CLS]."""
END = 102
"""The id of [SEP]."""

MAX_WORD_CHARS = 100
"""A longer word is unknown."""
CACHED_WORDS = 10_000
CACHED_CHARS = 20_000

FIRST_FOREIGN_LETTER = 0x370
"""Where Greek begins. The Latin letters are below it."""

SPECIAL_TOKEN = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
BLOCK = re.compile(r"(?s).{1,4000}[^ \t\r\n]*")
"""Texts are read in blocks, so that of a long text only the beginning is read. A block ends before
a space, so that no word is cut."""

IDEOGRAPHS = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class WordPiece:
    """The tokenizer of one vocabulary file: a token per line, its id the number of the line."""

    def __init__(self, vocab: Path) -> None:
        tokens = vocab.read_text(encoding="utf-8").splitlines()
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._longest = max(map(len, tokens), default=0)
        self.foreign = {UNKNOWN}
        """The ids of [UNK] and of single letters of other scripts.

        The model can spell words with such letters, but hardly understands them.
        """
        for number, token in enumerate(tokens):
            if _is_foreign_letter(token.removeprefix("##")):
                self.foreign.add(number)
        self._ids_of_word = lru_cache(CACHED_WORDS)(self._split_word)
        self._folding = Folding()

    def ids(self, text: str, limit: int) -> list[int]:
        """Return the ids of the text between [CLS] and [SEP], at most `limit` in all."""
        ids = [START]
        for word in self._words(text):
            if len(word) <= MAX_WORD_CHARS:
                ids += self._ids_of_word(word)
            else:
                ids.append(UNKNOWN)
            if len(ids) >= limit:
                break
        return [*ids[: limit - 1], END]

    def _words(self, text: str) -> Iterator[str]:
        for block in BLOCK.finditer(text):
            for part in SPECIAL_TOKEN.split(block.group()):
                if SPECIAL_TOKEN.fullmatch(part):
                    yield part
                else:
                    yield from unicodedata.normalize("NFD", part).translate(self._folding).split()

    def _split_word(self, word: str) -> tuple[int, ...]:
        """The ids of the longest pieces of a word, from left to right."""
        ids: list[int] = []
        start = 0
        while start < len(word):
            # A piece inside of a word has this prefix in the vocabulary.
            prefix = "##" if start else ""
            end = min(len(word), start + self._longest)
            while end > start and prefix + word[start:end] not in self._ids:
                end -= 1
            if end == start:
                return (UNKNOWN,)
            ids.append(self._ids[prefix + word[start:end]])
            start = end
        return tuple(ids)


class Folding(dict[int, str]):
    """What each code point of a decomposed text becomes, worked out when it first occurs."""

    def __missing__(self, code: int) -> str:
        folded = _folded(code)
        if len(self) < CACHED_CHARS:
            self[code] = folded
        return folded


def share(ids: Sequence[int], among: Collection[int]) -> float:
    """Return the share of the inner tokens that are in a collection; 1.0 if there are none."""
    inner = ids[1:-1]
    if not inner:
        return 1.0
    return sum(token in among for token in inner) / len(inner)


def _is_foreign_letter(token: str) -> bool:
    if len(token) != 1 or ord(token) < FIRST_FOREIGN_LETTER:
        return False
    return unicodedata.category(token)[0] in "LM"


def _folded(code: int) -> str:
    """Nothing, a space, the character as a word of its own, or its lower case."""
    char = chr(code)
    category = unicodedata.category(char)
    if char in "\t\n\r" or (char.isspace() and category != "Cc"):
        return " "
    # Unassigned characters stay: what the vocabulary cannot know must still become [UNK].
    if category in ("Cc", "Cf", "Co", "Cs", "Mn") or char == "\ufffd":
        return ""
    if _is_word_of_its_own(char, category):
        return f" {char} "
    return char.lower()


def _is_word_of_its_own(char: str, category: str) -> bool:
    if category.startswith("P") or (char.isascii() and not char.isalnum()):
        return True
    return any(ord(char) in block for block in IDEOGRAPHS)
