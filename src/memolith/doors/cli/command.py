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


class Command(NamedTuple):
    """What `memolith NAME` does; `commands.py` lists it with its help."""

    name: str
    run: Callable[[App, Options], object]
    """Takes the app, which opens the store at first use. Returns what is printed, or None."""
    add_options: AddOptions = no_options


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
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_tenant(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default="local")


def add_read_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--read-only", action="store_true", help="hide and refuse every writing tool"
    )
