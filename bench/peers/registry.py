"""Which peers are compared, and which cannot be."""

from __future__ import annotations

from bench.peers.adapters.libraries import Chromadb, Mem0
from bench.peers.adapters.memolith import Memolith, MemolithStock
from bench.peers.adapters.servers import (
    BasicMemory,
    ChromaMcp,
    MemoryService,
    MemPalace,
    Official,
)
from bench.peers.peer import Peer

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Memolith(),
        MemolithStock(),
        Official(),
        MemPalace(),
        MemoryService(),
        BasicMemory(),
        ChromaMcp(),
        Chromadb(),
        Mem0(),
    )
}

NOT_RUN = {
    "Hindsight 1.1": "needs an LLM for every write; its installation takes 6.5 GB",
    "Graphiti 0.31, Zep": "needs an LLM and a graph database",
    "cognee 1.6": "needs downloads of its models, which none of its packages contains",
    "claude-mem 13": "needs an LLM that observes the session",
    "Letta, LangMem, Memori, MemOS": "need an LLM",
    "mcp-server-qdrant 0.8": "loads its model from a hub before it answers, and ends without it",
    "Supermemory": "is a service",
}
"""Others, and the reason why they are not in the tables."""
