"""The command `compare`: what two items have in common, and what differs."""

import argparse
import difflib
import json

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.domain.items import Item
from memolith.doors.cli.command import Command, Options, always
from memolith.doors.cli.output import out, print_result
from memolith.doors.cli.style import GREEN, RED, styled, without_controls

ME = Caller()
COMPARED = (
    "kind",
    "title",
    "status",
    "project",
    "namespace",
    "owner",
    "created_at",
    "updated_at",
    "forgotten",
)


def compare(app: App, options: Options) -> object:
    first, first_blocks = app.engine.reading.read(ME, options.first, forgotten=True)
    second, second_blocks = app.engine.reading.read(ME, options.second, forgotten=True)
    first_text = "\n".join(block.text for block in first_blocks)
    second_text = "\n".join(block.text for block in second_blocks)
    diff = text_difference(first, first_text, second, second_text)
    report: dict[str, object] = {
        "first": first.id,
        "second": second.id,
        "same_text": first_text == second_text,
        "shared_words": round(shared_words(first_text, second_text), 3),
        "differences": field_differences(first, second),
    }
    if options.json:
        return {**report, "diff": "\n".join(diff)}
    print_result(options, report)
    for line in diff:
        out(styled(without_controls(line), LINE_STYLES.get(line[:1], "")))
    return None


LINE_STYLES = {"-": RED, "+": GREEN}


def text_difference(first: Item, first_text: str, second: Item, second_text: str) -> list[str]:
    return list(
        difflib.unified_diff(
            first_text.splitlines(), second_text.splitlines(), first.id, second.id, lineterm="", n=2
        )
    )


def shared_words(first: str, second: str) -> float:
    """Which share of the words both have, in the same order."""
    return difflib.SequenceMatcher(None, first.split(), second.split(), autojunk=False).ratio()


def field_differences(first: Item, second: Item) -> list[dict[str, object]]:
    before = fields_of(first)
    after = fields_of(second)
    rows: list[dict[str, object]] = []
    for name in before | after:
        if before.get(name) != after.get(name):
            rows.append({"field": name, "first": before.get(name), "second": after.get(name)})
    return rows


def fields_of(item: Item) -> dict[str, object]:
    """What tells an item from others, apart from its text."""
    fields: dict[str, object] = {name: getattr(item, name) for name in COMPARED}
    fields["tags"] = ", ".join(item.tags)
    fields["audience"] = item.audience.value
    for name, value in item.attributes.items():
        fields[f"metadata {name}"] = json.dumps(value, ensure_ascii=False)
    return fields


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="ITEM", help="the id of an item, or its beginning")
    parser.add_argument("second", metavar="ITEM", help="the id of another item, or its beginning")


COMMANDS = (
    Command(
        "compare", compare, add_compare_options, reads_only=always, item_ids=("first", "second")
    ),
)
