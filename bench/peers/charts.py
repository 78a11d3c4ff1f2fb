"""Bar charts as SVG, readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH = 720
LABEL_WIDTH = 190
VALUE_WIDTH = 90
ROW_HEIGHT = 26
BAR_HEIGHT = 16
TOP = 44
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}"
    ".title{font-weight:600;font-size:15px}"
    ".bar{fill:#8c959f}.own{fill:#0969da}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#58a6ff}}"
)


class Bar(NamedTuple):
    """A line of a chart."""

    label: str
    value: float
    shown: str
    own: bool


def bar_chart(title: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars from zero, in the given order."""
    most = max((bar.value for bar in bars), default=0.0) or 1.0
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    height = TOP + ROW_HEIGHT * len(bars) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="8" y="24">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        top = TOP + number * ROW_HEIGHT
        length = max(1.0, bar.value / most * room)
        middle = top + BAR_HEIGHT - 3
        lines += [
            f'<text x="{LABEL_WIDTH - 8}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect class="{"own" if bar.own else "bar"}" x="{LABEL_WIDTH}" y="{top}" '
            f'width="{length:.1f}" height="{BAR_HEIGHT}" rx="2"/>',
            f'<text x="{LABEL_WIDTH + length + 6:.1f}" y="{middle}">{escape(bar.shown)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
