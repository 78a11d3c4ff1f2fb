"""OAuth 2.1 tokens: who issues them, and whom a token stands for. This server is the resource."""

import logging
import re
import time
from typing import Any

import jwt

from memolith.domain.callers import MACHINE_TENANT, SCOPES, Caller
from memolith.doors.http.auth.admission import Admission
from memolith.doors.http.auth.keys import digest
from memolith.engine.validation import identifier
from memolith.errors import Denied, InvalidInput, Unauthenticated, Unavailable
from memolith.settings import Settings

log = logging.getLogger(__name__)

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
REQUIRED_CLAIMS = ["exp", "iss", "aud", "sub"]
CLOCK_LEEWAY_S = 30
FETCH_TIMEOUT_S = 5
RETRY_PAUSE_S = 5.0
"""How long an issuer that did not answer is left alone."""

OWN_TENANT_PREFIX = "subject-"
"""How the tenant of a token that names none begins; the rest stands for its subject."""

MCP_PATH = re.compile(r"/mcp(/(?!tools$)[a-z0-9_-]{1,64})?", re.ASCII)

# What reading foreign bytes may raise beside the library's own errors.
PARSE_ERRORS = (ValueError, TypeError, RecursionError)


class TokenIssuer(jwt.PyJWKClient):
    """The issuer of tokens: its name, its keys, and the audience that tokens must be for."""

    def __init__(self, settings: Settings) -> None:
        if not settings.oauth_audience or not settings.oauth_jwks_url:
            raise InvalidInput(
                "OAuth needs oauth_issuer, oauth_audience and oauth_jwks_url.",
                field="oauth_audience",
            )
        self.url = settings.oauth_issuer
        self.audience = settings.oauth_audience
        self.base = self.audience.rstrip("/")
        self.default_tenant = settings.oauth_tenant
        self.down_until = 0.0
        # PyJWT keeps the set of keys for five minutes. Single keys it would keep for ever, even if
        # the issuer withdraws them.
        super().__init__(settings.oauth_jwks_url, cache_keys=False, timeout=FETCH_TIMEOUT_S)

    def fetch_data(self) -> Any:
        """The keys that the issuer publishes; one that is down is not asked for every token."""
        if time.monotonic() >= self.down_until:
            try:
                return super().fetch_data()
            except (jwt.PyJWTError, OSError, *PARSE_ERRORS) as error:
                self.down_until = time.monotonic() + RETRY_PAUSE_S
                log.warning("the keys of the token issuer cannot be read: %s", type(error).__name__)
        raise Unavailable("The keys of the token issuer cannot be read right now.")

    def admit(self, token: str, path: str, project: str | None) -> Admission:
        """Whom a token stands for; it must be from this issuer, for this server and not expired."""
        claims = self._verified_claims(token, path)
        scopes = frozenset(str(claims.get("scope", "")).split()) & SCOPES
        if not scopes:
            raise Denied("This token carries none of the scopes read, write, admin, run.")
        user = identifier(str(claims["sub"]), "sub")
        caller = Caller(self._tenant(claims, user), user, project, admin="admin" in scopes)
        return Admission(caller, scopes, f"token:{caller.tenant}:{caller.user}")

    def _tenant(self, claims: dict[str, Any], user: str) -> str:
        """The tenant of a token: what it names, or the one of the settings, or one of its own.

        The owner of this machine is none that an issuer could name.
        """
        named = claims.get("tenant") or claims.get("org_id")
        if named is None:
            return self.default_tenant or f"{OWN_TENANT_PREFIX}{digest(user)}"
        tenant = identifier(str(named), "tenant")
        is_own = tenant.startswith(OWN_TENANT_PREFIX)
        if is_own or (tenant == MACHINE_TENANT and self.default_tenant != MACHINE_TENANT):
            raise Denied(
                f"No token stands for the tenant {tenant!r}; the issuer must name another one."
            )
        return tenant

    def _verified_claims(self, token: str, path: str) -> dict[str, Any]:
        # A token may be for the server, for all of MCP, or for the very path that is called.
        audiences = [
            self.audience,
            self.base,
            self.base + "/mcp",
            self.base + own_path(path),
        ]
        try:
            key_id = str(jwt.get_unverified_header(token).get("kid"))
            claims: dict[str, Any] = jwt.decode(
                token,
                self.get_signing_key(key_id).key,
                ALGORITHMS,
                audience=audiences,
                issuer=self.url,
                options={"require": REQUIRED_CLAIMS},
                leeway=CLOCK_LEEWAY_S,
            )
        except (jwt.PyJWTError, *PARSE_ERRORS):
            # Without the cause: neither the token nor what it says belongs in a log.
            raise Unauthenticated("This token is not valid here.") from None
        return claims


def own_path(path: str) -> str:
    """The path if it is one of MCP, which have tokens and metadata of their own; else nothing.

    Only such a path goes into a header.
    """
    return path if MCP_PATH.fullmatch(path) else ""
