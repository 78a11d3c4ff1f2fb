"""A server that speaks OpenAI's protocol: asked again while it is busy, given up when it is gone."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

from memolith.errors import Unavailable

TRIES = 3
BUSY = (429, 500, 502, 503, 504)
LONGEST_PAUSE_S = 5.0
QUIET_FACTOR = 2


class Endpoint:
    """Posts JSON for one part of memolith, by whose name its settings begin."""

    def __init__(self, part: str, url: str, key: str, failure: type[Unavailable] = Unavailable) -> None:
        # httpx2 costs 0.1 CPU seconds to import, and only who has chosen such a server needs it.
        import httpx2
        self._httpx = httpx2
        self._part, self._url, self._key, self._failure = part, url, key, failure
        self.quiet_until = 0.0
        """Until when it is better left alone, because it has just kept somebody waiting in vain."""

    @cached_property
    def _client(self) -> Any:
        if not self._key.isascii() or not self._key.isprintable():
            raise self._failure(f"{self._part}_key has characters that no HTTP header can carry; check it.")
        return self._httpx.Client(base_url=self._url.rstrip("/"), trust_env=False,
                                  headers={"Authorization": f"Bearer {self._key}"} if self._key else {})

    def post(self, path: str, body: object, timeout_s: float) -> bytes:
        """What the server answers."""
        part = self._part
        for attempt in range(1, TRIES + 1):
            started = time.monotonic()
            try:
                answer = self._client.post(path, json=body, timeout=timeout_s)
            except self._httpx.TimeoutException as error:
                # Searches go on without it for a while, so that not every one of them waits as long.
                self.quiet_until = time.monotonic() + QUIET_FACTOR * (time.monotonic() - started)
                raise self._failure(f"The {part} did not answer in time.") from error
            except (self._httpx.HTTPError, self._httpx.InvalidURL) as error:
                raise self._failure(f"The {part} cannot be reached; check {part}_url and that it runs.") from error
            if answer.status_code not in BUSY or attempt == TRIES:
                break
            asked = answer.headers.get("retry-after", "")
            seconds = float(asked) if asked.replace(".", "", 1).isdecimal() else 0.2 * 2 ** attempt
            time.sleep(min(seconds, LONGEST_PAUSE_S))
        if answer.status_code != 200:
            raise self._failure(f"The {part} answered HTTP {answer.status_code}; check {part}_url, {part}_model and "
                                f"{part}_key.")
        return bytes(answer.content)
