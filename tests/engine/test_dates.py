"""Dates that a question names."""

from datetime import date

import pytest

from memolith.retrieval.ranking.dates import Period, without_dates


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("What broke at work on 3 March?", "What broke at work?"),
        ("Where was I on May 3rd, 2024?", "Where was I?"),
        ("Which novel did I finish in February?", "Which novel did I finish?"),
        ("What was said on 2026-03-03 about rent?", "What was said about rent?"),
    ],
)
def test_days_and_months_are_left_out(question: str, rest: str) -> None:
    assert without_dates(question) == rest


@pytest.mark.parametrize("question", ["May I eat this?", "What happened in 2023?", "Who is April?"])
def test_what_may_be_no_date_stays(question: str) -> None:
    assert without_dates(question) == question


def test_a_month_holds_its_days() -> None:
    march = Period(date(2026, 3, 1), date(2026, 3, 31))

    assert march.holds(Period(date(2026, 3, 3), date(2026, 3, 3)))


def test_a_day_does_not_hold_its_month() -> None:
    day = Period(date(2026, 3, 3), date(2026, 3, 3))

    assert not day.holds(Period(date(2026, 3, 1), date(2026, 3, 31)))
