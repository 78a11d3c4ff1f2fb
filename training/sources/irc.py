"""Chat of the Ubuntu channel on IRC, with the message that each message answers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, shared_words, tidy, word_set

FOLDERS = ("data/train", "data/dev")
NEGATIVES = 4
MAX_REPLIES = 3
MIN_REPLY_WORDS = 4

_MESSAGE = re.compile(r"\[\d\d:\d\d\] <([^>]+)> (.*)")
_GREETING = re.compile(r"^(?:hi|hey|hello|ok|so|well|um+|and)\b[ ,.!]*", re.IGNORECASE)


@dataclass(frozen=True)
class Message:
    """What somebody wrote into the channel; no author for a notice of the server."""

    author: str
    text: str

    def __str__(self) -> str:
        return f"{self.author}: {self.text}"


def build(repository: Repository) -> Iterator[Pair]:
    """A message with a question mark -> replies of others; negatives are other conversations."""
    for folder in FOLDERS:
        for path in repository.paths(folder, ".ascii.txt"):
            annotation = path.replace(".ascii.txt", ".annotation.txt")
            replies = _replies(repository.text(annotation))
            messages = [_message(line) for line in repository.text(path).split("\n")]
            yield from _log_pairs(messages, replies)


def _message(line: str) -> Message:
    found = _MESSAGE.match(line)
    if found is None:
        return Message("", "")
    return Message(found.group(1), tidy(found.group(2)))


def _replies(annotation: str) -> dict[int, list[int]]:
    replies = defaultdict(list)
    for line in annotation.split("\n"):
        numbers = line.split()[:2]
        if len(numbers) < 2:
            continue
        first, second = sorted(int(number) for number in numbers)
        if first != second:
            replies[first].append(second)
    return replies


def _log_pairs(messages: list[Message], replies: dict[int, list[int]]) -> Iterator[Pair]:
    numbers = [n for n, message in enumerate(messages) if message.author]
    search = Bm25([str(messages[number]) for number in numbers])
    for asked in sorted(replies):
        if asked >= len(messages) or not _asks(messages[asked]):
            continue
        question = messages[asked]
        thread = _thread(asked, replies)
        right = [n for n in replies[asked] if n < len(messages) and _answers(messages[n], question)]
        if not right:
            continue
        wrong = [numbers[found] for found in search.best(question.text, 40)]
        wrong = [number for number in wrong if number not in thread]
        plain = _plain_question(question.text)
        yield Pair(
            plain,
            tuple(str(messages[number]) for number in right[:MAX_REPLIES]),
            tuple(str(messages[number]) for number in wrong[:NEGATIVES]),
            tuple(str(question) for _ in right[:MAX_REPLIES]),
        )


def _asks(message: Message) -> bool:
    return bool(message.author) and "?" in message.text and len(word_set(message.text)) >= 3


def _answers(reply: Message, question: Message) -> bool:
    if reply.author in ("", question.author) or len(word_set(reply.text)) < MIN_REPLY_WORDS:
        return False
    addressed = question.author.lower() in reply.text.lower()
    return addressed or shared_words(reply.text, question.text) > 0


def _plain_question(text: str) -> str:
    """The question without the name of the person it is put to."""
    without_name = re.sub(r"^[^\s:,]{2,20}[:,]\s+", "", text)
    return _GREETING.sub("", without_name).strip() or text


def _thread(start: int, replies: dict[int, list[int]]) -> set[int]:
    """Every message that hangs on the first one."""
    found = {start}
    waiting = [start]
    while waiting:
        for number in replies.get(waiting.pop(), ()):
            if number not in found:
                found.add(number)
                waiting.append(number)
    return found
