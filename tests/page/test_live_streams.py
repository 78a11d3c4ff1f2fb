"""The stream of changes as a program reads it: who gets one, how many, and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from memolith.doors.page.live import MAX_STREAMS_PER_KEY, LivePages, Pulse
from tests.page.visitor import agent_call, browser_of, sign_in_link
from tests.programs.issuer import SmallIssuer
from tests.programs.served import Served, thread


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for changes often, and ask each time whether the browser is still let in."""
    monkeypatch.setattr("memolith.doors.page.live.POLL_S", 0.02)
    monkeypatch.setattr("memolith.doors.page.live.CHECK_POLLS", 1)


@contextmanager
def signed_in(served: Served, key: str = "") -> Iterator[httpx2.Client]:
    with browser_of(served) as client:
        client.get(sign_in_link(served, key))
        yield client


def told_change(lines: Iterator[str]) -> bool:
    """Whether the stream tells of a change before it ends."""
    return any(line == "event: change" for line in lines)


def wait_for_keep_alive(lines: Iterator[str]) -> None:
    """Fifteen looks for changes went by."""
    assert any(line == ": still here" for line in lines)


def test_a_key_that_may_not_read_gets_no_stream(served: Served) -> None:
    with signed_in(served, served.key("writer", "local", "write")) as writer:
        for headers in ({}, {"last-event-id": "1"}):
            assert writer.get("/ui/live", headers=headers).status_code == 403


def test_a_key_has_some_streams_and_a_place_is_free_when_one_ends(served: Served) -> None:
    with signed_in(served) as visitor, ExitStack() as streams:
        for _ in range(MAX_STREAMS_PER_KEY - 1):
            answer = streams.enter_context(visitor.stream("GET", "/ui/live"))
            assert answer.status_code == 200
        with visitor.stream("GET", "/ui/live") as last:
            assert last.status_code == 200
            refused = visitor.get("/ui/live")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
            other = streams.enter_context(signed_in(served, served.key("ann")))
            with other.stream("GET", "/ui/live") as unaffected:
                assert unaffected.status_code == 200
        while True:
            with visitor.stream("GET", "/ui/live") as again:
                if again.status_code == 200:
                    break


def test_events_are_read_only_when_there_are_new_ones(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent_call(served, "remember", content="Written before.")
    looks: list[int] = []
    read = LivePages._events_after

    async def counted(self: LivePages, request: object, newest: int) -> list[dict[str, object]]:
        looks.append(newest)
        return await read(self, request, newest)  # type: ignore[arg-type]

    monkeypatch.setattr(LivePages, "_events_after", counted)
    with signed_in(served) as visitor, visitor.stream("GET", "/ui/live") as stream:
        lines = stream.iter_lines()
        wait_for_keep_alive(lines)
        assert len(looks) == 1
        agent_call(served, "remember", content="Written now.")
        assert told_change(lines)
        wait_for_keep_alive(lines)
    assert len(looks) <= 3


def test_one_look_answers_all_streams_of_a_tenant() -> None:
    looks: list[str] = []

    def last_seq(tenant: str) -> int:
        looks.append(tenant)
        return 7

    async def ask() -> list[int]:
        pulse = Pulse(last_seq)
        return await asyncio.gather(*(pulse.newest(f"tenant {n % 2}") for n in range(100)))

    # In a thread of its own: Playwright may have a loop running in this one.
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(asyncio.run, ask()).result() == [7] * 100
    assert sorted(looks) == ["tenant 0", "tenant 1"]


def test_a_stream_ends_with_its_key(served: Served) -> None:
    made = agent_call(served, "create_client_key", name="short", scopes=["read"])
    with signed_in(served, made["key"]) as visitor, visitor.stream("GET", "/ui/live") as stream:
        agent_call(served, "revoke_client_key", id=made["id"])
        assert not told_change(stream.iter_lines())


def test_somebody_who_signed_in_at_the_issuer_is_told_of_changes(tmp_path: Path) -> None:
    issuer = SmallIssuer()
    with thread(tmp_path / "data", **issuer.settings) as served:
        token = issuer.token(tenant="zoo", scope="read write")
        cookie = {"cookie": f"memolith_session_{served.port}=token:{token}"}
        with served.http.stream("GET", "/ui/live", headers=cookie) as stream:
            lines = stream.iter_lines()
            wait_for_keep_alive(lines)
            assert served.tool("remember", {"content": "A seal."}, token).status_code == 200
            assert told_change(lines)
    issuer.close()
