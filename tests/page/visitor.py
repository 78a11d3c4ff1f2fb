"""A visitor who is signed in, and the calls of an agent beside it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from memolith.doors.http.auth.tickets import sign_in_address
from tests.programs.served import Served


def sign_in_link(served: Served, key: str = "") -> str:
    """The address that `memolith serve` prints, good for one visit."""
    settings = served.app.settings
    return sign_in_address(
        served.url, settings.data, settings.page_secret, served.app.keys, key or served.admin
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
