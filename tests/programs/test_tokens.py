"""OAuth with a real server and a small issuer: which tokens get in, what others are told."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.doors.http.auth.keys import digest
from tests.programs.children import wait_for
from tests.programs.issuer import AUDIENCE, SmallIssuer
from tests.programs.served import Served, thread


@pytest.fixture(scope="module")
def issuer() -> Iterator[SmallIssuer]:
    made = SmallIssuer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, issuer: SmallIssuer) -> Iterator[Served]:
    """A server that takes tokens of the issuer."""
    with thread(tmp_path_factory.mktemp("oauth"), **issuer.settings) as made:
        yield made


def test_a_token_of_the_issuer_stands_for_its_subject(guarded: Served, issuer: SmallIssuer) -> None:
    id = guarded.tool("remember", {"content": "by token"}, issuer.token()).json()["id"]
    assert (
        guarded.tool("fetch", {"ids": [id]}, issuer.token(aud=[AUDIENCE, "x"])).status_code == 200
    )
    assert guarded.tool("fetch", {"ids": [id]}, issuer.token(sub="eve")).status_code == 404
    assert guarded.tool("fetch", {"ids": [id]}, issuer.token(tenant="acme")).status_code == 404
    assert guarded.tool("subcog_reindex", {}, issuer.token()).status_code == 403
    assert "remember" not in guarded.listed(issuer.token(scope="read profile"))
    assert guarded.is_well()
    assert issuer.asked == 1


def test_a_token_without_a_tenant_is_not_the_owner_of_the_machine(
    tmp_path: Path, guarded: Served, issuer: SmallIssuer
) -> None:
    of_owner = guarded.tool("remember", {"content": "of the owner"}).json()["id"]
    # Whoever has the scope admin sees all that belongs to their tenant.
    every = "read write admin run"
    for claims in ({"sub": "local"}, {"sub": "ada"}, {"tenant": ""}, {"org_id": None}):
        token = issuer.token(scope=every, **claims)
        assert guarded.tool("fetch", {"ids": [of_owner]}, token).status_code == 404
        assert of_owner not in guarded.tool("overview", {}, token).text
    # Nor does it share a tenant with other subjects, or become the owner by naming their tenant.
    by_ada = {"content": "of Ada"}
    of_ada = guarded.tool("remember", by_ada, issuer.token(scope=every)).json()["id"]
    eve = issuer.token(sub="eve", scope=every)
    assert guarded.tool("fetch", {"ids": [of_ada]}, eve).status_code == 404
    own = f"subject-{digest('ada')}"
    for tenant in ("local", own):
        assert guarded.tool("overview", {}, issuer.token(tenant=tenant)).status_code == 403
    with thread(tmp_path, **issuer.settings, oauth_tenant="acme") as server:
        id = server.tool("remember", by_ada, issuer.token()).json()["id"]
        for claims in ({"sub": "eve"}, {"sub": "eve", "tenant": "acme"}):
            token = issuer.token(scope=every, **claims)
            assert server.tool("fetch", {"ids": [id]}, token).status_code == 200
        assert server.tool("fetch", {"ids": [id]}).status_code == 404


def test_forged_tokens_are_refused_with_the_way_to_a_good_one(
    guarded: Served, issuer: SmallIssuer
) -> None:
    for name, token in issuer.forged().items():
        for path, where in (
            ("/mcp", "/mcp"),
            ("/mcp/core", "/mcp/core"),
            ("/mcp/tools/overview", ""),
            ("/docs", ""),
        ):
            answer = guarded.ask("POST", path, token, {})
            assert (name, answer.status_code) == (name, 401)
            challenge = answer.headers["www-authenticate"]
            assert (
                f'resource_metadata="{AUDIENCE}/.well-known/oauth-protected-resource{where}"'
                in challenge
            )
            assert 'error="invalid_token"' in challenge
            assert 'scope="read write"' in challenge
            assert token not in answer.text
    assert "error=" not in guarded.ask("POST", "/mcp", body={}).headers["www-authenticate"]
    assert issuer.asked <= 2


def test_a_token_without_the_scope_is_told_which_one_it_needs(
    guarded: Served, issuer: SmallIssuer
) -> None:
    for scope in ("", "profile", ["read"]):
        answer = guarded.tool("overview", {}, issuer.token(scope=scope))
        assert answer.status_code == 403
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
        assert "resource_metadata=" in answer.headers["www-authenticate"]
    answer = guarded.tool("remember", {"content": "x"}, issuer.token(scope="read"))
    assert answer.status_code == 403
    assert 'scope="write"' in answer.headers["www-authenticate"]


def test_each_path_has_its_metadata_and_takes_tokens_that_were_made_for_it(
    tmp_path: Path, guarded: Served, issuer: SmallIssuer
) -> None:
    for path in ("", "/mcp", "/mcp/core", "/mcp/chatgpt"):
        told = guarded.ask("GET", f"/.well-known/oauth-protected-resource{path}").json()
        assert told["resource"] == AUDIENCE + path
        assert told["authorization_servers"] == [issuer.url]
        token = issuer.token(aud=told["resource"])
        assert guarded.mcp("tools/list", {}, token, path or "/mcp").status_code == 200
    assert (
        guarded.mcp(
            "tools/list", {}, issuer.token(aud=AUDIENCE + "/mcp/core"), "/mcp/chatgpt"
        ).status_code
        == 401
    )
    with thread(tmp_path) as keys_only:
        assert keys_only.ask("GET", "/.well-known/oauth-protected-resource/mcp").status_code == 404


@pytest.mark.parametrize(
    "body",
    [None, b"", b"<html>", b"[]", b'{"keys": []}', b"[" * 50_000],
    ids=lambda body: repr(body and body[:12]),
)
def test_an_issuer_that_is_down_or_talks_nonsense_makes_tokens_unusable_but_not_keys(
    tmp_path: Path, body: bytes | None
) -> None:
    broken = SmallIssuer()
    token, broken.body = broken.token(), body or b""
    if body is None:
        broken.close()
    with thread(tmp_path, **broken.settings) as server:
        for _ in range(3):
            answer = server.tool("overview", {}, token)
            assert answer.status_code == 503, answer.text
            assert answer.json()["error"] == "unavailable"
        assert server.is_well()
        assert broken.asked <= 1
    if body is not None:
        broken.close()


def test_an_issuer_that_keeps_silent_does_not_keep_those_with_a_key_waiting(tmp_path: Path) -> None:
    silent = SmallIssuer()
    silent.speaks.clear()
    with thread(tmp_path, **silent.settings) as server:
        statuses: list[int] = []
        waiting = threading.Thread(
            target=lambda: statuses.append(server.tool("overview", {}, silent.token()).status_code)
        )
        waiting.start()
        wait_for(lambda: silent.asked)
        assert server.is_well()
        assert statuses == []
        silent.speaks.set()
        waiting.join()
        assert statuses == [200]
    silent.close()
