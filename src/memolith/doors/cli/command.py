"""What a command of `memolith` is, and the options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memolith.bootstrap import App

Options = argparse.Namespace
"""The parsed arguments of a command."""

AddOptions = Callable[[argparse.ArgumentParser], None]


def no_options(parser: argparse.ArgumentParser) -> None:
    """For commands that only have the options of every command."""


def always(options: Options) -> bool:
    """For commands that never write to the store."""
    return True


def never(options: Options) -> bool:
    """For commands that write to the store, or need none."""
    return False


class Command(NamedTuple):
    """What `memolith NAME` does; `commands.py` lists it with its help."""

    name: str
    run: Callable[[App, Options], object]
    """Takes the app, which opens the store at first use. Returns what is printed, or None."""
    add_options: AddOptions = no_options
    reads_only: Callable[[Options], bool] = never
    """Whether it only reads, so that a data folder without a store is a mistake."""
    item_ids: tuple[str, ...] = ()
    """The options that name items; the beginning of an id will do there."""
    shows_items: bool = False
    """Whether `id` in its tables is that of an item, which is shown in short."""


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="the data folder (or MEMOLITH_DATA)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_repo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repo",
        metavar="DIR",
        help="the git repository that captures belong to (or MEMOLITH_REPO)",
    )


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def add_tenant(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default="local", help="the tenant (local)")


def add_read_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--read-only", action="store_true", help="hide and refuse every writing tool"
    )


def list_flags(name: str) -> list[str]:
    """The flags of a list by the name of the list: `--tags a,b`, or `--tag a --tag b`."""
    flag = f"--{name.replace('_', '-')}"
    if flag.endswith("ies"):
        return [flag, flag.removesuffix("ies") + "y"]
    if flag.endswith("s"):
        return [flag, flag.removesuffix("s")]
    return [flag]


def split_words(texts: list[str]) -> list[str]:
    """The words of a list that was typed with commas, with a flag per word, or both."""
    words = []
    for text in texts:
        words += [word.strip() for word in text.split(",")]
    return words


class SplitWords(argparse.Action):
    """Adds the words of a list: `--tags a,b`, `--tags a b`, and `--tag a --tag b`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        texts = [str(value) for value in values] if isinstance(values, list) else [str(values)]
        present = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*present, *split_words(texts)])


def add_words(
    parser: argparse.ArgumentParser,
    name: str,
    help: str,
    *,
    several: bool = False,
    metavar: str | None = None,
) -> None:
    """Add the flags of a list; `several` lets one flag take several words."""
    parser.add_argument(
        *list_flags(name),
        dest=name,
        nargs="+" if several else None,
        action=SplitWords,
        default=[],
        metavar=metavar or "WORD",
        help=help,
    )


def choices_metavar(choices: tuple[object, ...]) -> str:
    """How a help shows choices that are checked elsewhere, and how completion finds them."""
    return "{" + ",".join(str(choice) for choice in choices) + "}"
