"""What all pages share: running tools, showing templates, reading forms."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from starlette.datastructures import FormData, Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Scope

from memolith.bootstrap import App
from memolith.doors.http.auth.access import PAGE_PATH, CallerCheck, is_page
from memolith.doors.http.auth.browser_login import BrowserLogin
from memolith.doors.http.auth.origins import host_of
from memolith.doors.http.auth.tickets import SESSION, Tickets
from memolith.doors.http.forms import read_form
from memolith.doors.http.metrics import CallMetrics
from memolith.doors.page.rendering import address, render
from memolith.doors.request_keys import CALLER_KEY, REQUEST_ID_KEY, SCOPES_KEY, SHARE_KEY
from memolith.doors.trace_context import trace_of_headers
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.usage import Client
from memolith.errors import (
    Denied,
    KeyPaused,
    MemolithError,
    NotFound,
    Unauthenticated,
)
from memolith.ports.client_keys import ClientKey
from memolith.tools.call import PAGE_DOOR, Call
from memolith.tools.registry import Registry

log = logging.getLogger(__name__)

View = Callable[[Request], Awaitable[Response]]

SIGN_IN_PATH = PAGE_PATH + "/sign-in"
COOKIE = "memolith_session"
TOKEN_PREFIX = "token:"
"""How the cookie of somebody begins who signed in at the issuer."""
FORM_TOKEN_FIELD = "form_token"
FORM_TOKEN_HEADER = "x-form-token"
PART_HEADER = "x-part"
"""The header by which a script asks for one block of a page."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
DONE = {
    "remembered": "Kept.",
    "revised": "Saved. The history keeps what it said before.",
    "forgotten": "Forgotten.",
    "restored": "Restored.",
    "reviewed": "Noted: it still holds.",
    "erased": "Erased. Nothing of its text is left.",
    "undone": "Undone.",
    "linked": "Linked.",
    "kept_one": "Kept this one. The other one is forgotten, and can be restored.",
    "tagged": "Tags saved.",
    "saved": "Saved.",
    "deleted": "Deleted.",
    "decided": "Decided.",
    "revoked": "Revoked. It lets nobody in any more.",
    "paused": "Paused. Calls with this key are refused until it is resumed.",
    "resumed": "Resumed.",
    "uploaded": "Taken in.",
    "known": "This file was taken in before.",
    "reread": "Read again.",
}
"""What a page says after an action. Addresses name the entry, so no address can put words here."""


FIELD_LABELS = {
    "content": "Text",
    "sure": "Type the word erase",
    "target": "The other item",
    "type": "How they are related",
    "expires_at": "Until this day",
    "pair": "the ticks of the pairs",
    "decision": "With all ticked pairs",
}
"""What the forms call a field, where that is not its name."""
ALIKE = {
    "contradicts": "It seems to contradict something that was kept before.",
    "repeats": "It seems to repeat something that was kept before.",
}
"""What a page says about a new note beside others."""


class NavigationEntry(NamedTuple):
    """A page in the menu, and the scope that it needs."""

    path: str
    name: str
    scope: str = "read"


NAVIGATION = (
    NavigationEntry(PAGE_PATH, "Home"),
    NavigationEntry(PAGE_PATH + "/search", "Search"),
    NavigationEntry(PAGE_PATH + "/timeline", "Timeline"),
    NavigationEntry(PAGE_PATH + "/graph", "Graph"),
    NavigationEntry(PAGE_PATH + "/knowledge", "Knowledge"),
    NavigationEntry(PAGE_PATH + "/files", "Files"),
    NavigationEntry(PAGE_PATH + "/prompts", "Prompts"),
    NavigationEntry(PAGE_PATH + "/decide", "To decide"),
    NavigationEntry(PAGE_PATH + "/clients", "Clients"),
    NavigationEntry(PAGE_PATH + "/admin", "Admin", "admin"),
)


