"""Who calls over HTTP: Host and Origin first, then a key or a token, then how often."""

import hashlib
import json
import logging
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import getrandbits
from typing import Any

import anyio
import jwt
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memolith.domain.callers import Caller
from memolith.domain.ids import new_id
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY
from memolith.engine.validation import identifier
from memolith.errors import (
    Denied,
    InvalidInput,
    MemolithError,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from memolith.ports.client_keys import Allowance, ClientKey, ClientKeys
from memolith.settings import Settings
from memolith.tools.call import SCOPES
from memolith.tools.dialect import PLAIN

log = logging.getLogger(__name__)
KEY_PREFIX, LOCAL_KEY, PROJECT_HEADER = "mlk_", "local.key", "x-memolith-project"
FRAME = 65_536  # how many bytes an upload may have beside the file
PORTIONS, MOST_KNOWN, PAUSE_S = 20, 1000, 5.0
DECIDING = frozenset((b"host", b"origin", b"authorization", b"x-api-key", PROJECT_HEADER.encode()))
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
MCP_PATH = re.compile(r"/mcp(/(?!tools$)[a-z0-9_-]{1,64})?", re.ASCII)
# What the reading of foreign bytes may raise beside the library's own errors.
BROKEN = (ValueError, TypeError, RecursionError)
Known = tuple[Caller, frozenset[str], str]


def digest(key: str) -> str:
    """What is stored of a key; the key itself has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(key.encode()).hexdigest()


def make_key(
    keys: ClientKeys,
    now: str,
    name: str,
    user: str = "local",
    tenant: str = "local",
    scopes: Sequence[str] = ("read", "write"),
    expires_at: str | None = None,
) -> tuple[str, ClientKey]:
    """A new key, to be shown once, and its record."""
    if unknown := sorted(set(scopes) - SCOPES):
        raise InvalidInput(
            f"There is no scope {unknown[0]!r}; use {', '.join(sorted(SCOPES))}.", field="scopes"
        )
    secret = KEY_PREFIX + secrets.token_urlsafe(32)
    record = ClientKey(
        new_id(),
        digest(secret),
        identifier(name, "name"),
        identifier(tenant, "tenant"),
        identifier(user, "user"),
        tuple(scopes),
        now,
        expires_at,
    )
    keys.add(record)
    return secret, record


def local_key(folder: Path, keys: ClientKeys, now: str) -> str:
    """The key of the person at this machine, made at the first start and kept in the data folder for him alone."""
    path = folder / LOCAL_KEY
    if path.is_file():
        path.chmod(0o600)
        secret = path.read_text(encoding="utf-8", errors="replace").strip()
        if (known := keys.by_digest(digest(secret))) and not known.revoked:
            return secret
        # A new file: the old one may be open in a program that has no business with the new key.
        path.unlink()
    secret, _ = make_key(keys, now, "local", scopes=sorted(SCOPES))
    with open(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(secret + "\n")
    return secret


class Issuer(jwt.PyJWKClient):
    """Who issues tokens, for which audience, with which keys: the OAuth 2.1 side of a resource server."""

    def __init__(self, chosen: Settings) -> None:
        self.url, self.audience = chosen.oauth_issuer, chosen.oauth_audience
        if not self.audience or not chosen.oauth_jwks_url:
            raise InvalidInput(
                "OAuth needs oauth_issuer, oauth_audience and oauth_jwks_url.",
                field="oauth_audience",
            )
        self.base, self.down_until = self.audience.rstrip("/"), 0.0
        # The set is kept for five minutes; single keys would be kept for ever, also when the issuer withdraws them.
        super().__init__(chosen.oauth_jwks_url, cache_keys=False, timeout=5)

    def fetch_data(self) -> Any:
        """What the issuer publishes; one that does not answer is not asked for every token."""
        if time.monotonic() >= self.down_until:
            try:
                return super().fetch_data()
            except (jwt.PyJWTError, OSError, *BROKEN) as error:
                self.down_until = time.monotonic() + PAUSE_S
                log.warning("the keys of the token issuer cannot be read: %s", type(error).__name__)
        raise Unavailable("The keys of the token issuer cannot be read right now.")

    def caller(self, token: str, path: str, project: str | None) -> tuple[Caller, frozenset[str]]:
        """Whom a token stands for; it must be of this issuer, for this server, and not expired."""
        # What a token may be for: the server, all of MCP, or the very path that is called.
        audiences = [self.audience, self.base, self.base + "/mcp", self.base + own_path(path)]
        try:
            key = self.get_signing_key(str(jwt.get_unverified_header(token).get("kid")))
            claims = jwt.decode(
                token,
                key.key,
                list(ALGORITHMS),
                audience=audiences,
                issuer=self.url,
                options={"require": ["exp", "iss", "aud", "sub"]},
                leeway=30,
            )
        except (jwt.PyJWTError, *BROKEN):
            # None: the token, or what it says, has no place in a log.
            raise Unauthenticated("This token is not valid here.") from None
        if not (scopes := frozenset(str(claims.get("scope", "")).split()) & SCOPES):
            raise Denied("This token carries none of the scopes read, write, admin, run.")
        tenant = str(claims.get("tenant") or claims.get("org_id") or "local")
        return Caller(
            identifier(tenant, "tenant"),
            identifier(str(claims["sub"]), "sub"),
            project,
            admin="admin" in scopes,
        ), scopes


def own_path(path: str) -> str:
    """The path if it is one of MCP, which has tokens and metadata of its own; only such a one goes into a header."""
    return path if MCP_PATH.fullmatch(path) else ""


def challenge(
    issuer: Issuer | None, path: str, error: str = "", scopes: Iterable[str] = ("read", "write")
) -> str:
    """What a client must do to get in: the value of `WWW-Authenticate`."""
    parts = [f'error="{error}"'] if error else []
    if issuer is not None:
        parts.append(
            f'resource_metadata="{issuer.base}/.well-known/oauth-protected-resource{own_path(path)}"'
        )
    if issuer is not None or error == "insufficient_scope":
        parts.append(f'scope="{" ".join(sorted(scopes))}"')
    return "Bearer " + ", ".join(['realm="memolith"', *parts])


@dataclass(eq=False)
class Access:
    """ASGI middleware around every route: nothing decides about a caller but this."""

    app: ASGIApp
    keys: ClientKeys
    settings: Settings
    clock: Callable[[], str]
    issuer: Issuer | None = None
    allowance: Allowance | None = None
    word: Callable[[MemolithError, str], dict[str, Any]] = lambda error, _: PLAIN.failure(error)
    """How the family that a path belongs to words an error."""
    open_paths: frozenset[str] = frozenset(("/health",))

    def __post_init__(self) -> None:
        # A few threads of their own, so that a silent issuer does not take all there are.
        self.checkers = anyio.CapacityLimiter(4)
        self.minute = self.second = 0
        self.used, self.elsewhere = Counter[str](), Counter[str]()
        """Calls by key here, and those that other servers took from the shared allowance when this one last did."""
        self.known: dict[tuple[object, ...], Known | None] = {}
        """Whom these headers let in at a path, for this second: what another process changes is known in the next."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope, REQUEST_ID_KEY: f"{getrandbits(48):012x}"}
        given, extra = Headers(scope=scope), [(b"x-request-id", scope[REQUEST_ID_KEY].encode())]
        left = most = (
            self.settings.file_bytes + FRAME
            if scope["path"] == "/files"
            else self.settings.body_bytes
        )
        try:
            if known := await self.who(scope, given):
                scope[CALLER_KEY], scope[SCOPES_KEY] = known[:2]
                await self.count(known[2], extra)
            # Only a number of up to 20 digits passes the parser of HTTP.
            if int(given.get("content-length", "0")) > most:
                raise TooLarge(f"A request has at most {most:,} bytes.")
        except MemolithError as error:
            log.info("request %s: refused with %s", scope[REQUEST_ID_KEY], error.status)
            headers = {name.decode(): value.decode() for name, value in extra}
            if isinstance(error, Unauthenticated):
                problem = "invalid_token" * bool(credential(given))
                headers["www-authenticate"] = challenge(self.issuer, scope["path"], problem)
            elif isinstance(error, Denied) and error.field is None:
                headers["www-authenticate"] = challenge(
                    self.issuer, scope["path"], "insufficient_scope"
                )
            if (wait := error.value if error.status == 429 else error.retry_s) is not None:
                headers["retry-after"] = str(wait)
            body = json.dumps(
                self.word(error, scope["path"]) | {"request_id": scope[REQUEST_ID_KEY]}
            )
            await Response(body, error.status, headers, "application/json")(scope, receive, send)
            return

        async def receiving() -> Message:
            nonlocal left
            message = await receive()
            if (left := left - len(message.get("body", b""))) < 0:
                raise TooLarge(f"A request has at most {most:,} bytes.")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        # A body in chunks announces no length, or one that is not looked at.
        is_told = "content-length" in given and "transfer-encoding" not in given
        await self.app(scope, receive if is_told else receiving, sending)

    async def who(self, scope: Scope, headers: Headers) -> Known | None:
        """The caller, what his key allows, and the key's id; None where no key is needed."""
        second, path = int(time.time()), scope["path"]
        if second != self.second or len(self.known) > MOST_KNOWN:
            self.second, self.known = second, {}
        known, given = (
            self.known,
            (path, *(pair for pair in scope["headers"] if pair[0] in DECIDING)),
        )
        if given in known:
            return known[given]
        # No web page may reach a server on this machine.
        if not any(matches(headers.get("host", ""), allowed) for allowed in self.settings.hosts):
            raise Denied(
                "This host name is not served here; add it to the setting `hosts`.", field="host"
            )
        origins = headers.getlist("origin")
        if not all(
            any(matches(origin, allowed) for allowed in self.settings.origins) for origin in origins
        ):
            raise Denied(
                "Requests from this origin are not allowed; add it to the setting `origins`.",
                field="origin",
            )
        is_open = path in self.open_paths or path.startswith("/.well-known/")
        known[given] = None if is_open else await self.check_key(headers, path)
        return known[given]

    async def check_key(self, headers: Headers, path: str) -> Known:
        if not (secret := credential(headers)):
            raise Unauthenticated("A key is needed: send `Authorization: Bearer KEY`.")
        project = headers.get(PROJECT_HEADER)
        if (issuer := self.issuer) and not secret.startswith(KEY_PREFIX):
            # The issuer's keys may have to be fetched first, and nobody with a key shall wait for that.
            caller, scopes = await anyio.to_thread.run_sync(
                issuer.caller, secret, path, project, limiter=self.checkers
            )
            return caller, scopes, f"token:{caller.tenant}:{caller.user}"
        # The look-up is by hash, so how long it takes tells nothing about the key.
        key = await anyio.to_thread.run_sync(self.keys.by_digest, digest(secret))
        now = self.clock()
        if key is None or key.revoked or (key.expires_at is not None and key.expires_at <= now):
            raise Unauthenticated("This key is not valid, or not any more.")
        if key.last_used is None or key.last_used[:15] != now[:15]:
            # Whoever only reads must not be hindered by a store that cannot be written.
            with suppress(MemolithError):
                await anyio.to_thread.run_sync(self.keys.used, key.id, now)
        return (
            Caller(key.tenant, key.user, project, admin="admin" in key.scopes),
            frozenset(key.scopes),
            key.id,
        )

    async def count(self, id: str, extra: list[tuple[bytes, bytes]]) -> None:
        """Count the call; the headers tell how many are left in this minute."""
        minute, limit = self.second // 60, self.settings.calls_per_minute
        if minute != self.minute:
            self.minute, self.used, self.elsewhere = minute, Counter(), Counter()
        own, portion = self.used[id], max(1, limit // PORTIONS)
        self.used[id] += 1
        if self.allowance and own % portion == 0:
            # Servers share the limit by portions; while the database is away each counts for itself.
            with suppress(MemolithError):
                total = await anyio.to_thread.run_sync(self.allowance, id, minute, portion)
                self.elsewhere[id] = max(0, total - own - portion)
        used, reset = self.used[id] + self.elsewhere[id], (minute + 1) * 60
        extra += (
            (b"x-ratelimit-limit", b"%d" % limit),
            (b"x-ratelimit-reset", b"%d" % reset),
            (b"x-ratelimit-remaining", b"%d" % max(0, limit - used)),
        )
        if used > limit:
            wait = reset - self.second
            raise RateLimited(
                f"At most {limit} calls a minute; try again in {wait} seconds.", value=wait
            )


def credential(headers: Headers) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else headers.get("x-api-key", "")


def matches(name: str, allowed: str) -> bool:
    """Whether a host or origin is the allowed one; `:*` stands for any port."""
    base, any_port = re.escape(allowed.removesuffix(":*")), allowed.endswith(":*")
    return allowed == "*" or re.fullmatch(base + "(:[0-9]+)?" * any_port, name) is not None
