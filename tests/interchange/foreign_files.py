"""Files exactly as other programs write them; each function writes one and returns its place."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, *values: Any) -> Path:
    lines = [json.dumps(value, ensure_ascii=False) for value in values]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_database(path: Path, script: str, **rows: list[dict[str, Any]]) -> Path:
    """A database with these tables, and rows by the names of their columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
        for table, entries in rows.items():
            for entry in entries:
                names = ", ".join(entry)
                marks = ", ".join("?" * len(entry))
                values = list(entry.values())
                connection.execute(f"insert into {table} ({names}) values ({marks})", values)
    return path


def official(folder: Path) -> Path:
    return write_lines(
        folder / "memory.jsonl",
        {
            "type": "entity",
            "name": "Maria Müller",
            "entityType": "person",
            "observations": ["Prefers tea.", "Lives in Köln"],
        },
        {"type": "entity", "name": "Acme", "entityType": "organization", "observations": []},
        {
            "type": "relation",
            "from": "Maria Müller",
            "to": "Acme",
            "relationType": "works at",
        },
        {"type": "relation", "from": "Acme", "to": "Nobody", "relationType": "knows"},
        {"type": "relation", "from": "Acme", "to": "Acme", "relationType": "owns"},
    )


MEM0: dict[str, Any] = {
    "id": "6717554a-a773-4340-92c8-6c6e9376afb3",
    "memory": "Maria prefers tea.",
    "hash": "2b5ff896c9424f1c8b19dd541d1becd4",
    "metadata": {"room": "kitchen", "expires_at": "never"},
    "categories": ["food"],
    "created_at": "2025-03-01T10:00:00.556728-07:00",
    "updated_at": "2025-03-02T10:00:00.556728-07:00",
    "user_id": "ann",
    "role": "user",
}


def mem0(folder: Path) -> Path:
    return write_json(folder / "mem0.json", {"results": [MEM0]})


def mem0_history(folder: Path) -> Path:
    def row(id: int, memory: str, event: str, text: str | None, day: int) -> dict[str, Any]:
        return {
            "id": str(id),
            "memory_id": memory,
            "new_memory": text,
            "event": event,
            "created_at": "2025-03-01T10:00:00+00:00",
            "updated_at": f"2025-03-0{day}T10:00:00+00:00",
            "is_deleted": int(event == "DELETE"),
            "actor_id": "ann",
            "role": "user",
        }

    return write_database(
        folder / "history.db",
        "create table history (id text primary key, memory_id text, old_memory text,"
        " new_memory text, event text, created_at datetime, updated_at datetime,"
        " is_deleted integer, actor_id text, role text)",
        history=[
            row(1, "a", "ADD", "Köln lies on the Rhine", 1),
            row(2, "a", "UPDATE", "Köln lies on the Rhine river", 2),
            row(3, "b", "ADD", "a secret of old", 1),
            row(4, "b", "DELETE", None, 3),
        ],
    )


OPENMEMORY: dict[str, Any] = {
    "user": {"id": "u-1", "user_id": "ann", "name": "Ann", "email": None, "metadata": {}},
    "apps": [{"id": "app-1", "owner_id": "u-1", "name": "cursor"}],
    "categories": [{"id": "c-1", "name": "preferences"}],
    "memories": [
        {
            "id": "11111111-2222-3333-4444-555555555555",
            "user_id": "u-1",
            "app_id": "app-1",
            "content": "Maria prefers tea.",
            "metadata": {"mood": "calm"},
            "state": "active",
            "created_at": "2025-04-01T08:00:00+00:00",
            "updated_at": "2025-04-02T08:00:00+00:00",
            "archived_at": None,
            "deleted_at": None,
            "category_ids": ["c-1"],
        },
        {
            "id": "11111111-2222-3333-4444-666666666666",
            "user_id": "u-1",
            "app_id": "app-1",
            "content": "An old address.",
            "metadata": {},
            "state": "archived",
            "created_at": "2025-04-01T08:00:00+00:00",
            "updated_at": "2025-04-01T08:00:00+00:00",
            "archived_at": "2025-05-01T08:00:00+00:00",
            "deleted_at": None,
            "category_ids": [],
        },
        {
            "id": "11111111-2222-3333-4444-777777777777",
            "user_id": "u-1",
            "app_id": "app-1",
            "content": "Deleted long ago.",
            "metadata": {},
            "state": "deleted",
            "created_at": "2025-04-01T08:00:00+00:00",
            "updated_at": "2025-04-01T08:00:00+00:00",
            "archived_at": None,
            "deleted_at": "2025-05-01T08:00:00+00:00",
            "category_ids": [],
        },
    ],
    "memory_categories": [
        {"memory_id": "11111111-2222-3333-4444-555555555555", "category_id": "c-1"}
    ],
    "status_history": [],
    "access_controls": [],
    "export_meta": {"version": "1"},
}


