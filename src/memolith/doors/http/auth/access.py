"""The access layer around every route: Host and Origin, then a key or a token, then limits."""

import json
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from random import getrandbits
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memolith.domain.callers import Caller
from memolith.doors.http.auth.admission import Admission
from memolith.doors.http.auth.challenge import challenge
from memolith.doors.http.auth.origins import check_host_and_origin
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.doors.http.error_headers import error_headers
from memolith.doors.http.limits import CallLimit, RequestLimit, limited, too_large, unstalled
from memolith.doors.request_keys import (
    CALLER_KEY,
    REQUEST_ID_KEY,
    SCOPES_KEY,
    SHARE_KEY,
    STALE_READS_KEY,
)
from memolith.doors.shares import Share
from memolith.doors.stale_answers import HEADER, age_headers, stale_reads_of_header
from memolith.engine.client_keys import KEY_PREFIXES, digest, state_of
from memolith.engine.stale_reads import StaleReads, permitting
from memolith.engine.telemetry import RequestIds, current_request
from memolith.errors import Denied, KeyPaused, MemolithError, Unauthenticated
from memolith.ports.client_keys import ClientKey, ClientKeys
from memolith.settings import Settings
from memolith.tools.dialect import plain_failure

log = logging.getLogger(__name__)

PROJECT_HEADER = "x-memolith-project"
FOREIGN_PROJECT_HEADER = "x-project-scope"
"""The same in the clients of LanOnasis."""

NO_PROJECT = "lanonasis-maas"
"""What those clients send as the project whoever uses them, so it stands for none."""

DECIDING_HEADERS = frozenset(
    (
        b"host",
        b"origin",
        b"authorization",
        b"x-api-key",
        b"cookie",
        PROJECT_HEADER.encode(),
        FOREIGN_PROJECT_HEADER.encode(),
    )
)
"""The headers that decide who is let in, and as whom."""

CREDENTIAL_SCHEMES = ("bearer", "token")
"""How a key is announced in `Authorization`: mem0's clients say `Token`."""

MAX_REMEMBERED_ADMISSIONS = 1000
MULTIPART_BYTES = 65_536
"""How many bytes an upload may have beside the file itself."""

PAGE_PATH = "/ui"
PAGE_UPLOAD_PATH = PAGE_PATH + "/files"
LIVE_PATH = PAGE_PATH + "/live"
UPLOAD_PATH = "/files"
IMPORT_PATH = "/import"
UPLOAD_PATHS = (UPLOAD_PATH, PAGE_UPLOAD_PATH, IMPORT_PATH)
UPLOAD_MEMORY_BYTES = 1 << 20
"""How much of an upload is held in memory; the rest goes to the disk."""

STREAMING_METHODS = ("subscriptions/listen",)
"""The methods of MCP whose answer stays open. Older clients open a stream with GET."""

MAX_TOKEN_CHECKS = 4
MAX_KEY_CHECKS = 8
TEN_MINUTES = len("2026-01-01T00:0")
"""How much of a time must differ before a key counts as used again."""

ALWAYS_OPEN = frozenset(("/health",))
OPEN_FOLDERS = ("/.well-known/", PAGE_PATH + "/static/")
BrowserRefusal = Callable[[Scope, MemolithError], Response]
"""Words the refusal of a request for a page."""

ErrorWording = Callable[[MemolithError, str, str], dict[str, Any]]
"""Words an error as the family that a path belongs to does: `(error, path, request_id)`."""

HeaderList = list[tuple[bytes, bytes]]


def nobody(headers: Headers) -> ClientKey | None:
    """Stands in where no browser can be signed in."""
    return None


def no_token(headers: Headers) -> str:
    """Stands in where no browser can be signed in with a token."""
    return ""


def is_page(path: str) -> bool:
    """Whether a path belongs to the web page, where a cookie stands for a key."""
    return path == PAGE_PATH or path.startswith(PAGE_PATH + "/")


def plain_wording(error: MemolithError, path: str, request_id: str) -> dict[str, Any]:
    return plain_failure(error) | {"request_id": request_id}


