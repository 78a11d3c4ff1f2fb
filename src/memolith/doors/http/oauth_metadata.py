"""What a client must know about this server as an OAuth resource (RFC 9728)."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memolith.domain.callers import SCOPES
from memolith.doors.http.auth.tokens import TokenIssuer
from memolith.errors import NotFound


class OAuthMetadata:
    """The route `/.well-known/oauth-protected-resource`, for the server or for one of its paths."""

    def __init__(self, issuer: TokenIssuer | None) -> None:
        self.issuer = issuer

    async def protected_resource(self, request: Request) -> Response:
        if self.issuer is None:
            raise NotFound("No OAuth issuer is set; use a key.")
        resource = self.issuer.base
        path = request.path_params.get("path")
        if path:
            resource += f"/{path}"
        return JSONResponse(
            {
                "resource": resource,
                "authorization_servers": [self.issuer.url],
                "scopes_supported": sorted(SCOPES),
                "bearer_methods_supported": ["header"],
            }
        )
