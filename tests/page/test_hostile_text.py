"""Hostile text in every field of every tool, shown on every page: it stays text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Dialog, Page

from memolith.settings import Settings
from memolith.tools.call import Call
from tests.conftest import ME
from tests.hostile import TextField, all_tools, text_fields
from tests.page.browser import Record
from tests.page.visitor import visit
from tests.programs.served import Served, thread
from tests.tools.stock import fill

MARK = "planted"
HOSTILE = (
    f"<script>document.{MARK} = 1</script>",
    f'"><img src="/ui/static/none.svg" onerror="document.{MARK} = 2">',
    f"'><svg onload='document.{MARK} = 3'>",
    f"</textarea></title></style><script>document.{MARK} = 4</script>",
    f"javascript:document.{MARK}=5",
    f"{{{{ ''.__class__ }}}}${{document.{MARK} = 6}}<%= 7 %>",
    '<a href="http://elsewhere.invalid/">a</a><link rel=stylesheet href=//elsewhere.invalid/a.css>',
    '<iframe srcdoc="<script>parent.document.' + MARK + ' = 8</script>"></iframe>',
    '<form action="http://elsewhere.invalid/"><button autofocus>go</button></form>',
    "\u202egnirts desrever\u202c" + "W" * 300,
)
"""Texts that would run, ask another host or break out where a page does not escape them."""
LONG = " ".join(HOSTILE)
SHORT = f"<img src=x onerror=document.{MARK}=9>"
"""For fields that take short texts only."""
QUICK_PER_ROUTE = 2
FULL_PER_ROUTE = 40
LEFT_OUT = ("/ui/sign-out", "/ui/live", "/ui/static/")
HEX_OR_NUMBER = re.compile(r"[0-9a-f-]{8,}|\d+")


def plant(served: Served) -> Counter[str]:
    """Call every tool with hostile text in each of its fields; how many calls were accepted."""
    outcomes: Counter[str] = Counter()
    fields = sorted(text_fields(all_tools()), key=takes_away)
    for number, field in enumerate(fields):
        for text in (LONG, HOSTILE[number % len(HOSTILE)], SHORT):
            if accepts(served, field, text):
                outcomes["accepted"] += 1
                break
        else:
            outcomes["refused"] += 1
    return outcomes


def takes_away(field: TextField) -> bool:
    """Whether the tool could remove what others are about, so that it comes last."""
    return field.tool.destructive


def accepts(served: Served, field: TextField, text: str) -> bool:
    call = Call(ME, served.app.engine)
    return served.app.registry.run(field.tool.name, field.filled(text), call).ok


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Served]:
    """A server whose store holds hostile text wherever a tool takes any."""
    folder = tmp_path / "data"
    folder.mkdir()
    fill(Settings(data=folder, embedder="none", runner_preload=()))
    with thread(folder, runner_preload=()) as server:
        outcomes = plant(server)
        assert outcomes["accepted"] > 120, outcomes
        yield server


class Crawl:
    """Follows the links of the page, a few for each kind of address."""

    def __init__(self, page: Page, served: Served, per_route: int) -> None:
        self.page = page
        self.served = served
        self.per_route = per_route
        self.seen: set[str] = set()
        self.visits: Counter[str] = Counter()
        self.waiting = ["/ui"]

    def run(self) -> None:
        while self.waiting:
            path = self.waiting.pop(0)
            route = route_of(path)
            if path in self.seen or self.visits[route] >= self.per_route:
                continue
            self.seen.add(path)
            self.visits[route] += 1
            answer = self.page.goto(self.served.url + path)
            assert answer is not None
            assert answer.status < 500, path
            self.look(path)

    def look(self, path: str) -> None:
        """Open what is folded away, and note the links."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert self.page.evaluate(f"document.{MARK} === undefined"), f"a script ran on {path}"
        assert self.page.locator("iframe, object, embed").count() == 0
        links = self.page.eval_on_selector_all(
            "main a[href], nav a[href]", "links => links.map((link) => link.getAttribute('href'))"
        )
        for link in links:
            target = urlsplit(urljoin(self.served.url + path, link))
            assert target.scheme in ("http", "https", "cursor", "vscode"), link
            if f"{target.scheme}://{target.netloc}" == self.served.url and is_followed(target.path):
                self.waiting.append(target.path + (f"?{target.query}" if target.query else ""))


def route_of(path: str) -> str:
    """The kind of an address: without ids, and with the names of its parameters only."""
    parts = urlsplit(path)
    names = sorted({pair.partition("=")[0] for pair in parts.query.split("&") if pair})
    folders = parts.path.split("/")
    kept = "/".join(folders[:4] if len(folders) <= 4 else [*folders[:3], "*", *folders[4:]])
    if len(folders) == 4:
        kept = "/".join([*folders[:3], HEX_OR_NUMBER.sub("*", folders[3])])
        if folders[2] in ("item", "file", "session", "prompt"):
            kept = f"/ui/{folders[2]}/*"
    return f"{kept}?{','.join(names)}"


def is_followed(path: str) -> bool:
    return path.startswith("/ui") and not path.startswith(LEFT_OUT)


def check(page: Page, record: Record, hostile: Served, per_route: int) -> Crawl:
    dialogs: list[str] = []

    def note_dialog(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note_dialog)
    visit(page, hostile)
    crawl = Crawl(page, hostile, per_route)
    crawl.run()
    assert dialogs == []
    assert record.errors == []
    elsewhere = [
        url for url in record.requests if not url.startswith((hostile.url, "data:", "blob:"))
    ]
    assert elsewhere == []
    return crawl


def test_hostile_text_stays_text_on_every_page(page: Page, record: Record, hostile: Served) -> None:
    crawl = check(page, record, hostile, QUICK_PER_ROUTE)
    pages = {path.split("?")[0] for path in crawl.seen}
    assert {"/ui", "/ui/search", "/ui/timeline", "/ui/graph", "/ui/decide"} <= pages


@pytest.mark.full
def test_hostile_text_stays_text_on_all_pages_of_each_kind(
    page: Page, record: Record, hostile: Served
) -> None:
    crawl = check(page, record, hostile, FULL_PER_ROUTE)
    assert len(crawl.seen) > 100
