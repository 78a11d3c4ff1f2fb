"""The timeline: days, conversations with their replay, and what the hooks of sessions did."""

import json
import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page, expect

from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.engine.session_log import SessionNote, note_session
from tests.conftest import ME
from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import TURN_MS, agent_call, stop_the_clock, visit
from tests.programs.served import Served

TURNS = 6


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def write_down(served: Served, session: str, type: str, hook: str, *ids: str) -> None:
    """What a hook writes down."""
    recorder = served.app.engine.history.recorder
    note_session(served.app.store, recorder, ME, SessionNote(session, type, hook, ids))


@pytest.fixture
def lived(served: Served) -> dict[str, str]:
    """A day with two memories, a conversation and a session."""
    ids = {}
    ids["tea"] = str(agent_call(served, "remember", content="Maria likes tea.", title="Tea")["id"])
    agent_call(served, "revise", id=ids["tea"], content="Maria likes green tea.")
    ids["bees"] = str(agent_call(served, "remember", content="The bees are on the roof.")["id"])
    agent_call(served, "link", source=ids["tea"], target=ids["bees"], type="beside")
    messages = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"Turn {number}."}
        for number in range(TURNS)
    ]
    content = json.dumps({"title": "Planning the garden", "messages": messages})
    agent_call(served, "import_conversations", content=content)
    (talk,) = agent_call(served, "list_items", kinds=["conversation"])["items"]
    ids["talk"] = str(talk["id"])
    write_down(served, "work", "injected", "SessionStart", ids["tea"], ids["bees"])
    write_down(served, "work", "kept", "PreCompact", ids["bees"])
    return ids


def test_a_day_shows_what_happened_to_each_item(
    page: Page, served: Served, lived: dict[str, str], record: Record
) -> None:
    visit(page, served, "/ui/timeline")
    happened = page.get_by_role("region", name=f"What happened on {today()}")
    tea = happened.get_by_role("listitem").filter(
        has=page.get_by_role("link", name="Tea", exact=True)
    )
    for text in ("local kept it", "local changed it", "local linked it: beside The bees"):
        expect(tea.first).to_contain_text(text)
    expect(page.get_by_role("navigation", name="Days").get_by_role("listitem")).to_have_count(42)
    expect(page.locator("[aria-current=date]")).to_contain_text(f"{today()}: 3 new items")
    tea.first.get_by_role("link", name="Tea", exact=True).click()
    expect(page).to_have_url(f"{served.url}/ui/item/{lived['tea']}")
    assert record.errors == []
    assert all(request.startswith(served.url) for request in record.requests)


def test_another_day_a_kind_and_a_person_can_be_chosen(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    visit(page, served, "/ui/timeline")
    page.get_by_role("link", name="The day before").click()
    expect(page.get_by_text("Nothing happened on this day.")).to_be_visible()
    page.get_by_role("link", name="The day after").click()
    expect(page.get_by_role("link", name="Tea", exact=True).first).to_be_visible()
    page.get_by_label("Kind").select_option("conversation")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="Planning the garden")).to_be_visible()
    expect(page.get_by_role("link", name="Tea", exact=True)).to_have_count(0)
    page.get_by_label("By whom").fill("nobody")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nothing happened on this day that fits.")).to_be_visible()
    page.get_by_label("Day (UTC)").fill("2020-02-29")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="What happened on 2020-02-29")).to_be_visible()
    page.get_by_role("link", name="Today").click()
    expect(page.get_by_role("heading", name=f"What happened on {today()}")).to_be_visible()


