"""The fixtures that the official MCP conformance suite asks for, served at `/conformance`."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from memolith.errors import InvalidInput

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
CHECKOUT = Path(__file__).parents[4]


def conformance_fixtures(host: str) -> dict[str, Any]:
    """They lie beside the tests, because nobody else needs them."""
    if host not in LOOPBACK_HOSTS:
        raise InvalidInput(
            "The conformance fixtures need no key, so they are served on loopback only.",
            field="host",
        )
    if not (CHECKOUT / "tests" / "conformance").is_dir():
        raise InvalidInput(
            "--conformance needs a checkout of the project; its fixtures are not in the package.",
            field="conformance",
        )
    sys.path.insert(0, str(CHECKOUT))
    return {"/conformance": import_module("tests.conformance.server").Conformance()}
