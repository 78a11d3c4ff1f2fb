"""A server over HTTP as the way to reach a memory."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2

from memolith import errors
from memolith.doors.library.transports import file_errors
from memolith.errors import MemolithError, ServerUnreachable, Unavailable

TIMEOUT_S = 60.0
RETRY_PAUSES_S = (0.1, 0.4, 1.0, 2.0)
MAX_PAUSE_S = 10.0
MAX_RETRY_DIGITS = 9
ERROR_TYPE_HEADER = "x-error-type"
ERROR_FIELD_HEADER = "x-error-field"
KEY_HEADER = "idempotency-key"
PROJECT_HEADER = "x-memolith-project"
LINES_TYPE = "application/x-ndjson"


class HttpTransport:
    """Asks a server through its documented routes."""

    def __init__(self, url: str, key: str, project: str | None, timeout_s: float) -> None:
        headers = {"authorization": f"Bearer {key}"}
        if project is not None:
            headers[PROJECT_HEADER] = project
        self._client = httpx2.Client(base_url=url.rstrip("/"), headers=headers, timeout=timeout_s)

    def call(self, tool: str, arguments: Mapping[str, Any], key: str | None) -> dict[str, Any]:
        # With a key the server does a repeated write once, so that it can be sent again when
        # nobody knows what came of it.
        headers = {KEY_HEADER: key or uuid.uuid4().hex, "content-type": "application/json"}
        content = json.dumps(arguments)
        return self._repeated(
            lambda: self._client.post(f"/mcp/tools/{tool}", content=content, headers=headers)
        )

    def ingest(self, path: Path, name: str) -> dict[str, Any]:
        # The same bytes are the same file, so sending it again does no harm.
        def send() -> httpx2.Response:
            with path.open("rb") as file:
                return self._client.post("/files", files={"file": (name, file)})

        with file_errors(path):
            return self._repeated(send)

    def export_lines(self) -> Iterator[str]:
        try:
            with self._client.stream("GET", "/export") as answer:
                if answer.is_error:
                    answer.read()
                    raise error_of(answer)
                if not answer.headers.get("content-type", "").startswith(LINES_TYPE):
                    raise _not_ours(answer)
                yield from _lines(answer.iter_bytes())
        except httpx2.RequestError as error:
            raise _unreachable(error) from error

    def import_lines(self, lines: Iterable[str], source: str | None) -> dict[str, Any]:
        content = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
        headers = {KEY_HEADER: uuid.uuid4().hex, "content-type": LINES_TYPE}
        query = {} if source is None else {"source": source}
        return _body(
            self._send(
                lambda: self._client.post("/import", params=query, content=content, headers=headers)
            )
        )

    def close(self) -> None:
        self._client.close()

    def _repeated(self, send: Callable[[], httpx2.Response]) -> dict[str, Any]:
        """The answer to a request that can be repeated without harm, and is where that may help."""
        for pause_s in RETRY_PAUSES_S:
            try:
                return _body(self._send(send))
            except MemolithError as error:
                if not isinstance(error, _REPEATED):
                    raise
                time.sleep(min(error.retry_s or pause_s, MAX_PAUSE_S))
        return _body(self._send(send))

    def _send(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        try:
            return send()
        except httpx2.RequestError as error:
            raise _unreachable(error) from error


_REPEATED = (
    ServerUnreachable,
    errors.RateLimited,
    errors.StoreBusy,
    errors.StoreGone,
    errors.OutcomeUnknown,
    errors.TenantMoving,
)


def error_of(answer: httpx2.Response) -> MemolithError:
    """The error that an answer stands for, of the same class as the server raised."""
    message, field = _wording(answer)
    kind = _error_classes().get(answer.headers.get(ERROR_TYPE_HEADER, ""), MemolithError)
    error = kind(message, field=field)
    retry = answer.headers.get("retry-after", "")
    if retry.isascii() and retry.isdigit() and len(retry) <= MAX_RETRY_DIGITS:
        error.retry_s = int(retry)
    return error


def _wording(answer: httpx2.Response) -> tuple[str, str | None]:
    """What an error body says, and the field at fault. The families word errors differently."""
    field = answer.headers.get(ERROR_FIELD_HEADER)
    body = _json(answer)
    if isinstance(body, dict):
        for name in ("message", "error"):
            if isinstance(body.get(name), str):
                return body[name], field
    return f"The server answered with status {answer.status_code}.", field


def _error_classes() -> dict[str, type[MemolithError]]:
    """The error classes by the names that they have on the wire; of several the most general."""
    found: dict[str, type[MemolithError]] = {}
    waiting: list[type[MemolithError]] = [MemolithError]
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.type, kind)
        waiting += kind.__subclasses__()
    return found


def _body(answer: httpx2.Response) -> dict[str, Any]:
    if answer.is_error:
        raise error_of(answer)
    body = _json(answer)
    if not answer.is_success or not isinstance(body, dict):
        raise _not_ours(answer)
    return body


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of an answer. Only a line feed ends one: texts hold the other separators."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
    if rest:
        yield rest.decode()


def _not_ours(answer: httpx2.Response) -> Unavailable:
    """For the answer of a proxy, a sign-in page, or another program."""
    return Unavailable(
        f"What answered with status {answer.status_code} is no server of memolith, so nothing is "
        "known to be kept. Check the address.",
        field="url",
    )


def _json(answer: httpx2.Response) -> Any:
    """What an answer says as JSON; None if it is something else."""
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


def _unreachable(error: httpx2.RequestError) -> ServerUnreachable:
    return ServerUnreachable(f"The server cannot be reached: {error or type(error).__name__}.")
