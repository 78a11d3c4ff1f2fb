"""OAuth 2.1 resource server: tokens of an issuer that the settings name, checked against its published keys."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import jwt

from memolith.engine.intake import identifier
from memolith.engine.model import Caller
from memolith.errors import Denied, Unauthenticated, Unavailable
from memolith.registry import SCOPES

log = logging.getLogger(__name__)
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
MCP_PATH = re.compile(r"/mcp(/(?!tools$)[a-z0-9_-]{1,64})?", re.ASCII)
PAUSE_S = 5.0
SILENT = "The keys of the token issuer cannot be read right now."
# What the reading of foreign bytes may raise beside the library's own errors.
BROKEN = (ValueError, TypeError, RecursionError)


@dataclass
class Issuer:
    """Who issues tokens, for which audience, and where its keys are."""

    url: str
    audience: str
    jwks_url: str
    down_until: float = field(default=0.0, init=False)

    @cached_property
    def keys(self) -> jwt.PyJWKClient:
        # The set is kept for five minutes; single keys would be kept for ever, also when the issuer withdraws them.
        return jwt.PyJWKClient(self.jwks_url, cache_keys=False, timeout=5)

    @property
    def base(self) -> str:
        return self.audience.rstrip("/")

    def caller(self, token: str, path: str, project: str | None) -> tuple[Caller, frozenset[str]]:
        """Whom a token stands for; it must be of this issuer, for this server, and not expired."""
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = self.key(str(kid))
            claims = jwt.decode(token, key.key, list(ALGORITHMS), audience=self.audiences(path), issuer=self.url,
                                options={"require": ["exp", "iss", "aud", "sub"]}, leeway=30)
        except jwt.PyJWKClientConnectionError:
            raise Unavailable(SILENT) from None
        except (jwt.PyJWTError, *BROKEN):
            # None: the token, or what it says, has no place in a log.
            raise Unauthenticated("This token is not valid here.") from None
        scopes = frozenset(str(claims.get("scope", "")).split()) & SCOPES
        if not scopes:
            raise Denied("This token carries none of the scopes read, write, admin, run.")
        tenant = str(claims.get("tenant") or claims.get("org_id") or "local")
        return Caller(identifier(tenant, "tenant"), identifier(str(claims["sub"]), "sub"), project,
                      admin="admin" in scopes), scopes

    def key(self, kid: str) -> jwt.PyJWK:
        """The issuer's key of that name; while the issuer does not answer, it is not asked for every token."""
        if known := self.kept(kid):
            return known
        if time.monotonic() >= self.down_until:
            try:
                self.keys.get_jwk_set()
            except (jwt.PyJWTError, OSError, *BROKEN) as error:
                self.down_until = time.monotonic() + PAUSE_S
                log.warning("the keys of the token issuer cannot be read: %s", type(error).__name__)
            else:
                return self.keys.get_signing_key(kid)
        raise Unavailable(SILENT)

    def kept(self, kid: str) -> jwt.PyJWK | None:
        """The key as it was fetched a while ago."""
        kept = self.keys.jwk_set_cache.get() if self.keys.jwk_set_cache else None
        return next((key for key in kept.keys if key.key_id == kid and key.public_key_use in ("sig", None)),
                    None) if kept else None

    def audiences(self, path: str) -> list[str]:
        """What a token may be for: the server, all of MCP, or the very path that is called."""
        own = [self.base + path] if MCP_PATH.fullmatch(path) else []
        return [self.audience, self.base, self.base + "/mcp", *own]

    def metadata_url(self, path: str) -> str:
        """Where a client finds the metadata of the protected resource; only our own paths go into a header."""
        return f"{self.base}/.well-known/oauth-protected-resource{path if MCP_PATH.fullmatch(path) else ''}"

    def metadata(self, path: str) -> dict[str, object]:
        """The metadata itself (RFC 9728)."""
        return {"resource": self.base + path, "authorization_servers": [self.url],
                "scopes_supported": sorted(SCOPES), "bearer_methods_supported": ["header"]}


def challenge(issuer: Issuer | None, path: str, error: str = "", scopes: Iterable[str] = ("read", "write")) -> str:
    """What a client must do to get in: the value of `WWW-Authenticate`."""
    parts = [f'error="{error}"'] if error else []
    if issuer is not None:
        parts.append(f'resource_metadata="{issuer.metadata_url(path)}"')
    if issuer is not None or error == "insufficient_scope":
        parts.append(f'scope="{" ".join(sorted(scopes))}"')
    return "Bearer " + ", ".join(['realm="memolith"', *parts])
