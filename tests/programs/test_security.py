"""Attacks on a real HTTP server: who gets in, what they see, and what a refusal tells them."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.responses import PlainTextResponse

from memolith.bootstrap import App, families
from memolith.doors.http.auth.access import Access, CallerCheck
from memolith.doors.http.auth.keys import digest, local_key
from memolith.doors.http.limits import CallLimit
from memolith.errors import DiskFull
from memolith.ports.client_keys import ClientKey
from memolith.settings import Settings
from memolith.tools.registry import Registry
from memolith.tools.signature import Actions, Signature
from tests.checked import present
from tests.programs.children import scan, wait_for
from tests.programs.served import Served, process, thread, wait_for_room_in_the_minute

REGISTRY = Registry(families())
TOOLS = [pytest.param(tool, id=tool.name) for tool in REGISTRY.tools]
WRITERS = [tool.name for tool in REGISTRY.tools if not tool.read_only]
LISTED = REGISTRY.choose("all")
ROUTES = [
    ("GET", "/health"),
    ("GET", "/docs"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("POST", "/mcp/core"),
    ("POST", "/mcp/chatgpt"),
    ("POST", "/mcp/official"),
    ("POST", "/mcp/openmemory"),
    ("POST", "/mcp/basic_memory"),
    ("GET", "/nowhere"),
    ("POST", "/mcp/tools/overview"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("OPTIONS", "/mcp"),
]
CLOSED = [route for route in ROUTES if route[1] != "/health" and "well-known" not in route[1]]
LIMIT = 100_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with process(
        tmp_path_factory.mktemp("data"), MEMOLITH_LOG_LEVEL="debug", MEMOLITH_BODY_BYTES=str(LIMIT)
    ) as made:
        yield made


@pytest.fixture(scope="module")
def taking_tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose refusals name a path; its issuer is never asked."""
    with thread(
        tmp_path_factory.mktemp("oauth"),
        oauth_issuer="http://127.0.0.1:9",
        oauth_jwks_url="http://127.0.0.1:9",
        oauth_audience="https://memory.example",
    ) as made:
        yield made


# Keys


def test_without_a_valid_key_there_is_nothing_but_the_health(served: Served) -> None:
    revoked = served.key("ada")
    served.app.keys.revoke(present(served.app.keys.by_digest(digest(revoked))).id)
    expired = served.key("ada", expires_at="2020-01-01T00:00:00Z")
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer mlk_" + "x" * 43},
        {"Authorization": f"Bearer {revoked}"},
        {"X_API_Key": revoked},
        {"X_API_Key": expired},
        {"Authorization": f"Bearer {expired}"},
        {"Authorization": f"Basic {served.admin}"},
        {"Authorization": served.admin},
        {"Cookie": f"key={served.admin}"},
        {"X_API_Key": "x" * 20_000},
    ):
        for method, path in CLOSED:
            answer = served.ask(
                method, f"{path}?key={served.admin}", body=b"{}" * (method == "POST"), **headers
            )
            assert answer.status_code == 401
            assert answer.json()["error"] == "unauthenticated"
            assert answer.json()["request_id"] == answer.headers["x-request-id"]
            assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert served.ask("GET", "/health").json().keys() == {"status", "version", "embeddings"}


def test_a_key_is_taken_from_either_header(served: Served) -> None:
    key = served.key("ada")
    assert served.ask("POST", "/mcp/tools/overview", body={}, X_API_Key=key).status_code == 200
    assert (
        served.ask(
            "POST", "/mcp/tools/overview", body={}, Authorization=f"bEARER  {key}"
        ).status_code
        == 200
    )


