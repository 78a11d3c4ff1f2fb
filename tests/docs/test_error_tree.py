"""The tree in the docstring of `errors` is the tree of its classes."""

import re

from memolith import errors
from memolith.errors import MemolithError

LINE = re.compile(r"^(?P<indent>[│├└─ ]*)(?P<name>\w+) +(?P<status>\d{3})  (?P<type>\w+)")


def drawn() -> list[tuple[int, str, int, str]]:
    """Depth, name, status and type of each line of the drawing."""
    lines = [LINE.match(line) for line in (errors.__doc__ or "").splitlines()]
    return [
        (len(line["indent"]) // 4, line["name"], int(line["status"]), line["type"])
        for line in lines
        if line is not None
    ]


def tree(kind: type[MemolithError], depth: int = 0) -> list[tuple[int, str, int, str]]:
    rows = [(depth, kind.__name__, kind.status, kind.type)]
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            rows += tree(below, depth + 1)
    return rows


def test_the_drawing_shows_every_class_with_its_status_and_type() -> None:
    assert drawn() == tree(MemolithError)
