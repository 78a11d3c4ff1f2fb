"""Data that the real programs made: counts, dates and links are equal after an import.

Each program is installed into an environment of its own, so these tests run in the full run alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from memolith.bootstrap import App
from tests.drop_in.basic_memory_package import basic_memory_program, quiet_environment
from tests.interchange.test_importers import imported, items, links, text
from tests.stores import each_store

pytestmark = [each_store, pytest.mark.full]
INSTALL_S = 900
RUN_S = 300

OFFICIAL = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
const transport = new StdioClientTransport({
  command: "node",
  args: ["node_modules/@modelcontextprotocol/server-memory/dist/index.js"],
  env: { ...process.env, MEMORY_FILE_PATH: process.argv[2] },
});
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const call = (name, args) => client.callTool({ name, arguments: args });
await call("create_entities", { entities: [
  { name: "Maria Müller", entityType: "person", observations: ["Prefers tea.", "Lives in Köln"] },
  { name: "Acme", entityType: "organization", observations: [] },
]});
await call("create_relations", { relations: [
  { from: "Maria Müller", to: "Acme", relationType: "works at" },
]});
await client.close();
"""

CHROMA = """
import sys, chromadb
client = chromadb.PersistentClient(sys.argv[1])
notes = client.create_collection("notes", embedding_function=None)
notes.add(ids=["a", "b"], documents=["Tea is good", "Köln is a city"],
          metadatas=[{"topic": "food", "n": 3, "share": 1.5, "flag": True}, {"topic": "place"}],
          embeddings=[[0.1] * 4, [0.2] * 4])
"""

MEM0 = """
import hashlib, json, os, sys
os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=sys.argv[1] + "/home", OPENAI_API_KEY="none")
from mem0 import Memory
memory = Memory.from_config({
    "vector_store": {"provider": "qdrant", "config": {
        "path": sys.argv[1] + "/qdrant", "embedding_model_dims": 8, "on_disk": True}},
    "history_db_path": sys.argv[1] + "/history.db"})
class Embedder:
    config = type("Config", (), {"embedding_dims": 8})()
    def embed(self, text, *args, **kwargs):
        return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]]
    def embed_batch(self, texts, *args, **kwargs):
        return [self.embed(text) for text in texts]
memory.embedding_model = Embedder()
memory.add("Maria prefers tea.", user_id="ann", metadata={"category": "food"}, infer=False)
added = memory.add("Köln is on the Rhine", user_id="ann", infer=False)
memory.update(added["results"][0]["id"], "Köln is on the Rhine river")
with open(sys.argv[1] + "/all.json", "w") as file:
    json.dump(memory.get_all(filters={"user_id": "ann"}), file)
"""

MCP_MEMORY_SERVICE = """
import asyncio, sys
import pysqlite3
# A Python that was built without loadable extensions cannot run it otherwise.
sys.modules["sqlite3"] = pysqlite3
from pathlib import Path
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.sync.exporter import MemoryExporter
from mcp_memory_service.utils.hashing import generate_content_hash
async def main():
    store = SqliteVecMemoryStorage(sys.argv[1] + "/sqlite_vec.db")
    await store.initialize()
    for text in ("Maria prefers tea.", "Köln lies on the Rhine", "gone"):
        await store.store(Memory(content=text, content_hash=generate_content_hash(text),
            tags=["people", "köln"], memory_type="note", metadata={"who": "ann"},
            created_at=1700000000.5))
    await store.delete(generate_content_hash("gone"))
    await MemoryExporter(store).export_to_json(Path(sys.argv[1] + "/export.json"))
asyncio.run(main())
"""

COFFEE = """# Coffee

Tea and coffee in Köln.

## Observations
- [method] Pour over gives clarity #clarity (learned)

## Relations
- pairs_with [[Chocolate]]
"""