class Site:
    """Runs tools for the pages and shows what they return."""

    def __init__(
        self,
        app: App,
        registry: Registry,
        pools: WorkerPools,
        tickets: Tickets,
        metrics: CallMetrics,
        callers: CallerCheck,
        login: BrowserLogin | None = None,
    ) -> None:
        """`login` signs people in at the issuer of tokens, if there is one."""
        self.app = app
        self.registry = registry
        self.pools = pools
        self.tickets = tickets
        self.metrics = metrics
        self.callers = callers
        self.login = login

    async def run(self, request: Request, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; its error is raised. Arguments that are None are left out."""
        tool = self.registry.find(name)
        if tool is None:
            raise NotFound(f"This server does not offer `{name}`; it may serve only what reads.")
        given = {key: value for key, value in arguments.items() if value is not None}
        call = Call(
            request.scope[CALLER_KEY],
            self.app.engine,
            request.scope[REQUEST_ID_KEY],
            scopes=request.scope[SCOPES_KEY],
            client=Client(request.scope[SHARE_KEY].key, "web page", counted=False),
            door=PAGE_DOOR,
            trace=trace_of_headers(request.scope["headers"]),
        )
        outcome = await self.pools.of(tool).run(
            request.scope[SHARE_KEY], lambda: self.registry.run(name, given, call)
        )
        if outcome.error is not None:
            raise outcome.error
        return dict(outcome.body)

    async def show(
        self,
        request: Request,
        template: str,
        values: Mapping[str, Any],
        *,
        status: int = 200,
    ) -> Response:
        """A page, or the block of it that a script asks for."""
        part = request.headers.get(PART_HEADER, "")
        shown = {**self._frame(request), **values}
        share = request.scope.get(SHARE_KEY)
        if share is None:
            # Nobody is signed in, so no stored text is on the page and it is short.
            text = render(template, shown, part)
        else:
            # In a thread: a page of long texts takes a while, and nobody else waits for it.
            text = await self.pools.calls.run(share, lambda: render(template, shown, part))
        return HTMLResponse(text, status, PAGE_HEADERS)

    def may(self, request: Request, scope: str) -> bool:
        return scope in request.scope.get(SCOPES_KEY, frozenset())

    def offers(self, request: Request, tool_name: str) -> bool:
        """Whether the signed-in key can call a tool of this server."""
        tool = self.registry.find(tool_name)
        scopes: frozenset[str] = request.scope.get(SCOPES_KEY, frozenset())
        return tool is not None and tool.is_usable_with(scopes)

    async def form(self, request: Request) -> FormData:
        """The fields of a form that this server gave out."""
        form = await read_form(request, max_files=1)
        given = form.get(FORM_TOKEN_FIELD) or request.headers.get(FORM_TOKEN_HEADER)
        if given != self.tickets.form_token(session_text(request)):
            raise Denied("This form is out of date; open the page again and repeat it.")
        return form

    def _frame(self, request: Request) -> dict[str, Any]:
        """What the frame around every page needs."""
        caller = request.scope.get(CALLER_KEY)
        scopes = request.scope.get(SCOPES_KEY, frozenset())
        return {
            "caller": caller,
            "scopes": scopes,
            "form_token": self.tickets.form_token(session_text(request)),
            "navigation": [entry for entry in NAVIGATION if entry.scope in scopes],
            "path": request.url.path,
            "done": DONE.get(request.query_params.get("done", "")),
            "done_secrets": whole_number(request.query_params.get("secrets", "")),
            "done_created": request.query_params.get("done") == "remembered",
            "done_alike": ALIKE.get(request.query_params.get("alike", "")),
            "undo_event": whole_number(request.query_params.get("event", "")),
            "may_write": "write" in scopes and self.registry.find("remember") is not None,
        }

    def guarded(self, view: View) -> View:
        """The view, with errors shown as pages."""

        async def shown(request: Request) -> Response:
            try:
                return await view(request)
            except MemolithError as error:
                return self.error_page(request, error)

        return shown

    def error_page(self, request: Request, error: MemolithError) -> Response:
        headers = {} if error.retry_s is None else {"retry-after": str(error.retry_s)}
        if wants_json(request):
            response: Response = JSONResponse(
                {"error": error.message, "field": error.field}, error.status, PAGE_HEADERS
            )
        else:
            values = {
                **self._frame(request),
                "error": error,
                "field": FIELD_LABELS.get(error.field or "", error.field),
                "back": page_before(request),
            }
            response = HTMLResponse(render("error.html", values), error.status, PAGE_HEADERS)
        response.headers.update(headers)
        return response

    def refuse(self, scope: Scope, error: MemolithError) -> Response:
        """The answer to a browser that is not let in."""
        request = Request(scope)
        if isinstance(error, Unauthenticated) and not wants_json(request):
            problem = "paused" if isinstance(error, KeyPaused) else None
            path = address(SIGN_IN_PATH, next=page_to_return_to(request), problem=problem)
            return RedirectResponse(path, 303, PAGE_HEADERS)
        return self.error_page(request, error)

    async def check_browser(self, request: Request) -> None:
        """Refuse a browser that is not let in any more; for answers that stay open."""
        await self.callers.admit(request.headers, request.url.path)


def key_of_browser(tickets: Tickets, headers: Headers) -> ClientKey | None:
    """The key that the cookie of a request stands for."""
    request = Request({"type": "http", "headers": headers.raw})
    return tickets.key_of(session_text(request), SESSION)


def token_of_browser(headers: Headers) -> str:
    """The token of the issuer that a browser is signed in with; empty if it has none."""
    request = Request({"type": "http", "headers": headers.raw})
    prefix, _, token = session_text(request).partition(TOKEN_PREFIX)
    return token if not prefix else ""


def page_before(request: Request) -> str:
    """The page that a form was sent from; empty if it is not known."""
    address = request.headers.get("referer", "")
    if request.method != "POST" or host_of(address) != request.headers.get("host"):
        return ""
    before = urlsplit(address)
    if not is_page(before.path):
        return ""
    return before.path + ("?" + before.query if before.query else "")


def redaction_count(written: Mapping[str, Any]) -> int | None:
    """How many secrets were taken out of what was written; None for none."""
    return sum(written.get("redactions", {}).values()) or None


def page_to_return_to(request: Request) -> str:
    """The page that somebody wants after they have signed in: of a form, the page it is on."""
    path = request.url.path
    query = request.url.query
    if request.method not in ("GET", "HEAD"):
        try:
            _, _, path, query, _ = urlsplit(request.headers.get("referer", ""))
        except ValueError:
            path = ""
        if not is_page(path):
            return PAGE_PATH
    return f"{path}?{query}" if query else path


def wants_json(request: Request) -> bool:
    """Whether a script asks, rather than the browser itself."""
    return PART_HEADER in request.headers or FORM_TOKEN_HEADER in request.headers


def cookie_name(request: Request) -> str:
    """The name of the session cookie. Browsers share cookies among all ports of a host."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isdigit() else COOKIE


def session_text(request: Request) -> str:
    return request.cookies.get(cookie_name(request), "")


def done(path: str, outcome: str, event: int | None = None, **parameters: object) -> Response:
    """Go back to a page, which then tells what was done."""
    return RedirectResponse(
        address(path, done=outcome, event=event, **parameters), 303, PAGE_HEADERS
    )


def whole_number(text: str) -> int | None:
    """The number that a text is, if it is a small enough one."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    return None


def text_of(form: FormData, name: str) -> str:
    """A text field of a form; empty if it is missing.

    Browsers end every line with two characters, whatever the text had before.
    """
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def words_of(text: str) -> list[str]:
    """The entries of a field that takes several, separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def item_path(id: str) -> str:
    return f"{PAGE_PATH}/item/{quote(id, safe='')}"