def denied(body: dict[str, Any]) -> bool:
    """In the words of any family."""
    return (
        body.get("error") == "permission_denied"
        or body.get("code") in (-32002, -32600)
        or (body.get("success") is False and "needs a key with the scope" in body["error"])
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_a_key_reaches_only_the_tools_of_its_scopes(served: Served, tool: Any) -> None:
    calls: list[tuple[Signature, dict[str, Any]]] = [(tool.signature, {})]
    if isinstance(tool.signature, Actions):
        calls = [
            (signature, {tool.signature.key: action})
            for action, signature in tool.signature.actions.items()
        ]
    for scope in ("read", "write", "admin", "run"):
        key = served.key("scoped", "local", scope)
        for signature, arguments in calls:
            is_allowed = signature.scopes <= {scope}
            answer = served.tool(tool.name, arguments, key)
            assert (answer.status_code == 403) == (not is_allowed)
            if not is_allowed:
                assert denied(answer.json())
                needed = " ".join(sorted(signature.scopes))
                assert (
                    f'error="insufficient_scope", scope="{needed}"'
                    in answer.headers["www-authenticate"]
                )
            if LISTED.find(tool.name):
                ok, body = served.call(tool.name, arguments, key)
                assert ok or denied(body) == (not is_allowed)
        if LISTED.find(tool.name):
            is_usable = any(signature.scopes <= {scope} for signature, _ in calls)
            assert (tool.name in served.listed(key)) == is_usable


def test_nobody_reaches_the_data_of_another_user_or_tenant(served: Served) -> None:
    ada = served.key("ada", "acme")
    word = "walrusque"
    mine = served.tool(
        "remember", {"content": f"{word} is what only Ada knows", "idempotency_key": "same"}, ada
    ).json()
    event = served.tool("history", {"id": mine["id"]}, ada).json()["events"][0]["event"]
    id = mine["id"]
    for key in (served.key("bob", "acme"), served.key("ada", "other", "read", "write", "admin")):
        # Events are numbered in each tenant, so the event of this number is there one's own.
        assert served.tool("undo_event", {"event": event}, key).status_code == 404
        own = served.tool("remember", {"content": "a thing of one's own"}, key).json()["id"]
        calls: dict[str, dict[str, Any]] = {
            "fetch": {"ids": [id]},
            "revise": {"id": id, "title": "x"},
            "forget": {"id": id},
            "restore": {"id": id},
            "explore": {"id": id},
            "history": {"id": id},
            "link": {"source": own, "target": id, "type": "x"},
            "erase_item": {"id": id},
            "restore_item": {"id": id},
            "append_messages": {
                "conversation_id": id,
                "messages": [{"role": "user", "content": "x"}],
            },
        }
        for name, arguments in calls.items():
            answer = served.tool(name, arguments, key, X_Memolith_Project="acme")
            assert answer.status_code == 404, (name, answer.text)
            assert word not in answer.text
        for name, arguments in (
            ("recall", {"query": word}),
            ("overview", {}),
            ("context", {"query": word, "budget_tokens": 500}),
        ):
            assert id not in served.tool(name, arguments, key).text
        again = served.tool(
            "remember",
            {"content": f"{word} is what only Ada knows", "idempotency_key": "same"},
            key,
        )
        assert again.json()["id"] != id
        assert id not in again.text
        assert "error" in served.mcp("resources/read", {"uri": f"memolith://item/{id}"}, key).json()
        assert id not in served.mcp("resources/list", {}, key).text
        assert id not in served.ask("GET", "/metrics", key).text
    assert word in served.tool("fetch", {"ids": [id]}, ada).text


def test_the_metrics_tell_of_other_tenants_only_to_the_admin_of_the_machine(
    tmp_path: Path,
) -> None:
    with thread(tmp_path) as served:
        ada = served.key("ada", "acme")
        bob = served.key("bob", "other", "read", "write", "admin")
        assert served.tool("remember", {"content": "of Ada"}, ada).status_code == 200
        assert served.tool("overview", {}, bob).status_code == 200
        by_ada = 'memolith_calls_total{tool="remember",outcome="ok"} 1'
        by_bob = 'memolith_calls_total{tool="overview",outcome="ok"} 1'
        pending = "memolith_embeddings_pending 1"
        shown = {
            key: served.ask("GET", "/metrics", key).text.splitlines()
            for key in (ada, bob, served.key(), served.admin)
        }
        for key, expected in zip(shown, ([0], [1], [], [0, 1]), strict=True):
            for number, line in enumerate((by_ada, by_bob)):
                assert (line in shown[key]) == (number in expected)
        is_embedded = pending in shown[served.admin]
        assert (pending in shown[ada]) == is_embedded
        assert pending not in shown[bob]


# Where requests come from and what they look like


@pytest.mark.parametrize(
    "place",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": "evil.example:8724"},
        {"Host": ""},
        {"Host": "localhost:80@evil.example"},
        {"Host": "127.0.0.1:80.evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "https://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1:80@evil.example"},
        {"Origin": "file://"},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Origin": ""},
    ],
    ids=str,
)
def test_a_foreign_host_or_origin_gets_nowhere_on_any_route(
    served: Served, place: dict[str, Any]
) -> None:
    for method, path in ROUTES:
        answer = served.ask(method, path, served.admin, **place)
        assert answer.status_code in ((421, 403) if "Host" in place else (403,))
        assert "access-control-allow-origin" not in answer.headers


def test_a_second_origin_does_not_hide_behind_the_first(served: Served) -> None:
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n"
    foreign = served.raw(
        (head + "Origin: http://localhost:1\r\nOrigin: http://evil.example\r\n\r\n").encode()
    )
    assert b" 403 " in foreign.split(b"\r\n")[0]
    assert (
        b" 200 "
        in served.raw((head + "Origin: http://localhost:1\r\n\r\n").encode()).split(b"\r\n")[0]
    )


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/%2e%2e/health",
        "/health/../metrics",
        "/health/%2e%2e/metrics",
        "/.well-known/%2e%2e/metrics",
        "/.well-known/../metrics",
        "/conformance/../metrics",
        "//metrics",
        "/metrics/",
        "/metrics%2f",
        "/METRICS",
        "/mcp/tools/..%2f..%2fmetrics",
        "/mcp/tools/overview%00",
        "/mcp/tools/overview/",
        "/mcp//tools/overview",
        "/mcp/%E2%98%83",
        "/mcp/tools/%ff%fe",
        "/%0d%0aX-Evil:%201",
        "/mcp%0d%0aX-Evil:%201",
        "/mcp/" + "a" * 50_000,
        "/mcp/tools/" + "%61" * 10_000,
        "/health%00",
        "/health;/metrics",
        "/\\metrics",
        "/mcp/manage",
        "/conformance",
    ],
)
def test_tricks_with_paths_lead_nowhere(served: Served, taking_tokens: Served, path: str) -> None:
    for server in (served, taking_tokens):
        for key, statuses in ((None, (401, 404)), (server.admin, (404,))):
            bearer = f"Authorization: Bearer {key}\r\n" if key else ""
            # A tool's own route says which method it takes, whatever the name.
            for method, more in (("GET", (405,)), ("POST", ())):
                answer = server.raw(
                    f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{bearer}"
                    "Connection: close\r\nContent-Length: 0\r\n\r\n".encode()
                )
                assert int(answer.split()[1]) in statuses + more, answer[:300]
                assert b"x-evil" not in answer.lower().split(b"\r\n\r\n")[0]
                assert b"memolith_calls_total" not in answer