class CallerCheck:
    """Finds out whom the credential of a request stands for."""

    def __init__(
        self,
        keys: ClientKeys,
        now: Callable[[], str],
        check_project: Callable[[Caller], None],
        issuer: TokenIssuer | None = None,
        browser_key: Callable[[Headers], ClientKey | None] = nobody,
        browser_token: Callable[[Headers], str] = no_token,
    ) -> None:
        """`check_project` refuses a caller whose project does not let them in.

        `browser_key` tells for which key a browser is signed in, and `browser_token` with which
        token of the issuer.
        """
        self.keys = keys
        self.now = now
        self.check_project = check_project
        self.issuer = issuer
        self.browser_key = browser_key
        self.browser_token = browser_token
        # A few threads of their own, so that a silent issuer does not take all there are.
        self.token_checks = anyio.CapacityLimiter(MAX_TOKEN_CHECKS)
        self.key_checks = anyio.CapacityLimiter(MAX_KEY_CHECKS)

    async def admit(self, headers: Headers, path: str) -> Admission:
        admission = await self._identify(headers, path)
        if admission.caller.project is not None:
            await anyio.to_thread.run_sync(
                self.check_project, admission.caller, limiter=self.key_checks
            )
        return admission

    async def _identify(self, headers: Headers, path: str) -> Admission:
        if is_page(path):
            return await self._admit_browser(headers)
        secret = credential(headers)
        if not secret:
            raise Unauthenticated("A key is needed: send `Authorization: Bearer KEY`.")
        project = stated_project(headers)
        if self.issuer is not None and not secret.startswith(KEY_PREFIXES):
            # The issuer's keys may have to be fetched first, which nobody with a key waits for.
            return await anyio.to_thread.run_sync(
                self.issuer.admit, secret, path, project, limiter=self.token_checks
            )
        return await self._admit_key(secret, project)

    async def _admit_key(self, secret: str, project: str | None) -> Admission:
        # The look-up is by hash, so how long it takes tells nothing about the key.
        key = await anyio.to_thread.run_sync(
            self.keys.by_digest, digest(secret), limiter=self.key_checks
        )
        return await self._admission(check_key(key, self.now()), project)

    async def _admit_browser(self, headers: Headers) -> Admission:
        # Only for pages: a foreign page can let a browser send its cookie anywhere.
        token = self.browser_token(headers)
        if token and self.issuer is not None:
            return await anyio.to_thread.run_sync(
                self.issuer.admit, token, PAGE_PATH, None, limiter=self.token_checks
            )
        key = await anyio.to_thread.run_sync(self.browser_key, headers, limiter=self.key_checks)
        if key is None:
            raise Unauthenticated("Sign in to see this page.")
        return await self._admission(check_key(key, self.now()), None)

    async def _admission(self, key: ClientKey, project: str | None) -> Admission:
        now = self.now()
        if key.last_used is None or key.last_used[:TEN_MINUTES] != now[:TEN_MINUTES]:
            # A store that cannot be written must not keep out those who only read.
            with suppress(MemolithError):
                await anyio.to_thread.run_sync(self.keys.used, key.id, now, limiter=self.key_checks)
        caller = Caller(
            key.tenant,
            key.user,
            project_of(key, project),
            admin="admin" in key.scopes,
            bound_to=key.projects,
        )
        return Admission(caller, frozenset(key.scopes), key.id)


