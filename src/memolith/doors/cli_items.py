"""Commands about what is remembered."""

from __future__ import annotations

import sys
from dataclasses import replace

from memolith.app import App
from memolith.doors.commands import YES, Commands, Options, cell, confirm, into, note, option
from memolith.engine.context import cite
from memolith.engine.events import block_data
from memolith.engine.graph import FORMATS, draw
from memolith.engine.intake import json_object, when
from memolith.engine.model import KINDS, Audience, Block, Caller, Draft, Filter, Item, Json, Patch, Written
from memolith.engine.recall import MODES, Query
from memolith.errors import InvalidInput

ME = Caller()
COMMANDS: Commands = {}
ID = option("id")
TEXT = option("text", help="the text, or `-` for standard input")
OFFSET = option("--offset", type=int, default=0)
EXPECTED = option("--expected-version", type=int)
FILTERS = (
    option("--kind", action="append", default=[], dest="kinds", metavar="KIND"),
    option("--tag", action="append", default=[], dest="tags", metavar="TAG", help="all of these"),
    option("--project", action="append", default=[], dest="projects", metavar="PROJECT"),
    option("--since", metavar="TIME"),
    option("--until", metavar="TIME"),
    option("--limit", type=int, default=10))


def filter_of(options: Options) -> Filter:
    """The filter that the options name."""
    return Filter(kinds=tuple(options.kinds), tags_all=tuple(options.tags), projects=tuple(options.projects),
                  since=when("since", options.since) if options.since else None,
                  until=when("until", options.until) if options.until else None)


def text_of(text: str) -> str:
    """The text itself, or standard input for `-`."""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace") if text == "-" else text


@into(COMMANDS, TEXT, option("--title", default=""),
      option("--tag", action="append", default=[], dest="tags", metavar="TAG"),
      option("--kind", default="memory", help=", ".join(KINDS)), option("--project"), option("--namespace"),
      option("--metadata", help="a JSON object"),
      option("--audience", default="user", choices=[audience.value for audience in Audience]),
      option("--key", help="an idempotency key: a repeated call returns the first result"))
def remember(app: App, options: Options) -> object:
    """Keep a text."""
    metadata = json_object(options.metadata, "The metadata", "metadata") if options.metadata else {}
    draft = Draft(kind=options.kind, title=options.title, blocks=(Block(text_of(options.text)),),
                  tags=tuple(options.tags), attributes=metadata, audience=Audience(options.audience),
                  project=options.project, namespace=options.namespace)
    return _written(app.engine.remember(ME, draft, options.key), options)


def _written(written: Written, options: Options) -> object:
    """The item without its text, for people its id alone, and what came of the write."""
    done = {"version": written.item.version, "event": written.seq, "redactions": dict(written.redactions),
            "similar": [same.id for same in written.similar]}
    return (item_fields(written.item) if options.json else {"id": written.item.id}) | done


@into(COMMANDS, option("query"), option("--mode", default="hybrid", choices=MODES), OFFSET,
      option("--threshold", type=float, default=0.0, help="the least similarity, 0 to 1"),
      option("--as-of", metavar="TIME", help="search in what was known at that time"), *FILTERS)
def recall(app: App, options: Options) -> object:
    """Find what was remembered, by words and by meaning."""
    found = app.engine.recall(ME, Query(options.query, filter_of(options), options.mode, options.limit, options.offset,
                                        options.threshold, as_of=options.as_of))
    hits = [{"score": hit.score, "strength": hit.strength, "id": hit.item.id, "kind": hit.item.kind,
             "title": hit.item.title, "cite": cite(hit), "speaker": hit.passage.speaker, "text": hit.passage.text,
             "reasons": dict(hit.reasons), **({"at": hit.passage.at} if options.json else {})} for hit in found.hits]
    if options.json:
        return {"hits": hits, "total": found.total, "warnings": list(found.warnings)}
    for warning in found.warnings:
        note(f"note: {warning}")
    return hits or "Nothing found."


@into(COMMANDS, option("query"), option("--budget", type=int, default=1000, metavar="TOKENS"), *FILTERS)
def context(app: App, options: Options) -> object:
    """The best passages within a budget of tokens, with their sources."""
    made = app.engine.context(ME, options.query, options.budget, filter_of(options))
    return {"text": made.text, "tokens": made.tokens, "warnings": list(made.warnings),
            "citations": [citation._asdict() for citation in made.citations]}


@into(COMMANDS, TEXT, option("--threshold", type=float, default=0.9))
def similar(app: App, options: Options) -> object:
    """Find items that say nearly the same as a text."""
    return [{"similarity": round(same.similarity, 3), "id": same.id, "exact": same.exact, "title": same.title}
            for same in app.engine.similar(ME, text_of(options.text), options.threshold)]


