"""The least of the app: search by words in a data folder, without the imports that make a start slow."""

from pathlib import Path

from memolith.adapters.git import checkout
from memolith.engine.recall import Recall
from memolith.ports.repository import Checkout
from memolith.retrieval.ranking.ranker import HybridRanker
from memolith.storage import terms
from memolith.storage.sqlite.store import SqliteStore


def recall(folder: Path, cwd: str, wait_s: float = 2.0) -> tuple[Recall, Checkout | None]:
    """The search over what lies in the folder, where nobody waits long for a writer, and the repository around."""
    return Recall(
        SqliteStore(folder, wait_s), terms, HybridRanker(), lambda: None, lambda *_: 0
    ), checkout(Path(cwd))
