"""What every page of these tests is held to: nobody is shut out, and no text becomes code."""

from __future__ import annotations

from playwright.sync_api import Dialog, Page

from tests.page.browser import Axe, Record
from tests.programs.served import Served

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>"
    "<a href=\"javascript:alert(3)\" onmouseover='alert(4)'>x</a>"
    "{{ 7 * 7 }} {% raw %} ${7*7} ]]> --> \" ' ` \u202egnp.exe \u2066x\u2069 " + "w" * 300
)
"""Text that would do harm where it is not shown as text."""
PHONE_WIDTH = 360
REFUSED = "Failed to load resource"
"""Chromium says so of every answer with an error status, which is no fault of the page."""


def assert_open_to_all(page: Page, axe: Axe) -> None:
    """No grave violation in light, in dark and on a phone, where nothing scrolls sideways."""
    size = page.viewport_size
    assert size is not None
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert axe.check(page) == [], scheme
    page.set_viewport_size({"width": PHONE_WIDTH, "height": 780})
    assert axe.check(page) == [], "phone"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE_WIDTH
    page.set_viewport_size(size)
    page.emulate_media(color_scheme="light")


def refuse_dialogs(page: Page) -> list[str]:
    """The messages of dialogs that the page opens, which should be none."""
    opened: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    return opened


def assert_harmless(record: Record, served: Served, dialogs: list[str]) -> None:
    """No script ran, nothing broke the policy, and no other host was asked."""
    assert dialogs == []
    assert [error for error in record.errors if not error.startswith(REFUSED)] == []
    assert [url for url in record.requests if not url.startswith(served.url)] == []
