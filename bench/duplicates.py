"""Are edits found and changed facts left alone, by `similar` and by the tool for duplicates? Plain
cosine beside it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable

from tests.checked import body_of

from bench.material import ME, fresh
from bench.retrieval import data_folder
from bench.sentences import sentences
from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.domain.queries import Query
from memolith.tools.call import Call

THRESHOLD = 0.9
SHOWN = 60
BARS = {True: 0.90, False: 0.01}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April June July August September October November December".split()
COUNTS = "two three four five six seven eight nine ten twelve twenty fifty hundred".split()
FACTS = {
    *DAYS,
    *MONTHS,
    *COUNTS,
    "not",
    "no",
    "never",
    "none",
    "nothing",
    "nobody",
    "without",
    "neither",
    "nor",
    "one",
    "first",
    "second",
    "third",
    "today",
    "yesterday",
    "tomorrow",
    "cannot",
    "half",
    "once",
    "twice",
}
ALIKE = dict(
    pair.split(":")
    for pair in (
        "big:large large:big great:excellent good:fine happy:glad glad:happy kids:children children:kids photo:picture "
        "picture:photo begin:start start:begin began:started started:began buy:purchase bought:purchased help:assist "
        "amazing:wonderful awesome:great beautiful:lovely lovely:beautiful job:work talk:speak often:frequently "
        "quick:fast fast:quick hard:difficult difficult:hard important:crucial main:principal mainly:chiefly "
        "various:different many:numerous also:too however:but although:though because:since about:regarding "
        "show:display shows:displays used:employed use:employ made:created make:create found:discovered "
        "usually:normally nearly:almost almost:nearly town:city house:home road:street near:beside ended:finished "
        "fixed:repaired postponed:delayed bought:purchased rebuilt:reconstructed cancelled:scrapped lost:misplaced "
        "noticed:saw surprised:astonished plan:scheme trip:journey wants:wishes want:wish love:adore really:truly"
    ).split()
)
VERBS = "is are was were will would can could should has have had did does do".split()


def material(count: int) -> list[str]:
    """Sentences of 8 to 40 words: real ones where the retrieval sets are, made-up ones elsewhere."""
    folder = data_folder()
    if folder is None:
        return sentences(count)
    found: list[str] = []
    for name in ("locomo_dev", "xquad_en"):
        data = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        turns = [turn["text"] for talk in data["conversations"] for turn in talk["turns"]]
        texts = [
            " ".join(pair)
            for turn in turns
            if (parts := re.split(r"(?<=[.!?]) ", turn))
            for pair in zip(parts[::2], parts[1::2], strict=False)
        ] + turns
        fitting = sorted({text for text in texts if 8 <= len(text.split()) <= 40})
        found += random.Random(5).sample(fitting, min(count // 2, len(fitting)))
    return found


def word(
    text: str, pick: random.Random, test: Callable[[str], bool], change: Callable[[str], str]
) -> str:
    """The text with one fitting word changed; the same text if there is none."""
    words = text.split(" ")
    places = [n for n, one in enumerate(words) if test(one.strip(".,!?;:\"'()"))]
    if not places:
        return text
    place = pick.choice(places)
    bare = words[place].strip(".,!?;:\"'()")
    words[place] = words[place].replace(bare, change(bare), 1)
    return " ".join(one for one in words if one)


def plain(one: str) -> bool:
    return one.isalpha() and one.islower() and one not in FACTS and not one.endswith("n't")


def swap(text: str, pick: random.Random) -> str:
    words = text.split(" ")
    places = [n for n in range(len(words) - 1) if plain(words[n]) and plain(words[n + 1])]
    if places:
        n = pick.choice(places)
        words[n], words[n + 1] = words[n + 1], words[n]
    return " ".join(words)


def reorder(text: str, pick: random.Random) -> str:
    parts = re.split(r"(?<=[.!?]) ", text)
    if len(parts) > 1:
        return " ".join(parts[1:] + parts[:1])
    before, comma, after = text.rstrip(".!?").rpartition(", ")
    return f"{after}, {before}." if comma else text


def other(options: list[str], pick: random.Random) -> Callable[[str], str]:
    return lambda one: pick.choice([option for option in options if option.lower() != one.lower()])


def number(text: str, pick: random.Random) -> str:
    changed = re.sub(r"\d+", lambda m: str(int(m[0]) + pick.randint(1, 9)), text, count=1)
    return (
        changed
        if changed != text
        else word(text, pick, lambda one: one in COUNTS, other(COUNTS, pick))
    )


def date(text: str, pick: random.Random) -> str:
    for options in (DAYS, MONTHS, ["yesterday", "today", "tomorrow"]):
        made = word(text, pick, set(options).__contains__, other(options, pick))
        if made != text:
            return made
    return re.sub(r"\b(19|20)\d\d\b", lambda m: str(int(m[0]) + pick.randint(1, 30)), text, count=1)


def negate(text: str, pick: random.Random) -> str:
    if " not " in text:
        return text.replace(" not ", " ", 1)
    return word(text, pick, lambda one: one in VERBS, lambda one: f"{one} not")


def edits(names: list[str]) -> dict[str, tuple[bool, Callable[[str, random.Random], str]]]:
    """Each kind of edit, and whether the meaning stays."""
    return {
        "drop": (True, lambda text, pick: word(text, pick, plain, lambda _: "")),
        "swap": (True, swap),
        "synonym": (
            True,
            lambda text, pick: word(text, pick, ALIKE.__contains__, ALIKE.__getitem__),
        ),
        "reorder": (True, reorder),
        "case": (
            True,
            lambda text, pick: pick.choice(
                [text.lower(), text.upper(), text.rstrip(".!?").lower()]
            ),
        ),
        "number": (False, number),
        "date": (False, date),
        "name": (
            False,
            lambda text, pick: word(text, pick, names.__contains__, other(names, pick)),
        ),
        "negation": (False, negate),
    }


def proper(texts: list[str]) -> list[str]:
    """Words that are written large inside a sentence, and small nowhere."""
    small = {one for text in texts for one in re.findall(r"\b[a-z]+\b", text)}
    inside = {one for text in texts for one in re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", text)}
    return sorted(one for one in inside if one.lower() not in small and one not in FACTS)


def told(app: App, kind: str, pairs: list[tuple[str, str]]) -> int:
    """How many of the pairs the tool reports, to users with few enough memories that it shows them
    all.
    """
    found = 0
    for start in range(0, len(pairs), SHOWN):
        user = Caller(user=f"{kind}-{start}")
        made = [
            frozenset(
                app.engine.writing.remember(user, Draft(blocks=(Block(text),))).item.id
                for text in pair
            )
            for pair in pairs[start : start + SHOWN]
        ]
        app.upkeep.run()
        outcome = app.registry.run(
            "intelligence_detect_duplicates",
            {"user_id": user.user, "max_pairs": 100},
            Call(user, app.engine, local=True),
        )
        shown = {
            frozenset((one["memory_1"]["id"], one["memory_2"]["id"]))
            for one in body_of(outcome)["duplicate_pairs"]
        }
        found += sum(pair in shown for pair in made)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    options = parser.parse_args()
    texts, pick, again = material(options.count), random.Random(3), random.Random(3)
    with fresh("minilm") as app:
        ids = [
            app.engine.writing.remember(ME, Draft(blocks=(Block(text),))).item.id for text in texts
        ]
        app.upkeep.run()
        sums = {True: [0, 0, 0], False: [0, 0, 0]}
        print(
            f"{'edit':10} {'pairs':>6} {'similar':>9} {'the tool':>9} {'plain cosine':>13}   at {THRESHOLD}"
        )
        for name, (same, edit) in edits(proper(texts)).items():
            pairs = [
                (id, made)
                for id, text in zip(ids, texts, strict=True)
                if (made := edit(text, pick)) != text
            ]
            found = sum(
                id in {one.id for one in app.engine.recall.similar(ME, made, THRESHOLD)}
                for id, made in pairs
            )
            bare = sum(
                id
                in {
                    hit.item.id
                    for hit in app.engine.recall.search(
                        ME, Query(made, mode="vector", limit=50, threshold=THRESHOLD)
                    ).hits
                }
                for id, made in pairs
            )
            tool = told(
                app, name, [(text, made) for text in texts if (made := edit(text, again)) != text]
            )
            sums[same] = [a + b for a, b in zip(sums[same], (len(pairs), found, tool), strict=True)]
            print(
                f"{name:10} {len(pairs):6} {found / len(pairs):9.1%} {tool / len(pairs):9.1%} "
                f"{bare / len(pairs):13.1%}",
                flush=True,
            )
    for same, (count, found, tool) in sums.items():
        bar = f"at least {BARS[same]:.0%}" if same else f"at most {BARS[same]:.0%}"
        print(
            f"{'edits' if same else 'facts':10} {count:6} {found / count:9.1%} {tool / count:9.1%}   (bar: {bar})"
        )


if __name__ == "__main__":
    main()
