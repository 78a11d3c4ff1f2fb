"""A registry as an MCP server in one process: lists, pages, capabilities, a broken store."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from memolith.doors.mcp.server import PAGE_SIZE, MemolithServer
from memolith.doors.mcp.start_recorder import record_start_answers
from memolith.errors import StoreCorrupt
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.registry import Registry
from tests.checked import answered, keyed, present
from tests.demo_engine import DemoEngine
from tests.demo_family import Said, registry
from tests.programs.pipes import HANDSHAKES, MODERN

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


def with_client(
    chosen: Registry, mode: str, work: Any, engine: Any = DemoEngine, **more: Any
) -> None:
    async def main() -> None:
        with anyio.fail_after(30):
            async with Client(MemolithServer(chosen, engine, **more), mode=mode) as client:
                await work(client)

    anyio.run(main)


def a_big_family(count: int) -> Registry:
    def echo(call: Call) -> Said:
        """Say nothing new."""
        return {"text": "echo"}

    family = Family("big")
    for number in range(count):
        echo.__name__ = f"echo_{number:03}"
        family.tool(read_only=True)(echo)
    return Registry([family])


@ERAS
def test_tools_are_listed_in_their_order_with_schemas_and_annotations(mode: str) -> None:
    chosen = registry().choose("demo")

    async def work(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in chosen.tools]
        for shown, tool in zip(listed, chosen.tools, strict=True):
            assert shown.description == tool.description
            assert shown.input_schema == tool.input_schema
            assert shown.output_schema == tool.output_schema
            assert shown.annotations is not None
            assert bool(shown.annotations.read_only_hint) == tool.read_only
            assert tool.read_only or shown.annotations.destructive_hint == tool.destructive
            assert tool.read_only or bool(shown.annotations.idempotent_hint) == tool.idempotent

    with_client(chosen, mode, work)


def test_lists_say_how_long_they_hold() -> None:
    async def work(client: Client) -> None:
        tools, prompts = await client.list_tools(), await client.list_prompts()
        assert (tools.ttl_ms, tools.cache_scope) == (300_000, "private")
        assert (prompts.ttl_ms, prompts.cache_scope) == (0, "private")

    with_client(registry().choose("demo"), "auto", work)


@ERAS
def test_long_lists_come_in_pages_that_neither_overlap_nor_skip(mode: str) -> None:
    chosen = a_big_family(2 * PAGE_SIZE + 1)

    async def work(client: Client) -> None:
        names: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor, pages = page.next_cursor, pages + 1
        assert pages == 3
        assert names == [tool.name for tool in chosen.tools]
        for bad in ("0", "-1", "x", "999999", "9" * 30, "٣", ""):
            with pytest.raises(MCPError) as refused:
                await client.list_tools(cursor=bad)
            assert refused.value.code == -32602

    with_client(chosen, mode, work)


@ERAS
def test_a_server_declares_only_what_its_families_offer(mode: str) -> None:
    async def with_offers(client: Client) -> None:
        capabilities = client.server_capabilities
        assert present(capabilities.prompts).list_changed
        assert present(capabilities.resources).list_changed
        assert capabilities.completions is not None
        assert client.instructions == "Notes to play with."

    async def without(client: Client) -> None:
        capabilities = client.server_capabilities
        assert (capabilities.prompts, capabilities.resources, capabilities.completions) == (
            None,
            None,
            None,
        )
        with pytest.raises(MCPError) as refused:
            await client.list_prompts()
        assert refused.value.code == -32601

    with_client(registry().choose("demo"), mode, with_offers)
    with_client(registry().choose("coded"), mode, without)


@ERAS
def test_a_store_that_cannot_be_opened_is_told_by_each_call_and_the_list_is_served(
    mode: str,
) -> None:
    def broken() -> Any:
        raise StoreCorrupt

    async def work(client: Client) -> None:
        assert (await client.list_tools()).tools
        failed = await client.call_tool("get_note", {"note_id": "one"})
        assert failed.is_error
        assert json.loads(answered(failed))["error"] == "store_corrupt"
        with pytest.raises(MCPError, match="damaged"):
            await client.list_resources()

    with_client(registry().choose("all"), mode, work, broken)


@ERAS
def test_a_crash_is_told_without_its_text(mode: str) -> None:
    async def work(client: Client) -> None:
        failed = await client.call_tool("fail", {"kind": "crash"})
        assert failed.is_error
        assert "hunter2" not in answered(failed)
        assert json.loads(answered(failed))["error"] == "internal_error"

    with_client(registry().choose("all"), mode, work)


@ERAS
@pytest.mark.parametrize("key", ["", "x" * 201, 5])
def test_a_bad_idempotency_key_is_refused(mode: str, key: str | int) -> None:
    async def work(client: Client) -> None:
        refused = await client.call_tool("add_note", {"text": "x"}, meta=keyed(key))
        assert json.loads(answered(refused))["field"] == "idempotency_key"

    with_client(registry().choose("all"), mode, work)


@ERAS
def test_unknown_resources_and_prompts_are_faults_of_the_request(mode: str) -> None:
    async def work(client: Client) -> None:
        for uri in ("demo://note/zz", "other://x"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == (-32002 if mode == "legacy" else -32602)
        for name in ("zz", "summary"):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name)
            assert refused.value.code == -32602

    with_client(registry().choose("all"), mode, work)


@ERAS
def test_a_client_that_cannot_ask_its_user_is_told_so(mode: str) -> None:
    async def work(client: Client) -> None:
        assert (await client.call_tool("wipe", {})).is_error

    with_client(registry().choose("all"), mode, work)


@pytest.mark.parametrize("profile", ["all", "demo", "coded", "chatgpt", "get_note,coded"])
@pytest.mark.parametrize("read_only", [False, True])
def test_the_start_answers_of_every_profile_are_json_and_the_same_each_time(
    profile: str, read_only: bool
) -> None:
    chosen = registry().choose(profile, read_only=read_only)
    answers = record_start_answers(chosen)
    assert list(answers) == [*HANDSHAKES, MODERN]
    assert record_start_answers(chosen) == answers
    for results in answers.values():
        tools = json.loads(results["tools/list"])["tools"]
        assert [tool["name"] for tool in tools] == [tool.name for tool in chosen.tools]
        for result in results.values():
            assert b"\n" not in result
            json.loads(result)