def openmemory(folder: Path) -> Path:
    path = folder / "memories_export_ann.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("memories.json", json.dumps(OPENMEMORY, indent=2))
        archive.writestr("memories.jsonl.gz", gzip.compress(b""))
    return path


def openmemory_database(folder: Path) -> Path:
    """UUIDs lie there without dashes, and states in letters of their own."""
    memories = [
        {
            "id": str(memory["id"]).replace("-", ""),
            "user_id": "u1",
            "app_id": "a1",
            "content": memory["content"],
            "metadata": json.dumps(memory["metadata"]),
            "state": memory["state"],
            "created_at": str(memory["created_at"])[:19].replace("T", " ") + ".000000",
            "updated_at": str(memory["updated_at"])[:19].replace("T", " ") + ".000000",
        }
        for memory in OPENMEMORY["memories"]
    ]
    return write_database(
        folder / "openmemory.db",
        """
        create table users (id char(32) primary key, user_id varchar, name varchar);
        create table apps (id char(32) primary key, owner_id char(32), name varchar);
        create table memories (id char(32) primary key, user_id char(32), app_id char(32),
            content varchar, vector varchar, metadata json, state varchar(8), created_at datetime,
            updated_at datetime, archived_at datetime, deleted_at datetime);
        create table categories (id char(32) primary key, name varchar);
        create table memory_categories (memory_id char(32), category_id char(32));
        """,
        users=[{"id": "u1", "user_id": "ann", "name": "Ann"}],
        apps=[{"id": "a1", "owner_id": "u1", "name": "cursor"}],
        memories=memories,
        categories=[{"id": "c1", "name": "preferences"}],
        memory_categories=[{"memory_id": memories[0]["id"], "category_id": "c1"}],
    )


def obsidian(folder: Path) -> Path:
    vault = folder / "Vault Köln"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text("{}", encoding="utf-8")
    (vault / "People").mkdir()
    (vault / "People" / "Maria.md").write_text(
        '---\ntags:\n  - people\naliases: [Mary, "M. Müller"]\ncreated: 2024-05-06T07:08:09\n'
        "rating: 4\n---\nDrinks #tea with [[Tea Notes|her tea]] and [milk](../Milk.md).\n"
        "`#notatag` and ```[[Nowhere]]```\n",
        encoding="utf-8",
    )
    (vault / "Tea Notes.md").write_text("Liked by [[mary]]. See [[Missing]].\n", encoding="utf-8")
    (vault / "Milk.md").write_text("White.", encoding="utf-8")
    (vault / "Empty.md").write_text("", encoding="utf-8")
    (vault / "picture.png").write_bytes(b"\x89PNG")
    (vault / "latin.md").write_bytes("Köln".encode("latin-1"))
    return vault


