"""Tables of words and patterns: text files beside the code, in parts with titles; and the namespaces among them."""

import re
from pathlib import Path


def parts(name: str) -> dict[str, str]:
    _, *found = re.split(
        r"^\[(.+)\]\n", (Path(__file__).parents[1] / name).read_text(encoding="utf-8"), flags=re.M
    )
    return dict(zip(found[::2], found[1::2], strict=True))


def entries(part: str) -> list[list[str]]:
    return [line.split(" | ", 2) for line in part.strip().splitlines()]


TABLES = parts("engine/tables.txt")
# Of what is learned while coding: what each is for, and the words that give it away.
NAMESPACES = {
    name: (about, words.split(", ")) for name, about, words in entries(TABLES["namespaces"])
}