def test_a_change_is_undone_on_the_timeline(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    visit(page, served, "/ui/timeline?kind=memory")
    revised = page.get_by_role("listitem").filter(has_text=re.compile(r"local changed it")).last
    revised.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    (item,) = agent_call(served, "fetch", ids=[lived["tea"]])["items"]
    assert item["content"] == "Maria likes tea."


def test_a_long_day_has_pages(page: Page, served: Served) -> None:
    for number in range(101):
        agent_call(served, "remember", content=f"Fact {number} of a long day.")
    visit(page, served, "/ui/timeline")
    page.get_by_role("link", name="Earlier on this day").click()
    expect(page.get_by_role("link", name="Fact 0 of a long day.")).to_be_visible()


def test_conversations_are_shown_as_such_and_replayed(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    stop_the_clock(page)
    visit(page, served, "/ui/timeline")
    expect(page.locator(".said")).to_have_count(4)
    expect(page.locator(".said").first).to_have_text("user Turn 0.")
    page.get_by_role("link", name="Open and replay").click()
    page.get_by_role("button", name="Replay").click()
    replay = page.get_by_role("group", name="Replay")
    page.clock.run_for(TURN_MS)
    expect(replay.get_by_role("status")).to_have_text(f"Turn 2 of {TURNS}")
    replay.get_by_role("button", name="Pause").click()
    replay.get_by_role("button", name="Next").click()
    replay.get_by_role("button", name="Next").click()
    replay.get_by_role("button", name="Back").click()
    shown = page.locator(".turn:visible")
    expect(shown).to_have_count(3)
    replay.get_by_label("Speed").select_option("4")
    replay.get_by_role("button", name="Play").click()
    page.clock.run_for((TURNS - 3) * TURN_MS // 4)
    expect(shown).to_have_count(TURNS)
    expect(replay.get_by_role("status")).to_have_text(f"Turn {TURNS} of {TURNS}")
    replay.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("button", name="Replay")).to_be_focused()


def test_a_session_shows_what_its_hooks_gave_and_kept(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    visit(page, served, "/ui/timeline")
    sessions = page.get_by_role("region", name="Sessions")
    expect(sessions).to_contain_text("2 items given from memory, 1 kept")
    sessions.get_by_role("link", name="Session work").click()
    hooks = page.get_by_role("region", name="What its hooks did")
    expect(hooks).to_contain_text("Given from memory when the session started")
    expect(hooks).to_contain_text("Kept before the conversation was compacted")
    expect(hooks.get_by_role("link", name="Tea", exact=True)).to_be_visible()
    expect(page.get_by_text("The transcript of this session was not imported.")).to_be_visible()
    agent_call(served, "forget", id=lived["tea"])
    page.reload()
    expect(hooks).to_contain_text("forgotten")


def test_an_imported_transcript_is_replayed_on_the_page_of_its_session(
    page: Page, served: Served
) -> None:
    write_down(served, "a/b ?", "injected", "UserPromptSubmit", "none")
    blocks = tuple(Block(f"Said {number}.", "user") for number in range(3))
    draft = Draft("conversation", "Talk", blocks, attributes={"source_id": "a/b ?"})
    served.app.engine.writing.remember(ME, draft)
    stop_the_clock(page)
    visit(page, served, "/ui/timeline")
    page.get_by_role("link", name="Session a/b ?").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Session a/b ?")
    expect(page.get_by_text("An item that is gone or that you may not see")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(3)
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".turn:visible").first).to_contain_text("Said 0.")


def test_everything_is_reached_by_keyboard(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    stop_the_clock(page)
    visit(page, served, "/ui/timeline")
    newest = page.locator("[aria-current=date]")
    newest.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing happened on this day.")).to_be_visible()
    page.get_by_role("link", name="Today").press("Enter")
    page.get_by_role("link", name="Session work").press("Enter")
    page.get_by_role("link", name="Timeline", exact=True).press("Enter")
    page.get_by_role("link", name="Open and replay").press("Enter")
    page.get_by_role("button", name="Replay").press("Enter")
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Replay").get_by_role("status")).to_contain_text("Turn")


def test_what_happens_now_appears_by_itself(page: Page, served: Served) -> None:
    visit(page, served, "/ui/timeline")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    agent_call(served, "remember", content="Otters hold hands.")
    expect(page.get_by_role("link", name="Otters hold hands.")).to_be_visible()


def test_the_timeline_does_without_scripts(
    browser: Browser, served: Served, lived: dict[str, str]
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        visit(page, served, "/ui/timeline")
        page.get_by_role("link", name="The day before").click()
        expect(page.get_by_text("Nothing happened on this day.")).to_be_visible()


def test_a_key_that_only_reads_sees_no_undo_and_no_session_of_others(
    page: Page, served: Served, lived: dict[str, str]
) -> None:
    key = served.key("local", "local", "read")
    visit(page, served, "/ui/timeline", key)
    expect(page.get_by_role("link", name="Tea", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.context.clear_cookies()
    visit(page, served, "/ui/timeline", served.key("ann", "local", "read"))
    expect(page.get_by_text("Nothing happened on this day.")).to_be_visible()
    expect(page.get_by_role("region", name="Sessions")).to_have_count(0)
    page.goto(f"{served.url}/ui/timeline/session/work")
    expect(page.get_by_role("alert")).to_contain_text("There is no session 'work'.")


def test_nothing_grave_is_found_in_light_dark_and_on_a_phone(
    page: Page, served: Served, lived: dict[str, str], axe: Axe
) -> None:
    for path in ("/ui/timeline", "/ui/timeline/session/work"):
        page.set_viewport_size({"width": 1200, "height": 800})
        page.emulate_media(color_scheme="light")
        visit(page, served, path)
        assert axe.check(page) == []
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 360, "height": 740})
        assert axe.check(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_hostile_text_does_no_harm(page: Page, served: Served, record: Record) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    kept = agent_call(served, "remember", content=EVERYTHING, title=EVERYTHING[:300])["id"]
    blocks = (Block(EVERYTHING, EVERYTHING[:80]),)
    hostile_id = "<script>alert(1)</script>" + "W" * 100
    draft = Draft("conversation", EVERYTHING[:300], blocks, attributes={"source_id": hostile_id})
    served.app.engine.writing.remember(ME, draft)
    write_down(served, hostile_id, "injected", "<b onclick=alert(1)>", kept)
    page.set_viewport_size({"width": 360, "height": 740})
    visit(page, served, "/ui/timeline?day=%3Cscript%3E&by=%22%3E%3Cscript%3E")
    page.goto(f"{served.url}/ui/timeline")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    page.get_by_role("region", name="Sessions").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Replay").click()
    assert page.evaluate("() => window.harmed ?? null") is None
    assert (record.errors, dialogs) == ([], [])
    assert all(request.startswith(served.url) for request in record.requests)