def basic_memory(folder: Path) -> Path:
    project = folder / "notes"
    (project / "drinks").mkdir(parents=True)
    (project / "food").mkdir()
    (project / "drinks" / "Coffee Brewing.md").write_text(
        "---\ntitle: Coffee Brewing\ntype: note\npermalink: drinks/coffee-brewing\ntags:\n"
        "- coffee,brewing\n---\n\n# Coffee Brewing\n\nTea and coffee in Köln.\n\n"
        "## Observations\n- [method] Pour over gives clarity #clarity (learned)\n\n"
        "## Relations\n- pairs_with [[Chocolate Desserts]]\n- relates to [[Tea Notes]]\n\n"
        "See also [[Chocolate Desserts]].\n",
        encoding="utf-8",
    )
    (project / "food" / "Chocolate Desserts.md").write_text(
        "---\ntitle: Chocolate Desserts\ntype: note\npermalink: food/chocolate-desserts\n---\n\n"
        "# Chocolate Desserts\nCake.\n",
        encoding="utf-8",
    )
    return project


def mcp_memory_service_database(folder: Path) -> Path:
    def memory(number: int, text: str, **fields: Any) -> dict[str, Any]:
        return {
            "content_hash": f"hash-{number}",
            "content": text,
            "tags": "people,köln",
            "memory_type": "note",
            "metadata": '{"who": "ann"}',
            "created_at": 1700000000.5,
            "updated_at": 1700000100.5,
            "created_at_iso": "2023-11-14T22:13:20.500000Z",
            **fields,
        }

    return write_database(
        folder / "sqlite_vec.db",
        """
        create table memories (id integer primary key autoincrement, content_hash text unique,
            content text not null, tags text, memory_type text, metadata text, created_at real,
            updated_at real, created_at_iso text, updated_at_iso text, deleted_at real,
            store text default 'default', confidence real default 1.0, superseded_by text);
        create table memory_graph (source_hash text, target_hash text, similarity real,
            connection_types text, metadata text, created_at real,
            relationship_type text default 'related');
        """,
        memories=[
            memory(1, "Maria prefers tea."),
            memory(2, "Köln lies on the Rhine"),
            memory(3, "gone", deleted_at=1700000200.0),
        ],
        memory_graph=[
            {
                "source_hash": "hash-1",
                "target_hash": "hash-2",
                "similarity": 0.7,
                "connection_types": '["semantic"]',
                "created_at": 1700000000.0,
                "relationship_type": "causes",
            }
        ],
    )


def mcp_memory_service(folder: Path) -> Path:
    return write_json(
        folder / "export.json",
        {
            "export_metadata": {"exporter_version": "5.0.1", "total_memories": 1},
            "memories": [
                {
                    "content": "Maria prefers tea.",
                    "content_hash": "hash-1",
                    "tags": ["people", "köln"],
                    "created_at": 1700000000.5,
                    "updated_at": 1700000100.5,
                    "memory_type": "note",
                    "metadata": {"who": "ann"},
                    "store": "default",
                    "export_source": "vm",
                }
            ],
        },
    )


CHROMA_TABLES = """
create table collections (id text primary key, name text not null, dimension integer);
create table segments (id text primary key, type text not null, scope text not null,
    collection text not null);
create table embeddings (id integer primary key, segment_id text not null,
    embedding_id text not null, seq_id blob not null,
    created_at timestamp not null default current_timestamp);
create table embedding_metadata (id integer, key text not null, string_value text,
    int_value integer, float_value real, bool_value integer, primary key (id, key));
create table embedding_metadata_array (id integer not null, key text not null, string_value text,
    int_value integer, float_value real, bool_value integer);
"""


def chroma_database(path: Path, collection: str, documents: list[dict[str, Any]]) -> Path:
    embeddings = []
    metadata = []
    lists = []
    columns = {str: "string_value", int: "int_value", float: "float_value", bool: "bool_value"}
    for number, document in enumerate(documents, start=1):
        embeddings.append(
            {
                "id": number,
                "segment_id": "s-1",
                "embedding_id": document["id"],
                "seq_id": number,
                "created_at": "2025-06-01 12:00:00",
            }
        )
        for key, value in document["metadata"].items():
            if isinstance(value, list):
                lists += [{"id": number, "key": key, "string_value": entry} for entry in value]
            else:
                metadata.append({"id": number, "key": key, columns[type(value)]: value})
    return write_database(
        path,
        CHROMA_TABLES,
        collections=[{"id": "c-1", "name": collection}],
        segments=[
            {"id": "s-1", "type": "metadata", "scope": "METADATA", "collection": "c-1"},
            {"id": "s-2", "type": "hnsw", "scope": "VECTOR", "collection": "c-1"},
        ],
        embeddings=embeddings,
        embedding_metadata=metadata,
        embedding_metadata_array=lists,
    )


