"""The built-in search for entities and relations: how good it is on labelled sentences, and what it
must not do.
"""

from typing import Any

import pytest
from bench.entities import BAR, TYPES, labelled, score
from hypothesis import given
from hypothesis import strategies as st

from memolith.analysts.builtin.analyst import BuiltinAnalyst

find = BuiltinAnalyst().entities


def relations(text: str, **known: str) -> set[tuple[str, str, str]]:
    return {
        (relation.source, relation.type, relation.target)
        for relation in find(text, known).relations
    }


def test_the_set_is_large_and_the_bar_is_met_by_every_type() -> None:
    rows = labelled()
    assert len(rows) >= 150
    for type, (right, found, wanted) in score(rows).items():
        assert right / found >= BAR, type
        assert right / wanted >= 0.7, type
    assert {type for row in rows for type, _ in row.entities} == set(TYPES)


def test_confidence_is_worth_what_it_says() -> None:
    sure = [
        (entity.confidence, (entity.type, entity.name.casefold().removesuffix("s")) in row.entities)
        for row in labelled()
        for entity in find(row.text, {}).entities
    ]
    for low, high in ((0.4, 0.6), (0.6, 0.85), (0.85, 1.0)):
        part = [(told, true) for told, true in sure if low <= told < high]
        told, true = (sum(values) / len(part) for values in zip(*part, strict=True))
        assert abs(told - true) < 0.2, (low, told, true)
    assert len({told for told, _ in sure}) > 5


def test_a_name_that_comes_again_is_surer() -> None:
    (once,) = find("Oyelaran said no.", {}).entities
    (twice,) = find("Oyelaran said no. Then Oyelaran agreed.", {}).entities
    assert once.confidence < twice.confidence < 1


@pytest.mark.parametrize(
    "text,said",
    [
        ("Maria uses Kafka.", {("Maria", "Uses", "Kafka")}),
        (
            "Maria and Tom use Kafka, Redis and Django.",
            {
                (who, "Uses", what)
                for who in ("Maria", "Tom")
                for what in ("Kafka", "Redis", "Django")
            },
        ),
        (
            "Maria from Nokia uses Kafka.",
            {("Maria", "WorksAt", "Nokia"), ("Maria", "Uses", "Kafka")},
        ),
        (
            "Maria works at Nokia and maintains Mattermost.",
            {("Maria", "WorksAt", "Nokia"), ("Maria", "Created", "Mattermost")},
        ),
        ("Jenkins was replaced by GitHub Actions.", {("GitHub Actions", "Supersedes", "Jenkins")}),
        ("Django was created by Adrian.", {("Adrian", "Created", "Django")}),
        (
            "src/main.rs implements event sourcing.",
            {("src/main.rs", "Implements", "event sourcing")},
        ),
        ("Kafka is part of Hadoop.", {("Kafka", "PartOf", "Hadoop")}),
        ("Redis integrates with Django.", {("Redis", "RelatesTo", "Django")}),
        ("Redis conflicts with Memcached.", {("Redis", "ConflictsWith", "Memcached")}),
        ("Maria does not use Kafka.", set()),
        ("Maria no longer uses Kafka.", set()),
        ("Maria uses Kafka Redis.", {("Maria", "Uses", "Kafka")}),
        ("Maria left. Kafka is slow.", set()),
        ("Kafka uses Maria.", set()),
    ],
)
def test_what_a_sentence_states_is_read_and_nothing_else(text: str, said: Any) -> None:
    assert relations(text) == said


def test_known_names_go_before_lists_and_their_sentence_is_the_evidence() -> None:
    found = find(
        "Nothing here. Then Redis uses the Flux.", {"redis": "Person", "flux": "Technology"}
    )
    assert [(entity.type, entity.name) for entity in found.entities] == [
        ("Person", "redis"),
        ("Technology", "flux"),
    ]
    assert [relation.sentence for relation in found.relations] == ["Then Redis uses the Flux."]


@given(
    st.lists(
        st.sampled_from(
            [*"Maria Kafka Nokia uses from and not , . API Redis works at Ann".split(), "", "\n"]
        )
    )
)
def test_any_order_of_names_and_words_is_read(words: list[str]) -> None:
    text = " ".join(words)
    for relation in find(text, {}).relations:
        assert relation.sentence in text
        assert relation.source
        assert relation.target


def test_long_and_odd_texts_come_to_an_end() -> None:
    for text in ("Aa " * 20_000, "a/" * 20_000, "a.a-" * 10_000, "Kafka, " * 5_000, "x" * 100_000):
        find(text, {})