def run(*command: str | Path, folder: Path, stdin: str = "", **environ: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "", **environ},
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=RUN_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def python_with(folder: Path, *packages: str) -> Path:
    """An environment with these packages; where they cannot be installed, the test is skipped."""
    home = folder / "venv"
    venv.create(home, with_pip=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", *packages],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=INSTALL_S,
    )
    if done.returncode:
        pytest.skip(f"{packages[0]} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    return python


def nothing_comes_twice(app: App, place: Path, count: int) -> None:
    again = imported(app, place)
    assert (again["taken"], again["known"]) == (0, count)


def test_the_reference_memory_server(app: App, tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    (tmp_path / "package.json").write_text("{}", encoding="utf-8")
    (tmp_path / "write.mjs").write_text(OFFICIAL, encoding="utf-8")
    package = "@modelcontextprotocol/server-memory"
    done = subprocess.run([npm, "install", package], cwd=tmp_path, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{package} cannot be installed")
    path = tmp_path / "memory.jsonl"
    run("node", "write.mjs", path, folder=tmp_path)
    assert imported(app, path)["taken"] == 2
    assert text(app, items(app)["Maria Müller"]) == "Prefers tea.\nLives in Köln"
    assert links(app) == {("Maria Müller", "works_at", "Acme")}
    nothing_comes_twice(app, path, 2)


def test_chroma(app: App, tmp_path: Path) -> None:
    python = python_with(tmp_path, "chromadb")
    run(python, "-c", CHROMA, tmp_path / "db", folder=tmp_path, ANONYMIZED_TELEMETRY="False")
    assert imported(app, tmp_path / "db")["taken"] == 2
    item = items(app)["notes/a"]
    assert text(app, item) == "Tea is good"
    assert [item.attributes[name] for name in ("topic", "n", "share", "flag")] == [
        "food",
        3,
        1.5,
        True,
    ]
    nothing_comes_twice(app, tmp_path / "db", 2)


def test_mem0(app: App, tmp_path: Path) -> None:
    python = python_with(tmp_path, "mem0ai")
    data = tmp_path / "mem0"
    data.mkdir()
    run(python, "-c", MEM0, data, folder=tmp_path)
    assert imported(app, data / "all.json")["taken"] == 2
    memories = json.loads((data / "all.json").read_text(encoding="utf-8"))["results"]
    for memory in memories:
        item = items(app)[memory["id"]]
        assert text(app, item) == memory["memory"]
        assert item.created_at[:26] == memory["created_at"][:26]
        assert item.updated_at[:26] == memory["updated_at"][:26]
        assert item.attributes["author"] == "ann"
    # The same memories lie in its history and in its vector store.
    nothing_comes_twice(app, data / "history.db", 2)
    nothing_comes_twice(app, data / "qdrant", 2)


def test_mcp_memory_service(app: App, tmp_path: Path) -> None:
    python = python_with(tmp_path, "mcp-memory-service", "pysqlite3-binary")
    run(python, "-c", MCP_MEMORY_SERVICE, tmp_path, folder=tmp_path)
    report = imported(app, tmp_path / "sqlite_vec.db")
    assert report["taken"] == 2
    assert [row["why"] for row in report["left_out"]] == ["deleted in mcp-memory-service"]
    for item in items(app).values():
        assert item.created_at == "2023-11-14T22:13:20.500000Z"
        assert item.tags == ("köln", "people")
        assert item.attributes["who"] == "ann"
    nothing_comes_twice(app, tmp_path / "export.json", 2)


def test_basic_memory(app: App, tmp_path: Path) -> None:
    program = basic_memory_program()
    home = tmp_path / "home"
    notes = tmp_path / "notes"
    home.mkdir()
    notes.mkdir()
    environment = quiet_environment(home)

    def ask(*arguments: str | Path, stdin: str = "") -> None:
        run(program, *arguments, folder=home, stdin=stdin, **environment)

    ask("project", "add", "notes", notes)
    write = ("tool", "write-note", "--project", "notes", "--folder", "drinks", "--title")
    ask(*write, "Coffee", "--tags", "hot", stdin=COFFEE)
    ask(*write, "Chocolate", stdin="# Chocolate\nSweet.\n")
    assert imported(app, notes)["taken"] == 2
    assert items(app)["drinks/coffee"].tags == ("clarity", "hot")
    assert "Tea and coffee in Köln." in text(app, items(app)["drinks/coffee"])
    assert links(app) == {("drinks/coffee", "pairs_with", "drinks/chocolate")}
    nothing_comes_twice(app, notes, 2)
