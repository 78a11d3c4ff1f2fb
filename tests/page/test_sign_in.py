"""Who gets into the page, and what a visitor may do there."""

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from memolith.doors.http.auth.keys import digest
from memolith.doors.http.auth.tickets import (
    LINK,
    SECRET_BYTES,
    SESSION,
    Tickets,
    page_secret,
    sign_in_address,
)
from memolith.ports.client_keys import ClientKey
from tests.page.visitor import browser_of
from tests.programs.served import Served


@pytest.fixture
def visitor(served: Served) -> Iterator[httpx2.Client]:
    """A client that keeps cookies and follows redirects, as a browser does."""
    with browser_of(served, follow_redirects=True) as client:
        yield client


def link_of(served: Served) -> str:
    settings = served.app.settings
    return sign_in_address(
        served.url, settings.data, settings.page_secret, served.app.keys, served.admin
    )


def sign_in(visitor: httpx2.Client, key: str, **fields: str) -> httpx2.Response:
    return visitor.post("/ui/sign-in", data={"key": key, **fields})


def form_token(answer: httpx2.Response) -> str:
    found = re.search(r'name="form-token" content="([^"]*)"', answer.text)
    assert found is not None
    return found[1]


def test_an_address_without_a_cookie_leads_to_the_sign_in_page_and_back(
    served: Served, visitor: httpx2.Client
) -> None:
    answer = visitor.get("/ui/search", params={"q": "tea & milk"})
    assert answer.url.path == "/ui/sign-in"
    assert answer.url.params["next"] == "/ui/search?q=tea+%26+milk"
    back = sign_in(visitor, served.admin, next=answer.url.params["next"])
    assert (back.status_code, back.url.path, back.url.params["q"]) == (
        200,
        "/ui/search",
        "tea & milk",
    )


