"""Commands about what is remembered."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from memolith.app import App
from memolith.doors.plain import block_fields, hit_fields, item_fields, step_fields
from memolith.doors.show import as_json, confirmed, note, out, paragraph, table
from memolith.engine.context import cite
from memolith.engine.intake import when
from memolith.engine.model import KINDS, Audience, Block, Caller, Draft, Filter, Patch, Written
from memolith.engine.past import Step
from memolith.engine.recall import MODES, Query
from memolith.errors import InvalidInput

Options = argparse.Namespace
Add = Callable[[str, Callable[[App, Options], int], str], argparse.ArgumentParser]
ME = Caller()


def add_commands(add: Add) -> None:
    """Put the commands of this file on the parser."""
    command = add("remember", remember, "Keep a text.")
    command.add_argument("text", help="the text, or `-` for standard input")
    command.add_argument("--title", default="")
    command.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG")
    command.add_argument("--kind", default="memory", help=", ".join(KINDS))
    command.add_argument("--project")
    command.add_argument("--namespace")
    command.add_argument("--metadata", help="a JSON object")
    command.add_argument("--audience", default="user", choices=[audience.value for audience in Audience])
    command.add_argument("--key", help="an idempotency key: a repeated call returns the first result")
    command = add("recall", recall, "Find what was remembered, by words and by meaning.")
    command.add_argument("query")
    command.add_argument("--mode", default="hybrid", choices=MODES)
    command.add_argument("--offset", type=int, default=0)
    command.add_argument("--threshold", type=float, default=0.0, help="the least similarity, 0 to 1")
    command.add_argument("--as-of", metavar="TIME", help="search in what was known at that time")
    _filters(command)
    command = add("context", context, "The best passages within a budget of tokens, with their sources.")
    command.add_argument("query")
    command.add_argument("--budget", type=int, default=1000, metavar="TOKENS")
    _filters(command)
    command = add("similar", find_similar, "Find items that say nearly the same as a text.")
    command.add_argument("text", help="the text, or `-` for standard input")
    command.add_argument("--threshold", type=float, default=0.9)
    command = add("list", listing, "List what was remembered, newest first.")
    command.add_argument("--offset", type=int, default=0)
    command.add_argument("--forgotten", action="store_true", help="list what was forgotten")
    _filters(command)
    _single(add)


def _single(add: Add) -> None:
    command = add("show", show, "Show an item.")
    command.add_argument("id")
    command.add_argument("--as-of", metavar="TIME", help="as it was at that time")
    command = add("history", history, "What happened to an item.")
    command.add_argument("id")
    command.add_argument("--as-of", metavar="TIME", help="up to that time")
    command = add("revise", revise, "Change an item.")
    command.add_argument("id")
    command.add_argument("--text", help="the new text, or `-` for standard input")
    command.add_argument("--title")
    command.add_argument("--tag", action="append", dest="tags", metavar="TAG", help="the new tags")
    command.add_argument("--expected-version", type=int)
    command = add("forget", forget, "Forget an item; it can be restored.")
    command.add_argument("id")
    command.add_argument("--expected-version", type=int)
    add("restore", restore, "Bring a forgotten item back.").add_argument("id")
    command = add("erase", erase, "Remove every byte of an item for good.")
    command.add_argument("id")
    command.add_argument("--yes", action="store_true", help="do not ask")
    command = add("undo", undo, "Take back the last change of an item, or one event by its number.")
    command.add_argument("id", metavar="ID|EVENT")


def _filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--kind", action="append", default=[], dest="kinds", metavar="KIND")
    command.add_argument("--tag", action="append", default=[], dest="tags", metavar="TAG", help="all of these")
    command.add_argument("--project", action="append", default=[], dest="projects", metavar="PROJECT")
    command.add_argument("--since", metavar="TIME")
    command.add_argument("--until", metavar="TIME")
    command.add_argument("--limit", type=int, default=10)


def filter_of(options: Options) -> Filter:
    """The filter that the options name."""
    return Filter(kinds=tuple(options.kinds), tags_all=tuple(options.tags), projects=tuple(options.projects),
                  since=when("since", options.since) if options.since else None,
                  until=when("until", options.until) if options.until else None)


def text_of(text: str) -> str:
    """The text itself, or standard input for `-`."""
    return sys.stdin.buffer.read().decode("utf-8", errors="replace") if text == "-" else text


def remember(app: App, options: Options) -> int:
    """Keep a text."""
    try:
        metadata = json.loads(options.metadata) if options.metadata else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The metadata is not JSON.", field="metadata") from error
    if not isinstance(metadata, dict):
        raise InvalidInput("The metadata must be a JSON object.", field="metadata")
    draft = Draft(kind=options.kind, title=options.title, blocks=(Block(text_of(options.text)),),
                  tags=tuple(options.tags), attributes=metadata, audience=Audience(options.audience),
                  project=options.project, namespace=options.namespace)
    return _written(app.engine.remember(ME, draft, options.key), options, "Remembered")


def _written(written: Written, options: Options, verb: str) -> int:
    if options.json:
        as_json(item_fields(written.item) | {"event": written.seq, "redactions": dict(written.redactions),
                                             "similar": [same.id for same in written.similar]})
        return 0
    out(f"{verb} {written.item.id} (event {written.seq}, version {written.item.version})")
    for kind, count in written.redactions.items():
        out(f"  redacted: {count} x {kind}")
    for same in written.similar:
        out(f"  {'the same' if same.exact else 'nearly the same'} text is in {same.id}")
    return 0


def recall(app: App, options: Options) -> int:
    """Find what was remembered."""
    found = app.recall.recall(ME, Query(options.query, filter_of(options), options.mode, options.limit, options.offset,
                                        options.threshold, as_of=options.as_of))
    if options.json:
        as_json({"hits": [hit_fields(hit) for hit in found.hits], "total": found.total,
                 "warnings": list(found.warnings)})
        return 0
    for warning in found.warnings:
        note(f"note: {warning}")
    if not found.hits:
        out("Nothing found.")
    for hit in found.hits:
        place = ", ".join(part for part in (hit.item.kind, hit.item.title, cite(hit)) if part)
        out(f"{hit.score:.2f} {hit.strength:6}  {hit.item.id}  {place}")
        speaker = f"{hit.passage.speaker}: " if hit.passage.speaker else ""
        paragraph(speaker + hit.passage.text.strip(), "    ")
    return 0


def context(app: App, options: Options) -> int:
    """The best passages within a budget."""
    made = app.engine.context(ME, options.query, options.budget, filter_of(options))
    if options.json:
        as_json({"text": made.text, "tokens": made.tokens, "warnings": list(made.warnings),
                 "citations": [{"number": c.number, "id": c.id, "title": c.title, "locator": c.locator,
                                "score": c.score} for c in made.citations]})
    else:
        out(made.text or "Nothing fits.")
        note(f"{made.tokens} tokens from {len(made.citations)} passages")
    return 0


def find_similar(app: App, options: Options) -> int:
    """Items that say nearly the same."""
    found = app.engine.similar(ME, text_of(options.text), options.threshold)
    if options.json:
        as_json([{"id": same.id, "title": same.title, "similarity": same.similarity, "exact": same.exact}
                 for same in found])
    elif found:
        table(("similarity", "id", "title"), [(f"{same.similarity:.3f}", same.id, same.title) for same in found])
    else:
        out("Nothing similar.")
    return 0


def listing(app: App, options: Options) -> int:
    """List what was remembered."""
    chosen = filter_of(options)
    page = app.engine.listing(ME, Filter(kinds=chosen.kinds, tags_all=chosen.tags_all, projects=chosen.projects,
                                         since=chosen.since, until=chosen.until, forgotten=options.forgotten),
                              limit=options.limit, offset=options.offset)
    if options.json:
        as_json({"items": [item_fields(item) for item in page.items], "total": page.total})
        return 0
    rows = [(item.id, item.kind, item.created_at[:16], ", ".join(item.tags), item.title or first_words(app, item.id))
            for item in page.items]
    table(("id", "kind", "created", "tags", "title"), rows)
    note(f"{len(page.items)} of {page.total}")
    return 0


def first_words(app: App, id: str) -> str:
    """The beginning of a text, where there is no title."""
    _, blocks = app.engine.read(ME, id, forgotten=True)
    return blocks[0].text[:80] if blocks else ""


def show(app: App, options: Options) -> int:
    """Show an item."""
    if options.as_of:
        state = app.past.as_of(ME, options.id, options.as_of)
        item, blocks = state.item, list(state.blocks)
    else:
        item, blocks = app.engine.read(ME, options.id, forgotten=True)
        app.engine.note_read(ME, item.id)
    fields = item_fields(item)
    if options.json:
        as_json(fields | {"blocks": [block_fields(block) for block in blocks]})
        return 0
    for name, value in fields.items():
        if value not in (None, [], {}, ""):
            out(f"{name:12} {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for block in blocks:
        out()
        paragraph((f"{block.speaker}: " if block.speaker else "") + block.text)
    return 0


def history(app: App, options: Options) -> int:
    """What happened to an item."""
    steps = app.past.history(ME, options.id, options.as_of)
    if options.json:
        as_json([step_fields(step) for step in steps])
        return 0
    rows = [(str(step.event.seq), step.event.at[:19], step.event.type, step.event.actor, _told(step))
            for step in steps]
    table(("event", "at", "what", "by", "changes"), rows)
    return 0


def _told(step: Step) -> str:
    """What an event changed, in one line; of a new item only what its writer gave."""
    told = [change for change in step.changes
            if step.event.version > 1 or (change.new and change.field in ("text", "title", "tags", "messages"))]
    return "; ".join(f"{change.field}: {json.dumps(change.old, ensure_ascii=False)} -> "
                     f"{json.dumps(change.new, ensure_ascii=False)}" for change in told)


def revise(app: App, options: Options) -> int:
    """Change an item."""
    patch = Patch(title=options.title, blocks=None if options.text is None else (Block(text_of(options.text)),),
                  tags=None if options.tags is None else tuple(options.tags))
    if patch == Patch():
        raise InvalidInput("Say what to change: --text, --title or --tag.", field="text")
    return _written(app.engine.revise(ME, options.id, patch, options.expected_version), options, "Revised")


def forget(app: App, options: Options) -> int:
    """Forget an item."""
    return _written(app.engine.forget(ME, options.id, options.expected_version), options, "Forgot")


def restore(app: App, options: Options) -> int:
    """Bring a forgotten item back."""
    return _written(app.engine.restore(ME, options.id), options, "Restored")


def erase(app: App, options: Options) -> int:
    """Remove every byte of an item."""
    item = app.engine.get(ME, options.id, forgotten=True)
    if not confirmed(options, f"Erase {item.kind} {item.id} {item.title!r} for good?"):
        note("Nothing was erased.")
        return 1
    clean = app.engine.erase(ME, options.id)
    if options.json:
        as_json({"erased": options.id, "clean": clean})
    else:
        out(f"Erased {options.id}." if clean else
            f"Erased {options.id}, but another program still reads old pages; run `memolith upkeep` when it is done.")
    return 0


def undo(app: App, options: Options) -> int:
    """Take back a change."""
    seq = int(options.id) if options.id.isascii() and options.id.isdigit() else app.past.last(ME, options.id).seq
    event = app.past.undo(ME, seq)
    if options.json:
        as_json({"undone": seq, "event": event.seq, "type": event.type, "id": event.stream})
    else:
        out(f"Undid event {seq} by event {event.seq} ({event.type}) on {event.stream}")
    return 0
