"""What the pages say, read without a browser."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx2
import pytest

from tests.page.visitor import agent_call, browser_of, sign_in_link
from tests.programs.served import Served


@pytest.fixture
def visitor(served: Served) -> Iterator[httpx2.Client]:
    """The administrator, signed in."""
    with browser_of(served, follow_redirects=True) as client:
        client.get(sign_in_link(served))
        yield client


def words(page: str) -> str:
    """What is to be read on a page, or in a piece of one, on one line."""
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    return re.sub(r" ([.,:;])", r"\1", " ".join(text.split()))


def shown(visitor: httpx2.Client, path: str) -> str:
    """What is to be read on the page at this address."""
    answer = visitor.get(path)
    assert answer.status_code == 200, answer.text
    return words(answer.text)


def test_a_read_of_a_memory_without_a_title_is_called_by_its_first_words(
    served: Served, visitor: httpx2.Client
) -> None:
    note = agent_call(served, "remember", content="Kelp grows fast.")
    agent_call(served, "fetch", ids=[note["id"]])
    assert "local read Kelp grows fast." in shown(visitor, "/ui/admin/reads")
