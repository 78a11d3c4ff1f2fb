"""Knowledge: the tree of areas and topics, and how sure a concept is and why."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served

FOAL = "A zebra foal stands within {} minutes after its birth and runs with the herd."


@pytest.fixture
def concepts(served: Served) -> dict[str, str]:
    """The ids of concepts by their names."""
    made = {}
    for area, topic, name, text in (
        ("Zoology", "Mammals", "Foals", FOAL.format(20)),
        ("Zoology", "Mammals", "Foals at birth", FOAL.format(60)),
        ("Zoology", "Birds", "Herons", "Herons wait."),
        ("Computing", "Databases", "WAL", "Readers do not block writers."),
    ):
        written = agent_call(
            served, "create_concept", name=name, explanation=text, area=area, topic=topic
        )
        made[name] = str(written["concept_id"])
    agent_call(
        served,
        "create_relationship",
        source_id=made["Foals"],
        target_id=made["Herons"],
        relationship_type="relates_to",
        notes="both in the zoo",
    )
    return made


def test_the_tree_leads_to_the_concepts_of_a_topic(
    page: Page, served: Served, concepts: dict[str, str], record: Record
) -> None:
    visit(page, served, "/ui/knowledge")
    expect(page.get_by_text("4 concepts in 2 areas.")).to_be_visible()
    shown = page.get_by_role("region", name="What deserves a look")
    expect(shown.get_by_role("listitem").first).to_contain_text("Foals at birth")
    tree = page.locator("#tree")
    tree.get_by_text("Mammals").first.click()
    tree.get_by_role("link", name="All in Mammals").click()
    listed = page.get_by_role("region", name="Zoology › Mammals").get_by_role("listitem")
    expect(listed).to_have_count(2)
    expect(tree.get_by_role("link", name="All in Mammals")).to_have_attribute(
        "aria-current", "true"
    )
    page.get_by_label("Name contains").fill("birth")
    page.get_by_role("button", name="Find").click()
    expect(listed).to_have_count(1)
    listed.get_by_role("link", name="Foals at birth").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Foals at birth")
    assert record.errors == []
    assert all(request.startswith(served.url) for request in record.requests)


def test_a_certainty_is_shown_with_its_evidence(
    page: Page, served: Served, concepts: dict[str, str]
) -> None:
    visit(page, served, f"/ui/knowledge/concept/{concepts['Foals']}")
    told = agent_call(served, "explain_certainty", concept_id=concepts["Foals"])
    certainty = page.get_by_role("region", name="Certainty")
    expect(certainty).to_contain_text(f"{told['certainty']:.0f} of 100, computed")
    for text in ("Words: 15", "Links: 1", "Others contradict it", "× 0.70", "0 days since"):
        expect(certainty).to_contain_text(text)
    certainty.get_by_role("link", name="Compare with Foals at birth").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare")


def test_related_concepts_and_earlier_explanations_are_shown(
    page: Page, served: Served, concepts: dict[str, str]
) -> None:
    agent_call(served, "update_concept", concept_id=concepts["Herons"], explanation="They stand.")
    visit(page, served, f"/ui/knowledge/concept/{concepts['Herons']}")
    related = page.get_by_role("region", name="Related concepts")
    expect(related).to_contain_text("Foals relates_to this both in the zoo")
    expect(page.get_by_role("region", name="Earlier explanations")).to_contain_text("Herons wait.")
    page.get_by_role("link", name="Show in the graph").click()
    expect(page.get_by_role("region", name="Links", exact=True)).to_contain_text("relates_to")


def test_a_review_is_noted_and_undone(page: Page, served: Served, concepts: dict[str, str]) -> None:
    visit(page, served, f"/ui/knowledge/concept/{concepts['WAL']}")
    page.get_by_role("button", name="It still holds").click()
    expect(page.get_by_text("Noted: it still holds.")).to_be_visible()
    events = agent_call(served, "history", id=concepts["WAL"])["events"]
    assert events[-1]["type"] == "revised"
    page.locator(".notice").get_by_role("button").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert agent_call(served, "history", id=concepts["WAL"])["events"][-1]["undoes"]


def test_a_given_certainty_says_so(page: Page, served: Served) -> None:
    made = agent_call(
        served, "create_concept", name="Sure", explanation="It is so.", certainty_score=97
    )
    visit(page, served, f"/ui/knowledge/concept/{made['concept_id']}")
    expect(page.get_by_role("region", name="Certainty")).to_contain_text(
        "97 of 100, as somebody has said."
    )


def test_topics_of_memories_are_a_tree(page: Page, served: Served) -> None:
    work = agent_call(served, "create_topic", name="Work", description="For pay.")["id"]
    agent_call(served, "create_topic", name="Plans", parent_topic_id=work)
    visit(page, served, "/ui/knowledge")
    page.get_by_role("link", name="Plans").click()
    expect(page).to_have_url(re.compile(re.escape(f"{served.url}/ui/item/")))
    expect(page.get_by_role("heading", level=1)).to_have_text("Plans")


def test_the_tree_is_walked_by_keyboard(
    page: Page, served: Served, concepts: dict[str, str]
) -> None:
    visit(page, served, "/ui/knowledge")
    first = page.locator("#tree summary").first
    first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#tree details").first).not_to_have_attribute("open", "")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tree details").first).to_have_attribute("open", "")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="All in Computing")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_focused()
    expect(page.locator("#tree details").first).not_to_have_attribute("open", "")
    page.get_by_role("button", name="Open all").press("Enter")
    expect(page.get_by_role("link", name="All in Birds")).to_be_visible()
    page.get_by_role("link", name="All in Birds").press("Enter")
    expect(page.get_by_role("region", name="Zoology › Birds")).to_contain_text("Herons")


def test_the_tree_does_without_scripts(
    browser: Browser, served: Served, concepts: dict[str, str]
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        visit(page, served, "/ui/knowledge")
        page.get_by_role("link", name="All in Zoology").click()
        expect(page.get_by_role("region", name="Zoology").get_by_role("listitem")).to_have_count(3)


def test_a_key_that_only_reads_is_offered_no_review(
    page: Page, served: Served, concepts: dict[str, str]
) -> None:
    visit(
        page,
        served,
        f"/ui/knowledge/concept/{concepts['Foals']}",
        served.key("ann", "local", "read"),
    )
    expect(page.get_by_role("region", name="Certainty")).to_be_visible()
    expect(page.get_by_role("button", name="It still holds")).to_have_count(0)


def test_an_empty_tree_says_how_to_begin(page: Page, served: Served) -> None:
    visit(page, served, "/ui/knowledge")
    expect(page.get_by_text("There are no concepts yet.")).to_be_visible()


def test_nothing_grave_is_found_in_light_dark_and_on_a_phone(
    page: Page, served: Served, concepts: dict[str, str], axe: Axe
) -> None:
    for path in ("/ui/knowledge", f"/ui/knowledge/concept/{concepts['Foals']}"):
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
    made = agent_call(
        served,
        "create_concept",
        name=EVERYTHING[:200],
        explanation=EVERYTHING,
        area=EVERYTHING[:100],
        topic="<b onclick=alert(1)>" + "W" * 70,
        subtopic="{{ 7 * 7 }}",
    )
    agent_call(served, "create_topic", name=EVERYTHING[:100], description=EVERYTHING[:400])
    page.set_viewport_size({"width": 360, "height": 740})
    visit(page, served, "/ui/knowledge?q=%3Cscript%3E&area=%22%3E%3Cscript%3E")
    page.goto(f"{served.url}/ui/knowledge")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    page.goto(f"{served.url}/ui/knowledge/concept/{made['concept_id']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("<script>")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert page.evaluate("() => window.harmed ?? null") is None
    assert (record.errors, dialogs) == ([], [])
    assert all(request.startswith(served.url) for request in record.requests)