@pytest.mark.parametrize("path", ["https://example.org/ui", "//example.org/ui", "/mcp", "/uix", ""])
def test_signing_in_never_leads_to_another_site(served: Served, path: str) -> None:
    with browser_of(served) as client:
        answer = client.post("/ui/sign-in", data={"key": served.admin, "next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")


def test_a_wrong_key_is_refused_in_plain_words(served: Served, visitor: httpx2.Client) -> None:
    answer = sign_in(visitor, "mlk_wrong")
    assert answer.status_code == 401
    assert "This key is not valid" in answer.text
    assert not visitor.cookies


def test_the_printed_link_signs_in_once(served: Served, visitor: httpx2.Client) -> None:
    link = link_of(served)
    assert visitor.get(link).url.path == "/ui"
    with browser_of(served, follow_redirects=True) as other:
        answer = other.get(link)
    assert answer.url.path == "/ui/sign-in"
    assert "used before" in answer.text


def test_a_used_link_and_a_signed_out_cookie_are_refused_by_every_server(served: Served) -> None:
    record = served.app.keys.by_digest(digest(served.admin))
    assert record is not None
    first = Tickets(b"secret", served.app.keys)
    link = first.issue(record, LINK, 60).text
    cookie = first.issue(record, SESSION, 60).text
    assert first.redeem(link) == record
    assert first.end(cookie, SESSION) == record
    second = Tickets(b"secret", served.app.keys)
    assert second.redeem(link) is None
    assert second.key_of(cookie, SESSION) is None


def test_a_link_of_another_machine_or_key_is_refused(served: Served, tmp_path: Path) -> None:
    record = served.app.keys.by_digest(digest(served.admin))
    assert record is not None
    other_secret = Tickets(b"another secret", served.app.keys)
    ours = Tickets(page_secret(served.app.settings.data), served.app.keys)
    assert ours.key_of(other_secret.issue(record, LINK, 60).text, LINK) is None
    assert ours.key_of(ours.issue(record, SESSION, 60).text, LINK) is None
    assert ours.key_of(ours.issue(record, LINK, 60).text, LINK) == record


def test_a_ticket_ends_with_its_time_and_cannot_be_prolonged(served: Served) -> None:
    record = served.app.keys.by_digest(digest(served.admin))
    assert record is not None
    now_s = time.time()
    tickets = Tickets(b"secret", served.app.keys, lambda: now_s)
    ticket = tickets.issue(record, SESSION, 60)
    assert tickets.key_of(ticket.text, SESSION) == record
    prolonged = ticket._replace(expires_s=ticket.expires_s + 60)
    assert tickets.key_of(prolonged.text, SESSION) is None
    now_s += 61
    assert tickets.key_of(ticket.text, SESSION) is None


def test_a_revoked_key_ends_its_sessions(served: Served, visitor: httpx2.Client) -> None:
    secret = served.key("ann")
    sign_in(visitor, secret)
    assert visitor.get("/ui/search").url.path == "/ui/search"
    record = served.app.keys.by_digest(digest(secret))
    assert record is not None
    served.app.keys.revoke(record.id)
    time.sleep(1.1)
    assert visitor.get("/ui/search").url.path == "/ui/sign-in"


def test_the_cookie_is_out_of_reach_of_scripts_and_of_the_other_doors(
    served: Served, visitor: httpx2.Client
) -> None:
    with browser_of(served) as client:
        answer = client.post("/ui/sign-in", data={"key": served.admin})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/ui" in cookie
        named = {"cookie": cookie.partition(";")[0]}
        refused = client.post("/mcp/tools/overview", json={}, headers=named)
    assert refused.status_code == 401


def test_a_form_without_its_token_changes_nothing(served: Served, visitor: httpx2.Client) -> None:
    sign_in(visitor, served.admin)
    answer = visitor.post("/ui/remember", data={"content": "Otters hold hands."})
    assert answer.status_code == 403
    assert served.tool("overview", {}).json()["counts"] == {}


def test_the_token_of_another_session_is_refused(served: Served, visitor: httpx2.Client) -> None:
    token = form_token(sign_in(visitor, served.admin))
    with browser_of(served, follow_redirects=True) as other:
        sign_in(other, served.admin)
        answer = other.post("/ui/remember", data={"content": "Otters.", "form_token": token})
    assert answer.status_code == 403


def test_signing_out_ends_the_session_for_good(served: Served, visitor: httpx2.Client) -> None:
    token = form_token(sign_in(visitor, served.admin))
    cookie = dict(visitor.cookies)
    answer = visitor.post("/ui/sign-out", data={"form_token": token})
    assert answer.url.path == "/ui/sign-in"
    time.sleep(1.1)
    with browser_of(served, cookies=cookie) as thief:
        assert thief.get("/ui").status_code == 303


def test_a_key_that_may_only_read_is_offered_no_form(
    served: Served, visitor: httpx2.Client
) -> None:
    token = form_token(sign_in(visitor, served.key("ann", "local", "read")))
    home = visitor.get("/ui")
    assert "Keep a note" not in home.text
    assert "Admin" not in home.text
    answer = visitor.post("/ui/remember", data={"content": "Otters.", "form_token": token})
    assert answer.status_code == 403
    assert "needs a key with the scope: write" in answer.text


def test_every_page_forbids_foreign_and_inline_scripts(
    served: Served, visitor: httpx2.Client
) -> None:
    for answer in (visitor.get("/ui/sign-in"), sign_in(visitor, served.admin)):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"


def test_a_script_that_is_signed_out_is_told_so(served: Served) -> None:
    with browser_of(served) as client:
        answer = client.get("/ui/search", headers={"x-part": "results"})
    assert answer.status_code == 401
    assert answer.json()["error"] == "Sign in to see this page."


def test_only_files_of_the_page_are_served(served: Served, visitor: httpx2.Client) -> None:
    assert visitor.get("/ui/static/page.css").status_code == 200
    for path in ("/ui/static/none.js", "/ui/static/..%2Fsite.py", "/ui/static/page.py"):
        assert visitor.get(path).status_code == 404


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        ("/ui/item/otter?offset=20", "/ui/item/otter?offset=20"),
        ("/mcp", "/ui"),
        ("", "/ui"),
        ("http://[", "/ui"),
    ],
)
def test_a_form_after_the_end_of_a_session_leads_back_to_its_page(
    served: Served, referer: str, page: str
) -> None:
    headers = {"referer": served.url + referer if referer.startswith("/") else referer}
    answer = served.http.post("/ui/item/otter/forget", headers=headers)
    assert answer.status_code == 303
    assert httpx2.URL(answer.headers["location"]).params["next"] == page


def test_to_ask_for_the_head_of_a_link_does_not_use_it_up(
    served: Served, visitor: httpx2.Client
) -> None:
    link = link_of(served)
    head = served.http.head(link)
    assert "set-cookie" not in head.headers
    assert visitor.get(link).url.path == "/ui"


def test_a_link_signs_in_one_of_many_who_come_at_once(served: Served) -> None:
    tickets = Tickets(b"secret", served.app.keys)
    record = served.app.keys.by_digest(digest(served.admin))
    assert record is not None
    link = tickets.issue(record, LINK, 60).text
    all_found_it = threading.Barrier(8)
    look = tickets.key_of

    def found(text: str, purpose: str) -> ClientKey | None:
        key = look(text, purpose)
        all_found_it.wait(60)
        return key

    tickets.key_of = found  # type: ignore[method-assign]
    with ThreadPoolExecutor(8) as threads:
        keys = list(threads.map(tickets.redeem, [link] * 8))
    assert len([key for key in keys if key is not None]) == 1


def test_an_empty_secret_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "page.secret").touch()
    secret = page_secret(tmp_path)
    assert len(secret) > SECRET_BYTES
    assert page_secret(tmp_path) == secret


def test_all_who_ask_for_the_secret_first_get_the_same_whole_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        secrets = set(threads.map(lambda _: page_secret(tmp_path), range(8)))
    assert len(secrets) == 1
    assert len(secrets.pop()) > SECRET_BYTES
    assert [path.name for path in tmp_path.iterdir()] == ["page.secret"]
