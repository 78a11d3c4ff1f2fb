"""Commands about what is remembered, apart from those that are tools."""

import argparse
from collections.abc import Sequence

from memolith.bootstrap import App
from memolith.domain.blocks import block_data
from memolith.domain.callers import Caller
from memolith.domain.items import KINDS, Item
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.doors.cli.command import (
    Command,
    Options,
    add_words,
    always,
)
from memolith.doors.cli.item_ids import whole_id
from memolith.doors.cli.output import note
from memolith.doors.cli.standard_input import text_or_input
from memolith.doors.cli.times import TIME_FORMS, time_ago
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
    parser.add_argument(
        "--threshold", type=float, default=0.9, help="how alike they must be, from 0 to 1 (0.9)"
    )


def list_items(app: App, options: Options) -> object:
    chosen = Filter(
        kinds=tuple(options.kinds),
        tags_all=tuple(options.tags),
        projects=tuple(options.projects),
        since=time_ago("since", options.since) if options.since else None,
        until=time_ago("until", options.until) if options.until else None,
        forgotten=options.forgotten,
    )
    reading = app.engine.reading
    page = reading.list_items(ME, chosen, limit=options.limit, offset=options.offset)
    ids = [item.id for item in page.items]
    items = reading.read_many(ME, ids, forgotten=True)
    end = options.offset + len(items)
    if items and end < page.total:
        note(f"There are more: --offset {end} shows the next ones, --limit more at once.")
    return {"items": [list_row(item, blocks) for item, blocks in items], "total": page.total}


def list_row(item: Item, blocks: Sequence[Block]) -> dict[str, object]:
    title = item.title
    if not title and blocks:
        title = blocks[0].text[:MAX_TITLE_CHARACTERS]
    return {
        "id": item.id,
        "kind": item.kind,
        "tags": list(item.tags),
        "project": item.project,
        "title": title,
        "created_at": item.created_at,
    }


def add_list_options(parser: argparse.ArgumentParser) -> None:
    add_words(
        parser, "kinds", f"only these kinds: {', '.join(KINDS)}", several=True, metavar="KIND"
    )
    add_words(parser, "tags", "only items with all of these tags", several=True, metavar="TAG")
    add_words(parser, "projects", "only items of these projects", several=True, metavar="PROJECT")
    parser.add_argument("--since", metavar="TIME", help=f"not before a time {TIME_FORMS}")
    parser.add_argument("--until", metavar="TIME", help=f"not after a time {TIME_FORMS}")
    parser.add_argument("--limit", type=int, default=10, help="how many items to list (10)")
    parser.add_argument("--offset", type=int, default=0, help="how many items to skip (0)")
    parser.add_argument("--forgotten", action="store_true", help="list forgotten items")


def show(app: App, options: Options) -> object:
    if options.as_of:
        as_of = time_ago("as_of", options.as_of)
        item, blocks = app.engine.history.as_of(ME, options.id, as_of)
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
    parser.add_argument("id", metavar="ITEM", help="the id of an item, or its beginning")
    parser.add_argument("--as-of", metavar="TIME", help=f"as it was at a time {TIME_FORMS}")


def graph(app: App, options: Options) -> object:
    concept = app.engine.concepts.named(ME, options.id)
    start = concept.id if concept else whole_id(app, options.id)
    picture = draw(app.engine.graph.explore(ME, start, Traversal(options.depth)), options.format)
    if options.json:
        return {"format": options.format, "content": picture}
    return picture.rstrip()


def add_graph_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="CONCEPT", help="an id or its beginning, or the exact name of a concept"
    )
    parser.add_argument(
        "--format", default="mermaid", choices=FORMATS, help="what to print (mermaid)"
    )
    parser.add_argument("--depth", type=int, default=1, help="how many links to follow")


COMMANDS = (
    Command("similar", similar, add_similar_options, reads_only=always, shows_items=True),
    Command("list", list_items, add_list_options, reads_only=always, shows_items=True),
    Command("show", show, add_show_options, reads_only=always, item_ids=("id",)),
    Command("graph", graph, add_graph_options, reads_only=always),
)
