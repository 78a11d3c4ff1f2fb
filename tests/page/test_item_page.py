"""The page of an item: reading, correcting, undoing, comparing, forgetting and erasing it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import TURN_MS, agent_call, stop_the_clock, visit
from tests.programs.served import Served

SAID = "The sea otter of Monterey weighs {} kilos and sleeps in the kelp forest at night."


@pytest.fixture
def otters(served: Served) -> str:
    """The id of a memory."""
    kept = agent_call(
        served,
        "remember",
        content=SAID.format(30),
        title="Weight",
        tags=["sea"],
        project="bay",
        metadata={"source": "field notes"},
    )
    return str(kept["id"])


def text_of(served: Served, id: str) -> str:
    (item,) = agent_call(served, "fetch", ids=[id])["items"]
    return str(item["content"])


def test_an_item_shows_what_is_known_about_it(
    page: Page, served: Served, otters: str, record: Record
) -> None:
    kelp = agent_call(served, "remember", content="Kelp grows.", kind="concept", title="Kelp")["id"]
    agent_call(served, "link", source=otters, target=kelp, type="lives_in")
    visit(page, served, f"/ui/item/{otters}")
    expect(page.get_by_role("heading", name="Weight")).to_be_visible()
    about = page.get_by_role("region", name="About it")
    for text in ("memory", "sea", "bay", "local, seen by the owner alone", "field notes", otters):
        expect(about).to_contain_text(text)
    links = page.get_by_role("region", name="Links")
    expect(links).to_contain_text("lives_in Kelp")
    links.get_by_role("link", name="Kelp").click()
    expect(page.get_by_role("heading", name="Kelp")).to_be_visible()
    expect(page.get_by_role("region", name="Links")).to_contain_text("Weight lives_in this")
    assert record.errors == []


def test_an_item_tells_who_read_it(page: Page, served: Served, otters: str) -> None:
    agent_call(served, "fetch", ids=[otters])
    agent_call(served, "fetch", ids=[otters])
    visit(page, served, f"/ui/item/{otters}")
    readers = page.get_by_role("region", name="Who read it")
    expect(readers).to_contain_text("local opened it through core fetch, 2 times")
    expect(page.get_by_role("region", name="About it")).to_contain_text("2 times")


def test_a_correction_is_shown_as_a_difference_and_undone(
    page: Page, served: Served, otters: str
) -> None:
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_text("Revise").click()
    page.get_by_label("Title").fill("Weight of otters")
    page.get_by_role("textbox", name="Text").fill(SAID.format(31))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. The history keeps")).to_be_visible()
    expect(page.get_by_role("heading", name="Weight of otters")).to_be_visible()
    history = page.get_by_role("region", name="History")
    expect(history.locator("del").first).to_have_text("30 ")
    expect(history.locator("ins").first).to_have_text("31 ")
    page.locator(".notice").get_by_role("button").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert text_of(served, otters) == SAID.format(30)


def test_a_correction_of_what_somebody_else_changed_is_refused(
    page: Page, served: Served, otters: str
) -> None:
    visit(page, served, f"/ui/item/{otters}")
    expect(page.locator("#live-state")).to_have_text("Live")
    page.get_by_text("Revise").click()
    page.get_by_role("textbox", name="Text").fill("Mine.")
    agent_call(served, "revise", id=otters, content="Theirs.")
    expect(page.get_by_text("Somebody changed this item since")).to_be_visible()
    expect(page.get_by_role("textbox", name="Text")).to_have_value("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page).to_have_url(f"{served.url}/ui/item/{otters}")
    assert text_of(served, otters) == "Theirs."
    page.get_by_role("button", name="Save mine anyway").click()
    expect(page.get_by_text("Saved. The history keeps")).to_be_visible()
    assert text_of(served, otters) == "Mine."


def test_tags_are_added_and_removed(page: Page, served: Served, otters: str) -> None:
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_text("Tag", exact=True).click()
    page.get_by_label("New tags").fill("animals, sea, night")
    page.get_by_role("button", name="Add").click()
    about = page.get_by_role("region", name="About it")
    expect(about.locator(".tag")).to_have_text(["animals", "night", "sea"])
    page.get_by_text("Tag", exact=True).click()
    page.get_by_role("button", name="Remove the tag sea").click()
    expect(about.locator(".tag")).to_have_text(["animals", "night"])
    page.locator(".notice").get_by_role("button").click()
    expect(about.locator(".tag")).to_have_count(3)


def test_items_are_linked_and_the_link_is_undone(page: Page, served: Served, otters: str) -> None:
    kelp = agent_call(served, "remember", content="Kelp grows.", title="Kelp")["id"]
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_text("Link to another item").click()
    page.get_by_label("The other item").fill(f"{served.url}/ui/item/{kelp}")
    page.get_by_label("How they are related").fill("lives_in")
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_role("region", name="Links")).to_contain_text("lives_in Kelp")
    expect(page.get_by_role("region", name="History")).to_contain_text("linked this: lives_in Kelp")
    page.locator(".notice").get_by_role("button").click()
    expect(page.get_by_role("region", name="Links")).to_contain_text("None.")


def test_a_link_is_made_by_words_of_a_title(page: Page, served: Served, otters: str) -> None:
    for name in ("Kelp forest", "Kelp forest of the north"):
        agent_call(served, "remember", content=f"The {name} grows.", title=name)
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_text("Link to another item").click()
    page.get_by_label("The other item").press_sequentially("kelp")
    expect(page.locator("#targets option")).to_have_count(2)
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_text("Which item do you mean?")).to_be_focused()
    expect(page.get_by_text("Which item do you mean?")).to_be_in_viewport()
    expect(page.get_by_label("The other item")).to_have_value("kelp")
    page.get_by_role("button", name="Kelp forest", exact=True).click()
    expect(page.get_by_role("region", name="Links")).to_contain_text("about Kelp forest")
    page.get_by_text("Link to another item").click()
    page.get_by_label("The other item").fill("kelp forest of the north")
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_role("region", name="Links")).to_contain_text("Kelp forest of the north")


def test_a_wrong_link_is_told_at_the_form_which_keeps_what_was_typed(
    page: Page, served: Served, otters: str
) -> None:
    kelp = agent_call(served, "remember", content="Kelp grows.", title="Kelp")["id"]
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_text("Link to another item").click()
    page.get_by_label("The other item").fill(kelp)
    page.get_by_label("How they are related").fill("lives in/on")
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text(
        "How they are related takes letters, digits and spaces, at most 40 in all."
    )
    expect(page.get_by_label("The other item")).to_have_value(kelp)
    expect(page.get_by_label("How they are related")).to_have_value("lives in/on")
    page.get_by_label("How they are related").fill("lives_in")
    page.get_by_role("button", name="Link", exact=True).click()
    expect(page.get_by_role("region", name="Links")).to_contain_text("lives_in Kelp")


def test_a_page_that_is_not_there_is_shown_with_the_menu(page: Page, served: Served) -> None:
    visit(page, served)
    answer = page.goto(f"{served.url}/ui/nothing")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_the_history_tells_tags_and_numbers_and_the_status_tells_what_is_forgotten(
    page: Page, served: Served, otters: str
) -> None:
    agent_call(served, "revise", id=otters, tags=["night"])
    agent_call(served, "forget", id=otters)
    visit(page, served, f"/ui/item/{otters}")
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("Tags: added: night / removed: sea")
    expect(history.get_by_role("listitem").first).to_contain_text(re.compile(r"event \d+"))
    expect(history).not_to_contain_text("true")
    expect(page.get_by_role("region", name="About it")).to_contain_text("forgotten")
    expect(page.get_by_role("region", name="About it")).not_to_contain_text("active")


def test_a_long_heading_ends_at_a_word_and_a_short_text_is_shown_once(
    page: Page, served: Served
) -> None:
    long = agent_call(served, "remember", content="Otters sleep in kelp. " * 9)["id"]
    visit(page, served, f"/ui/item/{long}")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        re.compile("(in|kelp|sleep|Otters)…$")
    )
    short = agent_call(served, "remember", content="A gull cries.")["id"]
    page.goto(f"{served.url}/ui/item/{short}")
    expect(page.get_by_role("heading", level=1)).to_have_text("A gull cries.")
    expect(page.get_by_role("region", name="Text")).to_have_count(0)


def test_an_item_is_forgotten_and_restored(page: Page, served: Served, otters: str) -> None:
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_text("This item is forgotten")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored.")).to_be_visible()
    expect(page.get_by_text("This item is forgotten")).to_have_count(0)


def test_an_item_is_erased_when_the_word_is_typed(page: Page, served: Served, otters: str) -> None:
    visit(page, served, f"/ui/item/{otters}")
    page.get_by_role("link", name="Erase for good").click()
    expect(page.get_by_text("It cannot be undone.")).to_be_visible()
    page.get_by_label("Type the word").fill("no")
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("heading", name="Erase for good?")).to_be_visible()
    page.get_by_label("Type the word").fill("erase")
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_text("Erased. Nothing of its text is left.")).to_be_visible()
    page.goto(f"{served.url}/ui/item/{otters}")
    expect(page.get_by_role("alert")).to_have_text("Not found. It may have been erased.")


def test_of_two_that_contradict_each_other_one_is_kept(
    page: Page, served: Served, otters: str
) -> None:
    newer = agent_call(served, "remember", content=SAID.format(45), title="New weight")["id"]
    visit(page, served, f"/ui/item/{otters}")
    matter = page.get_by_role("region", name="On the same matter")
    expect(matter).to_contain_text("says something else: New weight")
    matter.get_by_role("link", name="Compare").click()
    expect(page.locator(".side del")).to_have_text("30 ")
    expect(page.locator(".side ins")).to_have_text("45 ")
    page.get_by_role("button", name=re.compile("Keep this one.*second")).click()
    expect(page.get_by_role("heading", name="New weight")).to_be_visible()
    expect(page.get_by_text("Kept this one.")).to_be_visible()
    listed = agent_call(served, "list_items")["items"]
    assert [item["id"] for item in listed] == [newer]
    page.locator(".notice").get_by_role("button").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert agent_call(served, "list_items")["total"] == 2


def test_a_conversation_is_shown_turn_by_turn_and_replayed(page: Page, served: Served) -> None:
    turns = [{"role": "user", "content": f"Turn {number}."} for number in range(120)]
    talk = agent_call(served, "memory_store", messages=turns, label="A talk")
    stop_the_clock(page)
    visit(page, served, f"/ui/item/{talk['data']['conversation_id']}")
    expect(page.locator(".turn")).to_have_count(100)
    page.get_by_role("button", name="Replay").click()
    expect(page.locator(".turn:visible")).to_have_count(1)
    page.clock.run_for(2 * TURN_MS)
    expect(page.locator(".turn:visible")).to_have_count(3)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".turn:visible")).to_have_count(100)
    page.get_by_role("link", name="Later").click()
    expect(page.locator(".turn")).to_have_count(20)
    expect(page.locator(".turn").first).to_contain_text("Turn 100.")


def test_an_item_is_corrected_and_undone_by_keyboard_alone(
    page: Page, served: Served, otters: str
) -> None:
    visit(page, served, f"/ui/item/{otters}")
    revise = page.get_by_text("Revise")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    while not revise.evaluate("(element) => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By keyboard")).to_be_visible()
    undo = page.locator(".notice").get_by_role("button")
    page.locator("body").press("Tab")
    while not undo.evaluate("(element) => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("heading", name="Weight")).to_be_visible()


def test_who_may_only_read_sees_no_button_that_writes(
    page: Page, served: Served, otters: str
) -> None:
    newer = agent_call(served, "remember", content=SAID.format(45))["id"]
    visit(page, served, f"/ui/item/{otters}", key=served.key("local", "local", "read"))
    expect(page.get_by_role("region", name="History")).to_be_visible()
    buttons = page.get_by_role("main").get_by_role("button")
    expect(buttons).to_have_text(["Copy"])
    expect(page.get_by_role("link", name="Erase for good")).to_have_count(0)
    page.goto(f"{served.url}/ui/compare?first={otters}&second={newer}")
    expect(page.locator(".side")).to_have_count(2)
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)


def test_nobody_sees_the_item_of_another(page: Page, served: Served, otters: str) -> None:
    visit(page, served, f"/ui/item/{otters}", key=served.key("ann"))
    expect(page.get_by_role("alert")).to_have_text("Not found. It may have been erased.")


def test_hostile_text_stays_text(page: Page, served: Served, record: Record) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    hostile = EVERYTHING[:450]
    first = agent_call(
        served,
        "remember",
        content=EVERYTHING,
        title=hostile,
        tags=["<script>harm</script>"],
        project='"><img src=x onerror=alert(1)>',
        metadata={"<b>name</b>": EVERYTHING},
    )["id"]
    second = agent_call(served, "remember", content=f"{EVERYTHING} again")["id"]
    agent_call(served, "link", source=first, target=second, type="about")
    agent_call(served, "revise", id=first, title=f"{hostile} new", content=f"{EVERYTHING} new")
    page.set_viewport_size({"width": 360, "height": 800})
    visit(page, served, f"/ui/item/{first}")
    for path in (f"item/{first}", f"item/{first}/erase", f"compare?first={first}&second={second}"):
        page.goto(f"{served.url}/ui/{path}")
        expect(page.get_by_role("main")).to_contain_text("<script>window.harmed = 1</script>")
        assert page.evaluate("() => window.harmed ?? null") is None
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert record.errors == []
    assert all(address.startswith(served.url) for address in record.requests)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_axe_finds_nothing_on_items(
    page: Page, served: Served, otters: str, axe: Axe, scheme: str, width: int
) -> None:
    newer = agent_call(served, "remember", content=SAID.format(45), title="New")["id"]
    agent_call(served, "link", source=otters, target=newer, type="about")
    agent_call(served, "revise", id=otters, title="Otters", content=SAID.format(31))
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    visit(page, served, f"/ui/item/{otters}")
    for details in page.locator("details summary").all():
        details.click()
    assert axe.check(page) == []
    for path in (f"compare?first={otters}&second={newer}", f"item/{otters}/erase"):
        page.goto(f"{served.url}/ui/{path}")
        assert axe.check(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    expect(page).to_have_url(re.compile("erase"))
