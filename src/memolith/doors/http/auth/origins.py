"""Which Host and Origin headers are served. No web page may reach a server on this machine."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from memolith.errors import Denied

ANY_PORT = ":*"


def check_host_and_origin(headers: Headers, hosts: Sequence[str], origins: Sequence[str]) -> None:
    """Refuse a request to another host name, or from the page of another origin."""
    if not is_allowed(headers.get("host", ""), hosts):
        raise Denied(
            "This host name is not served here; add it to the setting `hosts`.", field="host"
        )
    for origin in headers.getlist("origin"):
        # The pages of this very server have the host that was checked above.
        is_own = host_of(origin) == headers.get("host")
        if not is_own and not is_allowed(origin, origins):
            raise Denied(
                "Requests from this origin are not allowed; add it to the setting `origins`.",
                field="origin",
            )


def host_of(address: str) -> str:
    """The host of an address, with its port; empty if it has none or is no address."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        # A bracket without its end, for example.
        return ""


def is_allowed(name: str, patterns: Sequence[str]) -> bool:
    return any(matches(name, pattern) for pattern in patterns)


def matches(name: str, pattern: str) -> bool:
    """Whether a host or origin fits; `:*` at the end stands for any port, `*` for everything."""
    if pattern == "*":
        return True
    if pattern.endswith(ANY_PORT):
        base = re.escape(pattern.removesuffix(ANY_PORT))
        return re.fullmatch(base + "(:[0-9]+)?", name) is not None
    return name == pattern