def test_methods_that_a_route_does_not_know_are_refused(served: Served) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert served.ask(method, "/mcp/tools/overview", served.admin).status_code == 405
    for path in ("/health", "/docs", "/metrics", "/openapi.json"):
        assert served.ask("POST", path, served.admin, {}).status_code == 405
    assert served.ask("PATCH", "/mcp", served.admin).status_code == 405


def test_a_body_over_the_limit_is_refused_before_it_is_read(served: Served) -> None:
    for path in ("/mcp/tools/remember", "/mcp", "/mcp/core", "/health"):
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            f"Authorization: Bearer {served.admin}\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            "Connection: close\r\n"
        ).encode()
        assert (
            b" 413 "
            in served.raw(head + b"Content-Length: 9999999999999999999\r\n\r\n").split(b"\r\n")[0]
        )
        assert (
            b" 413 "
            in served.raw(head + f"Content-Length: {LIMIT + 1}\r\n\r\n".encode()).split(b"\r\n")[0]
        )
        chunk = b"%x\r\n" % 20_000 + b'"' * 20_000 + b"\r\n"
        # Where both are given, the length is not the one that counts.
        for length in (b"", b"Content-Length: 1\r\n"):
            given = head + length + b"Transfer-Encoding: chunked\r\n\r\n"
            answer = served.raw(given, *[chunk] * 10, b"0\r\n\r\n")
            assert answer == b"" or answer.split()[1] in (
                (b"405",) if path == "/health" else (b"413",)
            )
    for bad in (b"-1", b"1, 2", b"0x10", b"\xb2", b"9" * 5000, b""):
        assert served.raw(head + b"Content-Length: " + bad + b"\r\n\r\n").split()[1] in (
            b"400",
            b"405",
            b"413",
        )
    assert served.is_well()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"\xff\xfe\xfd",
        b'{"query": "a"} x',
        b'{"query": "\\ud800"}',
        b'{"a": NaN}',
        b'{"query": "\\u0000"}',
        b'{"\\ud800": 1}',
        b"[" * 90_000,
        b'{"a":' * 9_000,
        b'{"query": "a", "limit": 1e999}',
        b'{"query": "a", "limit": ' + b"9" * 5000 + b"}",
        b'{"query": "a", "limit": 99999999999999999999}',
        b'{"query": "a", "limit": 1.5}',
        b'{"query": ["a"]}',
        b'{"query": "a", "surprise": 1}',
        b'{"query": "\xc3\x28"}',
        b"query=a&limit=1",
        gzip.compress(b'{"query": "a"}', mtime=0),
        gzip.compress(b" " * 30_000_000, mtime=0),
    ],
    ids=lambda body: repr(body[:30]),
)
def test_a_body_that_is_no_good_is_a_fault_of_the_client(served: Served, body: Any) -> None:
    answer = served.tool("recall", body, Content_Type="text/plain", Content_Encoding="gzip")
    assert answer.status_code == 400
    assert answer.json()["error"] == "validation_error"


