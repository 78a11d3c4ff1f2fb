"""The page of decisions, as a browser without scripts asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.page.visitor import Visitor, agent_call
from tests.programs.served import Served

KEY = "The cellar key hangs on the hook by the back door, under the old lamp."


@pytest.fixture
def visitor(served: Served) -> Iterator[Visitor]:
    with Visitor(served) as admin:
        yield admin


def test_for_many_pairs_nothing_is_chosen_beforehand(served: Served, visitor: Visitor) -> None:
    first, second = (agent_call(served, "remember", content=KEY)["id"] for _ in range(2))
    shown = visitor.get("/ui/decide").text
    select = re.search(r'name="decision" required>\s*<option value="">choose …</option>', shown)
    assert select is not None
    refused = visitor.post("/ui/decide", pair=f'["{first}", "{second}"]', decision="")
    assert (refused.status_code, "Choose what to do" in refused.text) == (400, True)


def test_what_decides_is_hidden_while_nothing_waits(served: Served, visitor: Visitor) -> None:
    assert '<div id="decide-tools" hidden>' in visitor.get("/ui/decide").text
    for _ in range(2):
        agent_call(served, "remember", content=KEY)
    assert '<div id="decide-tools">' in visitor.get("/ui/decide").text
