"""OAuth 2.1 resource server: tokens of an issuer that the settings name, checked against its published keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jwt

from memolith.engine.model import Caller
from memolith.errors import Denied, Unauthenticated, Unavailable
from memolith.registry import SCOPES

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")


@dataclass(frozen=True)
class Issuer:
    """Who issues tokens, for which audience, and where its keys are."""

    url: str
    audience: str
    jwks_url: str

    @cached_property
    def keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self.jwks_url, cache_keys=True, timeout=5)

    def caller(self, token: str, project: str | None) -> tuple[Caller, frozenset[str]]:
        """Whom a token stands for; it must be of this issuer, for this audience, and not expired."""
        try:
            key = self.keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(token, key.key, list(ALGORITHMS), audience=self.audience, issuer=self.url,
                                options={"require": ["exp", "iss", "aud", "sub"]}, leeway=30)
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable("The keys of the token issuer cannot be read right now.") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated("This token is not valid here.") from error
        scopes = frozenset(str(claims.get("scope", "")).split()) & SCOPES
        if not scopes:
            raise Denied("This token carries none of the scopes read, write, admin, run.")
        tenant = str(claims.get("tenant") or claims.get("org_id") or "local")
        return Caller(tenant, str(claims["sub"]), project, admin="admin" in scopes), scopes

    def metadata_url(self, path: str) -> str:
        """Where a client finds the metadata of the protected resource."""
        base = self.audience.rstrip("/")
        return f"{base}/.well-known/oauth-protected-resource{path if path.startswith('/mcp') else ''}"

    def metadata(self, path: str) -> dict[str, object]:
        """The metadata itself (RFC 9728)."""
        return {"resource": self.audience.rstrip("/") + path, "authorization_servers": [self.url],
                "scopes_supported": sorted(SCOPES), "bearer_methods_supported": ["header"]}
