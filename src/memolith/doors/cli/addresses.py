"""The address at which clients reach a server, whatever it was bound to."""

import ipaddress
import socket

from memolith.settings import Settings

SOMEWHERE = ("192.0.2.1", 9)
"""An address that no machine has. Nothing is sent there: the system only tells its route."""


def reachable_host(bound: str) -> str:
    """A host that clients can use: for `0.0.0.0` or `::`, an address of this machine."""
    if not ipaddress.ip_address(bound).is_unspecified:
        return bound
    own = own_address()
    if own is not None:
        return own
    return "::1" if ":" in bound else "127.0.0.1"


def own_address() -> str | None:
    """The address under which other machines know this one; None if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(SOMEWHERE)
        except OSError:
            return None
        address: str = route.getsockname()[0]
        return address


def admitting(settings: Settings, host: str) -> Settings:
    """The settings that let clients in which name the server by this address.

    Only where the lists are the default ones: whoever sets them knows which names they want. An
    address is no name, so no foreign page can be made to point at it.
    """
    defaults = Settings.model_fields
    is_default = settings.hosts == defaults["hosts"].default
    is_default = is_default and settings.origins == defaults["origins"].default
    name = f"[{host}]" if ":" in host else host
    if not is_default or f"{name}:*" in settings.hosts:
        return settings
    return settings.model_copy(
        update={
            "hosts": (*settings.hosts, f"{name}:*"),
            "origins": (*settings.origins, f"http://{name}:*"),
        }
    )
