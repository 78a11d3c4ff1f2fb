"""The documentation site is whole: every page, every link, and nothing from another host."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from scripts.site import (
    CONFIGURATION,
    DOCS,
    PROJECT_PAGES,
    collect,
    generate,
    indent_numbered_lists,
)

LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "srcset"),
}
FOREIGN_IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
SWALLOWED = re.compile(r"^(?:[-*] |\d+\. |\|)", re.M)
# The generator's own page for addresses that do not exist; its links start at the root of a host.
NOT_FOUND_PAGE = "404.html"


class Page(HTMLParser):
    """What a built page links to and loads, and the names that can be linked in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.paragraphs: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("p", "code"):
            self._open.append(tag)
        if tag == "p":
            self.paragraphs.append("")
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.names.add(value)
            if (tag, name) in LOADED:
                self.loads.append(value)
            if (tag, name) == ("a", "href"):
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "p":
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    collect(place)
    return generate(place)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    paths = [path for path in site.rglob("*.html") if path.name != NOT_FOUND_PAGE]
    return {path: Page(path) for path in paths}


def listed(entries: list[Any]) -> list[str]:
    """The pages that the navigation names, in order."""
    found = []
    for entry in entries:
        for target in entry.values():
            found += [target] if isinstance(target, str) else listed(target)
    return found


def navigation() -> list[str]:
    configuration = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))
    return listed(configuration["project"]["nav"])


def test_every_page_is_in_the_navigation_once() -> None:
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(navigation()) == sorted(written | set(PROJECT_PAGES.values()))


def leads_nowhere(page: Page, address: str, pages: dict[Path, Page]) -> bool:
    """Whether a link within the site has no target. Other hosts are not asked."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return False
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    if not target.is_file():
        return True
    if not parts.fragment or target not in pages:
        return False
    return unquote(parts.fragment) not in pages[target].names


def test_every_link_and_everything_that_is_loaded_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = [
        (page.path.name, address)
        for page in pages.values()
        for address in page.links + page.loads
        if leads_nowhere(page, address, pages)
    ]
    assert broken == []


def test_a_missing_page_and_a_missing_heading_count_as_broken(pages: dict[Path, Page]) -> None:
    home = next(page for page in pages.values() if page.path.name == "index.html")
    assert leads_nowhere(home, "no-such-page.html", pages)
    assert leads_nowhere(home, "#no-such-heading", pages)


def test_no_list_or_table_became_part_of_a_paragraph(pages: dict[Path, Page]) -> None:
    """The generator wants an empty line before them where GitHub needs none."""
    swallowed = [
        (page.path.name, text)
        for page in pages.values()
        for text in page.paragraphs
        if SWALLOWED.search(text)
    ]
    assert swallowed == []


def test_no_page_loads_anything_from_another_host(pages: dict[Path, Page]) -> None:
    foreign = {
        address
        for page in pages.values()
        for address in page.loads
        if urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data")
    }
    assert foreign == set()


def test_no_style_loads_anything_from_another_host(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    assert [
        path.name for path in styles if FOREIGN_IN_STYLES.search(path.read_text(encoding="utf-8"))
    ] == []


def test_the_search_knows_every_page(site: Path, pages: dict[Path, Page]) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    known = {item["location"].partition("#")[0] for item in index["items"]}
    assert {path.relative_to(site).as_posix() for path in pages} - known == set()


def test_pictures_come_in_light_and_dark(site: Path) -> None:
    text = (site / "how-to" / "page.html").read_text(encoding="utf-8")
    assert "pictures/home-light.png#only-light" in text
    assert "pictures/home-dark.png#only-dark" in text


@pytest.mark.parametrize("link", ["no-such-page.md", "help.md#no-such-heading"])
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, link: str) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "help.md").write_text("# Help\n", encoding="utf-8")
    (pages / "index.md").write_text(f"# Home\n\n[more]({link})\n", encoding="utf-8")
    (tmp_path / CONFIGURATION.name).write_text(
        '[project]\nsite_name = "x"\ndocs_dir = "pages"\n', encoding="utf-8"
    )
    with pytest.raises(subprocess.CalledProcessError):
        generate(tmp_path)


def test_code_in_a_numbered_list_stays_in_the_list() -> None:
    text = "1. First.\n\n   ```py\n   one()\n   ```\n\nAfter.\n\n   kept\n"
    assert indent_numbered_lists(text) == (
        "1. First.\n\n    ```py\n    one()\n    ```\n\nAfter.\n\n   kept\n"
    )
