"""The pages about REST for browsers that are signed in; `/docs` wants a key in a header."""

from functools import cached_property

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_PATH
from memolith.doors.http.openapi import docs_page, openapi
from memolith.doors.page.site import PAGE_HEADERS, Site
from memolith.tools.rest_apis import REST_APIS

DOCS_PATH = PAGE_PATH + "/api-docs"
SCHEMA_PATH = PAGE_PATH + "/openapi.json"
DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""The page has no script, and its few styles stand in it."""


class ApiDocsPages:
    """All tools with their arguments, for people and for machines."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [Route(DOCS_PATH, guarded(self.docs)), Route(SCHEMA_PATH, guarded(self.schema))]

    async def docs(self, request: Request) -> Response:
        headers = {**PAGE_HEADERS, "content-security-policy": DOCS_POLICY}
        return HTMLResponse(self._docs, headers=headers)

    async def schema(self, request: Request) -> Response:
        return Response(self._schema, 200, PAGE_HEADERS, "application/json")

    @cached_property
    def _docs(self) -> str:
        return docs_page(self.site.registry, SCHEMA_PATH)

    @cached_property
    def _schema(self) -> bytes:
        registry = self.site.registry
        read_only = registry.find("remember") is None
        return bytes(JSONResponse(openapi(registry, REST_APIS, read_only=read_only)).body)
