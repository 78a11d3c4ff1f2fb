"""The command `demo`: a sample store to look around in, apart from your own memories."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.output import note
from memolith.doors.cli.server import serve
from memolith.errors import InvalidInput
from memolith.paths import default_data_folder

ME = Caller()
PROJECT = "github.com/acme/tea-shop"
MARK = "memolith-demo"
"""The attribute of every sample, by which a sample store is known again."""

MEMORIES = (
    ("Maria prefers tea to coffee and never has meetings before ten.", ("people", "preference")),
    ("Jo prefers coffee, black.", ("people", "preference")),
    ("We chose PostgreSQL over MySQL because of row-level security.", ("decision", "database")),
    ("The shop opens on the first of March 2027.", ("date", "launch")),
    ("Invoices are sent on Mondays; Priya checks them first.", ("process", "people")),
    ("Deployments on Fridays need the approval of two people.", ("decision", "process")),
    ("The staging server has 16 GB of memory and runs Debian.", ("fact", "server")),
    ("Customers in Japan asked for matcha in small tins.", ("customers", "product")),
    ("The search is slow because the product pictures are not cached.", ("bug", "performance")),
    ("Tests of the payment service need the variable PAYMENT_SANDBOX.", ("howto", "testing")),
)
CONCEPTS = (
    ("Green tea", "Tea from leaves that are not oxidised; brewed at 70 to 80 degrees."),
    ("Matcha", "Green tea ground to a powder, whisked in hot water."),
    ("Sencha", "The most common green tea of Japan, steamed and rolled."),
)
LINKS = (("Green tea", "Matcha", "includes"), ("Green tea", "Sencha", "includes"))
CONVERSATION = (
    Block("Which tea do we offer first?", "Jo", "2026-11-02T09:00:00Z"),
    Block("Sencha and matcha; both sell well in the survey.", "Maria", "2026-11-02T09:01:00Z"),
    Block("Then I order tins for the matcha this week.", "Jo", "2026-11-02T09:02:00Z"),
)


def demo(app: App, options: Options) -> object:
    folder = Path(options.data or f"{default_data_folder()}-demo").expanduser()
    settings = app.settings.model_copy(update={"data": folder, "database": ""})
    if options.port is None:
        # A free one: your own server may run already.
        settings = settings.model_copy(update={"port": 0})
    with closing(App(settings)) as sample:
        added = fill(sample)
        if not options.no_serve:
            note(f"A sample store is in {folder}; remove the folder when you have seen enough.")
            serve(sample, Options(json=options.json, read_only=False, conformance=False))
            return None
        total = sample.engine.reading.list_items(ME, limit=1).total
    return {
        "data": str(folder),
        "items": total,
        "added": added,
        "next": f"memolith serve --data {folder}",
    }


def fill(app: App) -> int:
    """Remember the samples, unless they are there; returns how many items were added."""
    present = app.engine.reading.list_items(ME, limit=1)
    if present.total:
        if not any(item.attributes.get(MARK) for item in present.items):
            raise InvalidInput(
                f"{app.settings.data} holds memories already; choose an empty folder with --data.",
                field="data",
            )
        return 0
    drafts = [
        Draft(blocks=(Block(text),), tags=tags, project=PROJECT, attributes={MARK: True})
        for text, tags in MEMORIES
    ]
    drafts += [
        Draft("concept", title, (Block(text),), attributes={MARK: True}) for title, text in CONCEPTS
    ]
    drafts.append(Draft("conversation", "Which tea first", CONVERSATION, attributes={MARK: True}))
    ids = {}
    for draft in drafts:
        item = app.engine.writing.remember(ME, draft).item
        ids[item.title] = item.id
    for source, target, type in LINKS:
        app.engine.writing.link(ME, ids[source], ids[target], type)
    app.embeddings.embed_waiting(ME.tenant)
    return len(drafts)


def add_demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-serve", action="store_true", help="fill the store and start no server"
    )
    parser.add_argument("--host", help="the address to bind to (127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port; by default a free one")


COMMANDS = (Command("demo", demo, add_demo_options),)
