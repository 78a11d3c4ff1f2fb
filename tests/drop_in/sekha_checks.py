"""Checks of Sekha's own clients. They run in an environment with `sekha-python-sdk`, `sekha-mcp`
and `mcp<2`, without memolith and without pytest, and print the name of each check that passed.

Where a package does not do what its own documentation says, a comment tells how.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
from typing import Any

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent
from sekha import (
    BridgeClient,
    MCPClient,
    MemoryController,
    SekhaAPIError,
    SekhaAuthError,
    SekhaClient,
    SekhaError,
    SekhaNotFoundError,
    SekhaValidationError,
    SyncSekhaClient,
    create_sekha_client,
)
from sekha.models import MessageDto, NewConversation
from sekha.types import ClientConfig
from sekha_mcp.client import SekhaClient as WrapperClient
from sekha_mcp.config import settings
from sekha_mcp.health import check_controller_health

SERVER = os.environ["CHECK_URL"]
SEKHA = SERVER + "/sekha"
URL = SERVER + os.environ["CHECK_PREFIX"]
KEY = os.environ["CHECK_KEY"]
WRONG_KEY = "sk-sekha-" + "0" * 64
NOBODY = "123e4567-e89b-12d3-a456-426614174000"
TALK = [
    {"role": "user", "content": "Discussed project timeline"},
    {"role": "assistant", "content": "The timeline is a 2 week sprint cycle."},
]
PUBLIC_OF_CONTROLLER = {
    "archive_conversation",
    "assemble_context",
    "auto_label",
    "close",
    "count_conversations",
    "create_conversation",
    "delete_conversation",
    "export",
    "full_text_search",
    "generate_summary",
    "get_conversation",
    "get_mcp_tools",
    "get_pruning_suggestions",
    "list_conversations",
    "pin_conversation",
    "prune_dry_run",
    "prune_execute",
    "query",
    "rebuild_embeddings",
    "score_message_importance",
    "smart_query",
    "suggest_labels",
    "summarize",
    "sync_client",
    "update_folder",
    "update_label",
}


def core(tool: str, **arguments: Any) -> Any:
    """What a tool of memolith answers: the one store behind all of this."""
    answer = httpx.post(
        f"{SERVER}/mcp/tools/{tool}",
        json=arguments,
        headers={"X-API-Key": KEY},
        trust_env=False,
        timeout=120,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def item_of(id: str) -> Any:
    return core("fetch", ids=[id])["items"][0]


def config(key: str = KEY) -> ClientConfig:
    return ClientConfig(base_url=URL, api_key=key)


def unified(key: str = KEY) -> SekhaClient:
    # The README leaves `bridge_api_key` out. Without it the client sends no key to the bridge, and
    # memolith has no route that anybody may use.
    return SekhaClient(controller_url=URL, api_key=key, bridge_url=URL, bridge_api_key=key)


async def stored(controller: MemoryController, label: str = "Planning", **more: Any) -> str:
    made = await controller.create_conversation({"label": label, "messages": TALK, **more})
    return str(made["id"])


# The controller


def check_every_public_method_is_known() -> None:
    public = {name for name in dir(MemoryController) if not name.startswith("_")}
    assert public == PUBLIC_OF_CONTROLLER, public ^ PUBLIC_OF_CONTROLLER


async def check_create_and_get() -> None:
    async with MemoryController(config()) as controller:
        made = await controller.create_conversation(
            {
                "label": "My First Conversation",
                "folder": "/personal",
                "messages": [
                    {"role": "user", "content": "Hello Sekha!"},
                    {"role": "assistant", "content": "Hello! I'll remember this."},
                ],
            }
        )
        read = await controller.get_conversation(made["id"])
    assert [message["content"] for message in read["messages"]] == [
        "Hello Sekha!",
        "Hello! I'll remember this.",
    ]
    item = item_of(made["id"])
    assert (item["kind"], item["title"]) == ("conversation", "My First Conversation")
    assert item["metadata"]["folder"] == "/personal"


async def check_create_from_a_model() -> None:
    conversation = NewConversation(
        messages=[MessageDto(role="user", content="Hello", metadata={"n": 1})],
        label="Model",
        importance_score=7.0,
        metadata={"source": "test"},
    )
    async with MemoryController(config()) as controller:
        made = await controller.create_conversation(conversation)
    metadata = item_of(made["id"])["metadata"]
    assert (metadata["importance_score"], metadata["metadata"]) == (7, {"source": "test"})


async def check_list_and_count() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller, "Listed", folder="/listed/deep")
        listed = await controller.list_conversations(
            label="Listed", folder="/listed", pinned=False, archived=False, page=1, page_size=10
        )
        count = await controller.count_conversations(label="Listed")
    assert [entry["conversation_id"] for entry in listed["results"]] == [id]
    assert (listed["total"], count) == (1, 1)


async def check_label_folder_pin_archive() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller)
        assert await controller.update_label(id, "New", "/new") is None
        item = item_of(id)
        assert (item["title"], item["metadata"]["folder"]) == ("New", "/new")
        assert await controller.update_folder(id, "/newer") is None
        assert item_of(id)["metadata"]["folder"] == "/newer"
        assert await controller.pin_conversation(id) is None
        assert item_of(id)["metadata"]["importance_score"] == 10
        assert await controller.archive_conversation(id) is None
        assert item_of(id)["status"] == "archived"


async def check_delete() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller)
        assert await controller.delete_conversation(id) is None
        for call in (controller.get_conversation, controller.delete_conversation):
            await raises(SekhaNotFoundError, call(id))
    core("restore", id=id)
    assert item_of(id)["title"] == "Planning"


async def check_query_and_smart_query() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller, "Queried", folder="/queried")
        filters = {"labels": ["Queried"]}
        for search in (controller.query, controller.smart_query):
            found = await search("sprint timeline", limit=5, offset=0, filters=filters)
            assert {hit["conversation_id"] for hit in found["results"]} == {id}
            assert found["query"] == "sprint timeline"
        hit = found["results"][0]
    assert {"label", "folder", "content", "score", "created_at", "metadata"} <= hit.keys()
    hits = core("recall", query="sprint timeline", kinds=["conversation"])["hits"]
    assert id in {hit["id"] for hit in hits}


async def check_full_text_search() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller)
        found = await controller.full_text_search("sprint", limit=1)
    assert [hit["content"] for hit in found["results"]] == [TALK[1]["content"]]


async def check_rebuild_embeddings() -> None:
    async with MemoryController(config()) as controller:
        assert await controller.rebuild_embeddings() is None


async def check_assemble_context() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller, "important", folder="/ctx")
        context = await controller.assemble_context(
            query="sprint timeline", context_budget=4000, preferred_labels=["important"]
        )
        assert context["labels"][0] == "important"
        assert context["token_count"] <= 4000
        without = await controller.assemble_context(
            query="sprint timeline", excluded_folders=["/ctx"]
        )
        assert "important" not in without["labels"]


async def check_summarize() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller)
        for level in ("daily", "weekly", "monthly"):
            summary = await controller.summarize(id, level)
            assert (summary["level"], summary["generated_by"]) == (level, "built-in")
            assert "sprint" in summary["summary"]
        assert (await controller.generate_summary(id, level="weekly"))["level"] == "weekly"


async def check_pruning() -> None:
    async with MemoryController(config()) as controller:
        id = await stored(controller, "Prunable", importance_score=2.0)
        for suggest in (controller.prune_dry_run, controller.get_pruning_suggestions):
            report = await suggest(threshold_days=0)
            advice = {entry["conversation_id"]: entry for entry in report["suggestions"]}
            assert advice[id]["recommendation"] == "archive"
            assert advice[id]["days_since_access"] == 0
        assert await controller.prune_execute([id]) is None
    assert item_of(id)["status"] == "archived"


async def check_labels() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller, "sprint")
        id = await stored(controller, "Unlabelled", folder="/kept")
        suggested = await controller.suggest_labels(id)
        assert suggested["suggested_by"] == "built-in"
        assert await controller.auto_label(id, threshold=1.1) is None
        label = await controller.auto_label(id, threshold=0.1)
    item = item_of(id)
    assert (item["title"], item["metadata"]["folder"]) == (label, "/kept")


async def check_export() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller, "Exported", folder="/exported")
        text = await controller.export(label="Exported")
        assert text.startswith("# Exported")
        records = json.loads(await controller.export(folder="/exported", format="json"))
    assert [record["label"] for record in records] == ["Exported"]


async def check_score_of_a_message() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller)
        found = await controller.query("sprint timeline")
        score = await controller.score_message_importance(found["results"][0]["message_id"])
    assert (score["importance_score"], score["scored_by"]) == (5.0, "built-in")


async def check_mcp_tools() -> None:
    async with MemoryController(config()) as controller:
        tools = await controller.get_mcp_tools()
    assert len(tools) == 7


async def check_errors_are_the_clients_own() -> None:
    async with MemoryController(config()) as controller:
        bad = controller.create_conversation({"label": "", "messages": []})
        await raises(SekhaValidationError, bad)
        await raises(SekhaValidationError, controller.query("x", limit=1000))
        await raises(SekhaNotFoundError, controller.pin_conversation(NOBODY))
        await raises(SekhaNotFoundError, controller.update_label(NOBODY, "x", "/"))
        await raises(SekhaNotFoundError, controller.update_folder(NOBODY, "/"))
        await raises(SekhaNotFoundError, controller.archive_conversation(NOBODY))
        await raises(SekhaError, controller.summarize(NOBODY))
    async with MemoryController(config(WRONG_KEY)) as stranger:
        await raises(SekhaAuthError, stranger.query("x"))
        await raises(SekhaAuthError, stranger.create_conversation({"label": "x", "messages": TALK}))
        await raises(SekhaAPIError, stranger.get_conversation(NOBODY))


def check_sync_client() -> None:
    # The README names no example; the class takes the same configuration. Python 3.12 and newer
    # print a ResourceWarning, because it makes a new client for each call.
    with SyncSekhaClient(config()) as client:
        made = client.create_conversation({"label": "Sync", "messages": TALK})
        assert client.get_conversation(made["id"])["label"] == "Sync"
        id = made["id"]
        assert client.count_conversations(label="Sync") == 1
        assert client.list_conversations(label="Sync")["total"] == 1
        client.update_label(id, "Sync", "/sync")
        client.update_folder(id, "/sync/deep")
        assert client.count_conversations(folder="/sync") == 1
        client.pin_conversation(id)
        client.archive_conversation(id)
        assert item_of(id)["status"] == "archived"
        found = client.query("sprint timeline", filters={"label": "Sync"})
        assert client.smart_query("sprint timeline", limit=1)["page_size"] == 1
        assert client.full_text_search("sprint")["total"] > 0
        assert client.assemble_context("sprint timeline")["messages"]
        assert client.summarize(id)["generated_by"] == "built-in"
        assert client.generate_summary(id)["conversation_id"] == id
        assert client.suggest_labels(id)["conversation_id"] == id
        assert client.auto_label(id, threshold=1.1) is None
        assert "suggestions" in client.prune_dry_run(0)
        assert "suggestions" in client.get_pruning_suggestions(threshold_days=0)
        client.prune_execute([id])
        assert client.export(label="Sync").startswith("# Sync")
        message_id = found["results"][0]["message_id"]
        assert client.score_message_importance(message_id)["scored_by"] == "built-in"
        assert len(client.get_mcp_tools()) == 7
        client.rebuild_embeddings()
        client.delete_conversation(id)
        assert client.count_conversations(label="Sync") == 0
    direct = MemoryController(config()).sync_client.get("/api/v1/conversations/count")
    assert direct.status_code == 200


async def check_the_readme_calls_constructors_that_are_not_there() -> None:
    # `SekhaClient(config)` and `MemoryController(base_url=...)` stand in the README of 0.2.0.
    for kind, arguments in (
        (MemoryController, {"base_url": URL, "api_key": KEY}),
        (SekhaClient, {"config": config()}),
    ):
        try:
            kind(**arguments)
        except TypeError:
            continue
        raise AssertionError(kind)


# The MCP client of the SDK


async def check_memory_stats() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller, "counted")
    async with MCPClient(base_url=URL, api_key=KEY) as client:
        stats = await client.memory_stats(
            {"labels": ["counted"], "start_date": "2026-01-01T00:00:00Z"}
        )
        everything = await client.memory_stats({})
    assert (stats["total_conversations"], stats["total_messages"]) == (1, 2)
    assert stats["total_tokens"] > 0
    assert everything["total_conversations"] > 1


async def check_memory_search() -> None:
    async with MemoryController(config()) as controller:
        await stored(controller, "technical")
    async with MCPClient(base_url=URL, api_key=KEY) as client:
        found = await client.memory_search(
            "sprint timeline", limit=5, filters={"labels": ["technical"]}
        )
        # The README passes one object in the place of the query.
        in_one = await client.memory_search(
            {"query": "sprint timeline", "limit": 5, "labels": ["technical"]}
        )
    for answer in (found, in_one):
        assert {hit["label"] for hit in answer["results"]} == {"technical"}


async def check_mcp_client_errors() -> None:
    async with MCPClient(base_url=URL, api_key=WRONG_KEY) as client:
        await raises(SekhaAuthError, client.memory_stats({}))
    async with MCPClient(base_url=URL, api_key=KEY) as client:
        error = await raises(SekhaAPIError, client.memory_search("x", colour="red"))
    assert (error.status_code, "colour" in error.response) == (400, True)


# The bridge


async def check_complete() -> None:
    async with BridgeClient(base_url=URL, api_key=KEY) as bridge:
        reply = await bridge.complete(
            messages=[
                {"role": "system", "content": "The parser is written in Rust."},
                {"role": "user", "content": "What is the parser written in?"},
            ],
            model="gpt-4",
            temperature=0.7,
            max_tokens=2000,
        )
    assert "The parser is written in Rust." in reply["choices"][0]["message"]["content"]
    assert (reply["model"], reply["usage"]["total_tokens"] > 0) == ("built-in", True)


async def check_stream_complete() -> None:
    # The README awaits the stream first, which no async generator allows.
    text = ""
    async with BridgeClient(base_url=URL, api_key=KEY) as bridge:
        async for chunk in bridge.stream_complete(
            messages=[{"role": "user", "content": "Tell me a story"}], model="gpt-4"
        ):
            text += chunk["choices"][0]["delta"].get("content", "")
    assert text.startswith("No language model is set up here")


async def check_embed() -> None:
    async with BridgeClient(base_url=URL, api_key=KEY) as bridge:
        made = await bridge.embed("Hello world", model="nomic-embed-text")
    assert len(made["embedding"]) == made["dimension"]


async def check_bridge_health_and_errors() -> None:
    async with BridgeClient(base_url=URL) as bridge:
        assert (await bridge.health())["status"] == "healthy"
        await raises(SekhaAuthError, bridge.embed("Hello"))


# The unified client


async def check_store_and_query() -> None:
    async with unified() as client:
        answer = await client.store_and_query(messages=TALK, query="timeline", label="Planning")
    assert answer["conversation"]["message_count"] == 2
    assert item_of(answer["conversation"]["id"])["title"] == "Planning"
    assert answer["results"]["total"] > 0


async def check_complete_with_context() -> None:
    async with unified() as client:
        reply = await client.complete_with_context(
            prompt="How long is the sprint cycle?",
            context_query="sprint timeline",
            model="gpt-4",
            context_budget=4000,
        )
    assert reply["context"]["messages"]
    assert "2 week sprint" in reply["choices"][0]["message"]["content"]


async def check_complete_with_memory_is_broken_in_the_package() -> None:
    # It reads attributes of a dict, whatever the server answers.
    async with unified() as client:
        await raises(AttributeError, client.complete_with_memory("Sum it up:", "sprint", limit=5))


async def check_stream_with_context() -> None:
    text = ""
    async with unified() as client:
        async for chunk in client.stream_with_context(
            prompt="How long is the sprint cycle?", context_query="sprint timeline", model="gpt-4"
        ):
            text += chunk["choices"][0]["delta"].get("content", "")
    assert "2 week sprint" in text


async def check_health_of_all() -> None:
    client = create_sekha_client(controller_url=URL, api_key=KEY, bridge_url=URL)
    health = await client.health_check()
    await client.close()
    assert (health["controller"]["status"], health["bridge"]["status"]) == ("healthy", "healthy")


# Sekha's MCP server, with memolith as its controller


async def check_wrapper_tools() -> None:
    # The console script `sekha-mcp` calls an async function and never awaits it.
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sekha_mcp.main"],
        # At the root, the tools are the documented ones, which lack what this program reads.
        env={"CONTROLLER_URL": SEKHA, "CONTROLLER_API_KEY": KEY, "PATH": os.environ["PATH"]},
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        listed = await session.list_tools()
        assert len(listed.tools) == 7

        async def call(name: str, **arguments: Any) -> str:
            result = await session.call_tool(name, arguments)
            (content,) = result.content
            assert isinstance(content, TextContent)
            assert "❌" not in content.text, content.text
            return content.text

        text = await call("memory_store", label="Wrapped", folder="/wrapped", messages=TALK)
        assert "Messages: 2" in text
        id = text.split("ID: ")[1].split()[0]
        assert item_of(id)["title"] == "Wrapped"
        text = await call("memory_search", query="sprint timeline", filter_labels=["Wrapped"])
        assert id in text
        assert "(Score: 0.00)" not in text
        text = await call("memory_update", conversation_id=id, importance_score=3.0)
        assert "importance_score" in text
        assert item_of(id)["metadata"]["importance_score"] == 3
        text = await call("memory_get_context", conversation_id=id)
        assert "2. **ASSISTANT**: The timeline is a 2 week sprint cycle." in text
        exported = json.loads(await call("memory_export", conversation_id=id))
        assert [message["content"] for message in exported["messages"]] == [
            message["content"] for message in TALK
        ]
        assert "## Messages" in await call("memory_export", conversation_id=id, format="markdown")
        assert "Total Conversations: 1\n" in await call("memory_stats", folder="/wrapped")
        assert "Total Conversations" in await call("memory_stats")
        assert "No conversations need pruning" in await call("memory_prune", threshold_days=30)


async def check_wrapper_client() -> None:
    settings.controller_url = SEKHA
    settings.controller_api_key = KEY
    client = WrapperClient()
    assert (await check_controller_health()).status == "healthy"
    made = await client.store_conversation({"label": "Direct", "folder": "/", "messages": TALK})
    id = made["data"]["conversation_id"]
    assert (await client.get_stats("/"))["data"]["total_conversations"] > 0
    assert (await client.query_memory("sprint timeline"))["data"]["results"]
    assert (await client.get_context(id))["data"]["label"] == "Direct"
    assert (await client.prune_memory(30, 5.0))["data"]["suggestions"] == []
    assert (await client.update_conversation(id, label="Renamed"))["success"] is True
    assert item_of(id)["title"] == "Renamed"


async def raises(kind: type[Exception], call: Any) -> Any:
    """The error of this kind that a call raises; anything else is a failure."""
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


if __name__ == "__main__":
    for name, check in list(globals().items()):
        if name.startswith("check_") and name != "check_controller_health":
            if inspect.iscoroutinefunction(check):
                asyncio.run(check())
            else:
                check()
            print(name, flush=True)