class Access:
    """ASGI middleware around every route; nothing else decides who is let in."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        callers: CallerCheck,
        call_limit: CallLimit,
        *,
        word_error: ErrorWording = plain_wording,
        open_paths: frozenset[str] = ALWAYS_OPEN,
        refuse_browser: BrowserRefusal | None = None,
        answers_at_once: Callable[[str], bool] = lambda path: False,
    ) -> None:
        """`answers_at_once` tells for a path that a GET there opens no stream."""
        self.app = app
        self.settings = settings
        self.callers = callers
        self.call_limit = call_limit
        self.request_limit = RequestLimit(
            settings.requests_per_key, settings.streams_per_key, settings.body_bytes
        )
        self.word_error = word_error
        self.open_paths = open_paths
        self.refuse_browser = refuse_browser
        self.answers_at_once = answers_at_once
        self.second = 0
        self.admissions: dict[tuple[object, ...], Admission | None] = {}
        """Whom a path and its headers let in, remembered within one second.

        So what another process changes about a key holds here a second later.
        """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = f"{getrandbits(48):012x}"
        scope = {**scope, REQUEST_ID_KEY: request_id}
        current_request.set(RequestIds(request_id))
        headers = Headers(scope=scope)
        extra: HeaderList = [(b"x-request-id", request_id.encode())]
        max_bytes = self.max_bytes(scope["path"])
        with ExitStack() as while_served:
            stale: StaleReads | None = None
            try:
                stale = stale_reads_of_header(headers.get(HEADER, ""))
                if stale is not None:
                    scope[STALE_READS_KEY] = stale
                with permitting(stale):
                    await self.admit(scope, headers, extra)
                # The HTTP parser lets only a number of up to 20 digits pass.
                if int(headers.get("content-length", "0")) > max_bytes:
                    raise too_large(max_bytes)
                if SHARE_KEY in scope:
                    while_served.enter_context(self.in_progress(scope, headers, max_bytes))
            except MemolithError as error:
                log.info("request %s: refused with %s", request_id, error.status)
                refusal: Response
                if self.refuse_browser is not None and is_page(scope["path"]):
                    refusal = self.refuse_browser(scope, error)
                    refusal.raw_headers.extend(extra)
                else:
                    refusal = self.refusal(error, scope["path"], headers, extra)
                await refusal(scope, receive, send)
                return

            async def send_with_extra(message: Message) -> None:
                if message["type"] == "http.response.start":
                    added = [*extra, *age_headers(stale)]
                    message = {**message, "headers": [*message.get("headers", ()), *added]}
                await send(message)

            # A body in chunks announces no length, or one that nobody looks at.
            has_length = "content-length" in headers and "transfer-encoding" not in headers
            if not has_length:
                receive = limited(receive, max_bytes)
            receive = unstalled(receive, self.settings.body_pause_s)
            await self.app(scope, receive, send_with_extra)

    def max_bytes(self, path: str) -> int:
        if path in UPLOAD_PATHS:
            return self.settings.file_bytes + MULTIPART_BYTES
        return self.settings.body_bytes

    def in_progress(
        self, scope: Scope, headers: Headers, max_bytes: int
    ) -> AbstractContextManager[None]:
        """Counts the request against its key while it is served; refused if these are too many."""
        body_bytes = int(headers.get("content-length", "0"))
        if "transfer-encoding" in headers:
            body_bytes = max_bytes
        if scope["path"] in UPLOAD_PATHS:
            body_bytes = min(body_bytes, UPLOAD_MEMORY_BYTES)
        is_stream = not self.answers_at_once(scope["path"]) and is_streaming(scope, headers)
        return self.request_limit.in_progress(scope[SHARE_KEY], body_bytes, is_stream=is_stream)

    async def admit(self, scope: Scope, headers: Headers, extra: HeaderList) -> None:
        """Write the caller into the scope and count the call; `extra` gets what is left of it."""
        admission = await self.find_admission(scope, headers)
        if admission is None:
            return
        scope[CALLER_KEY] = admission.caller
        scope[SCOPES_KEY] = admission.scopes
        scope[SHARE_KEY] = Share(admission.key_id, admission.caller.tenant)
        count = await self.call_limit.count(admission.key_id, self.second)
        extra += count.headers
        count.check(self.second)

    async def find_admission(self, scope: Scope, headers: Headers) -> Admission | None:
        """Who is let in; None where no key is needed."""
        path = scope["path"]
        second = int(time.time())
        if second != self.second or len(self.admissions) > MAX_REMEMBERED_ADMISSIONS:
            self.second = second
            self.admissions = {}
        # Taken now: by the time a key has been looked up, another second may have begun.
        admissions = self.admissions
        request = (path, *(pair for pair in scope["headers"] if pair[0] in DECIDING_HEADERS))
        if request in admissions:
            return admissions[request]
        check_host_and_origin(headers, self.settings.hosts, self.settings.origins)
        admission = None
        if path not in self.open_paths and not path.startswith(OPEN_FOLDERS):
            admission = await self.callers.admit(headers, path)
        admissions[request] = admission
        return admission

    def refusal(
        self, error: MemolithError, path: str, headers: Headers, extra: HeaderList
    ) -> Response:
        answer_headers = {name.decode(): value.decode() for name, value in extra}
        problem = self.problem(error, headers)
        if problem is not None or isinstance(error, Unauthenticated):
            answer_headers["www-authenticate"] = challenge(self.callers.issuer, path, problem)
        answer_headers.update(error_headers(error))
        body = self.word_error(error, path, answer_headers["x-request-id"])
        return Response(json.dumps(body), error.status, answer_headers, "application/json")

    def problem(self, error: MemolithError, headers: Headers) -> str | None:
        """What OAuth calls the error, if it has a name for it."""
        if isinstance(error, Unauthenticated) and credential(headers):
            return "invalid_token"
        # A field is at fault when the host, the origin or the project is refused.
        if isinstance(error, Denied) and error.field is None:
            return "insufficient_scope"
        return None


def is_streaming(scope: Scope, headers: Headers) -> bool:
    """Whether the answer to a request stays open."""
    path = scope["path"]
    if is_page(path):
        return bool(path == LIVE_PATH)
    return scope["method"] == "GET" or headers.get("mcp-method") in STREAMING_METHODS


def project_of(key: ClientKey, stated: str | None) -> str | None:
    """The project that a client works in: the one that it states, or the only one of its key."""
    if stated is None and len(key.projects) == 1:
        return key.projects[0]
    if stated is not None and key.projects and stated not in key.projects:
        raise Denied(
            f"This key is not for the project {stated[:100]!r}; it is for "
            f"{', '.join(key.projects)}.",
            field=PROJECT_HEADER,
            value=stated,
        )
    return stated


def check_key(key: ClientKey | None, now: str) -> ClientKey:
    """The key, if it lets somebody in."""
    if key is None:
        raise Unauthenticated("This key is not valid, or not any more.")
    state = state_of(key, now)
    if state == "paused":
        raise KeyPaused
    if state != "valid":
        raise Unauthenticated("This key is not valid, or not any more.")
    return key


def stated_project(headers: Headers) -> str | None:
    """The project that a client says it works in."""
    project = headers.get(PROJECT_HEADER)
    if project is not None:
        return project
    foreign = headers.get(FOREIGN_PROJECT_HEADER)
    return None if foreign == NO_PROJECT else foreign


def credential(headers: Headers) -> str:
    """The key or token of a request; empty if it has none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() in CREDENTIAL_SCHEMES:
        return token.strip()
    return headers.get("x-api-key", "")
