"""Libraries without a server of their own."""

from __future__ import annotations

from pathlib import Path

from bench.peers.environments import STOCK
from bench.peers.peer import LibraryPeer


class Chromadb(LibraryPeer):
    """Chroma's database, which several memories are built on."""

    name = "chromadb"
    title = "chromadb"
    version = "1.5.9"
    link = "https://github.com/chroma-core/chroma"
    steps = (("chromadb==1.5.9",),)
    worker = "chromadb_worker"
    bulk = "add, 100 at a time"


class Mem0(LibraryPeer):
    """mem0 without a language model."""

    name = "mem0"
    title = "mem0, infer off"
    version = "2.2.1"
    link = "https://github.com/mem0ai/mem0"
    # torch alone first: the CPU build, which the rest is then content with.
    steps = (("torch==2.13.0",), ("torch==2.13.0", "mem0ai==2.2.1", "sentence-transformers"))
    worker = "mem0_worker"
    notes = "with infer=False, sentence-transformers and a local Qdrant folder"

    def environment(self, data: Path) -> dict[str, str]:
        return {**super().environment(data), "STOCK_WEIGHTS": str(STOCK / "transformer")}
