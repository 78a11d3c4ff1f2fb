"""The command about the servers of a PostgreSQL database."""

import argparse

from memolith import store_copy
from memolith.bootstrap import App
from memolith.doors.cli.command import Command, Options
from memolith.doors.cli.output import note


def database(app: App, options: Options) -> object:
    left = store_copy.distribute(app.store)
    note("Start the other servers and workers of this database anew.")
    return {"distributed": True, "left_to_do": left}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["distribute"], help="what to do")


COMMANDS = (Command("database", database, add_options),)
