"""Items that differ in all that a filter can ask for, and which of them each filter keeps."""

from dataclasses import replace

import numpy as np

from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Condition, Filter

MODEL = "test/model"
DRAFTS = {
    "a": Draft(
        "memory",
        blocks=(Block("zebra", "Ann", "2026-01-10"),),
        tags=("red", "round"),
        project="p1",
        namespace="n1",
        attributes={
            "n": 1,
            "path": "src/app/main.py",
            "flag": True,
            "list": ["x", "y"],
            "obj": {"k": [1, 2]},
            "day": "2026-01-10",
            "ratio": 0.5,
            "big": 2**53 + 1,
        },
    ),
    "b": Draft(
        "memory",
        blocks=(Block("zebra"),),
        tags=("red",),
        project="p2",
        status="draft",
        attributes={
            "n": 2,
            "path": "src/application/x.py",
            "flag": False,
            "list": ["y"],
            "day": "2026-02-01",
            "ratio": -1.25,
            "big": 2**53,
        },
    ),
    "c": Draft(
        "concept",
        blocks=(Block("zebra"),),
        tags=("blue",),
        namespace="n2",
        attributes={"n": 10, "path": "src/app", "list": [1, 2.5], "word": "Ünïcode 東京"},
    ),
    "d": Draft(
        "entity",
        "zebra",
        attributes={
            "n": "abc",
            "list": "y",
            'a"b': 1,
            "a.b": 2,
            "ü": 3,
            "😀": 4,
            "": 5,
            "it's": 6,
            "a\\b": 7,
            "a[0]": 8,
            "{x}": 9,
            "%s": 10,
            ":n": 11,
            "path": "100%/a_b/[x]*",
            "nest": {"n": 1},
        },
    ),
    "e": Draft(
        "conversation",
        blocks=(Block("zebra one", "Bob", "2026-01-20"), Block("zebra two", "Ann", "2026-03-01")),
    ),
    "f": Draft("memory", blocks=(Block("zebra"),), attributes={"n": None, "list": []}),
}
ITEMS = {id: replace(draft, id=id) for id, draft in DRAFTS.items()}
FILTERS: dict[str, tuple[Filter, str]] = {
    "nothing": (Filter(), "abcdef"),
    "one kind": (Filter(kinds=("memory",)), "abf"),
    "kinds": (Filter(kinds=("concept", "entity")), "cd"),
    "tags all": (Filter(tags_all=("red", "round")), "a"),
    "tags any": (Filter(tags_any=("round", "blue")), "ac"),
    "tags none": (Filter(tags_none=("red",)), "cdef"),
    "tags together": (
        Filter(tags_all=("red",), tags_any=("red", "blue"), tags_none=("round",)),
        "b",
    ),
    "a tag named twice": (Filter(tags_all=("red", "red")), "ab"),
    "a part of a tag": (Filter(tags_any=("re",)), ""),
    "statuses": (Filter(statuses=("draft",)), "b"),
    "two statuses": (Filter(statuses=("draft", "active")), "abcdef"),
    "projects": (Filter(projects=("p1", "p2")), "ab"),
    "namespaces": (Filter(namespaces=("n2",)), "c"),
    "ids": (Filter(ids=("b", "e", "unknown")), "be"),
    "owner": (Filter(owner="local"), "abcdef"),
    "another owner": (Filter(owner="bob"), ""),
    "nobody": (Filter(owner=""), ""),
    "forgotten": (Filter(forgotten=True), ""),
    "forgotten or not": (Filter(forgotten=None), "abcdef"),
    "several": (
        Filter(kinds=("memory",), tags_any=("red",), where=(Condition("n", "gt", 1),)),
        "b",
    ),
    "two conditions": (Filter(where=(Condition("n", "ge", 1), Condition("flag", "eq", True))), "a"),
    "words that could be syntax": (Filter(tags_any=("'", '"', "\\", "%", "$1", "{}", "red")), "ab"),
}
CONDITIONS: dict[str, tuple[str, str, object, str]] = {
    "eq number": ("n", "eq", 1, "a"),
    "eq text": ("n", "eq", "abc", "d"),
    "eq true": ("flag", "eq", True, "a"),
    "eq false": ("flag", "eq", False, "b"),
    "eq list": ("list", "eq", ["x", "y"], "a"),
    "eq empty list": ("list", "eq", [], "f"),
    "eq object": ("obj", "eq", {"k": [1, 2]}, "a"),
    "eq null": ("n", "eq", None, "ef"),
    "eq a number as text": ("n", "eq", "1", ""),
    "eq float": ("ratio", "eq", 0.5, "a"),
    "eq a whole float": ("n", "eq", 1.0, "a"),
    "eq a large number": ("big", "eq", 2**53 + 1, "a"),
    "eq unicode": ("word", "eq", "Ünïcode 東京", "c"),
    "eq another case": ("word", "eq", "ünïcode 東京", ""),
    "ne": ("n", "ne", 1, "bcdef"),
    "ne null": ("n", "ne", None, "abcd"),
    "ne float": ("ratio", "ne", 0.5, "bcdef"),
    "lt": ("n", "lt", 10, "ab"),
    "le": ("n", "le", 10, "abc"),
    "gt": ("n", "gt", 1, "bc"),
    "ge": ("n", "ge", 2, "bc"),
    "lt float": ("ratio", "lt", 0.5, "b"),
    "ge negative": ("ratio", "ge", -1.25, "ab"),
    "gt a large number": ("big", "gt", 2**53, "a"),
    "gt text": ("day", "gt", "2026-01-10", "b"),
    "le text": ("day", "le", "2026-02-01", "ab"),
    "lt text among numbers": ("n", "lt", "b", "d"),
    "gt unicode": ("word", "gt", "Z", "c"),
    "gt null": ("n", "gt", None, ""),
    "lt of nothing": ("nothing", "lt", 5, ""),
    "glob": ("path", "glob", "src/*/x.py", "b"),
    "glob one": ("path", "glob", "src/ap?", "c"),
    "glob none of": ("path", "glob", "src/ap[^x]*", "abc"),
    "glob one of": ("path", "glob", "src/[a-c]pp", "c"),
    "glob without stars is the whole": ("path", "glob", "src", ""),
    "glob percent": ("path", "glob", "%", ""),
    "glob a star itself": ("path", "glob", "*[*]", "d"),
    "glob case": ("path", "glob", "SRC/*", ""),
    "glob a bracket": ("path", "glob", "*[[]x*", "d"),
    "glob unicode": ("word", "glob", "Ün?code*", "c"),
    "in": ("n", "in", [1, 10, "abc"], "acd"),
    "in nothing": ("n", "in", [], ""),
    "in truths": ("flag", "in", [True], "a"),
    "in floats": ("ratio", "in", [0.5, 9.75], "a"),
    "in quotes": ("n", "in", ["abc", "'", '"'], "d"),
    "under": ("path", "under", "src/app", "ac"),
    "under with a slash": ("path", "under", "src/app/", "ac"),
    "under percent": ("path", "under", "100%", "d"),
    "under no pattern": ("path", "under", "100%/a%", ""),
    "under no underscore": ("path", "under", "src/ap_", ""),
    "under itself": ("path", "under", "src/app/main.py", "a"),
    "has": ("list", "has", "y", "ab"),
    "has number": ("list", "has", 2.5, "c"),
    "has no part": ("list", "has", "", ""),
    "quote in a name": ('a"b', "eq", 1, "d"),
    "dot in a name": ("a.b", "eq", 2, "d"),
    "accent in a name": ("ü", "eq", 3, "d"),
    "emoji name": ("😀", "eq", 4, "d"),
    "empty name": ("", "eq", 5, "d"),
    "apostrophe in a name": ("it's", "eq", 6, "d"),
    "backslash in a name": ("a\\b", "eq", 7, "d"),
    "index in a name": ("a[0]", "eq", 8, "d"),
    "braces in a name": ("{x}", "eq", 9, "d"),
    "placeholder in a name": ("%s", "eq", 10, "d"),
    "another placeholder": (":n", "eq", 11, "d"),
    "unknown name": ("$", "eq", 5, ""),
    "a path is a name": ("nest.n", "eq", 1, ""),
    "a quoted path too": ('$."n"', "eq", 1, ""),
}
FILTERS |= {
    name: (Filter(where=(Condition(field, op, value),)), wanted)  # type: ignore[arg-type]
    for name, (field, op, value, wanted) in CONDITIONS.items()
}
PASSAGES: dict[str, tuple[Filter, str]] = {
    "since": (Filter(ids=("a", "e"), since="2026-01-15"), "e"),
    "until": (Filter(until="2026-01-15T00:00:00Z"), "a"),
    "the very moment": (
        Filter(since="2026-01-10T00:00:00Z", until="2026-01-10T00:00:00.000000Z"),
        "a",
    ),
    "another zone": (
        Filter(since="2026-01-10T02:00:00+02:00", until="2026-01-10T02:00:00+02:00"),
        "a",
    ),
    "between": (Filter(since="2026-01-15", until="2026-02-15"), "e"),
    "speaker": (Filter(speakers=("Bob",)), "e"),
    "speakers": (Filter(speakers=("Ann", "Bob")), "ae"),
    "speaker in time": (Filter(speakers=("Ann",), since="2026-02-01"), "e"),
    "speaker out of time": (Filter(speakers=("Bob",), since="2026-02-01"), ""),
}


def vector_of(id: str) -> bytes:
    """A unit vector that turns a little further from the first axis with each letter."""
    angle = (ord(id) - ord("a")) * 0.2
    return np.array([np.cos(angle), np.sin(angle), *[0.0] * 6], "<f4").tobytes()
