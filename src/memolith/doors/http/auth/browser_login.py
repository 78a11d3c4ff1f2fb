"""Signing in to the web page at the OAuth issuer: authorization code with PKCE (RFC 6749, 7636)."""

import base64
import hashlib
import hmac
import json
import logging
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio

from memolith.domain.callers import SCOPES
from memolith.errors import Denied, Unauthenticated, Unavailable
from memolith.settings import Settings

log = logging.getLogger(__name__)

METADATA_PATHS = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
ENDPOINTS = ("authorization_endpoint", "token_endpoint")
TIMEOUT_S = 10
RETRY_PAUSE_S = 5.0
"""How long an issuer that did not answer is left alone."""
MAX_LOGINS = 4
MAX_NEXT_LENGTH = 500
AWAY = "The issuer cannot be asked right now; sign in with a key."
ATTEMPT_S = 600
"""How long somebody may take at the issuer."""
MAX_ANSWER_BYTES = 1 << 20
SECRET_BYTES = 32
MAX_ATTEMPT_LENGTH = 3000


START = "/ui"
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+", re.ASCII)
"""What a bearer token is made of (RFC 6750)."""


class Attempt(NamedTuple):
    """What is remembered in a cookie while somebody is at the issuer."""

    state: str
    verifier: str
    expires_s: int
    next_path: str


class Started(NamedTuple):
    """Where the browser goes, and the cookie that it comes back with."""

    address: str
    cookie: str


class BrowserLogin:
    """Sends browsers to the issuer, and takes them back with a token."""

    def __init__(
        self, settings: Settings, secret: bytes, now_s: Callable[[], float] = time.time
    ) -> None:
        self._issuer = settings.oauth_issuer.rstrip("/")
        self._audience = settings.oauth_audience
        self._client_id = settings.oauth_client_id
        self._client_secret = settings.oauth_client_secret
        self._secret = secret
        self._now_s = now_s
        self._endpoints: dict[str, str] | None = None
        self._away_until_s = 0.0
        self.limiter = anyio.CapacityLimiter(MAX_LOGINS)
        """How many wait for the issuer at once; they must not keep others from their threads."""

    @property
    def issuer_name(self) -> str:
        """The host of the issuer, as people know it."""
        return urllib.parse.urlsplit(self._issuer).netloc

    def start(self, redirect: str, next_path: str) -> Started:
        """Begin to sign somebody in, who then is to see the page at `next_path`."""
        attempt = Attempt(
            secrets.token_urlsafe(SECRET_BYTES),
            secrets.token_urlsafe(SECRET_BYTES),
            int(self._now_s()) + ATTEMPT_S,
            next_path if len(next_path) <= MAX_NEXT_LENGTH else START,
        )
        challenge = hashlib.sha256(attempt.verifier.encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect,
            "scope": " ".join(sorted(SCOPES)),
            "state": attempt.state,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": self._audience,
        }
        endpoint = self._endpoint("authorization_endpoint")
        joint = "&" if "?" in endpoint else "?"
        address = endpoint + joint + urllib.parse.urlencode(parameters)
        return Started(address, self._sealed(attempt))

    def finish(self, cookie: str, state: str, code: str, redirect: str) -> tuple[str, str]:
        """The token of somebody who comes back from the issuer, and the page they want to see."""
        attempt = self._opened(cookie)
        if attempt is None or not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise Denied("This sign-in was not begun here, or took too long; begin again.")
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self._client_id,
            "code_verifier": attempt.verifier,
            "resource": self._audience,
        }
        if self._client_secret:
            fields["client_secret"] = self._client_secret
        answer = _answer(
            urllib.request.Request(
                self._endpoint("token_endpoint"),
                urllib.parse.urlencode(fields).encode(),
                {"accept": "application/json"},
            )
        )
        token = answer.get("access_token")
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise Unauthenticated("The issuer gave no access token that can be used here.")
        return token, attempt.next_path

    def _endpoint(self, name: str) -> str:
        if self._endpoints is None:
            if self._now_s() < self._away_until_s:
                raise Unavailable(AWAY)
            self._endpoints = self._read_endpoints()
        return self._endpoints[name]

    def _read_endpoints(self) -> dict[str, str]:
        """The addresses that the issuer publishes."""
        problem: Unavailable | Unauthenticated | None = None
        for path in METADATA_PATHS:
            try:
                metadata = _answer(urllib.request.Request(self._issuer + path))
            except (Unavailable, Unauthenticated) as error:
                problem = error
                continue
            found = {name: str(metadata.get(name, "")) for name in ENDPOINTS}
            if all(address.startswith(("https://", "http://")) for address in found.values()):
                return found
        log.warning("the issuer publishes no endpoints to sign in at: %s", problem)
        self._away_until_s = self._now_s() + RETRY_PAUSE_S
        raise Unavailable(AWAY)

    def _sealed(self, attempt: Attempt) -> str:
        text = base64.urlsafe_b64encode(json.dumps(attempt).encode()).decode()
        return f"{text}.{self._signature(text)}"

    def _opened(self, cookie: str) -> Attempt | None:
        text, _, signature = cookie.rpartition(".")
        if len(cookie) > MAX_ATTEMPT_LENGTH or not hmac.compare_digest(
            self._signature(text).encode(), signature.encode()
        ):
            return None
        attempt = Attempt(*json.loads(base64.urlsafe_b64decode(text)))
        return attempt if attempt.expires_s > self._now_s() else None

    def _signature(self, text: str) -> str:
        return hmac.new(self._secret, f"login.{text}".encode(), hashlib.sha256).hexdigest()


def _answer(request: urllib.request.Request) -> dict[str, Any]:
    """The JSON object that the issuer answers with."""
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            body = json.loads(answer.read(MAX_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        # Without the cause: what the issuer says may name the code.
        raise Unauthenticated(f"The issuer refused this with status {error.code}.") from None
    except (OSError, ValueError) as error:
        raise Unavailable("The issuer cannot be asked right now.") from error
    if not isinstance(body, dict):
        raise Unavailable("The issuer cannot be understood.")
    return body
