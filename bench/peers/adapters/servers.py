"""Servers over MCP."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.conformance import install as install_from_npm

from bench.peers.environments import (
    CannotInstall,
    Footprint,
    find_python,
    loads_extensions,
    size_of,
)
from bench.peers.peer import McpPeer, McpSession
from bench.programs import Refused

PAGE = 100


class OfficialSession(McpSession):
    """Each text is the observation of an entity of its own."""

    def write(self, text: str, tag: str = "") -> str:
        return self.write_many([text], tag)[0]

    def write_many(self, texts: Sequence[str], tag: str = "") -> list[str]:
        names = [uuid.uuid4().hex for _ in texts]
        entities = [
            {"name": name, "entityType": tag or "note", "observations": [text]}
            for name, text in zip(names, texts, strict=True)
        ]
        self.call("create_entities", entities=entities)
        return names

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        found = self.call("search_nodes", query=query)["entities"]
        return [entity["name"] for entity in found][:limit]

    def stored(self) -> set[str]:
        return {entity["name"] for entity in self.call("read_graph")["entities"]}


class Official(McpPeer):
    """The reference memory server of the MCP project."""

    name = "official"
    title = "reference memory server"
    version = "2026.8.31"
    link = "https://github.com/modelcontextprotocol/servers"
    python = "Node"
    session = OfficialSession
    bulk = "create_entities with many"
    search_is = "substring"
    has_tags = False
    package = "@modelcontextprotocol/server-memory"

    def install(self) -> None:
        try:
            install_from_npm(self.package, self.version)
        except (OSError, SystemExit, ValueError) as error:
            raise CannotInstall(str(error)) from None

    def footprint(self) -> Footprint:
        _, folder = install_from_npm(self.package, self.version)
        modules = folder.parents[1]
        # A package lies in the folder, or in one of a scope.
        names = [*modules.glob("[!@.]*/package.json"), *modules.glob("@*/*/package.json")]
        return Footprint(len(names), size_of(modules) / 1e6)

    def command(self, data: Path) -> list[str]:
        node, folder = install_from_npm(self.package, self.version)
        return [node, str(folder / "dist" / "index.js")]

    def environment(self, data: Path) -> dict[str, str]:
        return {**super().environment(data), "MEMORY_FILE_PATH": str(data / "memory.jsonl")}


class MemPalaceSession(McpSession):
    """A drawer for each text; the tag is the room."""

    def write(self, text: str, tag: str = "") -> str:
        made = self.call("mempalace_add_drawer", wing="bench", room=tag or "notes", content=text)
        if not made.get("success"):
            raise Refused(str(made))
        return str(made["drawer_id"])

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        room = {"room": tag} if tag else {}
        found = self.call("mempalace_search", query=query[:250], limit=limit, **room)
        if "results" not in found:
            raise Refused(str(found))
        return list(dict.fromkeys(hit["drawer_id"] for hit in found["results"]))

    def stored(self) -> set[str]:
        found: set[str] = set()
        while True:
            page = self.call("mempalace_list_drawers", limit=PAGE, offset=len(found))
            new = {entry["drawer_id"] for entry in page["drawers"]} - found
            found |= new
            if not new:
                return found


class MemPalace(McpPeer):
    """MemPalace: verbatim texts in Chroma."""

    name = "mempalace"
    title = "MemPalace"
    version = "3.11.0"
    link = "https://github.com/MemPalace/mempalace"
    steps = (("mempalace==3.11.0",),)
    session = MemPalaceSession
    search_is = "meaning and words"

    def command(self, data: Path) -> list[str]:
        return [self.program("mempalace-mcp")]

    def environment(self, data: Path) -> dict[str, str]:
        return {**super().environment(data), "MEMPALACE_PALACE_PATH": str(data / "palace")}


class MemoryServiceSession(McpSession):
    """`conversation_id` turns off its check for similar texts, which made-up notes would not pass."""

    def write(self, text: str, tag: str = "") -> str:
        answer = str(
            self.call(
                "memory_store",
                content=text,
                conversation_id="bench",
                metadata={"tags": [tag]} if tag else {},
            )
        )
        found = re.search(r"hash: ([0-9a-f]{64})", answer)
        if found is None:
            raise Refused(answer)
        return found[1]

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        tags = {"tags": [tag]} if tag else {}
        answer = str(self.call("memory_search", query=query, limit=limit, **tags))
        return re.findall(r"^\s*Hash: ([0-9a-f]{64})", answer, re.M)

    def stored(self) -> set[str]:
        found: set[str] = set()
        number = 1
        while True:
            page = self.call("memory_list", page=number, page_size=PAGE)
            found |= {entry["content_hash"] for entry in page["memories"]}
            if not page["has_more"]:
                return found
            number += 1


MEMORY_SERVICE_NEEDS = (
    "aiofiles>=23.2.1",
    "aiohttp>=3.13.3",
    "aiosqlite>=0.20.0",
    "apscheduler>=3.11.0",
    "authlib>=1.6.9",
    "build>=0.10.0",
    "certifi",
    "chardet>=5.0.0",
    "click>=8.0.0",
    "cryptography>=46.0.6",
    "fastapi>=0.115.5",
    "httpx>=0.24.0",
    "mcp<2.0.0,>=1.19.0",
    "numpy>=1.24.0",
    "psutil>=5.9.0",
    "pyjwt[crypto]>=2.12.0",
    "pypdf>=6.9.1",
    "python-dotenv>=1.0.0",
    "python-multipart>=0.0.22",
    "pyyaml>=6.0",
    "requests>=2.32.4",
    "sqlite-vec>=0.1.6",
    "sse-starlette>=2.1.0",
    "uvicorn>=0.30.0",
    "zeroconf>=0.130.0",
)
"""What its package declares, apart from the version of certifi."""


class MemoryService(McpPeer):
    """mcp-memory-service with the runtime for its model."""

    name = "mcp-memory-service"
    title = "mcp-memory-service"
    version = "12.4.0"
    link = "https://github.com/doobidoo/mcp-memory-service"
    # It requires a certifi of a day, which not every package index has; it runs with any.
    steps = (
        ("onnxruntime", "tokenizers", *MEMORY_SERVICE_NEEDS),
        ("--no-deps", "mcp-memory-service==12.4.0"),
    )
    session = MemoryServiceSession
    notes = "with onnxruntime and tokenizers, without which it uses hashes in place of vectors"

    def find_python(self) -> str:
        """One whose SQLite loads extensions, which it needs."""
        return find_python(self.python, loads_extensions)

    def command(self, data: Path) -> list[str]:
        return [self.program("memory"), "server"]

    def environment(self, data: Path) -> dict[str, str]:
        return {
            **super().environment(data),
            "MCP_MEMORY_USE_ONNX": "true",
            "MCP_MEMORY_SQLITE_PATH": str(data / "memory.db"),
        }


class ChromaMcpSession(McpSession):
    """One collection; the tag is a field of the metadata."""

    def write(self, text: str, tag: str = "") -> str:
        return self.write_many([text], tag)[0]

    def write_many(self, texts: Sequence[str], tag: str = "") -> list[str]:
        ids = [uuid.uuid4().hex for _ in texts]
        marks = [{"tag": tag or "none"}] * len(ids)
        answer = str(
            self.call(
                "chroma_add_documents",
                collection_name="bench",
                documents=list(texts),
                ids=ids,
                metadatas=marks,
            )
        )
        if not answer.startswith("Successfully"):
            raise Refused(answer)
        return ids

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        where = {"where": {"tag": tag}} if tag else {}
        found = self.call(
            "chroma_query_documents",
            collection_name="bench",
            query_texts=[query],
            n_results=limit,
            **where,
        )
        ids: list[str] = found["ids"][0]
        return ids

    def stored(self) -> set[str]:
        found = self.call("chroma_get_documents", collection_name="bench", include=["metadatas"])
        return set(found["ids"])


class ChromaMcp(McpPeer):
    """Chroma's own server."""

    name = "chroma-mcp"
    title = "chroma-mcp"
    version = "0.2.6"
    link = "https://github.com/chroma-core/chroma-mcp"
    python = "3.12"
    steps = (("chroma-mcp==0.2.6", "pydantic<2.12"),)
    session = ChromaMcpSession
    bulk = "add_documents with many"
    notes = "with pydantic<2.12, without which it does not start"

    def command(self, data: Path) -> list[str]:
        place = str(data / "chroma")
        return [self.program("chroma-mcp"), "--client-type", "persistent", "--data-dir", place]

    def begin(self, session: McpSession) -> None:
        """Make the collection; a second process finds it there."""
        if "bench" not in str(session.call("chroma_list_collections")):
            session.call("chroma_create_collection", collection_name="bench")


