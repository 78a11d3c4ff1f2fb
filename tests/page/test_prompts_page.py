"""The pages of prompts and templates: finding, writing with a preview, trying, versions, undo."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from tests.page.browser import Axe, Record
from tests.page.looks import HOSTILE, assert_harmless, assert_open_to_all, refuse_dialogs
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served

PLACE = "/ui/prompts/prompt/review?domain=user"


def save(served: Served, name: str = "review", **more: Any) -> None:
    arguments = {"content": "Review {{language}} code.", "domain": "user", **more}
    agent_call(served, "prompt_save", name=name, **arguments)


def test_prompts_are_found_as_you_type(page: Page, served: Served, axe: Axe) -> None:
    save(served, tags=["code"], description="Reads code")
    save(served, "greet", content="Hello {{name}}.")
    agent_call(served, "subcog_templates", action="save", name="digest", content="x", domain="user")
    visit(page, served, "/ui/prompts")
    rows = page.locator("#prompts .row")
    expect(rows).to_have_count(3)
    assert_open_to_all(page, axe)
    page.get_by_label("In the name or the description").press_sequentially("reads")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("review")
    page.get_by_label("In the name or the description").fill("")
    page.get_by_label("Kind").select_option("templates")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("digest")
    page.goto(served.url + "/ui/prompts?tags=code")
    expect(rows).to_contain_text("review")


def test_a_prompt_is_written_with_a_preview_and_undone(
    page: Page, served: Served, record: Record, axe: Axe
) -> None:
    dialogs = refuse_dialogs(page)
    visit(page, served, "/ui/prompts")
    page.get_by_role("link", name="New prompt").click()
    page.get_by_label("Name: small letters").fill("review")
    page.get_by_label("Text", exact=True).fill("Review {{language}} code.")
    expect(page.get_by_label("Preview of the text")).to_have_text("Review {{language}} code.")
    page.get_by_label("Value if none is given").press_sequentially("Python")
    expect(page.get_by_label("Preview of the text")).to_have_text("Review Python code.")
    expect(page.get_by_label("Value if none is given")).to_be_focused()
    page.get_by_label("What it means").fill("Which language")
    assert_open_to_all(page, axe)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("review")
    expect(page.get_by_label("Text of the prompt")).to_have_text("Review {{language}} code.")
    kept = agent_call(served, "prompt_get", name="review")
    assert kept["variables_def"][0]["default"] == "Python"
    assert kept["variables_def"][0]["description"] == "Which language"
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Read {{language}} code with care.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text of the prompt")).to_contain_text("Read")
    assert_open_to_all(page, axe)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Text of the prompt")).to_contain_text("Review")
    assert_harmless(record, served, dialogs)


def test_what_is_wrong_with_a_text_is_told_and_nothing_is_lost(page: Page, served: Served) -> None:
    save(served)
    visit(page, served, "/ui/prompts/new?kind=prompt")
    page.get_by_label("Text", exact=True).fill("{{#if x}}never closed")
    expect(page.locator("#preview .error")).to_contain_text("line 1")
    page.get_by_label("Text", exact=True).fill("Fine.")
    page.get_by_label("Name: small letters").fill("review")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("There is a prompt 'review' already")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Fine.")


def test_a_prompt_is_tried_with_values(page: Page, served: Served) -> None:
    save(served, content="{{greeting}}:{{#each names}} {{this}}{{/each}}")
    visit(page, served, PLACE)
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_role("alert")).to_contain_text("Values are missing for: greeting, names.")
    page.get_by_label("greeting").fill("Hello")
    page.get_by_label("names").fill('["Ann", "Bob"]')
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("Result")).to_have_text("Hello: Ann Bob")


def test_a_template_is_tried_with_memories(page: Page, served: Served) -> None:
    agent_call(served, "remember", content="Otters hold hands.")
    agent_call(
        served,
        "subcog_templates",
        action="save",
        name="digest",
        content="# For {{who}}\n{{#each memories}}- {{memory.content}}\n{{/each}}",
        domain="user",
    )
    visit(page, served, "/ui/prompts/template/digest")
    page.get_by_label("who").fill("Maria")
    page.get_by_label("Memories about").fill("otters")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("Result")).to_contain_text("- Otters hold hands.")
    page.get_by_label("Format").select_option("json")
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("Result")).to_contain_text('"sections"')


def test_versions_show_what_changed_and_an_old_one_comes_back(page: Page, served: Served) -> None:
    save(served)
    save(served, content="Read {{language}} code.")
    visit(page, served, PLACE)
    newest = page.locator(".versions > li").first
    expect(newest.locator("del").first).to_have_text("Review ")
    expect(newest.locator("ins").first).to_have_text("Read ")
    page.get_by_role("button", name="Bring back version 1").click()
    expect(page.get_by_text("Restored.")).to_be_visible()
    expect(page.get_by_label("Text of the prompt")).to_have_text("Review {{language}} code.")
    assert agent_call(served, "prompt_get", name="review")["version"] == 3
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Text of the prompt")).to_have_text("Read {{language}} code.")


def test_a_prompt_is_deleted_and_comes_back(page: Page, served: Served) -> None:
    save(served)
    visit(page, served, PLACE)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    expect(page.get_by_text("None yet.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="review")).to_be_visible()


def test_saving_without_a_change_offers_no_undo(page: Page, served: Served) -> None:
    save(served)
    visit(page, served, PLACE)
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_it_works_without_scripts(context: BrowserContext, served: Served) -> None:
    browser = context.browser
    assert browser is not None
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    visit(page, served, "/ui/prompts/new?kind=prompt")
    page.get_by_label("Name: small letters").fill("review")
    page.get_by_label("Text", exact=True).fill("Review {{language}} code.")
    page.get_by_role("button", name="Preview").click()
    page.get_by_label("Value if none is given").fill("Python")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("Result")).to_have_text("Review Python code.")
    plain.close()


def test_a_prompt_is_written_by_keys_alone(page: Page, served: Served) -> None:
    visit(page, served, "/ui/prompts")
    page.get_by_role("link", name="New prompt").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/new"))
    page.get_by_label("Name: small letters").focus()
    page.keyboard.type("review")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("Review it.")
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Text of the prompt")).to_have_text("Review it.")


def test_hostile_text_stays_text(page: Page, served: Served, record: Record) -> None:
    dialogs = refuse_dialogs(page)
    hostile = HOSTILE.replace("{{", "((").replace("}}", "))")
    save(served, content=hostile, description=hostile, tags=["<b>tag</b>"])
    save(served, content=hostile + " {{x}}", description=HOSTILE, tags=["<b>tag</b>"])
    for place in ("/ui/prompts", PLACE, PLACE.replace("?", "/edit?")):
        visit(page, served, place)
        expect(page.locator("#main")).to_contain_text("<script>alert(1)</script>")
        assert page.evaluate("document.querySelector('#main img, #main script')") is None
    visit(page, served, PLACE)
    page.get_by_label("x", exact=True).fill(HOSTILE)
    page.get_by_role("button", name="Try").click()
    expect(page.get_by_label("Result")).to_contain_text("<script>alert(1)</script>")
    assert_harmless(record, served, dialogs)


def test_a_key_that_may_only_read_is_offered_nothing_that_writes(
    page: Page, served: Served
) -> None:
    save(served)
    key = served.key("local", "local", "read")
    visit(page, served, "/ui/prompts", key)
    expect(page.get_by_role("link", name="New prompt")).to_have_count(0)
    page.goto(served.url + PLACE)
    expect(page.locator("#main button")).to_have_text(["Copy", "Try"])
