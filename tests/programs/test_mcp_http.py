"""MCP over HTTP as a real server: paths, eras, callers, scopes and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import PromptsListChanged

from memolith.doors.http.mcp_paths import mcp_paths
from tests.checked import answered, keyed, resource_text
from tests.demo_family import registry
from tests.programs.pipes import (
    MODERN,
    SERVER,
    TIMEOUT_S,
    initialize,
    request,
    tool,
)

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, str(SERVER), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            # The demo also prints a word that does not belong there.
            yield next(line.strip() for line in server.stdout if line.startswith("http"))
        finally:
            server.terminate()
            server.wait(TIMEOUT_S)


Work = Callable[[Client], Awaitable[None]]


def as_user(
    url: str, mode: str, work: Work, scopes: str = "read write admin run", **more: Any
) -> None:
    """Run it with the SDK's client as the user ada, who accepts every question."""

    async def accept(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"sure": True})

    async def main() -> None:
        headers = {"x-demo-user": "ada", "x-demo-scopes": scopes}
        with anyio.fail_after(TIMEOUT_S):
            async with (
                httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S, verify=False) as http,
                Client(
                    streamable_http_client(url, http_client=http),
                    mode=mode,
                    elicitation_callback=accept,
                    **more,
                ) as client,
            ):
                await work(client)

    anyio.run(main)


@ERAS
def test_the_official_client_is_served_in_either_era(url: str, mode: str) -> None:
    async def work(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools][:2] == [
            "get_note",
            "list_notes",
        ]
        steps: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        slow = await client.call_tool("slow", {}, progress_callback=on_progress)
        assert slow.structured_content == {"text": "done"}
        assert steps == [1, 2, 3]
        assert (await client.call_tool("wipe", {})).structured_content == {"text": "sure=True"}
        kept = await client.call_tool("add_note", {"text": "Grüße"}, meta=keyed("key-1"))
        assert kept.structured_content == {
            "id": "key-1",
            "title": "ada",
            "text": "Grüße",
            "tags": [],
        }
        assert json.loads(answered(kept)) == kept.structured_content
        failed = await client.call_tool("get_note", {"note_id": "nope"})
        assert (failed.is_error, failed.structured_content) == (True, None)
        assert resource_text(await client.read_resource("demo://note/umlaut")) == "Grüße, 世界 🙂"
        assert (await client.list_prompts()).prompts[0].name == "summary"

    as_user(url + "/mcp", mode, work)


@ERAS
def test_each_family_has_its_own_path(url: str, mode: str) -> None:
    async def names(client: Client) -> None:
        found.append([tool.name for tool in (await client.list_tools()).tools])

    found: list[list[str]] = []
    for path in ("/mcp/coded", "/mcp/chatgpt", "/mcp/demo"):
        as_user(url + path, mode, names)
    assert found[:2] == [["coded_fail"], ["search", "get_note"]]
    assert len(found[2]) == 7


