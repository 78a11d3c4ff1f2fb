"""Commands about what is remembered, apart from those that are tools."""

import argparse
from collections.abc import Sequence

from memolith.bootstrap import App
from memolith.domain.blocks import block_data
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.standard_input import text_or_input
from memolith.engine.graph.drawing import FORMATS, draw
from memolith.engine.graph.walking import Traversal

ME = Caller()
MAX_TITLE_CHARACTERS = 80


def similar(app: App, options: Options) -> object:
    text = text_or_input(options.text)
    return [
        {
            "similarity": round(hit.similarity, 3),
            "id": hit.id,
            "exact": hit.exact,
            "title": hit.title,
        }
        for hit in app.engine.recall.similar(ME, text, options.threshold)
    ]


def add_similar_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the text, or `-` for standard input")
    parser.add_argument("--threshold", type=float, default=0.9)


def list_items(app: App, options: Options) -> object:
    chosen = Filter(
        kinds=tuple(options.kinds),
        tags_all=tuple(options.tags),
        projects=tuple(options.projects),
        since=options.since,
        until=options.until,
        forgotten=options.forgotten,
    )
    reading = app.engine.reading
    page = reading.list_items(ME, chosen, limit=options.limit, offset=options.offset)
    ids = [item.id for item in page.items]
    items = reading.read_many(ME, ids, forgotten=True)
    return {"items": [list_row(item, blocks) for item, blocks in items], "total": page.total}


def list_row(item: Item, blocks: Sequence[Block]) -> dict[str, object]:
    title = item.title
    if not title and blocks:
        title = blocks[0].text[:MAX_TITLE_CHARACTERS]
    return {
        "id": item.id,
        "kind": item.kind,
        "tags": list(item.tags),
        "title": title,
        "created_at": item.created_at,
    }


def add_list_options(parser: argparse.ArgumentParser) -> None:
    for name in ("--kinds", "--tags", "--projects"):
        parser.add_argument(name, nargs="+", action="extend", default=[])
    parser.add_argument("--since", metavar="TIME")
    parser.add_argument("--until", metavar="TIME")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--forgotten", action="store_true", help="list forgotten items")


def show(app: App, options: Options) -> object:
    if options.as_of:
        item, blocks = app.engine.history.as_of(ME, options.id, options.as_of)
    else:
        item, blocks = app.engine.reading.read(ME, options.id, forgotten=True)
        app.engine.reading.note_access(ME, item.id)
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "status": item.status,
        "tags": list(item.tags),
        "metadata": dict(item.attributes),
        "owner": item.owner,
        "audience": item.audience,
        "project": item.project,
        "namespace": item.namespace,
        "version": item.version,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "forgotten": item.forgotten,
        "blocks": [block_data(block) for block in blocks],
    }


def add_show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id")
    parser.add_argument("--as-of", metavar="TIME", help="as it was at that time")


def graph(app: App, options: Options) -> object:
    concept = app.engine.concepts.named(ME, options.id)
    start = concept.id if concept else options.id
    picture = draw(app.engine.graph.explore(ME, start, Traversal(options.depth)), options.format)
    if options.json:
        return {"format": options.format, "content": picture}
    return picture.rstrip()


def add_graph_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="CONCEPT", help="an id, or the exact name of a concept")
    parser.add_argument("--format", default="mermaid", choices=FORMATS)
    parser.add_argument("--depth", type=int, default=1, help="how many links to follow")


COMMANDS = (
    Command("similar", similar, add_similar_options),
    Command("list", list_items, add_list_options),
    Command("show", show, add_show_options),
    Command("graph", graph, add_graph_options),
)
