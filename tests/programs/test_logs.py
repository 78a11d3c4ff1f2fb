"""The log of a server: its form, the request id in it, and what must never be in it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memolith.doors.logs import JsonFormatter, PrivateFormatter
from tests.programs.children import Child, cli, wait_for
from tests.programs.pipes import INITIALIZED, encoded, initialize, tool
from tests.programs.served import Served, process

TEXT = "the walrus sleeps at noon"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("logged")
    with process(folder, MEMOLITH_LOG_FORMAT="json", MEMOLITH_LOG_LEVEL="info") as server:
        yield server


def lines_about(served: Served, request_id: str) -> list[dict[str, Any]]:
    """The lines of the log about a request, once there are some."""

    def find() -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in list(served.log)]
        return [line for line in lines if line.get("request_id") == request_id]

    found: list[dict[str, Any]] = wait_for(find)
    return found


def test_a_call_is_one_line_of_json_with_its_request_id(served: Served) -> None:
    answer = served.tool("overview", {})
    (line,) = lines_about(served, answer.headers["x-request-id"])
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") > 0
    assert line.pop("message").startswith(f"request {answer.headers['x-request-id']}: overview ok")
    assert line == {
        "level": "info",
        "logger": "memolith.tools.registry",
        "request_id": answer.headers["x-request-id"],
        "tool": "overview",
        "family": "core",
        "door": "rest",
        "tenant": "local",
        "outcome": "ok",
    }


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/mcp/tools/remember", "admin"),
        ("/mcp/tools/no_such_tool", "admin"),
        ("/no/such/path", "admin"),
        ("/mcp/tools/remember", "wrong"),
    ],
)
def test_the_request_id_of_a_failure_is_in_the_header_and_in_the_body(
    served: Served, path: str, key: str
) -> None:
    secret = served.admin if key == "admin" else "wrong"
    answer = served.ask("POST", path, secret, {"unknown": 1})
    assert answer.status_code >= 400
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("tool", ["create_memory", "memory_search", "subcog_get"])
def test_a_failure_of_a_documented_family_has_its_request_id_in_the_header_alone(
    served: Served, tool: str
) -> None:
    for key in (served.admin, "wrong"):
        answer = served.ask("POST", f"/mcp/tools/{tool}", key, {"unknown": 1})
        assert answer.status_code >= 400
        assert answer.headers["x-request-id"]
        assert "request_id" not in answer.text


def test_a_refused_call_is_logged_with_the_kind_of_its_error(served: Served) -> None:
    answer = served.tool("remember", {"content": ""})
    (line,) = lines_about(served, answer.json()["request_id"])
    assert line["outcome"] == "validation_error"


def test_neither_texts_nor_keys_are_logged(served: Served) -> None:
    served.tool("remember", {"content": TEXT, "tags": ["walrus"]})
    served.tool("recall", {"query": TEXT})
    served.tool("recall", {"query": TEXT, "mode": "walrus"})
    answer = served.tool("no_such_tool", {"walrus": TEXT})
    assert answer.status_code == 404
    lines_about(served, served.tool("overview", {}).headers["x-request-id"])
    log = "".join(served.log)
    assert "walrus" not in log
    assert served.admin not in log


def test_the_text_format_has_a_line_for_people(tmp_path: Path) -> None:
    ran = cli(tmp_path, "remember", TEXT, MEMOLITH_LOG_LEVEL="info")
    assert "INFO memolith.tools.registry request" in ran.stderr
    assert ": remember ok in" in ran.stderr
    assert "walrus" not in ran.stderr


def test_an_unknown_format_is_refused_by_name(tmp_path: Path) -> None:
    ran = cli(tmp_path, "remember", TEXT, MEMOLITH_LOG_FORMAT="xml")
    assert ran.returncode == 2
    assert "log_format" in ran.stderr


def test_the_stdio_server_logs_as_it_is_told(tmp_path: Path) -> None:
    arguments = ("-m", "memolith.doors.main", "stdio", "--data", str(tmp_path))
    with Child(*arguments, MEMOLITH_LOG_FORMAT="json", MEMOLITH_LOG_LEVEL="info") as child:
        for message in (initialize(), INITIALIZED, tool(2, "overview")):
            child.say(encoded(message).decode().strip())
        wait_for(lambda: any('"tool": "overview"' in line for line in list(child.complaints)))
        logged = [json.loads(line) for line in list(child.complaints)]
    doors = [line["door"] for line in logged if line.get("tool") == "overview"]
    assert doors == ["mcp-stdio"]


@pytest.mark.parametrize("formatter", [PrivateFormatter(), JsonFormatter()])
def test_the_message_of_an_exception_is_not_logged(formatter: logging.Formatter) -> None:
    try:
        raise ValueError(TEXT)
    except ValueError:
        record = logging.LogRecord(
            "library", logging.ERROR, __file__, 1, "It failed.", None, sys.exc_info()
        )
    written = formatter.format(record)
    assert "ValueError" in written
    assert "test_logs.py" in written
    assert TEXT not in written
