"""`GET /export` and `POST /import`, and what they must not leave behind or hold up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.doors.http import transfer
from tests.programs.served import Served, thread


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with thread(tmp_path / "data") as server:
        yield server


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def lines(count: int) -> bytes:
    return b"".join(json.dumps({"content": f"Note {n}."}).encode() + b"\n" for n in range(count))


@pytest.mark.parametrize("range", ["", "bytes=zz", "bytes=99999999-", "bytes=0-3"])
def test_an_export_leaves_nothing_in_the_data_folder(served: Served, range: str) -> None:
    served.tool("remember", {"content": "The okapi is shy."})
    before = sorted(path.name for path in served.folder.iterdir())
    headers = bearer(served.admin) | ({"range": range} if range else {})
    answer = served.http.get("/export", headers=headers)
    assert (answer.status_code, "okapi" in answer.text) == (200, True)
    assert sorted(path.name for path in served.folder.iterdir()) == before


def test_an_import_leaves_nothing_in_the_data_folder(served: Served) -> None:
    before = sorted(path.name for path in served.folder.iterdir())
    for body in (lines(3), b"\xff", b"{", b""):
        served.http.post("/import", content=body, headers=bearer(served.admin))
    assert sorted(path.name for path in served.folder.iterdir()) == before
    assert served.tool("list_items", {}).json()["total"] == 3


def test_only_the_owner_of_the_server_brings_in_much_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MAX_LINES_OF_OTHERS", 5)
    other = served.key("ann", "zoo", "admin", "read", "write")
    refused = served.http.post("/import", content=lines(6), headers=bearer(other))
    assert (refused.status_code, "at most 5 lines" in refused.text) == (413, True)
    assert served.http.post("/import", content=lines(5), headers=bearer(other)).status_code == 200
    own = served.http.post("/import", content=lines(6), headers=bearer(served.admin))
    assert own.json()["items"] == 6


def test_erasing_leaves_no_copy_with_the_text(served: Served) -> None:
    id = served.tool("remember", {"content": "The okapi is shy."}).json()["id"]
    served.tool("start_copy", {"kind": "export"})
    for _ in range(1000):
        [copy] = served.tool("list_copies", {}).json()["copies"]
        if copy["state"] == "ready":
            break
    assert served.tool("erase_item", {"id": id}).json()["clean"]
    assert served.tool("list_copies", {}).json()["copies"] == []
    left = [path for path in served.folder.rglob("*") if path.is_file()]
    assert [path.name for path in left if b"okapi" in path.read_bytes()] == []