@into(COMMANDS, OFFSET, option("--forgotten", action="store_true", help="list what was forgotten"), *FILTERS)
def list_(app: App, options: Options) -> object:
    """List what was remembered, newest first."""
    chosen = replace(filter_of(options), forgotten=options.forgotten)
    page = app.engine.listing(ME, chosen, limit=options.limit, offset=options.offset)
    if options.json:
        return {"items": [item_fields(item) for item in page.items], "total": page.total}
    note(f"{len(page.items)} of {page.total}")
    return [{"id": item.id, "kind": item.kind, "created": item.created_at[:16], "tags": list(item.tags),
             "title": item.title or " ".join(block.text[:80] for block in blocks[:1])}
            for item, blocks in (app.engine.read(ME, item.id, forgotten=True) for item in page.items)]


@into(COMMANDS, ID, option("--as-of", metavar="TIME", help="as it was at that time"))
def show(app: App, options: Options) -> object:
    """Show an item."""
    if options.as_of:
        item, blocks = app.engine.past.as_of(ME, options.id, options.as_of)
    else:
        item, blocks = app.engine.read(ME, options.id, forgotten=True)
        app.engine.note_read(ME, item.id)
    return item_fields(item) | {"blocks": [block_data(block) for block in blocks]}


@into(COMMANDS, ID, option("--as-of", metavar="TIME", help="up to that time"))
def history(app: App, options: Options) -> object:
    """What happened to an item."""
    steps = app.engine.past.history(ME, options.id, options.as_of)
    if options.json:
        return [{"event": event.seq, "version": event.version, "type": event.type, "at": event.at, "by": event.actor,
                 "stream": event.stream, "undoes": event.data.get("undoes"),
                 "changes": [change._asdict() for change in changes]} for event, changes in steps]
    return [{"event": event.seq, "at": event.at[:19], "type": event.type, "by": event.actor, "text": "\n".join(
        f"{field}: {cell(old)} -> {cell(new)}" for field, old, new in changes)} for event, changes in steps]


@into(COMMANDS, option("id", metavar="CONCEPT", help="its id, or the exact name of a concept"),
      option("--format", default="mermaid", choices=FORMATS),
      option("--depth", type=int, default=1, help="how many links to follow"))
def graph(app: App, options: Options) -> object:
    """Draw what is linked to a concept or any other item."""
    with app.store.reading(ME.tenant) as rows:
        named = rows.namesakes(ME.tenant, "concept", options.id)
    picture = draw(app.engine.explore(ME, named[0].id if named else options.id, options.depth), options.format)
    return {"format": options.format, "content": picture} if options.json else picture.rstrip()


@into(COMMANDS, ID, option("--text", help="the new text, or `-` for standard input"), option("--title"),
      option("--tag", action="append", dest="tags", metavar="TAG", help="the new tags"), EXPECTED)
def revise(app: App, options: Options) -> object:
    """Change an item."""
    patch = Patch(title=options.title, blocks=None if options.text is None else (Block(text_of(options.text)),),
                  tags=None if options.tags is None else tuple(options.tags))
    if patch == Patch():
        raise InvalidInput("Say what to change: --text, --title or --tag.", field="text")
    return _written(app.engine.revise(ME, options.id, patch, options.expected_version), options)


@into(COMMANDS, ID, EXPECTED)
def forget(app: App, options: Options) -> object:
    """Forget an item; it can be restored."""
    return _written(app.engine.forget(ME, options.id, options.expected_version), options)


@into(COMMANDS, ID)
def restore(app: App, options: Options) -> object:
    """Bring a forgotten item back."""
    return _written(app.engine.restore(ME, options.id), options)


@into(COMMANDS, ID, YES)
def erase(app: App, options: Options) -> object:
    """Remove every byte of an item for good."""
    item = app.engine.read(ME, options.id, forgotten=True)[0]
    confirm(options, f"Erase {item.kind} {item.id} {item.title!r} for good?")
    clean = app.engine.erase(ME, options.id)
    if not clean:
        note("Others still read old pages, or only the owner can clear them: `memolith upkeep`.")
    return {"erased": options.id, "clean": clean}


@into(COMMANDS, option("id", metavar="ID|EVENT"))
def undo(app: App, options: Options) -> object:
    """Take back the last change of an item, or one event by its number."""
    seq = int(options.id) if options.id.isascii() and options.id.isdigit() else app.engine.past.last(ME, options.id).seq
    event = app.engine.past.undo(ME, seq)
    return {"undone": seq, "event": event.seq, "type": event.type, "id": event.stream}


def item_fields(item: Item) -> dict[str, Json]:
    """An item without its text."""
    scope = item.scope
    return {"id": item.id, "kind": item.kind, "title": item.title, "status": item.status, "tags": list(item.tags),
            "metadata": dict(item.attributes), "owner": scope.owner, "audience": scope.audience.value,
            "project": scope.project, "namespace": scope.namespace, "version": item.version,
            "created_at": item.created_at, "updated_at": item.updated_at, "forgotten": item.forgotten}
