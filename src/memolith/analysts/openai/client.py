"""A client for servers that speak OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio and others."""

import time
from functools import cached_property
from typing import NamedTuple

import httpx2

from memolith.errors import MemolithError

MAX_ATTEMPTS = 3
BUSY_STATUSES = (429, 500, 502, 503, 504)
"""The server may well answer the same request a little later."""

FIRST_PAUSE_S = 0.4
"""The pause after the first attempt, if the server asks for none; it doubles after each attempt."""

MAX_PAUSE_S = 5.0

REST_PER_LOST_SECOND = 2
"""For how long a server is left alone after a timeout, for each second that was lost waiting."""


class Endpoint(NamedTuple):
    """Where a server is, and how to talk to it."""

    url: str
    model: str
    key: str
    timeout_s: float


class OpenAIClient:
    """Posts JSON, asks again while the server is busy, and gives up when it is gone."""

    def __init__(self, endpoint: Endpoint, part: str, failure: type[MemolithError]) -> None:
        self.endpoint = endpoint
        self._part = part
        """What the settings of this client begin with: `embedder` or `analyst`."""
        self._failure = failure
        self._resting_until_s = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether the server did not answer in time just now, so that it is better left alone."""
        return time.monotonic() < self._resting_until_s

    def post(self, path: str, body: dict[str, object], timeout_s: float) -> bytes:
        """Post a body with the model's name, and return what the server answered."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            response = self._send(path, {"model": self.endpoint.model, **body}, timeout_s)
            if response.status_code == 200:
                return response.content
            if response.status_code not in BUSY_STATUSES:
                break
            if attempt < MAX_ATTEMPTS:
                time.sleep(_pause_s(response, attempt))
        part = self._part
        raise self._failure(
            f"The {part} answered HTTP {response.status_code}; check {part}_url, {part}_model and "
            f"{part}_key."
        )

    def _send(self, path: str, body: dict[str, object], timeout_s: float) -> httpx2.Response:
        started_s = time.monotonic()
        try:
            return self._http.post(path, json=body, timeout=timeout_s)
        except httpx2.TimeoutException as error:
            # Searches go on without the server for a while, so that not every one of them waits.
            lost_s = time.monotonic() - started_s
            self._resting_until_s = time.monotonic() + REST_PER_LOST_SECOND * lost_s
            raise self._failure(f"The {self._part} did not answer in time.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failure(
                f"The {self._part} cannot be reached; check {self._part}_url and that it runs."
            ) from error

    @cached_property
    def _http(self) -> httpx2.Client:
        key = self.endpoint.key
        if not key.isascii() or not key.isprintable():
            raise self._failure(
                f"{self._part}_key has characters that no HTTP header can carry; check it."
            )
        headers = {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        # The settings alone say where texts go, not a proxy variable of the environment.
        return httpx2.Client(
            base_url=self.endpoint.url.rstrip("/"), trust_env=False, headers=headers
        )


def _pause_s(response: httpx2.Response, attempt: int) -> float:
    """How long to wait before the next attempt: what the server asks for, within limits."""
    asked_for = str(response.headers.get("retry-after", ""))
    if asked_for.replace(".", "", 1).isdecimal():
        return min(float(asked_for), MAX_PAUSE_S)
    own_pause_s: float = FIRST_PAUSE_S * 2 ** (attempt - 1)
    return min(own_pause_s, MAX_PAUSE_S)
