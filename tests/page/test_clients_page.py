"""The page about clients: what to paste, and who has called."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from memolith.doors.http.auth.keys import digest
from memolith.doors.install.clients import CLIENTS
from tests.page.browser import Axe, Record
from tests.page.visitor import agent_call
from tests.programs.served import Served

PHONE = {"width": 360, "height": 800}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)//",
    "{{ 7 * 7 }}{% raw %}",
    "\u202eabc",
    "W" * 120,
)


def enter(page: Page, served: Served, path: str, key: str = "") -> None:
    """Sign in with a key by the form, and come to a page."""
    page.goto(f"{served.url}/ui/sign-in?next={path}")
    page.get_by_label("Key", exact=True).fill(key or served.admin)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(served.url + path)


def make_key(served: Served, **arguments: Any) -> dict[str, Any]:
    """A new key of an agent."""
    return agent_call(served, "create_client_key", **arguments)


def call_as(served: Served, key: str, program: str) -> None:
    """Let a program call once well and once in vain."""
    for ids in (["note"], ["none"]):
        served.tool("fetch", {"ids": ids}, key, User_Agent=program)


def row(page: Page, text: str) -> Any:
    return page.get_by_role("listitem").filter(has_text=text)


def test_the_page_shows_who_has_called_and_pauses_resumes_and_revokes(
    served: Served, page: Page, record: Record
) -> None:
    made = make_key(served, name="laptop", user="ann")
    call_as(served, made["key"], "otter-client/1.0")
    enter(page, served, "/ui/clients")
    client = row(page, "otter-client")
    expect(client).to_contain_text("2 calls, 2 failed, the last one with not_found.")
    expect(client).to_contain_text("Key laptop, for the user ann")
    client.get_by_role("button", name="Pause the key laptop").click()
    expect(page.get_by_role("status").first).to_contain_text("Paused.")
    expect(client.locator(".state")).to_have_text("paused")
    client.get_by_role("button", name="Resume the key laptop").click()
    expect(page.get_by_role("status").first).to_contain_text("Resumed.")
    client.get_by_text("Revoke …").click()
    client.get_by_role("button", name="Revoke the key laptop").click()
    expect(page.get_by_role("status").first).to_contain_text("Revoked.")
    expect(client.locator(".state")).to_have_text("revoked")
    expect(client.get_by_role("button")).to_have_count(0)
    assert record.errors == []
    assert {urlsplit(url).netloc for url in record.requests} == {urlsplit(served.url).netloc}


def test_every_client_has_its_lines_and_they_name_this_server(served: Served, page: Page) -> None:
    enter(page, served, "/ui/clients")
    for name, client in CLIENTS.items():
        page.locator(f"#{name} > summary").click()
        over_http = page.locator(f"#{name}-http")
        expect(over_http).to_contain_text(served.url)
        expect(over_http).to_contain_text("YOUR-KEY")
        expect(page.locator(f"#{name}-stdio")).to_contain_text("stdio")
        expect(page.locator(f"#{name}")).to_contain_text(f" install {name} --data ")
        if client.servers.format == "JSON":
            json.loads(over_http.inner_text())


def test_lines_start_this_very_program_and_name_the_usual_file(served: Served, page: Page) -> None:
    enter(page, served, "/ui/clients")
    page.locator("#claude-desktop > summary").click()
    lines = json.loads(page.locator("#claude-desktop-http").inner_text())
    entry = lines["mcpServers"]["memolith"]
    assert Path(entry["command"]).is_absolute()
    assert entry["env"] == {"MEMOLITH_KEY": "YOUR-KEY"}
    page.locator("#vscode > summary").click()
    expect(page.locator("#vscode")).to_contain_text("Code/User/mcp.json")


def test_the_tools_are_described_for_browsers_that_are_signed_in(
    served: Served, page: Page, record: Record
) -> None:
    enter(page, served, "/ui/clients")
    page.get_by_role("link", name="all tools and their arguments").click()
    expect(page.get_by_role("heading", name="remember core")).to_be_visible()
    page.get_by_role("link", name="openapi.json").click()
    expect(page.get_by_text("/mcp/tools/remember").first).to_be_visible()
    assert record.errors == []


def test_a_key_is_made_for_a_client_and_stands_in_its_lines_and_its_link(
    served: Served, page: Page
) -> None:
    enter(page, served, "/ui/clients")
    page.locator("#cursor > summary").click()
    page.get_by_role("button", name="Make a key for Cursor").click()
    expect(page.locator("#cursor")).to_have_attribute("open", "")
    entry = json.loads(page.locator("#cursor-http").inner_text())["mcpServers"]["memolith"]
    key = entry["headers"]["Authorization"].removeprefix("Bearer ")
    record = served.app.keys.by_digest(digest(key))
    assert record is not None
    assert (record.name, record.scopes) == ("Cursor", ("read", "write"))
    link = page.locator("#cursor").get_by_role("link", name="Add to Cursor").first
    query = parse_qs(urlsplit(str(link.get_attribute("href"))).query)
    assert query["name"] == ["memolith"]
    assert json.loads(base64.b64decode(query["config"][0])) == entry
    served.secrets.clear()
    assert served.ask("POST", "/mcp/tools/overview", key, {}).status_code == 200
    page.goto(served.url + "/ui/clients")
    assert key not in page.content()


def test_the_link_for_vs_code_says_what_the_lines_say(served: Served, page: Page) -> None:
    enter(page, served, "/ui/clients")
    page.locator("#vscode > summary").click()
    page.get_by_role("button", name="Make a key for VS Code").click()
    entry = json.loads(page.locator("#vscode-http").inner_text())["servers"]["memolith"]
    link = page.locator("#vscode").get_by_role("link", name="Add to VS Code").first
    href = str(link.get_attribute("href"))
    assert href.startswith("vscode:mcp/install?")
    assert json.loads(unquote(href.partition("?")[2])) == {"name": "memolith", **entry}


def test_lines_are_copied(served: Served, browser: Browser) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    enter(page, served, "/ui/clients")
    page.locator("#codex > summary").click()
    page.get_by_role("button", name="Copy the lines for Codex over HTTP").click()
    expect(page.locator("#codex").get_by_text("Copied", exact=True)).to_be_visible()
    assert "[mcp_servers.memolith]" in page.evaluate("() => navigator.clipboard.readText()")
    context.close()


def test_the_page_works_by_keyboard_alone(served: Served, page: Page) -> None:
    made = make_key(served, name="laptop", user="ann")
    call_as(served, made["key"], "otter-client/1.0")
    enter(page, served, "/ui/clients")
    press_until(page, "Pause the key laptop")
    page.keyboard.press("Enter")
    expect(row(page, "otter-client").locator(".state")).to_have_text("paused")
    press_until(page, "Gemini CLI")
    page.keyboard.press("Enter")
    expect(page.locator("#gemini-cli-http")).to_be_visible()


def press_until(page: Page, name: str) -> None:
    """Press Tab until the element of this name has the focus."""
    for _ in range(100):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent.trim()"
        )
        if found == name:
            return
    pytest.fail(f"Tab never came to {name}")


def test_nobody_is_kept_out(served: Served, page: Page, axe: Axe) -> None:
    made = make_key(served, name="laptop", user="ann")
    call_as(served, made["key"], "otter-client/1.0")
    enter(page, served, "/ui/clients")
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => part.open = true)")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert axe.check(page) == []
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert axe.check(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_as_text(
    served: Served, page: Page, record: Record, text: str
) -> None:
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    made = make_key(served, name=text, user=text)
    agent = text.encode("ascii", "replace").decode().replace("/", "")
    call_as(served, made["key"], agent)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    enter(page, served, "/ui/clients")
    expect(page.get_by_text(f"Key {text}")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert record.errors == []
    assert {urlsplit(url).netloc for url in record.requests} == {urlsplit(served.url).netloc}


def test_a_key_that_may_only_read_sees_its_own_clients_and_no_button(
    served: Served, page: Page
) -> None:
    call_as(served, make_key(served, name="other", user="bob")["key"], "bob-client/1")
    own = make_key(served, name="own", user="ann", scopes=["read"])["key"]
    call_as(served, own, "ann-client/1")
    enter(page, served, "/ui/clients", own)
    expect(row(page, "ann-client")).to_be_visible()
    expect(row(page, "bob-client")).to_have_count(0)
    main = page.get_by_role("main")
    page.evaluate("() => document.querySelectorAll('details').forEach((part) => part.open = true)")
    names = set(main.get_by_role("button").all_inner_texts())
    assert names == {"Copy"}
    assert str(served.folder) not in page.content()
