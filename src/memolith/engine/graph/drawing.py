"""Drawings of a neighbourhood: Mermaid, Graphviz, plain text and SVG."""

import json
from collections.abc import Callable

from memolith.engine.graph.walking import Neighbourhood

SVG_ROW_HEIGHT = 20
SVG_TEXT_X = 8
SVG_TEXT_DROP = 4
SVG_TEXT_WIDTH = 700


def draw(around: Neighbourhood, format: str) -> str:
    """The neighbourhood in one of the formats."""
    return FORMATS[format](around)


def mermaid(around: Neighbourhood) -> str:
    number_of = _numbers(around)
    lines = ["graph LR"]
    for item in around.items:
        name = _coded(item.title or item.id, "#{};")
        lines.append(f'  n{number_of[item.id]}["{name}"]')
    for link in around.links:
        source = number_of[link.source]
        target = number_of[link.target]
        lines.append(f"  n{source} -->|{link.type}| n{target}")
    return _text(lines)


def dot(around: Neighbourhood) -> str:
    number_of = _numbers(around)
    lines = ["digraph memory {"]
    for item in around.items:
        name = _coded(item.title or item.id, "&#{};")
        # Graphviz reads escapes also in character codes, so a backslash stands twice.
        name = name.replace("&#92;", "&#92;&#92;")
        lines.append(f'  n{number_of[item.id]} [label="{name}"];')
    for link in around.links:
        source = number_of[link.source]
        target = number_of[link.target]
        lines.append(f'  n{source} -> n{target} [label="{link.type}"];')
    lines.append("}")
    return _text(lines)


def ascii(around: Neighbourhood) -> str:
    # Names stand in quotes, so that no name can look like a link.
    name_of = {item.id: json.dumps(item.title, ensure_ascii=False) for item in around.items}
    lines = list(name_of.values())
    for link in around.links:
        lines.append(f"{name_of[link.source]} --{link.type}--> {name_of[link.target]}")
    return _text(lines)


def svg(around: Neighbourhood) -> str:
    """The items below each other, and each link as an arc to their left."""
    number_of = _numbers(around)
    count = len(around.items)
    # The largest arc spans all rows; its radius is half of that.
    left = SVG_ROW_HEIGHT * count // 2 + SVG_ROW_HEIGHT // 2
    width = SVG_ROW_HEIGHT * count // 2 + SVG_TEXT_WIDTH
    height = SVG_ROW_HEIGHT * count + 2 * SVG_ROW_HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{left} -20 {width} {height}" '
        'font-family="sans-serif">'
    ]
    for item in around.items:
        name = _coded(item.title or item.id, "&#{};")
        y = SVG_ROW_HEIGHT * number_of[item.id] + SVG_TEXT_DROP
        lines.append(f'<text x="{SVG_TEXT_X}" y="{y}">{name}</text>')
    for link in around.links:
        start = SVG_ROW_HEIGHT * number_of[link.source]
        end = SVG_ROW_HEIGHT * number_of[link.target]
        sweep = 1 if start > end else 0
        lines.append(
            f'<path d="M0 {start}A1 1 0 0 {sweep} 0 {end}" fill="none" stroke="#888">'
            f"<title>{link.type}</title></path>"
        )
    lines.append("</svg>")
    return _text(lines)


FORMATS: dict[str, Callable[[Neighbourhood], str]] = {
    "mermaid": mermaid,
    "dot": dot,
    "ascii": ascii,
    "svg": svg,
}


def _numbers(around: Neighbourhood) -> dict[str, int]:
    return {item.id: number for number, item in enumerate(around.items)}


def _coded(name: str, code_format: str) -> str:
    """The name with every character that is no letter, digit or blank as a character code."""
    characters = []
    for character in name:
        if character.isalnum() or character == " ":
            characters.append(character)
        else:
            characters.append(code_format.format(ord(character)))
    return "".join(characters)


def _text(lines: list[str]) -> str:
    return "\n".join(lines).strip() + "\n"
