"""The pages for admins."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.browser import Axe, Record
from tests.page.test_clients_page import HOSTILE, PHONE, enter, make_key, press_until, row
from tests.page.visitor import agent_call
from tests.programs.served import Served

PATHS = (
    "/ui/admin/keys",
    "/ui/admin/projects",
    "/ui/admin/tenants",
    "/ui/admin/vault",
    "/ui/admin/settings",
    "/ui/admin/copies",
    "/ui/admin/audit",
    "/ui/admin/reads",
)


def fill_everything(served: Served, text: str) -> None:
    """Put a text into every place that the pages for admins show."""
    make_key(served, name=text, user=text)
    agent_call(served, "add_project_member", project="atlas", user=text)
    project = agent_call(served, "create_project", name=f"P {text}")
    agent_call(
        served,
        "create_api_key",
        name=text,
        type="api_key",
        value=text,
        environment="staging",
        project_id=project["id"],
    )
    note = agent_call(served, "remember", content=text, title=text)
    agent_call(served, "fetch", ids=[note["id"]])


def status(page: Page) -> Any:
    return page.get_by_role("status").first


def test_a_key_is_made_lets_in_is_paused_resumed_and_revoked(
    served: Served, page: Page, record: Record, browser: Browser
) -> None:
    enter(page, served, "/ui/admin/keys")
    page.get_by_text("Make a key", exact=True).click()
    page.get_by_label("What it is for").fill("second browser")
    page.get_by_label("Whom it stands for").fill("ann")
    expect(page.get_by_label("write:")).not_to_be_checked()
    page.get_by_label("How long it is valid").select_option("30")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("#new-key").inner_text()
    expect(row(page, "second browser")).to_contain_text("For ann. It may read.")
    expect(row(page, "second browser")).to_contain_text("Valid until 2")

    context = browser.new_context()
    other = context.new_page()
    enter(other, served, "/ui/clients", key)
    expect(other.get_by_role("heading", level=1)).to_have_text("Clients")
    expect(other.get_by_role("link", name="Admin")).to_have_count(0)

    row(page, "second browser").get_by_role("button", name="Pause").click()
    expect(status(page)).to_contain_text("Paused.")
    expect_refused(other, served, "This key is paused.")
    other.get_by_label("Key", exact=True).fill(key)
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("alert")).to_contain_text("This key is paused.")

    row(page, "second browser").get_by_role("button", name="Resume").click()
    expect(status(page)).to_contain_text("Resumed.")
    enter(other, served, "/ui/clients", key)

    row(page, "second browser").get_by_text("Revoke …").click()
    row(page, "second browser").get_by_role("button", name="Revoke").click()
    expect(status(page)).to_contain_text("Revoked.")
    expect_refused(other, served, "")
    other.get_by_label("Key", exact=True).fill(key)
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("alert")).to_contain_text("not valid")
    context.close()

    page.reload()
    assert key not in page.content()
    assert record.errors == []


def expect_refused(page: Page, served: Served, words: str) -> None:
    """The next visit leads to the sign-in page; who was let in is remembered for a second."""

    def visit() -> str:
        page.goto(served.url + "/ui/clients")
        return urlsplit(page.url).path

    while visit() != "/ui/sign-in":
        pass
    if words:
        expect(page.get_by_role("alert")).to_contain_text(words)


def test_a_key_can_be_bound_to_projects_and_end_on_a_day(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/keys")
    page.get_by_text("Make a key", exact=True).click()
    page.get_by_label("What it is for").fill("guest")
    page.get_by_label("Only for these projects").fill("atlas, zoo")
    page.get_by_label("Or until this day").fill("2100-05-01")
    page.get_by_role("button", name="Make the key").click()
    expect(row(page, "guest")).to_contain_text("in atlas, zoo only")
    expect(row(page, "guest")).to_contain_text("Valid until 2100-05-01")
    page.get_by_role("link", name="paused").click()
    expect(page.get_by_role("heading", level=2)).to_have_text("0 keys")


def test_one_cannot_lock_oneself_out(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/keys")
    expect(row(page, "local")).to_contain_text("You are signed in with this key.")
    expect(row(page, "local").get_by_role("button")).to_have_count(0)


def test_what_makes_no_sense_is_told_in_plain_words(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/keys")
    page.get_by_text("Make a key", exact=True).click()
    page.get_by_label("What it is for").fill("nothing")
    page.get_by_label("read:").uncheck()
    expect(page.get_by_label("write:")).not_to_be_checked()
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_role("alert")).to_contain_text("scopes")


def test_members_are_added_removed_and_brought_back(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/projects")
    page.get_by_label("Name").fill("Atlas")
    page.get_by_role("button", name="Start it").click()
    project = page.get_by_role("region", name="Project Atlas")
    expect(project).to_contain_text("open to everybody")
    project.get_by_label("New member").fill("ann")
    project.get_by_role("button", name="Add").click()
    project.get_by_role("button", name="Remove ann from Atlas").click()
    expect(project).to_contain_text("open to everybody")
    page.get_by_role("button", name="Undo").first.click()
    expect(project).to_contain_text("ann")


def test_tenants_are_listed_with_what_they_have(served: Served, page: Page) -> None:
    served.tool("remember", {"content": "Goats climb."}, served.key("bob", "globex"))
    enter(page, served, "/ui/admin/tenants")
    expect(row(page, "globex")).to_contain_text("1 item, 1 event, 1 client key.")
    expect(page.get_by_role("region", name="On disk")).to_contain_text("B")


def test_a_value_of_the_vault_is_revealed_and_the_audit_tells(served: Served, page: Page) -> None:
    project = agent_call(served, "create_project", name="Zoo")
    agent_call(
        served,
        "create_api_key",
        name="Stripe",
        type="api_key",
        value="not-so-secret",
        environment="staging",
        project_id=project["id"],
    )
    enter(page, served, "/ui/admin/vault")
    assert "not-so-secret" not in page.content()
    row(page, "Stripe").get_by_text("Reveal …").click()
    page.get_by_role("button", name="Reveal Stripe").click()
    expect(page.locator("#revealed")).to_have_text("not-so-secret")
    page.get_by_role("link", name="Hide it").click()
    assert "not-so-secret" not in page.content()
    row(page, "Stripe").get_by_text("Revoke …").click()
    page.get_by_role("button", name="Revoke Stripe").click()
    expect(row(page, "Stripe").locator(".state")).to_have_text("revoked")
    page.get_by_role("link", name="Audit").click()
    expect(row(page, "local revealed the secret Stripe")).to_be_visible()


def test_settings_are_shown_with_their_meaning(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/settings")
    expect(page.get_by_role("main")).to_contain_text(str(served.app.settings.data))
    port = page.get_by_role("region", name="port", exact=True)
    expect(port).to_contain_text("the port of the server; 0: any free port")
    expect(port).to_contain_text("Value: 8724, the default. Variable: MEMOLITH_PORT")
    page.get_by_role("link", name="Show only what was changed").click()
    expect(page.get_by_role("region", name="embedder", exact=True)).to_contain_text("Value: none")
    expect(port).to_have_count(0)


def test_an_export_and_a_backup_are_made_and_downloaded(
    served: Served, page: Page, record: Record, tmp_path: Path
) -> None:
    agent_call(served, "remember", content="Otters hold hands.")
    enter(page, served, "/ui/admin/copies")
    page.get_by_role("button", name="Make an export").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="Download the export").click()
    export = tmp_path / "export"
    started.value.save_as(export)
    assert started.value.suggested_filename.endswith(".jsonl")
    header, *events = export.read_text().splitlines()
    assert json.loads(header)["events"] == len(events)
    assert "Otters hold hands." in export.read_text()

    page.goto(served.url + "/ui/admin/copies")
    page.get_by_role("button", name="Make a backup").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="Download the backup").click()
    backup = tmp_path / "backup.tar"
    started.value.save_as(backup)
    with tarfile.open(backup) as archive:
        assert "memolith-backup.db" in archive.getnames()
    page.get_by_role("button", name="Delete the backup").click()
    expect(page.get_by_role("link", name="Download the backup")).to_have_count(0)
    assert record.errors == []


def test_a_copy_is_for_admins_alone(served: Served, page: Page) -> None:
    copy = agent_call(served, "start_copy", kind="export")
    reader = make_key(served, name="reader", scopes=["read", "write"])["key"]
    enter(page, served, "/ui/clients", reader)
    answer = page.goto(f"{served.url}/ui/admin/copies/{copy['id']}")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("alert")).to_contain_text("needs a key with the scope: admin")


def test_the_audit_can_be_narrowed(served: Served, page: Page) -> None:
    ann = make_key(served, name="laptop", user="ann")
    served.tool("remember", {"content": "Kelp grows.", "title": "Kelp"}, ann["key"])
    enter(page, served, "/ui/admin/audit")
    expect(row(page, "local made the key laptop")).to_be_visible()
    page.get_by_label("User").fill("ann")
    page.get_by_role("button", name="Show").click()
    expect(row(page, "ann kept")).to_be_visible()
    expect(row(page, "the key laptop")).to_have_count(0)
    page.get_by_label("Event", exact=True).select_option("forgotten")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No event fits.")).to_be_visible()


def test_reads_are_shown(served: Served, page: Page) -> None:
    note = agent_call(served, "remember", content="Kelp grows.", title="Kelp")
    agent_call(served, "fetch", ids=[note["id"]])
    enter(page, served, "/ui/admin/reads")
    expect(row(page, "local opened Kelp")).to_contain_text("through core fetch, 1 time")
    page.get_by_label("User").fill("ann")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nobody has read anything that fits.")).to_be_visible()


def test_a_key_is_made_by_keyboard_alone(served: Served, page: Page) -> None:
    enter(page, served, "/ui/admin/keys")
    press_until(page, "Make a key")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("typed")
    press_until(page, "Make the key")
    page.keyboard.press("Enter")
    expect(page.locator("#new-key")).to_contain_text("mlk_")
    press_until(page, "Pause the key typed")
    page.keyboard.press("Enter")
    expect(row(page, "typed").locator(".state")).to_have_text("paused")


def test_nobody_is_kept_out_of_any_page(served: Served, page: Page, axe: Axe) -> None:
    fill_everything(served, "Otters")
    enter(page, served, "/ui/admin/keys")
    for path in PATHS:
        page.set_viewport_size({"width": 1000, "height": 800})
        # All settings look alike, and axe takes its time for each.
        page.goto(served.url + path.replace("settings", "settings?changed=1"))
        page.evaluate(
            "() => document.querySelectorAll('details').forEach((part) => part.open = true)"
        )
        page.emulate_media(color_scheme="light")
        assert axe.check(page) == [], path
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert axe.check(page) == [], path
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path


def test_hostile_text_is_shown_as_text_on_every_page(
    served: Served, page: Page, record: Record
) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    for text in HOSTILE:
        fill_everything(served, text)
    enter(page, served, "/ui/admin/keys")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for path in PATHS:
        page.goto(served.url + path)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"], path
        if path not in ("/ui/admin/tenants", "/ui/admin/settings", "/ui/admin/copies"):
            expect(page.get_by_text(HOSTILE[0]).first).to_be_visible()
    assert record.errors == []
    assert {urlsplit(url).netloc for url in record.requests} == {urlsplit(served.url).netloc}


@pytest.mark.parametrize("path", PATHS)
def test_without_admin_no_page_is_shown(served: Served, page: Page, path: str) -> None:
    enter(page, served, "/ui/clients", make_key(served, name="reader", scopes=["read"])["key"])
    answer = page.goto(served.url + path)
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("alert")).to_contain_text("admin")
