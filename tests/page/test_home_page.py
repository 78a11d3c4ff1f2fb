"""The first page: what is there, what happened, what waits, and keeping a note."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served


@pytest.fixture
def filled(served: Served) -> Served:
    """Two memories, a concept, a link and a search."""
    otters = agent_call(served, "remember", content="Otters hold hands.", title="Otters")["id"]
    agent_call(served, "remember", content="A gull cries.")
    kelp = agent_call(served, "remember", content="Kelp grows.", kind="concept", title="Kelp")["id"]
    agent_call(served, "link", source=otters, target=kelp, type="lives_in")
    agent_call(served, "recall", query="otters")
    return served


def test_home_tells_counts_changes_and_health(page: Page, filled: Served, record: Record) -> None:
    visit(page, filled)
    expect(page.get_by_role("link", name="2 memories")).to_be_visible()
    expect(page.get_by_role("link", name="1 concept")).to_be_visible()
    new = page.get_by_role("img", name="New items per day: 3 in 30 days, without forgotten ones")
    expect(new).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Search times: half of 1"))).to_be_visible()
    expect(page.get_by_text("local: 4 changes")).to_be_visible()
    expect(page.get_by_text("off: search by words only")).to_be_visible()
    linked = page.get_by_role("listitem").filter(has_text="linked")
    expect(linked.get_by_role("link")).to_have_text(["Otters", "Kelp"])
    page.get_by_role("link", name="1 concept").click()
    expect(page.get_by_role("link", name="Kelp")).to_be_visible()
    expect(page.get_by_role("link", name="Otters")).to_have_count(0)
    assert record.errors == []


def test_home_names_the_programs_that_called_today(page: Page, filled: Served) -> None:
    named = {"User_Agent": "otter-agent/1.0"}
    assert filled.tool("recall", {"query": "otters"}, **named).status_code == 200
    visit(page, filled)
    today = page.get_by_role("region", name="Today")
    expect(today).to_contain_text("Programs that called today:")
    expect(today).to_contain_text("otter-agent")


def test_an_empty_memory_says_what_to_do(page: Page, served: Served) -> None:
    visit(page, served)
    expect(page.get_by_text("Nothing yet. Keep a first note above")).to_be_visible()
    expect(page.get_by_text("Nothing was written today.")).to_be_visible()
    expect(page.get_by_text("Nothing has happened yet.")).to_be_visible()


def test_a_note_is_kept_and_undone_by_keyboard_alone(page: Page, served: Served) -> None:
    visit(page, served)
    page.get_by_label("Text").focus()
    page.keyboard.type("Otters sleep in kelp.")
    page.keyboard.press("Tab")
    page.keyboard.type("Sleep")
    page.keyboard.press("Tab")
    page.keyboard.type("sea, night")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sleep")).to_be_visible()
    expect(page.get_by_role("link", name="night")).to_be_visible()
    page.get_by_role("status").get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("This item is forgotten")).to_be_visible()


def test_a_note_that_repeats_another_and_holds_a_secret_is_told_so(
    page: Page, filled: Served
) -> None:
    visit(page, filled)
    page.get_by_text("Keep a note").click()
    page.get_by_label("Text").fill("A gull cries.")
    page.get_by_role("button", name="Keep").click()
    notice = page.locator(".notice")
    expect(notice).to_contain_text("Kept. It seems to repeat something that was kept before.")
    notice.get_by_role("link", name="To decide").click()
    expect(page.get_by_text("1 pair waits for you")).to_be_visible()
    page.goto(filled.url + "/ui")
    page.get_by_text("Keep a note").click()
    page.get_by_label("Text").fill("The key is AKIAIOSFODNN7EXAMPLE in the cloud.")
    page.get_by_role("button", name="Keep").click()
    expect(notice).to_contain_text("Kept. 1 secret was taken out.")


def test_an_erased_item_has_one_row(page: Page, filled: Served) -> None:
    gull = agent_call(filled, "list_items", limit=20)["items"][1]["id"]
    agent_call(filled, "revise", id=gull, title="Gull")
    agent_call(filled, "erase_item", id=gull)
    for path in ("/ui", "/ui/timeline"):
        visit(page, filled, path)
        expect(page.get_by_text("An erased item: 3 changes")).to_have_count(1)


def test_the_head_of_the_page_is_low_on_a_phone(page: Page, filled: Served) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    visit(page, filled)
    main = page.get_by_role("main").bounding_box()
    assert main is not None
    assert main["y"] <= 112
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_the_first_tab_skips_to_the_content(page: Page, filled: Served) -> None:
    visit(page, filled)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Keep a note")).to_be_focused()


def test_an_event_is_undone_from_home(page: Page, filled: Served) -> None:
    visit(page, filled)
    gull = page.get_by_role("listitem").filter(has_text="A gull cries.")
    gull.get_by_role("button").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()


def test_who_may_only_read_sees_no_button_that_writes(page: Page, filled: Served) -> None:
    visit(page, filled, key=filled.key("local", "local", "read"))
    expect(page.get_by_role("heading", name="Latest changes")).to_be_visible()
    main = page.get_by_role("main")
    expect(main.get_by_role("button")).to_have_count(0)
    expect(main.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_text("Size")).to_have_count(0)


def test_hostile_text_stays_text(page: Page, served: Served, record: Record) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    id = agent_call(served, "remember", content=EVERYTHING, title=EVERYTHING[:480])["id"]
    other = agent_call(served, "remember", content=EVERYTHING)["id"]
    agent_call(served, "link", source=id, target=other, type="about")
    visit(page, served)
    expect(page.get_by_role("main")).to_contain_text("<script>window.harmed = 1</script>")
    assert page.evaluate("() => window.harmed ?? null") is None
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert record.errors == []
    assert all(address.startswith(served.url) for address in record.requests)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_axe_finds_nothing_at_home(
    page: Page, filled: Served, axe: Axe, scheme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    visit(page, filled)
    assert axe.check(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
