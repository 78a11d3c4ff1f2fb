"""A visitor walks through every page: by mouse, by keyboard, with pictures for the docs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from memolith.doors.page.site import NAVIGATION, NavigationEntry
from tests.page.browser import Axe, Record, take_screenshot
from tests.page.conftest import PATIENCE_MS
from tests.page.sample import fill_sample
from tests.page.visitor import agent_call, sign_in_link, visit
from tests.programs.children import wait_for
from tests.programs.served import Served, thread

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PICTURES_VARIABLE = "MEMOLITH_PICTURES"
"""Set by `make pictures`, which renews the pictures in the docs."""
SIZE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 360, "height": 740}
LOOKS: tuple[tuple[Literal["light", "dark"], ViewportSize], ...] = (
    ("light", SIZE),
    ("dark", SIZE),
    ("light", PHONE),
)
MAX_PRESSES = 300
SHOWN = {
    "home": "/ui",
    "search": "/ui/search?q=when+do+we+release&explain=1",
    "timeline": "/ui/timeline",
    "graph": "/ui/graph",
    "knowledge": "/ui/knowledge",
    "decide": "/ui/decide",
    "clients": "/ui/clients",
}
"""The pages of which the docs have pictures."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server with the model of the package and a sample store."""
    with thread(tmp_path_factory.mktemp("walk") / "data", embedder="minilm") as server:
        ids = fill_sample(server)
        server.app.embeddings.embed_waiting("local", 60)
        yield server, ids


def test_a_visitor_searches_revises_and_undoes(
    page: Page, record: Record, sample: tuple[Served, dict[str, str]]
) -> None:
    served, _ = sample
    page.goto(sign_in_link(served))
    expect(page).to_have_title(re.compile("^Home"))
    page.get_by_role("searchbox", name="Search memory").fill("who can give me access to staging?")
    page.keyboard.press("Enter")
    hit = page.get_by_role("listitem").filter(has_text="The staging server needs the VPN").first
    expect(hit).to_contain_text(re.compile("strong|likely|weak"))
    hit.get_by_role("link").first.click()
    page.get_by_text("Revise", exact=True).click()
    page.get_by_role("textbox", name="Text", exact=True).fill("Staging needs no VPN since May.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Staging needs no VPN since May.")
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("main")).to_contain_text("ask Tomas for an account")
    assert record.errors == []


def test_a_visitor_takes_in_a_file_and_finds_what_it_says(
    page: Page, record: Record, sample: tuple[Served, dict[str, str]], tmp_path: Path
) -> None:
    served, _ = sample
    path = tmp_path / "prices.csv"
    path.write_text("instrument,price\nviolin,900\ncello,2500\n", encoding="utf-8")
    visit(page, served, "/ui/files")
    page.get_by_label("Choose files").set_input_files(path)
    page.get_by_role("button", name="Take in").click()
    link = page.get_by_role("table").get_by_role("link", name="prices.csv")
    expect(link).to_be_visible()
    link.click()
    expect(page.get_by_role("main")).to_contain_text("2500")
    hits = agent_call(served, "recall", query="price of the cello", kinds=["document"])["hits"]
    assert hits
    assert record.errors == []


def test_a_visitor_resolves_a_conflict_and_takes_it_back(
    page: Page, record: Record, sample: tuple[Served, dict[str, str]]
) -> None:
    served, _ = sample
    visit(page, served, "/ui/decide")
    pair = page.get_by_role("article").filter(has_text="six o'clock").first
    expect(pair).to_be_visible()
    pair.get_by_role("button", name=re.compile("newer")).click()
    expect(page.get_by_role("article").filter(has_text="six o'clock")).to_have_count(0)
    found = [hit["text"] for hit in agent_call(served, "recall", query="office closes")["hits"]]
    assert "The office closes at five o'clock." not in found
    page.locator("#decide-notice").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("article").filter(has_text="six o'clock").first).to_be_visible()
    assert record.errors == []


def test_a_visitor_makes_a_key_and_revokes_it(
    page: Page, record: Record, sample: tuple[Served, dict[str, str]]
) -> None:
    served, _ = sample
    visit(page, served, "/ui/admin/keys")
    if not page.get_by_label("What it is for").is_visible():
        page.get_by_text("Make a key", exact=True).click()
    page.get_by_label("What it is for").fill("the laptop")
    page.get_by_role("button", name="Make the key").click()
    secret = page.locator("#new-key").inner_text()
    assert served.tool("recall", {"query": "tea"}, secret).status_code == 200
    row = page.get_by_role("listitem").filter(has_text="the laptop").first
    row.get_by_text("Revoke …").click()
    row.get_by_role("button", name=re.compile("Revoke")).click()
    expect(page.get_by_role("status").filter(has_text="Revoked")).to_be_visible()
    # Who was let in is remembered for a second.
    wait_for(lambda: served.tool("recall", {"query": "tea"}, secret).status_code == 401)
    assert record.errors == []


# The tests of each page look at it in the same ways.
@pytest.mark.full
@pytest.mark.parametrize("entry", NAVIGATION, ids=[entry.name for entry in NAVIGATION])
def test_every_page_is_accessible_in_light_and_dark_and_on_a_phone(
    browser: Browser,
    axe: Axe,
    sample: tuple[Served, dict[str, str]],
    entry: NavigationEntry,
) -> None:
    served, _ = sample
    for scheme, size in LOOKS:
        visitor = browser.new_context(color_scheme=scheme, viewport=size)
        visitor.set_default_timeout(PATIENCE_MS)
        page = visitor.new_page()
        visit(page, served, entry.path)
        assert axe.check(page) == []
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"{entry.name} scrolls sideways"
        visitor.close()


def test_every_page_is_reached_by_keyboard_alone(
    page: Page, sample: tuple[Served, dict[str, str]]
) -> None:
    served, _ = sample
    visit(page, served)
    for entry in NAVIGATION:
        press_until(page, "Tab", f"nav a[href='{entry.path}']")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(re.escape(served.url + entry.path)))
        press_until(page, "Tab", "a.skip")
        page.keyboard.press("Enter")
        expect(page.locator("#main")).to_be_focused()
        page.goto(served.url + entry.path)


def press_until(page: Page, key: str, selector: str) -> None:
    """Press a key until an element has the focus."""
    for _ in range(MAX_PRESSES):
        page.keyboard.press(key)
        if page.evaluate("(selector) => document.activeElement?.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by {key}")


def test_the_pictures_of_the_docs_are_made(
    browser: Browser, sample: tuple[Served, dict[str, str]], tmp_path: Path
) -> None:
    served, ids = sample
    folder = PICTURES if os.environ.get(PICTURES_VARIABLE) else tmp_path
    folder.mkdir(exist_ok=True)
    visitor = browser.new_context(viewport=SIZE)
    visitor.set_default_timeout(PATIENCE_MS)
    page = visitor.new_page()
    visit(page, served)
    pages = SHOWN | {"item": f"/ui/item/{ids['people']}"}
    for name, path in pages.items():
        page.goto(served.url + path)
        if name == "graph":
            expect(page.locator("canvas")).to_be_visible()
        for scheme in ("light", "dark"):
            take_screenshot(page, folder / f"{name}-{scheme}.png", dark=scheme == "dark")
    visitor.close()
    made = {f"{name}-{scheme}.png" for name in pages for scheme in ("light", "dark")}
    assert {path.name for path in folder.glob("*.png")} == made
    assert {path.name for path in PICTURES.glob("*.png")} == made, "run `make pictures`"
