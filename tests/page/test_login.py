"""Signing in at the OAuth issuer."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2
import pytest
from playwright.sync_api import Page, expect

from memolith.doors.http.auth.browser_login import ATTEMPT_S, BrowserLogin
from memolith.errors import Denied, Unavailable
from memolith.settings import Settings
from tests.page.browser import Record
from tests.page.visitor import browser_of
from tests.programs.issuer import AUDIENCE, SmallIssuer
from tests.programs.served import Served, thread

CLIENT_ID = "the-page"
CLIENT_SECRET = "not-for-browsers"


class LoginPages(BaseHTTPRequestHandler):
    """Signs everybody in who comes with a good request, and gives a token for a good code."""

    issuer: ClassVar[SmallIssuer]
    codes: ClassVar[dict[str, dict[str, str]]]
    claims: ClassVar[dict[str, Any]]

    @property
    def own_url(self) -> str:
        return f"http://{self.headers['host']}"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/oauth-authorization-server":
            self.answer(
                200,
                {
                    "authorization_endpoint": self.own_url + "/authorize",
                    "token_endpoint": self.own_url + "/token",
                },
            )
        elif parts.path == "/jwks":
            self.answer(200, json.loads(self.issuer.body))
        elif parts.path == "/authorize":
            self.authorize(dict(parse_qsl(parts.query)))
        else:
            self.answer(404, {})

    def authorize(self, asked: dict[str, str]) -> None:
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == AUDIENCE
        assert set(asked["scope"].split()) == {"read", "write", "admin", "run"}
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        self.send_response(302)
        query = urlencode({"code": code, "state": asked["state"]})
        self.send_header("location", f"{asked['redirect_uri']}?{query}")
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        fields = dict(parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
        asked = self.codes.pop(fields["code"], None)
        digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"]:
            self.answer(400, {"error": "invalid_grant"})
            return
        assert fields["redirect_uri"] == asked["redirect_uri"]
        assert fields["client_secret"] == CLIENT_SECRET
        self.answer(200, {"access_token": self.issuer.token(**self.claims), "token_type": "Bearer"})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The settings of a server whose people sign in at a small issuer."""
    issuer = SmallIssuer()
    for name, value in {"issuer": issuer, "codes": {}, "claims": {"tenant": "zoo"}}.items():
        monkeypatch.setattr(LoginPages, name, value, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), LoginPages) as server:
        running = threading.Thread(target=server.serve_forever, args=(0.02,))
        running.start()
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        yield {
            **issuer.settings,
            "oauth_client_id": CLIENT_ID,
            "oauth_client_secret": CLIENT_SECRET,
        }
        server.shutdown()
        running.join()
    issuer.close()


@pytest.fixture
def served(tmp_path: Path, settings: dict[str, Any]) -> Iterator[Served]:
    with thread(tmp_path / "data", **settings) as server:
        yield server


def test_a_visitor_signs_in_at_the_issuer(page: Page, record: Record, served: Served) -> None:
    page.goto(served.url + "/ui/search?q=tea")
    page.get_by_role("link", name="Sign in at 127.0.0.1").click()
    expect(page).to_have_url(served.url + "/ui/search?q=tea")
    page.goto(served.url + "/ui")
    page.get_by_label("Text").fill("Kept by Ada.")
    page.get_by_role("button", name="Keep", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Kept")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("ada")
    expect(page.get_by_role("navigation")).not_to_contain_text("Admin")
    page.get_by_role("button", name="Sign out").click()
    page.goto(served.url + "/ui")
    expect(page).to_have_title("Sign in · memolith")
    assert record.errors == []


@pytest.fixture
def visitor(served: Served) -> Iterator[httpx2.Client]:
    with browser_of(served) as client:
        yield client


def test_somebody_elses_code_signs_nobody_in(served: Served, visitor: httpx2.Client) -> None:
    visitor.get("/ui/sign-in/issuer")
    answer = visitor.get("/ui/sign-in/callback", params={"code": "code-0", "state": "planted"})
    assert (answer.status_code, "begin again" in answer.text) == (403, True)
    assert not [name for name in visitor.cookies if name.startswith("memolith_session")]


def test_a_wrong_code_signs_nobody_in(served: Served, visitor: httpx2.Client) -> None:
    started = visitor.get("/ui/sign-in/issuer")
    [state] = parse_qs(urlsplit(started.headers["location"]).query)["state"]
    answer = visitor.get("/ui/sign-in/callback", params={"code": "wrong", "state": state})
    assert answer.status_code in (303, 401)
    assert not [name for name in visitor.cookies if name.startswith("memolith_session")]


def test_the_issuer_may_refuse(served: Served, visitor: httpx2.Client) -> None:
    answer = visitor.get("/ui/sign-in/callback", params={"error": "access_denied"})
    assert (answer.status_code, "did not sign you in" in answer.text) == (403, True)


def test_a_token_without_rights_lets_nobody_in(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LoginPages, "claims", {"tenant": "zoo", "scope": "openid"})
    with browser_of(served, follow_redirects=True) as client:
        answer = client.get("/ui/sign-in/issuer")
    assert (answer.status_code, "none of the scopes" in answer.text) == (403, True)


def test_a_cookie_with_a_forged_token_lets_nobody_in(served: Served) -> None:
    port = urlsplit(served.url).port
    for token in LoginPages.issuer.forged().values():
        cookie = {"cookie": f"memolith_session_{port}=token:{token}"}
        answer = served.http.get("/ui", headers=cookie)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/sign-in?next=%2Fui")


def test_an_attempt_ends_after_a_while(settings: dict[str, Any], tmp_path: Path) -> None:
    now = [1000.0]
    login = BrowserLogin(Settings(data=tmp_path, **settings), b"secret", lambda: now[0])
    started = login.start("http://127.0.0.1/ui/sign-in/callback", "/ui")
    [state] = parse_qs(urlsplit(started.address).query)["state"]
    now[0] += ATTEMPT_S
    with pytest.raises(Denied, match="took too long"):
        login.finish(started.cookie, state, "code", "http://127.0.0.1/ui/sign-in/callback")


def test_an_issuer_that_is_away_is_told_in_plain_words(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path,
        oauth_issuer="http://127.0.0.1:1",
        oauth_audience=AUDIENCE,
        oauth_client_id=CLIENT_ID,
    )
    with pytest.raises(Unavailable, match="sign in with a key"):
        BrowserLogin(settings, b"secret").start("http://127.0.0.1/", "/ui")


def test_without_a_client_nobody_is_sent_to_an_issuer(tmp_path: Path) -> None:
    with thread(tmp_path / "data") as served:
        assert "Sign in at" not in served.http.get("/ui/sign-in").text
        assert served.http.get("/ui/sign-in/issuer").status_code == 404
