"""The HTTP app: every route, with the access layer around all of them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.http.auth.access import (
    ALWAYS_OPEN,
    IMPORT_PATH,
    UPLOAD_PATH,
    Access,
    CallerCheck,
    is_page,
)
from memolith.doors.http.auth.browser_login import BrowserLogin
from memolith.doors.http.auth.tickets import Tickets, page_secret
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.doors.http.conformance import conformance_fixtures
from memolith.doors.http.error_headers import error_headers
from memolith.doors.http.error_wording import PathWording
from memolith.doors.http.files import FileRoutes
from memolith.doors.http.foreign_routes import ForeignPaths, ForeignRoutes
from memolith.doors.http.health import HealthRoutes
from memolith.doors.http.limits import CallLimit
from memolith.doors.http.mcp_paths import mcp_paths
from memolith.doors.http.metrics import CallMetrics
from memolith.doors.http.oauth_metadata import OAuthMetadata
from memolith.doors.http.openapi import docs_page, openapi
from memolith.doors.http.rest import RestTools
from memolith.doors.http.sessions import SessionLimit
from memolith.doors.http.transfer import EXPORT_PATH, TransferRoutes
from memolith.doors.page.routes import OPEN_PATHS as PAGE_OPEN_PATHS
from memolith.doors.page.routes import page_routes
from memolith.doors.page.site import Site, key_of_browser, token_of_browser
from memolith.doors.request_keys import REQUEST_ID_KEY
from memolith.doors.worker_pools import WorkerPools
from memolith.errors import InvalidInput, MemolithError, NotFound
from memolith.tools.registry import Registry
from memolith.tools.rest_apis import REST_APIS

DOWNLOAD_PATH = "/files/content"
CONFORMANCE_PATH = "/conformance"


def build(app: App, *, read_only: bool = False, conformance: bool = False) -> ASGIApp:
    """Everything that is served over HTTP."""
    settings = app.settings
    issuer = TokenIssuer(settings) if settings.oauth_issuer else None
    metrics = CallMetrics()
    tools = [tool for tool in app.registry.tools if tool.read_only or not read_only]
    registry = Registry(app.registry.families, tools, metrics.observe)
    pools = WorkerPools(
        calls_per_key=settings.calls_per_key,
        files_per_key=settings.files_per_key,
        runners_per_key=settings.runner_count,
    )
    mcp: dict[str, Any] = {}
    if conformance:
        mcp.update(conformance_fixtures(settings.host))
    mcp.update(
        mcp_paths(
            registry,
            lambda: app.engine,
            read_only=read_only,
            # Several servers on one database know no sessions of each other.
            stateless=bool(settings.database),
            max_body_bytes=settings.body_bytes,
            pools=pools,
            sessions=SessionLimit(settings.sessions_per_key),
        )
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for path in mcp.values():
                await stack.enter_async_context(path.manager.run())
            stack.callback(pools.close)
            app.start_background()
            yield

    def check_project(caller: Caller) -> None:
        app.engine.projects.check(caller)

    secret = page_secret(settings.data, settings.page_secret)
    tickets = Tickets(secret, app.keys)
    callers = CallerCheck(
        app.keys,
        app.clock.now,
        check_project,
        issuer,
        partial(key_of_browser, tickets),
        token_of_browser,
    )
    login = BrowserLogin(settings, secret) if issuer and settings.oauth_client_id else None
    site = Site(app, registry, pools, tickets, metrics, callers, login)

    foreign = ForeignPaths(REST_APIS)
    wording = PathWording(app.registry, foreign)

    async def refuse(request: Request, error: Exception) -> Response:
        if is_page(request.url.path) and getattr(error, "status_code", 404) == 404:
            return site.error_page(request, page_error(error))
        return refusal(wording, request, error)

    server = Starlette(
        routes=[
            *routes(app, registry, metrics, issuer, pools, read_only=read_only),
            *page_routes(site),
            *(Route(path, endpoint) for path, endpoint in mcp.items()),
            *foreign_routes(app, metrics, issuer, pools, read_only=read_only),
        ],
        lifespan=lifespan,
        exception_handlers={404: refuse, 405: refuse, MemolithError: refuse},
    )
    # A path is what it says, and a redirect would lose the body.
    server.router.redirect_slashes = False
    open_paths = ALWAYS_OPEN | {DOWNLOAD_PATH} | PAGE_OPEN_PATHS | foreign.open_paths
    if conformance:
        open_paths |= {CONFORMANCE_PATH}
    return Access(
        server,
        settings,
        callers,
        # Only a store that several servers share has an allowance for all of them.
        CallLimit(settings.calls_per_minute, getattr(app.store, "take_calls", None)),
        word_error=wording.word,
        open_paths=open_paths,
        refuse_browser=site.refuse,
        answers_at_once=lambda path: foreign.api_of(path) is not None,
    )


def routes(
    app: App,
    registry: Registry,
    metrics: CallMetrics,
    issuer: TokenIssuer | None,
    pools: WorkerPools,
    *,
    read_only: bool,
) -> list[Route]:
    """The routes beside MCP."""
    rest = RestTools(app, registry, issuer, pools)
    health = HealthRoutes(app, metrics)
    files = FileRoutes(app, pools)
    transfer = TransferRoutes(app, pools)
    oauth = OAuthMetadata(issuer)
    well_known = "/.well-known/oauth-protected-resource"

    # Made once: it takes a twentieth of a second, which nobody should spend for every request.
    docs = cache(lambda: docs_page(registry))
    schema = cache(
        lambda: bytes(JSONResponse(openapi(registry, REST_APIS, read_only=read_only)).body)
    )

    def show_docs(request: Request) -> Response:
        return HTMLResponse(docs())

    def show_openapi(request: Request) -> Response:
        return Response(schema(), media_type="application/json")

    found = [
        Route("/mcp/tools/{tool}", rest.run, methods=["POST"]),
        Route("/health", health.health),
        Route("/metrics", health.metrics),
        Route(DOWNLOAD_PATH, files.download),
        Route(EXPORT_PATH, transfer.export),
        Route("/docs", show_docs),
        Route("/openapi.json", show_openapi),
        Route(well_known, oauth.protected_resource),
        Route(well_known + "/{path:path}", oauth.protected_resource),
    ]
    if not read_only:
        found.append(Route(UPLOAD_PATH, files.upload, methods=["POST"]))
        found.append(Route(IMPORT_PATH, transfer.import_, methods=["POST"]))
    return found


def foreign_routes(
    app: App,
    metrics: CallMetrics,
    issuer: TokenIssuer | None,
    pools: WorkerPools,
    *,
    read_only: bool,
) -> list[Route]:
    """The routes of other memory systems."""
    health = HealthRoutes(app, metrics)
    found: list[Route] = []
    for api in REST_APIS:
        found += health.routes_of(api)
        tools = [route.tool for route in api.routes]
        rest = RestTools(app, Registry([], tools, metrics.observe), issuer, pools)
        found += ForeignRoutes(api, rest, read_only=read_only).routes()
    return found


def page_error(error: Exception) -> MemolithError:
    """An error of the web page, also where the router found no page."""
    if isinstance(error, MemolithError):
        return error
    return NotFound("There is no such page.")


def refusal(wording: PathWording, request: Request, error: Exception) -> Response:
    """An error in the words of the path, whether it is ours or one of the router."""
    path = request.url.path
    request_id = request.scope[REQUEST_ID_KEY]
    headers = getattr(error, "headers", None)
    if isinstance(error, MemolithError):
        body = wording.word(error, path, request_id)
        return JSONResponse(body, error.status, error_headers(error))
    status = getattr(error, "status_code", 404)
    ours: MemolithError
    if status == 405:
        ours = InvalidInput("This path takes another method.")
    else:
        ours = NotFound("There is no such path.")
    body = wording.word(ours, path, request_id)
    return JSONResponse(body, status, headers)
