"""Giving up the rights of a process for good."""

import os
import struct
from contextlib import suppress

from memolith.sandbox import libc
from memolith.sandbox.constants import (
    LINUX_CAPABILITY_U32S_3,
    LINUX_CAPABILITY_VERSION_3,
    NOBODY,
    PR_CAPBSET_DROP,
    PR_SET_NO_NEW_PRIVS,
)

MAX_CAPABILITIES = 64


def drop_privileges() -> None:
    """Become `nobody` if this is root, and give up every capability and the way to get one."""
    for capability in range(MAX_CAPABILITIES):
        # Refused for capabilities that this kernel does not have, and where there is none to drop.
        with suppress(OSError):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    this_process = 0
    header = struct.pack("2I", LINUX_CAPABILITY_VERSION_3, this_process)
    # Effective, permitted and inheritable sets, all of them empty.
    no_capabilities = bytes(LINUX_CAPABILITY_U32S_3 * struct.calcsize("3I"))
    libc.capset(header, no_capabilities)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
