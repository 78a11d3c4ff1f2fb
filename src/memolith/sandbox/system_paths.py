"""The files of the system that sandboxed code needs: the interpreter, its packages, libraries."""

import os
import sys
from pathlib import Path

NULL_DEVICE = "/dev/null"
READ_ONLY_DEVICES = ("/dev/urandom", "/dev/random")
"""Not /dev/zero: a shared map of it is shared memory that no limit counts."""

LIBRARIES = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
)


def readable_paths() -> list[str]:
    """The interpreter, its packages and the shared libraries, without paths below another one."""
    python = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])}
    resolved = {os.path.realpath(path) for path in python}
    libraries = {path for path in LIBRARIES if os.path.exists(path)}
    wanted = python | resolved | libraries
    outermost = []
    for path in sorted(wanted, key=len):
        if not any(path.startswith(f"{folder}/") for folder in wanted):
            outermost.append(path)
    return outermost
