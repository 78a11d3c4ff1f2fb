"""Signing in with a key or with a link that works once, and signing out."""

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH, check_key, is_page
from memolith.doors.http.auth.browser_login import ATTEMPT_S, BrowserLogin
from memolith.doors.http.auth.keys import digest
from memolith.doors.http.auth.tickets import LINK_PARAMETER, SESSION, SESSION_S
from memolith.doors.http.forms import read_form
from memolith.doors.page.rendering import address
from memolith.doors.page.site import (
    PAGE_HEADERS,
    SIGN_IN_PATH,
    TOKEN_PREFIX,
    Site,
    cookie_name,
    session_text,
    text_of,
)
from memolith.errors import Denied, KeyPaused, NotFound, Unauthenticated
from memolith.ports.client_keys import ClientKey

LOGIN_PATH = SIGN_IN_PATH + "/issuer"
CALLBACK_PATH = SIGN_IN_PATH + "/callback"
"""Where the issuer sends people back to."""
ATTEMPT_COOKIE = "memolith_login"
MAX_COOKIE_BYTES = 4000
PAUSED = "paused"
"""Why the sign-in page is shown to somebody whose key is paused."""


class SignInPages:
    """The front door of the page."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        return [
            Route("/", self.enter),
            Route(SIGN_IN_PATH, self.show),
            Route(SIGN_IN_PATH, self.site.guarded(self.sign_in), methods=["POST"]),
            Route(LOGIN_PATH, self.site.guarded(self.go_to_issuer)),
            Route(CALLBACK_PATH, self.site.guarded(self.come_from_issuer)),
            Route(PAGE_PATH + "/sign-out", self.site.guarded(self.sign_out), methods=["POST"]),
        ]

    async def enter(self, request: Request) -> Response:
        """The address that a server prints: it signs in whoever opens it first."""
        token = request.query_params.get(LINK_PARAMETER)
        if token is None or request.method == "HEAD":
            # Programs that look at links before people do ask for the head alone.
            return RedirectResponse(PAGE_PATH, 303, PAGE_HEADERS)
        key = await anyio.to_thread.run_sync(self.site.tickets.redeem, token)
        problem = self._problem(key)
        if key is None or problem:
            problem = problem if problem == PAUSED else "link"
            return RedirectResponse(address(SIGN_IN_PATH, problem=problem), 303, PAGE_HEADERS)
        return self._signed_in(request, key, PAGE_PATH)

    async def show(self, request: Request) -> Response:
        return await self._form(request, request.query_params.get("problem", ""))

    async def sign_in(self, request: Request) -> Response:
        form = await read_form(request)
        secret = text_of(form, "key").strip()
        key = await anyio.to_thread.run_sync(self.site.app.keys.by_digest, digest(secret))
        problem = self._problem(key)
        if key is None or problem:
            return await self._form(request, problem, 401)
        return self._signed_in(request, key, own_path(text_of(form, "next")))

    async def go_to_issuer(self, request: Request) -> Response:
        """Send the browser to the issuer, to come back with a code."""
        login = self._login()
        next_path = own_path(request.query_params.get("next", ""))
        started = await anyio.to_thread.run_sync(
            login.start, self._callback_address(request), next_path, limiter=login.limiter
        )
        response = RedirectResponse(started.address, 303, PAGE_HEADERS)
        self._set_cookie(response, request, ATTEMPT_COOKIE, started.cookie, ATTEMPT_S)
        return response

    async def come_from_issuer(self, request: Request) -> Response:
        """Sign in whoever the issuer sends back."""
        login = self._login()
        given = request.query_params
        if "error" in given:
            raise Denied("The issuer did not sign you in; try again, or sign in with a key.")
        token, next_path = await anyio.to_thread.run_sync(
            login.finish,
            request.cookies.get(ATTEMPT_COOKIE, ""),
            given.get("state", ""),
            given.get("code", ""),
            self._callback_address(request),
            limiter=login.limiter,
        )
        if len(token) > MAX_COOKIE_BYTES:
            raise Denied("The token of the issuer is too long for a browser; sign in with a key.")
        response = RedirectResponse(next_path, 303, PAGE_HEADERS)
        response.delete_cookie(ATTEMPT_COOKIE, PAGE_PATH)
        self._set_cookie(response, request, cookie_name(request), TOKEN_PREFIX + token, SESSION_S)
        return response

    def _login(self) -> BrowserLogin:
        if self.site.login is None:
            raise NotFound("Nobody can sign in at an issuer here; use a key.")
        return self.site.login

    def _callback_address(self, request: Request) -> str:
        public = self.site.app.settings.public_url.rstrip("/")
        return (public or f"{request.url.scheme}://{request.url.netloc}") + CALLBACK_PATH

    async def sign_out(self, request: Request) -> Response:
        await self.site.form(request)
        await anyio.to_thread.run_sync(self.site.tickets.end, session_text(request), SESSION)
        response = RedirectResponse(SIGN_IN_PATH, 303, PAGE_HEADERS)
        response.delete_cookie(cookie_name(request), PAGE_PATH)
        return response

    async def _form(self, request: Request, problem: str, status: int = 200) -> Response:
        next_path = own_path(request.query_params.get("next", ""))
        login = self.site.login
        values = {
            "problem": problem,
            "next": next_path,
            "issuer": login.issuer_name if login else "",
        }
        return await self.site.show(request, "sign_in.html", values, status=status)

    def _problem(self, key: ClientKey | None) -> str:
        """Why a key lets nobody in; empty if it does."""
        try:
            check_key(key, self.site.app.clock.now())
        except KeyPaused:
            return PAUSED
        except Unauthenticated:
            return "key"
        return ""

    def _signed_in(self, request: Request, key: ClientKey, path: str) -> Response:
        ticket = self.site.tickets.issue(key, SESSION, SESSION_S)
        response = RedirectResponse(path, 303, PAGE_HEADERS)
        self._set_cookie(response, request, cookie_name(request), ticket.text, SESSION_S)
        return response

    def _set_cookie(
        self, response: Response, request: Request, name: str, text: str, lifetime_s: int
    ) -> None:
        """A cookie for the page alone, which no script can read."""
        response.set_cookie(
            name,
            text,
            max_age=lifetime_s,
            path=PAGE_PATH,
            secure=self._is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def _is_secure(self, request: Request) -> bool:
        """Whether the browser speaks TLS, also to a proxy before this server."""
        public = self.site.app.settings.public_url
        return request.url.scheme == "https" or public.startswith("https://")


def own_path(path: str) -> str:
    """The path if it is one of the page, else its start; never another site."""
    plain = path.partition("?")[0]
    if is_page(plain) and not plain.startswith("//"):
        return path
    return PAGE_PATH
