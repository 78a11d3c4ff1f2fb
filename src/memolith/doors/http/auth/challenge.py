"""What a client is told to do to get in: the header `WWW-Authenticate`."""

from collections.abc import Iterable

from memolith.doors.http.auth.tokens import TokenIssuer, own_path

USUAL_SCOPES = ("read", "write")


def challenge(
    issuer: TokenIssuer | None,
    path: str,
    error: str | None = None,
    scopes: Iterable[str] = USUAL_SCOPES,
) -> str:
    """The value of `WWW-Authenticate` for a refusal on this path."""
    parts = ['realm="memolith"']
    if error is not None:
        parts.append(f'error="{error}"')
    if issuer is not None:
        metadata = f"{issuer.base}/.well-known/oauth-protected-resource{own_path(path)}"
        parts.append(f'resource_metadata="{metadata}"')
    if issuer is not None or error == "insufficient_scope":
        parts.append(f'scope="{" ".join(sorted(scopes))}"')
    return "Bearer " + ", ".join(parts)
