"""Notes, facts that change and turns of talk, from templates written for this project."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from training.sources.pair import Pair
from training.sources.repository import Repository

SEED = 20
FILLINGS_PER_FACT = 45
FILLINGS_PER_CHANGE = 70
FILLINGS_PER_TURN = 60
NEGATIVES = 4
SHARE_WITH_DATE = 0.25

Filling = dict[str, str]
Values = Mapping[str, Sequence[str]]

OPENINGS = (
    "Hey, how are things?",
    "It's been ages! What's new with you?",
    "You look different today. Did something happen?",
    "So, tell me, how was your week?",
    "Sorry I missed your call. What's up?",
    "We were just talking about you!",
)

_PLACE = re.compile(r"\{([a-z]+)(\d?)\}")


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> note. Negatives: the note with other values, and other notes on the same name."""
    values = tomllib.loads(repository.text("values.toml"))
    facts = tomllib.loads(repository.text("facts.toml"))["fact"]
    for number, fact in enumerate(facts):
        chance = random.Random(f"{SEED} fact {number}")
        templates = (*fact["notes"], *fact["questions"])
        for _ in range(_fillings(fact["questions"])):
            filling = fill_places(templates, values, chance)
            asked = chance.choice(fact["questions"])
            question = filled(asked, filling)
            note = with_date(filled(chance.choice(fact["notes"]), filling), values, chance)
            negatives = [
                *_other_values(fact, filling, values, chance, question),
                *_other_facts(facts, number, _named_in(asked, filling), values, chance),
            ]
            yield Pair(question, (note,), tuple(negatives[:NEGATIVES]))


def build_changes(repository: Repository) -> Iterator[Pair]:
    """What holds now -> the newer note, with the older one as a negative; what held -> both."""
    values = tomllib.loads(repository.text("values.toml"))
    changes = tomllib.loads(repository.text("changes.toml"))["change"]
    for number, change in enumerate(changes):
        chance = random.Random(f"{SEED} change {number}")
        templates = (change["old"], *change["new"], *change["now"], *change["before"])
        for turn in range(FILLINGS_PER_CHANGE):
            filling = fill_places(templates, values, chance)
            elsewhere = fill_places(templates, values, chance)
            old = with_date(filled(change["old"], filling), values, chance)
            new = with_date(filled(chance.choice(change["new"]), filling), values, chance)
            foreign = (
                filled(chance.choice(change["new"]), elsewhere),
                filled(change["old"], elsewhere),
            )
            if turn % 4 == 3:
                yield Pair(filled(chance.choice(change["before"]), filling), (new, old), foreign)
            else:
                question = filled(chance.choice(change["now"]), filling)
                yield Pair(question, (new,), (old, *foreign))


def _fillings(questions: Sequence[str]) -> int:
    """Many fillings only where the question names what it is about; else the answer is not one."""
    if all(_PLACE.search(question) for question in questions):
        return FILLINGS_PER_FACT
    return 3


def places(templates: Sequence[str]) -> list[str]:
    """The names in braces, each once."""
    return list(dict.fromkeys(name for text in templates for name in _places_of(text)))


@lru_cache(maxsize=4096)
def _places_of(template: str) -> tuple[str, ...]:
    return tuple(name + number for name, number in _PLACE.findall(template))


def fill_places(templates: Sequence[str], values: Values, chance: random.Random) -> Filling:
    """A value for every name in braces; `person2` and `person3` are others than `person`."""
    filling: Filling = {}
    for name in places(templates):
        free = [value for value in values[name.rstrip("23")] if value not in filling.values()]
        filling[name] = chance.choice(free)
    # A value may itself name a place: "the office in {city}".
    city = chance.choice(values["city"])
    return {name: value.replace("{city}", city) for name, value in filling.items()}


def filled(template: str, filling: Filling) -> str:
    """The sentence with its values, beginning with a capital."""
    text = _PLACE.sub(lambda found: filling[found.group(1) + found.group(2)], template)
    return text[0].upper() + text[1:]


def with_date(note: str, values: Values, chance: random.Random) -> str:
    """Now and then, the note as it stands in a diary."""
    if chance.random() > SHARE_WITH_DATE:
        return note
    month = chance.randrange(1, 13)
    day = chance.randrange(1, 29)
    name = values["month"][month - 1]
    forms = (
        f"[2025-{month:02}-{day:02}] {note}",
        f"{day} {name}: {note}",
        f"{note} (noted {name} {day})",
    )
    return chance.choice(forms)


def _named_in(question: str, filling: Filling) -> Filling:
    """The values that the question names."""
    return {name: filling[name] for name in places([question])}


def _other_values(
    fact: Mapping[str, list[str]],
    filling: Filling,
    values: Values,
    chance: random.Random,
    question: str,
) -> list[str]:
    """The same kind of note about somebody or something else."""
    if not any(value in question for value in filling.values()):
        return []
    other = fill_places((*fact["notes"], *fact["questions"]), values, chance)
    if any(value in question for value in other.values()):
        return []
    return [filled(chance.choice(fact["notes"]), other)]


def _other_facts(
    facts: Sequence[Mapping[str, list[str]]],
    number: int,
    named: Filling,
    values: Values,
    chance: random.Random,
) -> list[str]:
    """Notes about the same person or thing that say something else."""
    related = []
    for other, fact in enumerate(facts):
        if other != number and set(named) & set(places(fact["notes"])):
            related.append(fact["notes"])
    chosen = chance.sample(related, min(len(related), NEGATIVES - 1))
    found = []
    for notes in chosen:
        again = fill_places(notes, values, chance)
        again.update({name: value for name, value in named.items() if name in again})
        found.append(filled(chance.choice(notes), again))
    return found


def build_turns(repository: Repository) -> Iterator[Pair]:
    """Question about somebody -> what they said of themselves.

    Negatives: the reply to it, the same said by somebody else, and other things they said.
    """
    values = tomllib.loads(repository.text("values.toml"))
    turns = tomllib.loads(repository.text("turns.toml"))["turn"]
    for number, turn in enumerate(turns):
        chance = random.Random(f"{SEED} turn {number}")
        templates = ("{person}{person2}", *turn["said"], *turn["questions"])
        for _ in range(FILLINGS_PER_TURN):
            filling = fill_places(templates, values, chance)
            elsewhere = fill_places(templates, values, chance)
            other = chance.choice(turns)
            negatives = [
                spoken("person2", chance.choice(turn["replies"]), filling),
                spoken("person", chance.choice(turn["said"]), elsewhere),
            ]
            if other is not turn:
                again = fill_places(other["said"], values, chance)
                said = chance.choice(other["said"])
                negatives.append(spoken("person", said, {**again, "person": filling["person"]}))
            yield Pair(
                filled(chance.choice(turn["questions"]), filling),
                (spoken("person", chance.choice(turn["said"]), filling),),
                tuple(negatives),
                (spoken("person2", chance.choice(OPENINGS), filling),),
            )


def spoken(speaker: str, template: str, filling: Filling) -> str:
    """What somebody says, after their name."""
    return f"{filling[speaker]}: {filled(template, filling)}"
