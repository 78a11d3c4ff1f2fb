"""Text to token ids, as the uncased BERT vocabulary wants them."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

UNKNOWN, START, END = 100, 101, 102
MAX_WORD_CHARS, CACHED_WORDS, CACHED_CHARS = 100, 10_000, 20_000
FIRST_GREEK = 0x370
SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
# A block ends before a space, so that no word is torn and a long text is read only as far as it is needed.
BLOCK = re.compile(r"(?s).{1,4000}[^ \t\r\n]*")
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
        self._pieces = {token: number for number, token in enumerate(tokens)}
        self._longest = max(map(len, tokens), default=0)
        letters = {number: token.removeprefix("##") for number, token in enumerate(tokens)}
        self.foreign = {
            UNKNOWN,
            *(
                number
                for number, letter in letters.items()
                if len(letter) == 1
                and ord(letter) >= FIRST_GREEK
                and unicodedata.category(letter)[0] in "LM"
            ),
        }
        """The ids of [UNK] and of lone letters of other scripts, which the model can spell but hardly understands."""
        self._word = lru_cache(CACHED_WORDS)(self._cut)
        self._folding = Folding()

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of the text between [CLS] and [SEP], at most `limit` in all."""
        found = [START]
        for word in self._split(text):
            found += self._word(word) if len(word) <= MAX_WORD_CHARS else (UNKNOWN,)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], END]

    def _split(self, text: str) -> Iterator[str]:
        for block in BLOCK.finditer(text):
            for part in SPECIAL.split(block.group()):
                if SPECIAL.fullmatch(part):
                    yield part
                else:
                    yield from unicodedata.normalize("NFD", part).translate(self._folding).split()

    def _cut(self, word: str) -> tuple[int, ...]:
        found, start, mark = list[int](), 0, ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while end > start and mark + word[start:end] not in self._pieces:
                end -= 1
            if end == start:
                return (UNKNOWN,)
            found.append(self._pieces[mark + word[start:end]])
            start, mark = end, "##"
        return tuple(found)


class Folding(dict[int, str]):
    """What each code point of a decomposed text becomes, worked out at its first use."""

    def __missing__(self, code: int) -> str:
        """Nothing, a space, the character as a word of its own, or its lower case."""
        char, category = chr(code), unicodedata.category(chr(code))
        if char in "\t\n\r" or (char.isspace() and category != "Cc"):
            folded = " "
        # Unassigned characters stay: what the vocabulary cannot know must still become [UNK].
        elif category in ("Cc", "Cf", "Co", "Cs", "Mn") or char == "\ufffd":
            folded = ""
        elif (
            category.startswith("P")
            or (char.isascii() and not char.isalnum())
            or any(code in block for block in IDEOGRAPHS)
        ):
            folded = f" {char} "
        else:
            folded = char.lower()
        if len(self) < CACHED_CHARS:
            self[code] = folded
        return folded


def share(ids: Sequence[int], among: Collection[int]) -> float:
    """How much of the inner tokens is in that collection; 1.0 where there are none."""
    inner = ids[1:-1]
    return sum(token in among for token in inner) / len(inner) if inner else 1.0
