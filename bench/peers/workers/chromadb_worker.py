"""chromadb as it comes: a persistent client, one collection, its default embedding function."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import chromadb

from bench.peers.workers.loop import serve

client = chromadb.PersistentClient(str(Path(sys.argv[1], "chroma")))
notes = client.get_or_create_collection("notes")


def write_many(texts: list[str], tag: str) -> list[str]:
    ids = [uuid.uuid4().hex for _ in texts]
    for start in range(0, len(texts), 100):
        part = texts[start : start + 100]
        marks = [{"tag": tag}] * len(part) if tag else None
        notes.add(ids=ids[start : start + 100], documents=part, metadatas=marks)
    return ids


def search(query: str, limit: int, tag: str) -> list[str]:
    where = {"tag": tag} if tag else None
    found: list[str] = notes.query(query_texts=[query], n_results=limit, where=where)["ids"][0]
    return found


serve(
    {
        "ready": lambda: True,
        "write": lambda text, tag: write_many([text], tag)[0],
        "write_many": write_many,
        "search": search,
        "stored": lambda: notes.get(include=[])["ids"],
    }
)
