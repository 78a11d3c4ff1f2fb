"""Web pages as people write them, not as the standard says."""

import pytest

from memolith.readers.content import Piece
from memolith.readers.html import read_html


def pieces(body: str) -> list[Piece]:
    content = read_html(f"<!DOCTYPE html><html><body>{body}</body></html>")
    assert content is not None
    return content.blocks


def text(body: str) -> str:
    return "\n".join(piece.text for piece in pieces(body))


def test_a_text_that_does_not_start_as_a_page_is_none() -> None:
    assert read_html("Use <html> at the start.") is None


def test_attributes_are_no_text() -> None:
    assert text('<p data-x="1 > 0">See <a title="a > b">the link</a>.') == "See the link."


def test_paragraphs_and_entries_need_no_end_tag() -> None:
    assert text("<p>First<p>Second<ul><li>one<li>two</ul>") == "First\nSecond\none\ntwo"


def test_references_to_characters_are_read() -> None:
    assert text("<p>&copy; &#x4e2d;&#25991; a < b &amp; c") == "© 中文 a < b & c"


@pytest.mark.parametrize("tag", ["script", "style", "noscript", "template"])
def test_what_a_browser_does_not_show_is_left_out(tag: str) -> None:
    assert text(f"<p>before</p><{tag}><b>hidden</b></{tag}><p>after</p>") == "before\nafter"


def test_comments_and_marked_sections_are_left_out() -> None:
    assert text("<p>a <!-- <h1>no</h1> --> b <![CDATA[ no ]]> c <![ no > d") == "a b c d"


def test_cells_of_a_row_are_kept_apart() -> None:
    row = "<tr>\n  <th>Name</th>\n  <th>Value</th>\n</tr>"
    assert text(f"<table>{row}</table>") == "Name | Value"


def test_headings_give_the_place() -> None:
    found = pieces("<h1>Guide</h1><p>Hello.<h2>Install</h2><p>Run it.")
    assert found == [
        Piece("Guide", "Guide\nHello."),
        Piece("Guide > Install", "Guide > Install\nRun it."),
    ]


def test_the_title_of_a_drawing_is_not_a_heading() -> None:
    found = pieces("<h1>Guide</h1><svg><title>Icon</title></svg><p>Hello.")
    assert [piece.place for piece in found] == ["Guide"]


def test_pictures_and_tables_are_counted() -> None:
    content = read_html("<html><table></table><img src=a><svg></svg></html>")
    assert content is not None
    assert (content.tables, content.figures) == (1, 2)
