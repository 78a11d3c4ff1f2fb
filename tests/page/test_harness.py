"""What the tests of the page rely on: Chromium does what it is told, and its records are true."""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright, expect

from tests.page.browser import Axe, Record, launch, take_screenshot
from tests.page.chromium import Chromium, ChromiumMissing, find_chromium
from tests.programs.served import Served

CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
HTML = """<!doctype html>
<html lang="en">
<head><title>Sample</title><link rel="stylesheet" href="/style.css"></head>
<body>
<main>
<h1>Sample</h1>
<label>Name <input id="name"></label>
<button id="greet">Greet</button>
<label>File <input type="file" id="file"></label>
<p id="out"></p>
<div id="planted"></div>
</main>
<script src="/script.js"></script>
</body>
</html>
"""
STYLE = ":root { color-scheme: light dark; }"
SCRIPT = """
const out = document.querySelector("#out");
document.querySelector("#greet").addEventListener("click", async () => {
  const answer = await fetch("/greeting");
  const name = document.querySelector("#name").value;
  out.textContent = `${await answer.text()}, ${name}!`;
});
document.querySelector("#file").addEventListener("change", async (event) => {
  out.textContent = await event.target.files[0].text();
});
"""
FILES = {
    "/": ("text/html", HTML),
    "/style.css": ("text/css", STYLE),
    "/script.js": ("text/javascript", SCRIPT),
    "/greeting": ("text/plain", "Hello"),
}


