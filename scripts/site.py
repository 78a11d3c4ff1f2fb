"""Builds the documentation site: `make site`.

The pages are the Markdown files of this repository as they stand. They are copied into one folder
first, because the generator wants all pages below one root; links follow them there. The build
stops at a link or an anchor that does not exist.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BUILD = ROOT / "build"
CONFIGURATION = DOCS / "site" / "zensical.toml"

PROJECT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "clients/typescript/README.md": "project/typescript-client.md",
    "training/README.md": "project/training.md",
    "src/memolith/retrieval/embedding/model/README.md": "project/model.md",
}
"""Pages outside `docs`, and where they are on the site."""

PAGES = "pages"
README = "README.md"
HOME = "index.md"

# The generator would let every page load a script from another host, for search on `file:` pages.
FOREIGN_WORKER = "https://unpkg.com/iframe-worker/shim"
FRAME_WORKER = "site/frame-worker.js"

FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")
PICTURE = re.compile(r"<picture>\s*(<source .*?>)\s*(<img .*?>)\s*</picture>", re.S)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
NUMBERED = re.compile(r"^\d+\. ")
INSIDE_NUMBERED = "   "


class UnknownTarget(Exception):
    """A page links to a file that is not on the site."""


def site_path(target: Path) -> str:
    """Where a file of the repository is on the site."""
    name = target.relative_to(ROOT).as_posix()
    if name == README:
        return HOME
    if name in PROJECT_PAGES:
        return PROJECT_PAGES[name]
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    if target.is_file():
        return f"files/{name}"
    raise UnknownTarget(f"{name} is a folder; link to a file, or to a page in PROJECT_PAGES")


class Stage:
    """The folder of pages that the generator reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Copy every page and picture, and the files that pages link to."""
        for source in sorted(DOCS.rglob("*")):
            if source.suffix == ".md":
                self.add_page(source)
            elif source.suffix in (".png", ".svg", ".css", ".js"):
                self.add_file(source)
        for name in PROJECT_PAGES:
            self.add_page(ROOT / name)

    def add_page(self, source: Path) -> None:
        text = source.read_text(encoding="utf-8")
        text = PICTURE.sub(two_pictures, text)
        text = indent_numbered_lists(text)
        place = self.folder / site_path(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.with_links(source, text), encoding="utf-8")

    def add_file(self, source: Path) -> None:
        place = self.folder / site_path(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)

    def with_links(self, source: Path, text: str) -> str:
        """The text with its links as they are on the site. Code stays as it is."""
        lines = []
        in_code = False
        for line in text.splitlines(keepends=True):
            if FENCE.match(line):
                in_code = not in_code
            if not in_code:
                line = LINK.sub(lambda match: match[1] + self.link(source, match[2]), line)
            lines.append(line)
        return "".join(lines)

    def link(self, source: Path, link: str) -> str:
        target = (source.parent / link).resolve()
        if not target.exists():
            # The generator reports it, with the place.
            return link
        place = site_path(target)
        if place.startswith("files/"):
            self.add_file(target)
        return Path(os.path.relpath(place, Path(site_path(source)).parent)).as_posix()


def two_pictures(match: re.Match[str]) -> str:
    """A picture for the light and one for the dark colours of the site, which readers can choose.

    On GitHub, `<picture>` follows the colours of the system.
    """
    dark = dict(ATTRIBUTE.findall(match[1]))["srcset"]
    image = dict(ATTRIBUTE.findall(match[2]))
    light = image["src"]
    return f"![{image['alt']}]({light}#only-light)\n![{image['alt']}]({dark}#only-dark)"


def indent_numbered_lists(text: str) -> str:
    """The generator wants four spaces inside a numbered list where GitHub is content with three."""
    lines = []
    in_list = False
    for line in text.splitlines(keepends=True):
        if NUMBERED.match(line):
            in_list = True
        elif line.strip() and not line.startswith(INSIDE_NUMBERED):
            in_list = False
        elif line.strip() and in_list:
            line = " " + line
        lines.append(line)
    return "".join(lines)


def collect(place: Path) -> None:
    """Put the pages and the configuration into a folder, as the generator wants them."""
    pages = place / PAGES
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    Stage(pages).fill()
    shutil.copy(CONFIGURATION, place)


def generate(place: Path) -> Path:
    """Make the site from what was collected there. It is in the folder `site`."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    subprocess.run([*command, "--config-file", place / CONFIGURATION.name], check=True)
    site = place / "site"
    use_frame_worker(site)
    return site


def use_frame_worker(site: Path) -> None:
    """Let the pages load our own script for search on `file:` pages, and none of another host."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        local = Path(os.path.relpath(site / FRAME_WORKER, page.parent)).as_posix()
        page.write_text(text.replace(FOREIGN_WORKER, local), encoding="utf-8", newline="\n")


def main() -> None:
    """Build it into the folder that is given."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--to", type=Path, default=BUILD, help="the folder for it, default build")
    place = parser.parse_args().to.resolve()
    collect(place)
    try:
        site = generate(place)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    print(f"the site is in {site}; open {site / 'index.html'}")


if __name__ == "__main__":
    main()