def chroma(folder: Path) -> Path:
    chroma_database(
        folder / "chroma" / "chroma.sqlite3",
        "notes",
        [
            {
                "id": "a",
                "metadata": {
                    "chroma:document": "Tea is good in Köln",
                    "topic": "food",
                    "n": 3,
                    "share": 1.5,
                    "flag": True,
                    "tags": ["x", "y"],
                },
            },
            {"id": "b", "metadata": {"topic": "only a vector"}},
        ],
    )
    return folder / "chroma"


def mempalace(folder: Path) -> Path:
    chroma_database(
        folder / "palace" / "chroma.sqlite3",
        "mempalace_drawers",
        [
            {
                "id": "drawer_1",
                "metadata": {
                    "chroma:document": "We chose PostgreSQL.",
                    "wing": "billing",
                    "room": "decisions",
                    "source_file": "/notes/köln.md",
                    "chunk_index": 0,
                    "added_by": "claude",
                    "filed_at": "2026-02-03T04:05:06.000007",
                },
            }
        ],
    )
    write_database(
        folder / "knowledge_graph.sqlite3",
        """
        create table entities (id text primary key, name text not null, type text,
            properties text, created_at text);
        create table triples (id text primary key, subject text not null, predicate text not null,
            object text not null, valid_from text, valid_to text, confidence real,
            source_closet text, source_file text, extracted_at text);
        """,
        entities=[
            {"id": "max", "name": "Max", "type": "person", "created_at": "2026-02-01 00:00:00"},
            {"id": "chess", "name": "Chess", "type": "hobby", "created_at": "2026-02-01 00:00:00"},
        ],
        triples=[
            {
                "id": "t1",
                "subject": "max",
                "predicate": "does",
                "object": "chess",
                "confidence": 1.0,
            }
        ],
    )
    return folder


def claude_mem(folder: Path) -> Path:
    return write_database(
        folder / "claude-mem.db",
        """
        create table observations (id integer primary key, memory_session_id text, project text,
            text text, type text, title text, subtitle text, facts text, narrative text,
            concepts text, files_read text, files_modified text, prompt_number integer,
            created_at text, created_at_epoch integer);
        create table session_summaries (id integer primary key, memory_session_id text,
            project text, request text, investigated text, learned text, completed text,
            next_steps text, files_read text, files_edited text, notes text, created_at text,
            created_at_epoch integer);
        create table user_prompts (id integer primary key, content_session_id text,
            prompt_number integer, prompt_text text, created_at text, created_at_epoch integer);
        """,
        observations=[
            {
                "memory_session_id": "s-1",
                "project": "shop",
                "type": "bugfix",
                "title": "Fixed the tea counter",
                "facts": '["It counted twice"]',
                "narrative": "The counter ran in both hooks.",
                "concepts": '["counting"]',
                "files_read": '["a.py"]',
                "created_at": "2025-10-01T10:00:00.000Z",
                "created_at_epoch": 1759312800000,
            }
        ],
        session_summaries=[
            {
                "memory_session_id": "s-1",
                "project": "shop",
                "request": "Fix the counter",
                "learned": "Hooks run twice",
                "created_at": "2025-10-01T11:00:00.000Z",
                "created_at_epoch": 1759316400000,
            }
        ],
        user_prompts=[
            {
                "content_session_id": "c-1",
                "prompt_number": number,
                "prompt_text": text,
                "created_at": "2025-10-01T09:00:00.000Z",
                "created_at_epoch": 1759309200000 + number,
            }
            for number, text in enumerate(("Why is tea counted twice?", "Mend it."), start=1)
        ],
    )


