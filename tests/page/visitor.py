"""A visitor who is signed in, and the calls of an agent beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
from playwright.sync_api import Page

from memolith.doors.http.auth.tickets import sign_in_address
from tests.programs.children import TIMEOUT_S
from tests.programs.served import Served

TURN_MS = 1600
"""How long the replay of a conversation shows a turn before the next one comes."""


def stop_the_clock(page: Page) -> None:
    """Let time go on in the scripts of the page only by `page.clock.run_for`, so that a busy machine
    misses nothing.
    """
    now = datetime.now(UTC)
    page.clock.install(time=now)
    page.clock.pause_at(now + timedelta(seconds=1))


def sign_in_link(served: Served, key: str = "") -> str:
    """The address that `memolith serve` prints, good for one visit."""
    settings = served.app.settings
    return sign_in_address(
        served.url, settings.data, settings.page_secret, served.app.keys, key or served.admin
    )


def browser_of(served: Served, **options: Any) -> httpx2.Client:
    """A browser without scripts that keeps cookies; it waits longer than the five seconds that are
    usual, because a busy machine is slow.
    """
    return httpx2.Client(
        base_url=served.url, timeout=TIMEOUT_S, trust_env=False, verify=False, **options
    )


def visit(page: Page, served: Served, path: str = "/ui", key: str = "") -> None:
    """Sign in with a key, the administrator's unless another is given, and open a page."""
    page.goto(sign_in_link(served, key))
    if path != "/ui":
        page.goto(served.url + path)


def agent_call(served: Served, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool that an agent calls over REST."""
    answer = served.tool(tool, arguments)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body