@ERAS
def test_documented_codes_are_sent_on_the_path_of_the_family_alone(url: str, mode: str) -> None:
    async def on_its_path(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("coded_fail", {"kind": "not_found"})
        assert refused.value.code == -32004
        assert refused.value.data == {"details": "not_found", "field": "kind"}
        with pytest.raises(MCPError) as refused:
            await client.call_tool("coded_fail", {"kind": 5})
        assert refused.value.code == -32005
        if mode == "legacy":
            with pytest.raises(MCPError) as refused:
                await client.call_tool("coded_fail", {"kind": "permission_denied"})
            assert refused.value.code == -32002
        else:
            # A code that the newer protocol forbids is only told inside the result.
            denied = await client.call_tool("coded_fail", {"kind": "permission_denied"})
            assert json.loads(answered(denied))["code"] == -32002

    async def among_all(client: Client) -> None:
        result = await client.call_tool("coded_fail", {"kind": "not_found"})
        assert result.is_error
        assert json.loads(answered(result))["code"] == -32004

    as_user(url + "/mcp/coded", mode, on_its_path)
    as_user(url + "/mcp", mode, among_all)


@ERAS
def test_lists_and_calls_go_by_the_scopes_of_the_key(url: str, mode: str) -> None:
    async def work(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == [
            "get_note",
            "list_notes",
            # One of its actions reads.
            "saved_prompts",
            "coded_fail",
        ]
        refused = await client.call_tool("add_note", {"text": "x"})
        assert json.loads(answered(refused))["error"] == "permission_denied"

    as_user(url + "/mcp", mode, work, scopes="read")


@ERAS
def test_an_unknown_tool_is_a_fault_of_the_request(url: str, mode: str) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("no_such_tool", {})
        assert refused.value.code == -32602

    as_user(url + "/mcp", mode, work)


def test_a_listener_hears_that_the_prompts_have_changed(url: str) -> None:
    async def work(client: Client) -> None:
        async with client.listen(prompts_list_changed=True) as changes:
            await client.call_tool("saved_prompts", {"action": "save", "name": "mine", "text": "t"})
            async for change in changes:
                assert change == PromptsListChanged()
                break
        assert "mine" in [prompt.name for prompt in (await client.list_prompts()).prompts]

    as_user(url + "/mcp", "auto", work)


def test_a_session_hears_that_the_prompts_have_changed(url: str) -> None:
    heard: list[str] = []
    done = anyio.Event()

    async def hear(message: Any) -> None:
        heard.append(getattr(message, "method", ""))
        done.set()

    async def work(client: Client) -> None:
        await client.call_tool("saved_prompts", {"action": "save", "name": "other", "text": "t"})
        await done.wait()

    as_user(url + "/mcp", "legacy", work, message_handler=hear)
    assert "notifications/prompts/list_changed" in heard


def post(url: str, message: Any, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    return httpx2.post(
        url, content=content, headers={**ACCEPT, **named}, timeout=TIMEOUT_S, verify=False
    )


def modern(name: str | None = None) -> dict[str, str]:
    method = (
        {"Mcp_Method": "tools/call", "Mcp_Name": name} if name else {"Mcp_Method": "tools/list"}
    )
    return {"MCP_Protocol_Version": MODERN, **method}


@pytest.mark.parametrize(
    "path", ["/mcp/manage", "/mcp/nope", "/mcp/demo/x", "/mcp/../mcp/manage", "/MCP"]
)
def test_other_paths_are_not_served(url: str, path: str) -> None:
    assert post(url + path, initialize(), x_demo_user="ada").status_code == 404


def test_an_oversized_body_is_refused(url: str) -> None:
    huge = tool(1, "add_note", text="x" * 5_000_000)
    assert post(url + "/mcp", huge, x_demo_user="ada", **modern("add_note")).status_code == 413


def test_malformed_bodies_get_a_client_error_and_the_server_goes_on(url: str) -> None:
    for body in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 50_000, b'{"jsonrpc":"2.0","id":1}'):
        for headers in ({}, modern()):
            assert 400 <= post(url + "/mcp", body, x_demo_user="ada", **headers).status_code < 500
    half = json.dumps(tool(1, "get_note", True, note_id="half \ud800")).encode()
    answer = post(url + "/mcp", half, x_demo_user="ada", **modern("get_note"))
    assert json.loads(answer.json()["result"]["content"][0]["text"])["field"] == "note_id"


def test_a_session_belongs_to_whom_opened_it(url: str) -> None:
    opened = post(url + "/mcp", initialize(), x_demo_user="ada")
    session = {
        "mcp_session_id": opened.headers["mcp-session-id"],
        "mcp_protocol_version": "2025-11-25",
    }
    assert post(url + "/mcp", request(2, "ping"), x_demo_user="ada", **session).status_code == 200
    assert post(url + "/mcp", request(3, "ping"), x_demo_user="eve", **session).status_code == 404


def test_many_clients_at_once_each_get_their_own_answers(url: str) -> None:
    async def one(http: httpx2.AsyncClient, number: int) -> None:
        mode = "legacy" if number % 2 else "auto"
        async with Client(
            streamable_http_client(url + "/mcp", http_client=http), mode=mode
        ) as client:
            for turn in range(5):
                text = f"client {number} turn {turn}"
                assert (await client.call_tool("add_note", {"text": text})).structured_content[
                    "text"
                ] == text

    async def main() -> None:
        headers = {"x-demo-user": "ada"}
        with anyio.fail_after(TIMEOUT_S * 2):
            async with (
                httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S, verify=False) as http,
                anyio.create_task_group() as group,
            ):
                for number in range(20):
                    group.start_soon(one, http, number)

    anyio.run(main)


def raw(url: str, message: dict[str, Any], **headers: str) -> dict[str, Any]:
    """The answer to one request of the newer protocol, sent by hand."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = httpx2.post(
        f"{url}/mcp",
        json=message,
        timeout=TIMEOUT_S,
        verify=False,
        headers={
            **ACCEPT,
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": message["params"]["name"],
            "x-demo-user": "ada",
            "x-demo-scopes": "read write admin run",
            **named,
        },
    )
    lines = [
        line.removeprefix("data: ")
        for line in answer.text.splitlines()
        if line.startswith(("data: {", "{"))
    ]
    return dict(json.loads(lines[-1]))


@pytest.mark.parametrize("given", [{"note_id": "one"}, {"note_id": "none"}, {}, {"note_id": 1}])
def test_a_plain_call_is_answered_as_the_sdk_would(url: str, given: dict[str, Any]) -> None:
    plain = tool(1, "get_note", True, **given)
    params = plain["params"]
    told = plain | {"params": params | {"_meta": params["_meta"] | {"progressToken": 7}}}
    assert raw(url, plain) == raw(url, told)


def test_plain_calls_are_taken_from_the_sdk_on_the_path_of_all_tools_alone() -> None:
    def no_engine() -> Any:
        return None

    paths = mcp_paths(registry(), no_engine)
    fitting = {
        b"mcp-protocol-version": MODERN.encode(),
        b"mcp-method": b"tools/call",
        b"content-length": b"9",
        b"content-type": b"application/json",
        b"accept": b"application/json, text/event-stream",
    }
    assert [path for path, endpoint in paths.items() if endpoint.fits(fitting)] == ["/mcp"]
    for name in fitting:
        assert not paths["/mcp"].fits(fitting | {name: b"other"}) or name == b"content-length"
        assert not paths["/mcp"].fits(
            {other: value for other, value in fitting.items() if other != name}
        )


def test_a_plain_call_under_another_name_is_refused(url: str) -> None:
    assert "error" in raw(url, tool(1, "get_note", True, note_id="one"), Mcp_Name="count_notes")
