"""Who calls over HTTP: Host and Origin first, then a key or a token, then how often."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memolith.doors.mcp_calls import CALLER, SCOPES_KEY
from memolith.doors.tokens import Issuer
from memolith.engine.model import Caller
from memolith.engine.ports import ClientKey, ClientKeys
from memolith.engine.times import new_id
from memolith.errors import Denied, InvalidInput, MemolithError, RateLimited, StoreBusy, TooLarge, Unauthenticated
from memolith.registry import PLAIN, SCOPES

log = logging.getLogger(__name__)
KEY_PREFIX = "mlk_"
LOCAL_KEY = "local.key"
PROJECT_HEADER = "x-memolith-project"
OPEN_PATHS = ("/health",)
OPEN_PREFIXES = ("/.well-known/", "/conformance")


def digest(key: str) -> str:
    """What is stored of a key; the key itself has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_key(keys: ClientKeys, now: str, name: str, user: str = "local", tenant: str = "local",
             scopes: Sequence[str] = ("read", "write"), expires_at: str | None = None) -> tuple[str, ClientKey]:
    """A new key, to be shown once, and its record."""
    if unknown := sorted(set(scopes) - SCOPES):
        raise InvalidInput(f"There is no scope {unknown[0]!r}; use {', '.join(sorted(SCOPES))}.", field="scopes")
    secret = KEY_PREFIX + secrets.token_urlsafe(32)
    record = ClientKey(new_id(), digest(secret), name, tenant, user, tuple(scopes), now, expires_at)
    keys.add(record)
    return secret, record


def local_key(folder: Path, keys: ClientKeys, now: str) -> str:
    """The key of the person at this machine, made at the first start and kept in the data folder for him alone."""
    path = folder / LOCAL_KEY
    if path.is_file() and keys.by_digest(digest(secret := path.read_text(encoding="utf-8").strip())):
        return secret
    secret, _ = make_key(keys, now, "local", scopes=sorted(SCOPES))
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(secret + "\n")
    return secret


@dataclass(frozen=True, slots=True)
class Rules:
    """Whom to let in and how often."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    per_minute: int
    body_bytes: int
    issuer: Issuer | None = None


class Access:
    """ASGI middleware around every route: nothing decides about a caller but this."""

    def __init__(self, app: ASGIApp, keys: ClientKeys, rules: Rules, clock: Callable[[], str]) -> None:
        self.app = app
        self.keys = keys
        self.rules = rules
        self.clock = clock
        self.windows: dict[str, tuple[int, int]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request = secrets.token_hex(6)
        extra: dict[str, str] = {"x-request-id": request}
        try:
            self.check_place(headers)
            self.check_size(headers)
            if not is_open(scope["path"]):
                caller, scopes, id = self.who(headers)
                extra |= self.count(id)
                scope = {**scope, CALLER: caller, SCOPES_KEY: scopes}
        except MemolithError as error:
            await self.refuse(error, scope["path"], extra)(scope, receive, send)
            return
        await self.app({**scope, "memolith.request": request}, receive, with_headers(send, extra))

    def check_place(self, headers: Headers) -> None:
        """Refuse foreign hosts and origins: a web page must not reach a server on this machine."""
        host = headers.get("host", "")
        if not any(matches(host, allowed) for allowed in self.rules.hosts):
            raise Denied("This host name is not served here; add it to the setting `hosts`.", field="host")
        origin = headers.get("origin")
        if origin is not None and not any(matches(origin, allowed) for allowed in self.rules.origins):
            raise Denied("Requests from this origin are not allowed; add it to the setting `origins`.", field="origin")

    def check_size(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.rules.body_bytes:
            raise TooLarge(f"A request has at most {self.rules.body_bytes:,} bytes.")

    def who(self, headers: Headers) -> tuple[Caller, frozenset[str], str]:
        """The caller, what his key allows, and the key's id."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        secret = token.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")
        if not secret:
            raise Unauthenticated("A key is needed: send `Authorization: Bearer KEY`.")
        project = headers.get(PROJECT_HEADER)
        if self.rules.issuer and not secret.startswith(KEY_PREFIX):
            caller, scopes = self.rules.issuer.caller(secret, project)
            return caller, scopes, f"token:{caller.tenant}:{caller.user}"
        # The look-up is by hash, so how long it takes tells nothing about the key.
        key = self.keys.by_digest(digest(secret))
        if key is None or key.revoked or (key.expires_at is not None and key.expires_at <= self.clock()):
            raise Unauthenticated("This key is not valid, or not any more.")
        self.note(key)
        return (Caller(key.tenant, key.user, project, admin="admin" in key.scopes), frozenset(key.scopes), key.id)

    def note(self, key: ClientKey) -> None:
        now = self.clock()
        if key.last_used is None or key.last_used[:15] != now[:15]:
            try:
                self.keys.used(key.id, now)
            except StoreBusy:
                log.debug("the use of key %s was not noted", key.id)

    def count(self, id: str) -> dict[str, str]:
        """Count the call; the headers tell how many are left in this minute."""
        minute, now = int(time.time() // 60), time.time()
        started, used = self.windows.get(id, (minute, 0))
        used = used + 1 if started == minute else 1
        self.windows[id] = (minute, used)
        limit, reset = self.rules.per_minute, (minute + 1) * 60
        if used > limit:
            raise RateLimited(f"At most {limit} calls a minute; try again in {max(1, int(reset - now))} seconds.",
                              value=max(1, int(reset - now)))
        return {"x-ratelimit-limit": str(limit), "x-ratelimit-remaining": str(limit - used),
                "x-ratelimit-reset": str(reset)}

    def refuse(self, error: MemolithError, path: str, extra: dict[str, str]) -> Response:
        headers = dict(extra)
        if error.status == 401:
            headers["www-authenticate"] = challenge(self.rules.issuer, path)
        if error.status == 429:
            headers["retry-after"] = str(error.value)
        body = json.dumps(PLAIN.failure(error) | {"request_id": extra["x-request-id"]})
        return Response(body, error.status, headers, "application/json")


def challenge(issuer: Issuer | None, path: str) -> str:
    """What a client must do to get in."""
    if issuer is None:
        return 'Bearer realm="memolith"'
    return f'Bearer resource_metadata="{issuer.metadata_url(path)}", scope="read write"'


def is_open(path: str) -> bool:
    """Whether a path needs no key."""
    return path in OPEN_PATHS or path.startswith(OPEN_PREFIXES)


def matches(name: str, allowed: str) -> bool:
    """Whether a host or origin is the allowed one; `:*` stands for any port."""
    if allowed == "*" or name == allowed:
        return True
    base = allowed.removesuffix(":*")
    if base == allowed:
        return False
    rest = name.removeprefix(base)
    return rest != name and (rest == "" or (rest[0] == ":" and rest[1:].isdigit()))


def with_headers(send: Send, extra: dict[str, str]) -> Send:
    """The same, with headers added to the response."""
    raw = [(name.encode(), value.encode()) for name, value in extra.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *raw]}
        await send(message)

    return sending


