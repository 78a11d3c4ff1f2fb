"""Searching: as you type, with filters, reasons, the funnel, and a context to copy."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from memolith.doors.page.rendering import percent, shortened
from memolith.doors.page.search import reason_words
from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served


@pytest.fixture
def filled(served: Served) -> Served:
    agent_call(
        served,
        "remember",
        content="Sea otters sleep in the kelp forest.",
        title="Where otters sleep",
        tags=["sea"],
        project="bay",
    )
    agent_call(
        served, "remember", content="Kelp grows half a metre a day.", kind="concept", title="Kelp"
    )
    agent_call(served, "remember", content="Goats sleep on rocks.", tags=["land"])
    gone = agent_call(served, "remember", content="Otters sleep in the harbour.")["id"]
    agent_call(served, "forget", id=gone)
    return served


def hits(page: Page) -> Locator:
    """The links of the hits."""
    return page.locator(".hit .row-head a")


def test_hits_come_as_you_type_with_score_strength_reasons_and_date(
    page: Page, filled: Served, record: Record
) -> None:
    visit(page, filled, "/ui/search")
    expect(page.locator(".summary").get_by_text("3 items, the newest first")).to_be_visible()
    page.get_by_label("Question or words").press_sequentially("otters sleep")
    first = page.locator(".hit").first
    expect(first.get_by_role("link", name="Where otters sleep")).to_be_visible()
    expect(first.locator(".score")).to_have_text(re.compile(r"\d+ % (strong|likely|weak)"))
    expect(first).to_contain_text("has words of the question")
    expect(first.locator("time")).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d$"))
    expect(page).to_have_url(re.compile("q=otters(\\+|%20)sleep"))
    expect(page.locator("#result-count")).to_have_text(re.compile("hit"))
    assert record.errors == []


def test_filters_narrow_the_list_and_the_hits(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search")
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("concept").check()
    expect(page.locator(".summary").get_by_text("1 item, the newest first")).to_be_visible()
    page.get_by_label("concept").uncheck()
    page.get_by_label("Tags").fill("land")
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_label("Tags").fill("")
    page.get_by_role("textbox", name="Project").fill("bay")
    # The list of all is there until the answer comes.
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(".row")).to_contain_text("Where otters sleep")
    page.get_by_role("textbox", name="Project").fill("")
    page.get_by_label("Status").select_option("forgotten")
    expect(page.locator(".row")).to_contain_text("harbour")
    page.get_by_label("Status").select_option("")
    page.get_by_label("Since").fill("2100-01-01")
    expect(page.locator(".summary").get_by_text("0 items")).to_be_visible()
    page.get_by_label("Since").fill("")
    page.get_by_label("Until").fill("2100-01-01")
    expect(page.locator(".row")).to_have_count(3)
    page.get_by_label("Search by").select_option("words")
    page.get_by_label("Question or words").fill("sleep")
    expect(page.locator(".hit")).to_have_count(2)
    page.get_by_role("link", name="Clear the filters").click()
    expect(page.locator(".summary").get_by_text("3 items")).to_be_visible()


def test_the_day_named_by_until_is_included(page: Page, filled: Served) -> None:
    today = filled.app.clock.now()[:10]
    visit(page, filled, f"/ui/search?until={today}")
    expect(page.locator(".row")).to_have_count(3)
    page.goto(f"{filled.url}/ui/search?q=sleep&since={today}&until={today}")
    expect(page.locator(".hit")).to_have_count(2)


def test_the_funnel_tells_how_hits_were_found(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=where+do+otters+sleep")
    shown = hits(page).all_inner_texts()
    assert shown
    page.get_by_role("checkbox", name="How was this found").check()
    funnel = page.get_by_role("region", name="How was this found")
    expect(funnel).to_contain_text("3 items can be seen by you")
    expect(funnel).to_contain_text("2 passages have the telling words")
    expect(hits(page)).to_have_text(shown)


def test_nothing_found_says_so_and_shows_what_was_left_out(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=quantum+chromodynamics")
    expect(page.locator(".summary").get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("link", name="what was left out").click()
    expect(page.get_by_role("checkbox", name="How was this found")).to_be_checked()


def test_deep_search_says_if_there_is_no_second_network(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=otters")
    page.get_by_label("Deep search").check()
    expect(page.get_by_text("Deep search needs the model of the package")).to_be_visible()


def test_a_search_has_an_address_of_its_own(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=kelp&kind=concept&explain=1")
    shown = hits(page).all_inner_texts()
    assert shown
    page.get_by_role("link", name="Link to this search").click()
    expect(page.get_by_role("checkbox", name="How was this found")).to_be_checked()
    expect(page.get_by_label("concept")).to_be_checked()
    expect(hits(page)).to_have_text(shown)


def test_a_context_is_made_within_a_budget_and_copied(page: Page, filled: Served) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, filled, "/ui/search?q=otters+sleep")
    page.get_by_role("link", name="Context for a prompt").click()
    expect(page.get_by_label("Tokens at most")).to_have_value("1000")
    expect(page.locator("#context-text")).to_contain_text("Sea otters sleep")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert "Sea otters sleep in the kelp forest." in copied
    page.get_by_label("Tokens at most").fill("20")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_label("Tokens at most")).to_have_value("20")
    expect(page.locator("#context-text")).not_to_contain_text("Goats")


def test_a_context_is_copied_at_once(page: Page, filled: Served) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, filled, "/ui/search?q=otters+sleep")
    page.get_by_role("link", name="Copy as context").click()
    expect(page.get_by_role("link", name="Copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert "Sea otters sleep in the kelp forest." in copied


def test_weak_hits_are_folded_behind_better_ones(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=where+do+sea+otters+sleep")
    expect(page.get_by_text("2 hits").first).to_be_visible()
    goats = page.get_by_role("link", name="Goats sleep on rocks.")
    expect(goats).not_to_be_visible()
    page.get_by_text("1 weak hit", exact=True).focus()
    page.keyboard.press("Enter")
    expect(goats).to_be_visible()
    expect(page.locator("#weak-hits li")).to_have_attribute("value", "2")


def test_a_hit_in_a_file_leads_to_its_place_there(page: Page, served: Served) -> None:
    answer = served.http.post(
        "/files",
        files={"file": ("otters.csv", b"name,kilos\nAnna,30\nBela,28\n")},
        headers={"Authorization": f"Bearer {served.admin}"},
    )
    visit(page, served, "/ui/search?q=Anna+kilos")
    page.locator(".hit .row-head a").first.click()
    expect(page).to_have_url(re.compile(f"/ui/files/{answer.json()['id']}[?]cite=.*#cited"))


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "< 1 %"), (0.004, "< 1 %"), (0.01, "1 %"), (0.8, "80 %")]
)
def test_a_small_probability_is_never_nothing(value: float, words: str) -> None:
    assert percent(value) == words


def test_what_speaks_against_a_hit_comes_last_and_is_told_as_such() -> None:
    assert reason_words({"superseded": 1.0, "words": 0.5}) == [
        "has words of the question: 50 %",
        "lowers the score: a newer item seems to replace it",
    ]


def test_a_long_text_is_cut_at_a_word() -> None:
    assert shortened("Otters sleep in kelp.", 18) == "Otters sleep in…"
    assert shortened("Otters\nsleep.", 18) == "Otters sleep."
    assert shortened("W" * 30, 18) == "W" * 17 + "…"


def test_long_lists_have_pages(page: Page, served: Served) -> None:
    for number in range(25):
        agent_call(served, "remember", content=f"Otter number {number} swims.")
    visit(page, served, "/ui/search")
    expect(page.get_by_text("1 to 20 of 25")).to_be_visible()
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("21 to 25 of 25")).to_be_visible()
    expect(page.locator(".row")).to_have_count(5)
    page.get_by_role("link", name="Newer").click()
    expect(page.locator(".row")).to_have_count(20)


def test_search_works_by_keyboard_alone(page: Page, filled: Served) -> None:
    visit(page, filled)
    page.keyboard.press("/")
    page.keyboard.type("otters sleep")
    page.keyboard.press("Enter")
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.get_by_label("Question or words")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("region", name="How was this found")).to_be_visible()
    link = page.get_by_role("link", name="Where otters sleep")
    while not link.evaluate("(element) => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Where otters sleep")).to_be_visible()


def test_search_works_without_scripts(served: Served, page: Page) -> None:
    agent_call(served, "remember", content="Otters hold hands.", title="Otters")
    browser = page.context.browser
    assert browser is not None
    with browser.new_context(java_script_enabled=False) as plain:
        without = plain.new_page()
        visit(without, served, "/ui/search")
        without.get_by_label("Question or words").fill("otters")
        without.get_by_role("button", name="Search", exact=True).click()
        expect(without.get_by_role("link", name="Otters")).to_be_visible()


@pytest.mark.parametrize("path", ["/ui/search?kind=otter&status=eaten&mode=smell", "/ui/context"])
def test_addresses_that_make_no_sense_are_no_errors(page: Page, filled: Served, path: str) -> None:
    visit(page, filled, path)
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_wrong_date_is_explained(page: Page, filled: Served) -> None:
    visit(page, filled, "/ui/search?q=otters&since=tomorrow")
    expect(page.get_by_role("alert")).to_contain_text("since is not a time")


@pytest.mark.parametrize(
    "path", ["/ui/search", "/ui/search?q=hostile+harmed&explain=1", "/ui/context?q=hostile+harmed"]
)
def test_hostile_text_stays_text(page: Page, served: Served, record: Record, path: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    agent_call(
        served, "remember", content=f"hostile {EVERYTHING}", title=EVERYTHING[:480], tags=["<b>"]
    )
    agent_call(served, "remember", content=f"hostile {EVERYTHING}")
    page.set_viewport_size({"width": 360, "height": 800})
    visit(page, served, path)
    expect(page.get_by_role("main")).to_contain_text("<script>window.harmed = 1</script>")
    page.get_by_label("Question").first.fill("hostile <img src=x onerror=window.harmed=1>")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("onerror"))
    assert page.evaluate("() => window.harmed ?? null") is None
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert record.errors == []
    assert all(address.startswith(served.url) for address in record.requests)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_axe_finds_nothing_where_you_search(
    page: Page, filled: Served, axe: Axe, scheme: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    visit(page, filled)
    for path in (
        "/ui/search",
        "/ui/search?q=otters+sleep&explain=1&kind=memory&kind=concept",
        "/ui/search?q=nothing+like+it",
        "/ui/context?q=otters",
    ):
        page.goto(filled.url + path)
        assert axe.check(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
