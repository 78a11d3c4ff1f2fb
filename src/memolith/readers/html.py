"""Web pages, read with the parser of the standard library."""

import re
from html.parser import HTMLParser

from memolith.readers.content import TEXT_LEVEL, Content, Line, cut_sections

HEADING_LEVELS = {"title": 1, "h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
LINE_BREAKS = {
    *HEADING_LEVELS,
    "article",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
}
HIDDEN = {"noscript", "script", "style", "template"}
CELLS = {"td", "th"}
FIGURES = {"img", "svg"}
_START_OF_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)


def read_html(text: str) -> Content | None:
    """The text under its headings, rows of a table with their cells apart; None if no page."""
    if not _START_OF_PAGE.match(text):
        return None
    page = PageParser()
    page.feed(text)
    page.close()
    return Content(cut_sections(page.lines), page.tables, page.figures)


class PageParser(HTMLParser):
    """Collects the visible lines of a page with their heading levels."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []
        self.tables = 0
        self.figures = 0
        self._level = TEXT_LEVEL
        self._parts: list[str] = []
        self._line_has_text = False
        self._hidden_depth = 0
        self._svg_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self._hidden_depth += 1
        if self._hidden_depth:
            return
        if tag == "table":
            self.tables += 1
        if tag in FIGURES:
            self.figures += 1
        if tag == "svg":
            self._svg_depth += 1
        if tag in LINE_BREAKS:
            self._end_line()
            # The title of a drawing is not a heading of the page.
            if not self._svg_depth:
                self._level = HEADING_LEVELS.get(tag, TEXT_LEVEL)
        if tag in CELLS and self._line_has_text:
            self._parts.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        elif tag == "svg":
            self._svg_depth = max(0, self._svg_depth - 1)
        elif tag in LINE_BREAKS and not self._hidden_depth:
            self._end_line()

    def handle_data(self, data: str) -> None:
        if not self._hidden_depth:
            self._parts.append(data)
            if not data.isspace():
                self._line_has_text = True

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Take `<![` for the start of a comment, as browsers do; the base class would raise."""
        return self.parse_bogus_comment(i)

    def close(self) -> None:
        super().close()
        self._end_line()

    def _end_line(self) -> None:
        text = " ".join("".join(self._parts).split())
        if text:
            self.lines.append(Line(self._level, text))
        self._level = TEXT_LEVEL
        self._parts = []
        self._line_has_text = False