class Handler(BaseHTTPRequestHandler):
    """Serves the sample page under a strict policy."""

    def do_GET(self) -> None:
        content_type, text = FILES.get(self.path, ("text/plain", ""))
        body = text.encode()
        self.send_response(200 if self.path in FILES else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", CSP)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def sample() -> Iterator[str]:
    """The address of the sample page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        running.join()


@pytest.fixture
def visited(page: Page, sample: str) -> Page:
    """The sample page, opened."""
    page.goto(sample)
    return page


def corner(picture: Path) -> tuple[int, int, int]:
    """The colour of the first pixel of a PNG file, which no filter changes."""
    data = picture.read_bytes()
    packed = b""
    position = 8
    while position < len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        if kind == b"IDAT":
            packed += data[position + 8 : position + 8 + length]
        position += 12 + length
    _, red, green, blue = zlib.decompress(packed)[:4]
    return red, green, blue


def test_clicks_and_typing_reach_the_page(visited: Page) -> None:
    visited.get_by_label("Name").fill("Maria")
    visited.get_by_role("button", name="Greet").click()
    expect(visited.locator("#out")).to_have_text("Hello, Maria!")


def test_keys_reach_the_element_with_the_focus(visited: Page) -> None:
    visited.get_by_label("Name").press_sequentially("Ada")
    visited.keyboard.press("Tab")
    visited.keyboard.press("Enter")
    expect(visited.locator("#out")).to_have_text("Hello, Ada!")


def test_a_file_is_uploaded(visited: Page, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text("Otters hold hands 🦦.", encoding="utf-8")
    visited.get_by_label("File").set_input_files(file)
    expect(visited.locator("#out")).to_have_text("Otters hold hands 🦦.")


def test_a_window_has_the_size_that_was_set(visited: Page) -> None:
    visited.set_viewport_size({"width": 390, "height": 844})
    assert visited.evaluate("() => [innerWidth, innerHeight]") == [390, 844]


def test_screenshots_are_light_or_dark(visited: Page, tmp_path: Path) -> None:
    take_screenshot(visited, tmp_path / "light.png")
    take_screenshot(visited, tmp_path / "dark.png", dark=True)
    assert min(corner(tmp_path / "light.png")) > 200
    assert max(corner(tmp_path / "dark.png")) < 60


def test_text_is_visible_in_a_screenshot(visited: Page) -> None:
    heading = visited.locator("h1")
    shown = heading.screenshot()
    heading.evaluate("(element) => { element.style.color = 'transparent'; }")
    assert heading.screenshot() != shown


def test_axe_finds_nothing_on_a_good_page_and_a_picture_without_words(
    visited: Page, axe: Axe
) -> None:
    assert axe.check(visited) == []
    visited.evaluate("() => planted.append(Object.assign(new Image(), { src: '/greeting' }))")
    (violation,) = axe.check(visited)
    assert (violation.rule, violation.impact) == ("image-alt", "critical")
    assert violation.elements == ('<img src="/greeting">',)


def test_a_page_without_faults_leaves_no_errors(visited: Page, record: Record) -> None:
    visited.get_by_role("button", name="Greet").click()
    expect(visited.locator("#out")).to_have_text("Hello, !")
    assert record.errors == []


def test_violations_of_the_policy_are_recorded(visited: Page, record: Record) -> None:
    with visited.context.expect_event("console"):
        visited.evaluate("() => { new Image().src = 'http://example.com/picture.png'; }")
    (error,) = record.errors
    assert "http://example.com/picture.png" in error
    assert "Content Security Policy" in error


def test_exceptions_of_scripts_are_recorded(visited: Page, record: Record) -> None:
    with visited.context.expect_event("weberror"):
        visited.evaluate("() => { setTimeout(() => { throw new Error('planted'); }); }")
    assert record.errors == ["planted"]


def test_every_request_is_recorded(visited: Page, record: Record, sample: str) -> None:
    visited.get_by_role("button", name="Greet").click()
    expect(visited.locator("#out")).to_have_text("Hello, !")
    assert record.requests == [
        f"{sample}/",
        f"{sample}/style.css",
        f"{sample}/script.js",
        f"{sample}/greeting",
    ]


@pytest.mark.parametrize("address", ["http://example.com/", "http://192.0.2.1/"])
def test_no_other_host_is_reached(page: Page, record: Record, address: str) -> None:
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto(address)
    assert record.requests == [address]


def test_two_visitors_share_nothing(
    browser: Browser, visited: Page, record: Record, sample: str
) -> None:
    with browser.new_context() as other:
        other_record = Record(other)
        other_page = other.new_page()
        other_page.goto(f"{sample}/greeting")
        visited.evaluate("() => { localStorage.name = 'Maria'; }")
        assert visited.evaluate("() => localStorage.name") == "Maria"
        assert other_page.evaluate("() => localStorage.name ?? null") is None
        assert f"{sample}/greeting" not in record.requests
        assert other_record.requests[0] == f"{sample}/greeting"


def hosts_in(net_log: Path) -> set[str]:
    """The hosts that Chromium looked up or asked, for a page or on its own account."""
    hosts = set()
    for event in json.loads(net_log.read_text(encoding="utf-8"))["events"]:
        params = event.get("params", {})
        for name in ("host", "url"):
            address = str(params.get(name, ""))
            # A lookup may be noted without a scheme.
            parts = urlsplit(address if "://" in address else f"//{address}")
            if parts.hostname:
                hosts.add(parts.hostname)
    return hosts


def test_chromium_asks_no_host_on_its_own_account(
    playwright: Playwright, chromium: Chromium, sample: str, tmp_path: Path
) -> None:
    net_log = tmp_path / "net.json"
    with launch(playwright, chromium, f"--log-net-log={net_log}") as browser:
        page = browser.new_page()
        page.goto(sample, wait_until="networkidle")
        # Shows that the log would tell.
        with pytest.raises(Error):
            page.goto("http://asked.example/")
    # The rules of `launch` turn every name into one that nobody has.
    assert hosts_in(net_log) == {"127.0.0.1", "asked.example", "~notfound"}


def test_chromium_reaches_the_server_of_the_product(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/health")
    status = page.evaluate(
        """async (key) => {
            const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
            const answer = await fetch("/mcp/tools/overview", { method: "POST", headers, body: "{}" });
            return answer.status;
        }""",
        served.admin,
    )
    assert status == 200


def test_another_chromium_can_be_chosen(
    chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_CHROMIUM", "/opt/chrome")
    chosen = find_chromium()
    assert chosen.executable == Path("/opt/chrome")
    assert chosen.axe == chromium.axe


def test_a_machine_without_a_chromium_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_CHROMIUM", raising=False)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ChromiumMissing, match="TEST_CHROMIUM"):
        find_chromium()
