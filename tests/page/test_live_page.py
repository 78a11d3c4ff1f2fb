"""Live: what one browser or an agent changes, the others see without a reload."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.page.browser import Record
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """The page of a second visitor."""
    with browser.new_context() as context:
        yield context.new_page()


def watch(page: Page, served: Served, path: str = "/ui") -> None:
    """Open a page and wait until it listens; a mark tells later whether it was loaded again."""
    visit(page, served, path)
    expect(page.locator("#live-state")).to_have_text("Live")
    page.evaluate("() => { window.marked = true; }")


def was_not_reloaded(page: Page) -> bool:
    return bool(page.evaluate("() => window.marked === true"))


def test_two_browsers_see_what_an_agent_and_each_other_write(
    page: Page, other: Page, served: Served, record: Record
) -> None:
    watch(page, served)
    watch(other, served, "/ui/search")
    id = agent_call(served, "remember", content="Otters hold hands.", title="Otters")["id"]
    for visitor in (page, other):
        expect(visitor.get_by_role("link", name="Otters")).to_be_visible()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    assert was_not_reloaded(page)
    assert was_not_reloaded(other)
    watch(other, served, f"/ui/item/{id}")
    page.get_by_role("listitem").filter(has_text="Otters").get_by_role("button").click()
    expect(other.get_by_text("This item is forgotten")).to_be_visible()
    expect(other.get_by_role("button", name="Restore")).to_be_visible()
    assert was_not_reloaded(other)
    other.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("link", name="1 memory")).to_be_visible()
    assert record.errors == []


def test_an_open_search_shows_new_hits(page: Page, served: Served) -> None:
    watch(page, served, "/ui/search?q=otters")
    expect(page.locator(".summary")).to_contain_text("Nothing found")
    page.get_by_role("heading", name="Search").click()
    agent_call(served, "remember", content="Otters hold hands.", title="Hands")
    expect(page.locator(".hit").get_by_role("link", name="Hands")).to_be_visible()
    assert was_not_reloaded(page)


def test_an_item_shows_the_correction_of_an_agent(page: Page, served: Served) -> None:
    id = agent_call(served, "remember", content="Otters hold hands.", title="Otters")["id"]
    agent_call(served, "remember", content="A gull.")
    watch(page, served, f"/ui/item/{id}")
    agent_call(served, "revise", id=id, content="Otters hold paws.")
    expect(page.locator(".turn")).to_have_text("Otters hold paws.")
    expect(page.locator(".history ins")).to_contain_text("paws.")
    kelp = agent_call(served, "remember", content="Kelp.", title="Kelp")["id"]
    agent_call(served, "link", source=kelp, target=id, type="hides")
    expect(page.get_by_role("region", name="Links")).to_contain_text("Kelp hides this")
    assert was_not_reloaded(page)


def test_what_has_the_focus_keeps_it(page: Page, served: Served) -> None:
    agent_call(served, "remember", content="Otters hold hands.", title="Otters")
    watch(page, served)
    page.get_by_role("link", name="Otters").focus()
    agent_call(served, "remember", content="A gull.", title="Gull")
    expect(page.get_by_role("link", name="Gull")).to_be_visible()
    expect(page.get_by_role("link", name="Otters")).to_be_focused()
    expect(page.locator(".event.new")).to_have_count(1)


def test_nobody_is_told_of_what_they_may_not_see(page: Page, served: Served) -> None:
    visit(page, served, key=served.key("ann"))
    expect(page.locator("#live-state")).to_have_text("Live")
    page.evaluate(
        """() => {
            window.told = [];
            document.addEventListener("memolith-change", (event) => window.told.push(event.detail));
        }"""
    )
    secret = agent_call(served, "remember", content="A secret of the owner.")["id"]
    answer = served.tool("remember", {"content": "A note of ann."}, served.key("ann"))
    own = answer.json()["id"]
    page.wait_for_function("() => window.told.length > 0")
    told = json.dumps(page.evaluate("() => window.told"))
    assert own in told
    assert secret not in told


class HeldRequest:
    """Keeps the answer to the first request for a part of a page back."""

    def __init__(self, page: Page, part: str) -> None:
        self.page = page
        self.part = part
        self.held: list[Route] = []
        page.route("**/*", self._take)

    def _take(self, route: Route) -> None:
        if route.request.headers.get("x-part") == self.part and not self.held:
            self.held.append(route)
        else:
            route.continue_()

    def wait(self) -> None:
        """Until the page has asked."""
        while not self.held:
            self.page.wait_for_timeout(10)

    def release(self) -> None:
        """Let it be answered, and wait until the page has the answer."""
        [route] = self.held
        with self.page.expect_event("requestfinished", lambda finished: finished == route.request):
            route.continue_()


def test_what_is_searched_for_meanwhile_is_not_replaced_by_the_hits_of_before(
    page: Page, served: Served
) -> None:
    agent_call(served, "remember", content="Goats climb rocks.", title="Goats")
    watch(page, served, "/ui/search?q=otters")
    before = HeldRequest(page, "results")
    agent_call(served, "remember", content="Otters hold hands.", title="Hands")
    before.wait()
    page.get_by_label("Question or words").fill("goats climb")
    expect(page.locator(".hit").get_by_role("link", name="Goats")).to_be_visible()
    expect(page).to_have_url(re.compile("q=goats"))
    before.release()
    expect(page.locator(".hit").get_by_role("link", name="Goats")).to_be_visible()
    expect(page.locator(".hit").get_by_role("link", name="Hands")).to_have_count(0)


def test_what_is_typed_meanwhile_is_not_lost(page: Page, served: Served) -> None:
    id = agent_call(served, "remember", content="Otters hold hands.", title="Otters")["id"]
    watch(page, served, f"/ui/item/{id}")
    forms = HeldRequest(page, "change")
    agent_call(served, "revise", id=id, content="Otters hold paws.")
    forms.wait()
    page.get_by_text("Revise").click()
    page.get_by_role("textbox", name="Text").fill("Mine.")
    forms.release()
    expect(page.get_by_role("textbox", name="Text")).to_have_value("Mine.")
