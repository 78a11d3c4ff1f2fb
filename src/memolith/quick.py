"""The least of the app: search by words in a data folder, without the imports that make a start slow."""

from pathlib import Path

from memolith.engine.recall import Recall
from memolith.retrieval import rank
from memolith.storage import terms
from memolith.storage.sqlite import SqliteStore


def recall(folder: Path, wait_s: float = 2.0) -> Recall:
    """The search over what lies in the folder; nobody waits long for a writer here."""
    return Recall(SqliteStore(folder, wait_s), terms, rank, lambda: None, lambda tenant, budget_s: 0)
