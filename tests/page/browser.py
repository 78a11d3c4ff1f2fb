"""A Chromium that asks no host but this one, and what tests want to know about its pages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request

from tests.page.chromium import Chromium

FLAGS = (
    # Root has to do without the sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # A proxy would reach the hosts that must not be reached.
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
GRAVE = ("serious", "critical")
START_MS = 120_000
"""How long Chromium may take to start: on a busy machine it is slow."""


def launch(playwright: Playwright, chromium: Chromium, *flags: str) -> Browser:
    """Start Chromium with an empty profile of its own."""
    return playwright.chromium.launch(
        executable_path=chromium.executable,
        args=[*FLAGS, *flags],
        env={**os.environ, **chromium.environment},
        timeout=START_MS,
    )


class Record:
    """What the pages of a context asked for, and what went wrong in them."""

    def __init__(self, context: BrowserContext) -> None:
        self.requests: list[str] = []
        """The address of every request, in order; also of those that were refused."""
        self.errors: list[str] = []
        """Errors of the console, which name violations of the CSP, and exceptions of scripts."""
        context.on("request", self._add_request)
        context.on("console", self._add_message)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def _add_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _add_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)


@dataclass(frozen=True)
class Violation:
    """A rule of accessibility that a page breaks, and the elements that break it."""

    rule: str
    impact: str
    help: str
    elements: tuple[str, ...]


class Axe:
    """Looks for what keeps people from using a page: https://github.com/dequelabs/axe-core."""

    def __init__(self, source: str) -> None:
        self._source = source

    def check(self, page: Page) -> list[Violation]:
        """The serious and critical violations on a page as it is now."""
        page.evaluate(f"() => {{ {self._source} }}")
        results = page.evaluate("() => axe.run()")
        violations = [read_violation(result) for result in results["violations"]]
        return [violation for violation in violations if violation.impact in GRAVE]


def read_violation(result: dict[str, Any]) -> Violation:
    elements = tuple(str(node["html"]) for node in result["nodes"])
    return Violation(result["id"], result["impact"], result["help"], elements)


def take_screenshot(page: Page, path: Path, *, dark: bool = False) -> None:
    """Save what the window shows to people who prefer light pages, or dark ones."""
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.screenshot(path=path, animations="disabled", caret="hide")
