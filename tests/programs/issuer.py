"""A small token issuer on loopback: RSA keys, a JWKS endpoint, and tokens, good and forged."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "https://memory.example"


class SmallIssuer:
    """Signs tokens with a key that it publishes."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        published = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        self.body = json.dumps({"keys": [{**published, "kid": "one", "use": "sig"}]}).encode()
        self.asked = 0
        self.speaks = threading.Event()
        self.speaks.set()
        issuer = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                issuer.speaks.wait(30)
                self.send_response(200)
                self.send_header("Content-Length", str(len(issuer.body)))
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "oauth_issuer": self.url,
            "oauth_audience": AUDIENCE,
            "oauth_jwks_url": self.url + "/jwks",
        }

    def claims(self, **more: Any) -> dict[str, Any]:
        return {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ada",
            "exp": int(time.time()) + 600,
            "scope": "read write",
            **more,
        }

    def token(self, kid: str = "one", **more: Any) -> str:
        """A good token, but for what is given."""
        return self.signed(self.claims(**more), {"kid": kid})

    def signed(self, claims: dict[str, Any], headers: dict[str, str], key: Any = None) -> str:
        return jwt.encode(claims, key or self.key, "RS256", headers)

    def forged(self) -> dict[str, str]:
        """Tokens that nobody may come in with."""
        pem = self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        good = self.token()
        head, body, seal = good.split(".")
        no_exp = {name: value for name, value in self.claims().items() if name != "exp"}
        return {
            "wrong audience": self.token(aud="https://other.example"),
            "audience of a longer name": self.token(aud=AUDIENCE + ".evil.example"),
            "wrong issuer": self.token(iss="https://evil.example"),
            "expired": self.token(exp=int(time.time()) - 120),
            "not yet": self.token(nbf=int(time.time()) + 600),
            "without an end": self.signed(no_exp, {"kid": "one"}),
            "of nobody": self.signed({**self.claims(), "sub": None}, {"kid": "one"}),
            "alg none": self.by_hand({"alg": "none", "kid": "one"}, b""),
            "HS256 with the public key": self.by_hand({"alg": "HS256", "kid": "one"}, None, pem),
            "another kind of key": self.by_hand({"alg": "ES256", "kid": "one"}, b"x" * 64),
            "unknown kid": self.token(kid="two"),
            "no kid": self.signed(self.claims(), {}),
            "kid of another kind": self.by_hand({"alg": "RS256", "kid": ["one"]}, b"x"),
            "own key in the header": self.by_hand(
                {"alg": "RS256", "kid": "one", "jku": "http://127.0.0.1:9/"}, b"x"
            ),
            "signed by another": self.signed(self.claims(), {"kid": "one"}, self.other),
            "changed": ".".join((head, encoded(self.claims(sub="eve")), seal)),
            "cut": f"{head}.{body}",
            "deep": f"{raw(b'[' * 20_000)}.{body}.{seal}",
            "rubbish": "a.b.c",
            "word": "hello",
        }

    def by_hand(self, header: dict[str, Any], seal: bytes | None, secret: bytes = b"") -> str:
        """What no library would sign."""
        signed = f"{encoded(header)}.{encoded(self.claims())}"
        if seal is None:
            seal = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
                signed.encode(), secret
            )
        return f"{signed}.{raw(seal)}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def raw(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encoded(value: dict[str, Any]) -> str:
    return raw(json.dumps(value).encode())