def letta(folder: Path) -> Path:
    return write_json(
        folder / "agent.af",
        {
            "agents": [
                {
                    "id": "agent-0",
                    "name": "Sam",
                    "block_ids": ["block-0"],
                    "messages": [
                        {
                            "id": "m-0",
                            "role": "system",
                            "content": [{"type": "text", "text": "Be."}],
                        },
                        {
                            "id": "m-1",
                            "role": "user",
                            "content": [{"type": "text", "text": "I like tea."}],
                            "created_at": "2025-07-01T10:00:00+00:00",
                        },
                        {
                            "id": "m-2",
                            "role": "assistant",
                            "content": [{"type": "text", "text": "Noted."}],
                            "created_at": "2025-07-01T10:00:05+00:00",
                        },
                    ],
                }
            ],
            "blocks": [
                {"id": "block-0", "label": "human", "value": "Maria drinks tea.", "metadata": {}},
                {"id": "block-1", "label": "empty", "value": ""},
            ],
            "tools": [{"id": "tool-0", "name": "send_message"}],
            "files": [],
            "sources": [],
            "groups": [],
        },
    )


def zep(folder: Path) -> Path:
    return write_json(
        folder / "graph.json",
        {
            "nodes": [
                {
                    "uuid": "n-1",
                    "name": "Maria",
                    "labels": ["Entity", "User"],
                    "summary": "A tea drinker.",
                    "attributes": {"age": 40},
                    "created_at": "2025-08-01T00:00:00Z",
                },
                {"uuid": "n-2", "name": "Acme", "labels": ["Entity"], "summary": ""},
            ],
            "edges": [
                {
                    "uuid": "e-1",
                    "name": "WORKS_AT",
                    "fact": "Maria works at Acme",
                    "source_node_uuid": "n-1",
                    "target_node_uuid": "n-2",
                    "created_at": "2025-08-02T00:00:00Z",
                    "valid_at": "2020-01-01T00:00:00Z",
                }
            ],
            "episodes": [
                {
                    "uuid": "ep-1",
                    "content": "I work at Acme",
                    "role": "Maria",
                    "created_at": "2025-08-02T00:00:00Z",
                }
            ],
        },
    )


def gemini(folder: Path) -> Path:
    return write_json(
        folder / "Takeout" / "My Activity" / "Gemini Apps" / "MyActivity.json",
        [
            {
                "header": "Gemini Apps",
                "title": "Prompted Why is tea green?",
                "time": "2025-09-01T10:00:00.123Z",
                "products": ["Gemini Apps"],
                "safeHtmlItem": [{"html": "<p>Because it is <b>not</b> oxidised.</p>"}],
            },
            {
                "header": "Gemini Apps",
                "title": "Used Gemini Apps",
                "time": "2025-09-01T10:00:00.123Z",
            },
        ],
    )


def chatgpt(folder: Path) -> Path:
    chat = {
        "title": "Zebra facts",
        "conversation_id": "gpt-1",
        "current_node": "a",
        "mapping": {
            "a": {
                "parent": None,
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1709654400.5,
                    "content": {"content_type": "text", "parts": ["Why has a zebra stripes?"]},
                },
            }
        },
    }
    path = folder / "chatgpt-export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([chat]))
        archive.writestr("user.json", "{}")
    return path


def claude(folder: Path) -> Path:
    return write_json(
        folder / "conversations.json",
        [
            {
                "uuid": "c-1",
                "name": "Tea",
                "chat_messages": [
                    {"sender": "human", "text": "Tea?", "created_at": "2025-01-01T00:00:00Z"}
                ],
            }
        ],
    )


def codex(folder: Path) -> Path:
    sessions = folder / "sessions" / "2025" / "01"
    sessions.mkdir(parents=True)
    write_lines(
        sessions / "rollout-2025-01-01T00-00-00-abc.jsonl",
        {"timestamp": "2025-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "abc"}},
        {
            "timestamp": "2025-01-01T00:00:01Z",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Fix the tea counter"}],
            },
        },
    )
    return folder / "sessions"
