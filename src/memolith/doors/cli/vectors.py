"""Making vectors at the end of commands that bring in much at once."""

import argparse

from memolith.bootstrap import App
from memolith.doors.cli.command import Options
from memolith.doors.cli.output import note, progress
from memolith.errors import MemolithError

MAX_COUNTED = 1_000_000


def add_no_vectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-vectors",
        action="store_true",
        help="leave the vectors for the search by meaning to a server, a worker or `upkeep`",
    )


def make_vectors(app: App, options: Options) -> None:
    """Make the vectors of what waits in the tenant, unless `--no-vectors` was given.

    What was brought in is stored already, so a failure is only told.
    """
    if options.no_vectors or app.embedder is None:
        return
    waiting = count_waiting(app, options.tenant)
    if not waiting:
        return
    advance = progress("embedding")
    advance(0, waiting)
    try:
        app.embeddings.embed_waiting(options.tenant, tell=lambda done: advance(done, waiting))
        app.embeddings.renew_index()
    except MemolithError as error:
        note(f"Everything is stored, but not all vectors are made: {error}")
    left = count_waiting(app, options.tenant)
    if left:
        note(f"{left:,} items have no vector yet; `memolith upkeep` tries again.")


def count_waiting(app: App, tenant: str) -> int:
    with app.store.reading(tenant) as rows:
        return rows.count_waiting(tenant, "embed", MAX_COUNTED)
