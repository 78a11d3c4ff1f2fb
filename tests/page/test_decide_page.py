"""The page of decisions: by mouse, by keys, several at once, and undone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.browser import Axe, Record
from tests.page.looks import HOSTILE, assert_harmless, assert_open_to_all, refuse_dialogs
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served

TEA = "Maria drinks green tea in the morning and reads the paper on her small balcony."
KEY = "The cellar key hangs on the hook by the back door, under the old lamp."
OLD = "The public API allows 600 requests per minute."
NEW = "The public API allows 900 requests per minute."


def remember(served: Served, *texts: str) -> list[str]:
    return [agent_call(served, "remember", content=text)["id"] for text in texts]


def waiting(served: Served) -> int:
    return int(agent_call(served, "list_decisions", limit=1)["total"])


@pytest.fixture
def stocked(served: Served) -> Served:
    """Two duplicates and a contradiction, which comes first on the page."""
    remember(served, TEA, TEA.replace("small", "small sunny"), KEY, KEY)
    old, new = remember(served, OLD, NEW)
    with served.app.store.writing("local") as rows:
        rows.put_superseded(old, new, "2026-11-16", 0.93, "number: 600 became 900")
    assert waiting(served) == 3
    return served


def test_a_pair_is_shown_with_what_differs(page: Page, stocked: Served, axe: Axe) -> None:
    visit(page, stocked, "/ui/decide")
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    pair = page.locator(".pair").first
    expect(pair.get_by_role("heading", level=2)).to_have_text("1. Contradiction")
    expect(pair).to_contain_text("number: 600 became 900")
    expect(pair.locator("mark.only-older")).to_have_text("600 ")
    expect(pair.locator("mark.only-newer")).to_have_text("900 ")
    assert_open_to_all(page, axe)


def test_one_is_kept_by_a_click_and_undone_by_another(
    page: Page, stocked: Served, record: Record
) -> None:
    dialogs = refuse_dialogs(page)
    visit(page, stocked, "/ui/decide")
    page.get_by_role("button", name="Keep this one: the newer of pair 1").click()
    expect(page.locator("#decide-notice")).to_contain_text("Decided: the newer one was kept.")
    expect(page.get_by_text("2 pairs wait for you")).to_be_visible()
    assert waiting(stocked) == 2
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#decide-notice")).to_contain_text("Undone.")
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    assert waiting(stocked) == 3
    assert_harmless(record, stocked, dialogs)


@pytest.mark.parametrize("button", ["Keep both", "Make one of both"])
def test_two_are_kept_or_made_one_and_it_is_undone(
    page: Page, stocked: Served, button: str
) -> None:
    visit(page, stocked, "/ui/decide")
    page.get_by_role("button", name=re.compile(f"{button}.* pair 2")).click()
    expect(page.get_by_text("2 pairs wait for you")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()


def test_a_contradiction_cannot_be_made_one(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    expect(page.locator(".pair").first.get_by_role("button")).to_have_count(3)
    expect(page.get_by_role("button", name="Make one of both, pair 1")).to_have_count(0)
    expect(page.get_by_role("button", name="Make one of both, pair 2")).to_be_visible()


def test_all_is_done_by_keys_alone(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#decide-notice")).to_contain_text("the older one was kept")
    expect(page.get_by_text("2 pairs wait for you")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".pair").nth(1)).to_be_focused()
    page.keyboard.press("b")
    expect(page.locator("#decide-notice")).to_contain_text("both were kept")
    expect(page.get_by_text("2 pairs wait for you")).to_be_visible()
    expect(page.locator(".pair").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator(".pair").first.get_by_role("checkbox")).to_be_checked()
    page.get_by_label("With all ticked pairs").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Decide the ticked pairs").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 pair waits for you")).to_be_visible()


def test_several_are_decided_at_once_and_undone_at_once(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    page.get_by_role("button", name="Tick all on this page").click()
    page.get_by_label("With all ticked pairs").select_option("keep the newer one")
    page.get_by_role("button", name="Decide the ticked pairs").click()
    expect(page.locator("#decide-notice")).to_contain_text("3 pairs decided")
    expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    expect(page.get_by_role("button", name="Decide the ticked pairs")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    expect(page.get_by_role("button", name="Decide the ticked pairs")).to_be_visible()


def test_nothing_ticked_is_told_in_words(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    page.get_by_label("With all ticked pairs").select_option("keep both")
    page.get_by_role("button", name="Decide the ticked pairs").click()
    expect(page.locator("#decide-notice")).to_contain_text("Tick the pairs")
    assert waiting(stocked) == 3


def test_kinds_are_chosen(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    page.get_by_label("Show").select_option("duplicates")
    expect(page).to_have_url(re.compile("kind=duplicate"))
    expect(page.get_by_text("2 pairs wait for you")).to_be_visible()
    expect(page.locator(".pair h2").first).to_have_text("1. Duplicate")


def test_what_others_write_and_decide_appears_and_ticks_stay(page: Page, stocked: Served) -> None:
    visit(page, stocked, "/ui/decide")
    expect(page.locator("#live-state")).to_have_text("Live")
    page.get_by_role("checkbox", name="Tick pair 1").check()
    remember(stocked, "Otters hold hands while they sleep.", "Otters hold hands while they sleep.")
    expect(page.get_by_text("4 pairs wait for you")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Tick pair 1")).not_to_be_checked()
    expect(page.get_by_role("checkbox", name="Tick pair 2")).to_be_checked()


def test_it_works_without_scripts(context: BrowserContext, stocked: Served) -> None:
    browser = context.browser
    assert browser is not None
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    visit(page, stocked, "/ui/decide")
    page.get_by_role("checkbox", name="Tick pair 2").check()
    page.get_by_role("checkbox", name="Tick pair 3").check()
    page.get_by_label("With all ticked pairs").select_option("make one of both (duplicates only)")
    page.get_by_role("button", name="Decide the ticked pairs").click()
    expect(page.locator("#decide-notice")).to_contain_text("Decided.")
    expect(page.get_by_text("1 pair waits for you")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    plain.close()


def test_hostile_text_stays_text(page: Page, served: Served, record: Record) -> None:
    dialogs = refuse_dialogs(page)
    for text in (HOSTILE, HOSTILE + "!"):
        agent_call(served, "remember", content=text, title=HOSTILE, tags=["<b>tag</b>"])
    visit(page, served, "/ui/decide")
    expect(page.locator(".pair")).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".pair")).to_contain_text("{{ 7 * 7 }}")
    page.keyboard.press("2")
    expect(page.get_by_text("Nothing waits for a decision.")).to_be_visible()
    assert_harmless(record, served, dialogs)


def test_a_key_that_may_only_read_is_offered_nothing_that_writes(
    page: Page, stocked: Served
) -> None:
    visit(page, stocked, "/ui/decide", stocked.key("local", "local", "read"))
    expect(page.get_by_text("3 pairs wait for you")).to_be_visible()
    expect(page.locator("#main button")).to_have_text(["Show"])
    expect(page.get_by_role("checkbox")).to_have_count(0)
