"""A piece of the graph as a drawing: Mermaid, Graphviz, or SVG with arcs beside a column of names."""

from __future__ import annotations

from memolith.engine.graph import Neighbourhood

# The head, an item, a link, the end, and what begins the code of a character that is neither letter nor digit.
FORMATS = {
    "mermaid": ("graph LR", '  n{n}["{name}"]', "  n{a} -->|{type}| n{b}", "", "#"),
    "dot": ("digraph memory {{", '  n{n} [label="{name}"];', '  n{a} -> n{b} [label="{type}"];', "}}", "&#"),
    "svg": ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{r} -20 {w} {h}" font-family="sans-serif">',
            '<text x="8" y="{n}4">{name}</text>', '<path d="M0 {a}0A1 1 0 0 {turn} 0 {b}0" fill="none" stroke="#888">'
            "<title>{type}</title></path>", "</svg>", "&#")}


def draw(around: Neighbourhood, format: str) -> str:
    """The items and links as text in one of the formats."""
    head, node, edge, end, mark = FORMATS[format]
    step = 2 if format == "svg" else 1
    numbers = {item.id: n * step for n, item in enumerate(around.items)}
    names = {item.id: "".join(c if c.isalnum() or c == " " else f"{mark}{ord(c)};" for c in item.title or item.id)
             for item in around.items}
    lines = [head.format(r=10 * len(names) + 10, w=10 * len(names) + 700, h=20 * len(names) + 40)]
    lines += [node.format(n=numbers[id], name=name) for id, name in names.items()]
    ends = [(numbers[link.source], numbers[link.target], link.type) for link in around.links]
    lines += [edge.format(a=a, b=b, type=type, turn=int(a > b)) for a, b, type in ends]
    return "\n".join([*lines, end.format()]).rstrip() + "\n"
