"""A visitor who is signed in, and the calls of an agent beside it."""

from __future__ import annotations

import re
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


class Visitor:
    """A browser that is signed in, and sends what it likes."""

    def __init__(self, served: Served, key: str = "") -> None:
        self.http = browser_of(served)
        self.http.get(sign_in_link(served, key))
        found = re.search(r'name="form-token" content="([^"]*)"', self.get("/ui/clients").text)
        self.form_token = found[1] if found else ""

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def get(self, path: str, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.get(path, headers=named)

    def post(self, path: str, **fields: object) -> httpx2.Response:
        named = {name.replace("__", ":"): value for name, value in fields.items()}
        return self.http.post(path, data={**named, "form_token": self.form_token})


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
