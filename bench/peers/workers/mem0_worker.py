"""mem0 without a language model: `infer` off, a local Qdrant folder, sentence-transformers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.peers.workers.loop import serve

data = Path(sys.argv[1])
os.environ["MEM0_DIR"] = str(data / "mem0")
# It insists on a key, though nothing is ever sent.
os.environ.setdefault("OPENAI_API_KEY", "none")

from mem0 import Memory  # noqa: E402 - the folder is read at import

WHO = "bench"
memory = Memory.from_config(
    {
        "embedder": {
            "provider": "huggingface",
            "config": {"model": os.environ["STOCK_WEIGHTS"], "embedding_dims": 384},
        },
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(data / "qdrant"),
                "collection_name": "notes",
                "embedding_model_dims": 384,
                "on_disk": True,
            },
        },
        "history_db_path": str(data / "history.db"),
    }
)


def write(text: str, tag: str) -> str:
    marks = {"tag": tag} if tag else None
    made = memory.add(text, user_id=WHO, metadata=marks, infer=False)
    return str(made["results"][0]["id"])


def search(query: str, limit: int, tag: str) -> list[str]:
    filters = {"user_id": WHO, **({"tag": tag} if tag else {})}
    found = memory.search(query, filters=filters, top_k=limit)
    return [hit["id"] for hit in found["results"]]


def stored() -> list[str]:
    found = memory.get_all(filters={"user_id": WHO}, top_k=1_000_000)
    return [entry["id"] for entry in found["results"]]


serve(
    {
        "ready": lambda: True,
        "write": write,
        "write_many": lambda texts, tag: [write(text, tag) for text in texts],
        "search": search,
        "stored": stored,
    }
)
