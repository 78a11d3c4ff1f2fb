"""Shell commands with a sentence that says what they do: tldr pages and NL2Bash."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import Bm25, same_text, tidy

TLDR_FOLDERS = ("pages/common", "pages/linux")
TLDR_NEGATIVES = 3
NL2BASH_NEGATIVES = 3
NL2BASH_SENTENCES = "data/bash/all.nl"
NL2BASH_COMMANDS = "data/bash/all.cm"

_EXAMPLE = re.compile(r"^- (.+?):\n+`(.+?)`$", re.MULTILINE)
_ABOUT = re.compile(r"^> (?!More information|See also)(.+)$", re.MULTILINE)


def build_tldr(repository: Repository) -> Iterator[Pair]:
    """What you want to do -> the command; negatives are other commands of the page."""
    for folder in TLDR_FOLDERS:
        for path in repository.paths(folder, ".md"):
            yield from _page_pairs(repository.text(path))


def _page_pairs(page: str) -> Iterator[Pair]:
    name = page.split("\n", 1)[0].lstrip("# ").strip()
    about = tidy(" ".join(_ABOUT.findall(page))).replace("`", "")
    examples = [(_plain(said), _plain(command)) for said, command in _EXAMPLE.findall(page)]
    lines = [f"{name} ({about}): `{command}`" for _said, command in examples]
    search = Bm25([f"{said} {command}" for said, command in examples])
    for number, (said, _command) in enumerate(examples):
        others = search.best(said, TLDR_NEGATIVES, skip={number})
        wrong = [lines[other] for other in others if lines[other] != lines[number]]
        yield Pair(said, (lines[number],), tuple(wrong))


def _plain(text: str) -> str:
    """The text without the marks for places to fill in and for letters to remember."""
    text = re.sub(r"\{\{\[([^|\]]+)\|([^\]]+)\]\}\}", r"\2", text)
    text = text.replace("{{", "").replace("}}", "").replace("`", "")
    return tidy(re.sub(r"\[(\w)\]", r"\1", text))


def build_nl2bash(repository: Repository) -> Iterator[Pair]:
    """What a command does -> the command; negatives are similar commands."""
    sentences = repository.text(NL2BASH_SENTENCES).splitlines()
    commands = repository.text(NL2BASH_COMMANDS).splitlines()
    commands_of: dict[str, list[str]] = defaultdict(list)
    for sentence, command in zip(sentences, commands, strict=True):
        commands_of[tidy(sentence)].append(tidy(command))
    search = Bm25(commands)
    described = Bm25(sentences)
    for sentence, right in commands_of.items():
        # Of the commands for similar wishes, those that differ from the right ones.
        found = [commands[number] for number in described.best(sentence, 12)]
        found += [commands[number] for number in search.best(right[0], 6)]
        candidates = [text for text in dict.fromkeys(found) if text not in right]
        wrong = [text for text in candidates if not same_text(text, right[0])]
        yield Pair(sentence, tuple(dict.fromkeys(right)), tuple(wrong[:NL2BASH_NEGATIVES]))