def test_of_two_values_for_one_name_the_last_counts_through_every_door(served: Served) -> None:
    answer = served.tool("recall", b'{"limit": 0, "query": "a", "limit": 5}')
    assert answer.status_code == 200
    assert (
        served.tool("recall", b'{"limit": 5, "query": "a", "limit": 0}').json()["field"] == "limit"
    )


def test_clients_that_are_slow_or_leave_do_not_keep_the_others_waiting(served: Served) -> None:
    wires = [served.connect() for _ in range(60)]
    for number, wire in enumerate(wires):
        head = f"POST /mcp/tools/overview HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        body = f"Authorization: Bearer {served.admin}\r\nContent-Length: 50\r\n\r\n{{"
        wire.sendall((head + (body if number % 2 else "X-Slow: ")).encode())
    assert served.is_well()
    for wire in wires:
        wire.close()
    assert served.is_well()


def test_who_calls_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    with thread(tmp_path, calls_per_minute=5) as limited:
        one, other = limited.key("one"), limited.key("other")
        wait_for_room_in_the_minute()
        *_, allowed, last = [limited.tool("overview", {}, one) for _ in range(6)]
        assert (allowed.status_code, last.status_code) == (200, 429)
        assert (last.headers["x-ratelimit-limit"], last.headers["x-ratelimit-remaining"]) == (
            "5",
            "0",
        )
        assert allowed.headers["x-ratelimit-reset"] == last.headers["x-ratelimit-reset"]
        assert 1 <= int(last.headers["retry-after"]) <= 60
        assert last.json()["error"] == "rate_limited"
        assert limited.mcp("tools/list", {}, one).status_code == 429
        assert limited.tool("overview", {}, other).status_code == 200
        assert limited.ask("GET", "/health").status_code == 200


def test_a_key_in_use_is_shut_out_within_a_second_of_being_revoked(served: Served) -> None:
    key = served.key("leaving")
    assert served.tool("overview", {}, key).status_code == 200
    served.app.keys.revoke(present(served.app.keys.by_digest(digest(key))).id)
    wait_for(lambda: served.tool("overview", {}, key).status_code == 401)


class FullDisk:
    """Keys on a disk that has no room left."""

    def by_digest(self, digest: str) -> ClientKey:
        return ClientKey("id", digest, "name", "local", "ada", ("read",), "2026-01-01T00:00:00Z")

    def used(self, id: str, at: str) -> None:
        raise DiskFull


def test_a_full_disk_lets_readers_in() -> None:
    keys: Any = FullDisk()
    callers = CallerCheck(keys, lambda: "2026-01-02T00:00:00Z", lambda caller: None)
    access = Access(PlainTextResponse("read"), Settings(), callers, CallLimit(6000))

    async def ask() -> str:
        transport = httpx2.ASGITransport(access)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
            return (await client.get("/docs", headers={"X-API-Key": "any"})).text

    assert anyio.run(ask) == "read"


# Secrets


def test_keys_are_kept_as_hashes_and_the_local_one_for_its_owner_alone(served: Served) -> None:
    file = served.folder / "local.key"
    assert file.stat().st_mode & 0o777 == 0o600
    key = served.key("hashed")
    assert served.tool("overview", {}, key).status_code == 200
    found = scan(served.folder, [key, served.admin, digest(key)])
    assert {line.split(": ")[0] for line in found if line.endswith(served.admin.lower())} == {
        "local.key"
    }
    assert not [line for line in found if line.endswith(key.lower())]
    assert [line for line in found if line.endswith(digest(key))]


def test_a_local_key_that_others_could_read_or_that_was_revoked_is_put_right(
    app: App, tmp_path: Path
) -> None:
    first = local_key(tmp_path, app.keys, app.clock.now())
    (tmp_path / "local.key").chmod(0o644)
    assert local_key(tmp_path, app.keys, app.clock.now()) == first
    assert (tmp_path / "local.key").stat().st_mode & 0o777 == 0o600
    app.keys.revoke(present(app.keys.by_digest(digest(first))).id)
    assert local_key(tmp_path, app.keys, app.clock.now()) != first
    (tmp_path / "local.key").write_bytes(b"\xff\xfe")
    assert local_key(tmp_path, app.keys, app.clock.now()).startswith("mlk_")
    assert (tmp_path / "local.key").stat().st_mode & 0o777 == 0o600


def test_the_log_has_the_request_but_neither_keys_nor_traces(served: Served) -> None:
    wrong = "mlk_" + "w" * 43
    refused = served.tool("overview", {}, wrong)
    wait_for(lambda: refused.headers["x-request-id"] in "".join(served.log))
    text = "".join(served.log)
    assert wrong not in text
    assert not [secret for secret in served.secrets if secret in text]
    assert "Traceback" not in text
    assert not re.findall(r" (?:ERROR|CRITICAL) ", text)


# Reading only


def test_a_read_only_server_neither_shows_nor_runs_what_writes(tmp_path: Path) -> None:
    with thread(tmp_path, read_only=True) as reading:
        assert not set(reading.listed()) & set(WRITERS)
        assert reading.tool("overview", {}).status_code == 200
        assert reading.call("overview", {})[0]
        shown = reading.ask("GET", "/openapi.json", reading.admin).json()["paths"]
        for name in WRITERS:
            assert reading.tool(name, {"content": "x"}).status_code == 404
            refused = reading.mcp(
                "tools/call", {"name": name, "arguments": {"content": "x"}}
            ).json()
            assert refused["error"]["code"] == -32602
            assert f"/mcp/tools/{name}" not in shown
            assert f">{name} <" not in reading.ask("GET", "/docs", reading.admin).text
        with reading.app.store.reading(None) as rows:
            assert rows.last_seq("local") == 0
