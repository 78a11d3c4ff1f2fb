"""The documentation site in a browser, opened from its folder without any server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect
from scripts.site import collect, generate

from tests.page.browser import Axe, Record

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    collect(place)
    return generate(place)


def test_search_works_without_a_server(page: Page, record: Record, site: Path) -> None:
    page.goto((site / "how-to" / "page.html").as_uri())
    page.get_by_role("button", name="Search").click()
    page.get_by_placeholder("Search").fill("obsidian vault")
    expect(page.get_by_role("option", name="Leaving", exact=True)).to_be_visible()
    assert record.errors == []


def test_pages_ask_no_other_host(page: Page, record: Record, site: Path) -> None:
    for name in ("index.html", "start.html", "reference/tools.html"):
        page.goto((site / name).as_uri(), wait_until="load")
    assert [address for address in record.requests if not address.startswith("file:")] == []
    assert record.errors == []


@pytest.mark.full
@pytest.mark.parametrize("name", ["index.html", "start.html", "compare.html"])
def test_pages_fit_a_phone(page: Page, site: Path, name: str) -> None:
    page.set_viewport_size(PHONE)
    page.goto((site / name).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(page: Page, axe: Axe, site: Path, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto((site / "start.html").as_uri())
    assert axe.check(page) == []