class BasicMemorySession(McpSession):
    """A note for each text, in a folder that is its tag."""

    def write(self, text: str, tag: str = "") -> str:
        made = self.call(
            "write_note",
            title=uuid.uuid4().hex,
            content=text,
            directory="bench",
            output_format="json",
            **({"tags": [tag]} if tag else {}),
        )
        if not isinstance(made, dict) or made.get("action") != "created":
            raise Refused(str(made))
        return str(made["permalink"])

    def search(self, query: str, limit: int = 10, tag: str = "") -> list[str]:
        found: Any = self.call(
            "search_notes",
            query=query,
            page_size=limit,
            output_format="json",
            **({"tags": [tag]} if tag else {}),
        )
        if not isinstance(found, dict):
            raise Refused(str(found))
        return list(dict.fromkeys(hit["permalink"] for hit in found["results"]))

    def stored(self) -> set[str]:
        found: set[str] = set()
        number = 1
        while True:
            page = self.call(
                "list_directory",
                dir_name="/bench",
                page=number,
                page_size=200,
                output_format="json",
            )
            found |= {node["permalink"] for node in page["nodes"] if node.get("permalink")}
            if not page["has_more"]:
                return found
            number += 1


class BasicMemory(McpPeer):
    """basic-memory with its full-text search."""

    name = "basic-memory"
    title = "basic-memory"
    version = "0.23.2"
    link = "https://github.com/basicmachines-co/basic-memory"
    python = "3.12"
    steps = (("basic-memory==0.23.2",),)
    session = BasicMemorySession
    search_is = "words"
    notes = "semantic search is turned off: it needs a SQLite that loads extensions, and a download"

    def command(self, data: Path) -> list[str]:
        return [self.program("basic-memory"), "mcp"]

    def environment(self, data: Path) -> dict[str, str]:
        return {
            **super().environment(data),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
            # Without these it tells its makers that it runs, and looks for newer versions.
            "BASIC_MEMORY_NO_PROMOS": "1",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
            "FASTMCP_SHOW_SERVER_BANNER": "false",
        }
