"""What tests of the page use: a real Chromium, a fresh page, and a server of the product."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.page.browser import Axe, Record, launch
from tests.page.chromium import Chromium, ChromiumMissing, find_chromium
from tests.programs.served import Served, thread

# A busy machine is slow, and what is waited for usually comes at once.
PATIENCE_MS = 90_000


@pytest.fixture(scope="session")
def chromium() -> Chromium:
    try:
        return find_chromium()
    except ChromiumMissing as error:
        pytest.skip(f"no Chromium: {error}")


# Not for the whole session: while Playwright runs, its thread has a running event loop, and tests
# elsewhere call asyncio.run.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(chromium: Chromium, playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests of the page. `browser.new_context()` is a visitor of its own."""
    started = launch(playwright, chromium)
    yield started
    started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor who has been nowhere: no cookies, no storage, no cache."""
    made = browser.new_context(color_scheme="light")
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


@pytest.fixture
def record(context: BrowserContext) -> Record:
    """What the pages of the visitor asked for, and their errors."""
    return Record(context)


@pytest.fixture
def page(context: BrowserContext, record: Record) -> Page:
    """An empty page of the visitor, recorded from its start."""
    return context.new_page()


@pytest.fixture
def axe(chromium: Chromium) -> Axe:
    return Axe(chromium.axe)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The server of the product on an empty folder: its address is `url`, its key `admin`."""
    with thread(tmp_path / "data") as server:
        yield server
