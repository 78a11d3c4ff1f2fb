"""Landlock: which paths a process may use, and no TCP, no signals and no sockets to others."""

import os
import struct
from collections.abc import Iterable
from errno import ENOSYS

from memolith.sandbox import libc
from memolith.sandbox.constants import (
    LANDLOCK_ACCESS_FS_EXECUTE,
    LANDLOCK_ACCESS_FS_IOCTL_DEV,
    LANDLOCK_ACCESS_FS_MAKE_BLOCK,
    LANDLOCK_ACCESS_FS_MAKE_CHAR,
    LANDLOCK_ACCESS_FS_MAKE_DIR,
    LANDLOCK_ACCESS_FS_MAKE_FIFO,
    LANDLOCK_ACCESS_FS_MAKE_REG,
    LANDLOCK_ACCESS_FS_MAKE_SOCK,
    LANDLOCK_ACCESS_FS_MAKE_SYM,
    LANDLOCK_ACCESS_FS_READ_DIR,
    LANDLOCK_ACCESS_FS_READ_FILE,
    LANDLOCK_ACCESS_FS_REFER,
    LANDLOCK_ACCESS_FS_REMOVE_DIR,
    LANDLOCK_ACCESS_FS_REMOVE_FILE,
    LANDLOCK_ACCESS_FS_TRUNCATE,
    LANDLOCK_ACCESS_FS_WRITE_FILE,
    LANDLOCK_ACCESS_NET_BIND_TCP,
    LANDLOCK_ACCESS_NET_CONNECT_TCP,
    LANDLOCK_CREATE_RULESET_VERSION,
    LANDLOCK_RULE_PATH_BENEATH,
    LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET,
    LANDLOCK_SCOPE_SIGNAL,
)

READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR

READ_AND_WRITE = (
    READ
    | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_REMOVE_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_FILE
    | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG
    | LANDLOCK_ACCESS_FS_MAKE_SYM
    | LANDLOCK_ACCESS_FS_REFER
    | LANDLOCK_ACCESS_FS_TRUNCATE
    | LANDLOCK_ACCESS_FS_IOCTL_DEV
)
"""Everything but programs to run, devices, named sockets and named pipes."""

APPLIES_TO_FILES = (
    LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_READ_FILE
    | LANDLOCK_ACCESS_FS_TRUNCATE
    | LANDLOCK_ACCESS_FS_IOCTL_DEV
)
"""The kernel refuses a rule that gives any other of our rights to a single file."""

HANDLED_SINCE_ABI_1 = (
    LANDLOCK_ACCESS_FS_EXECUTE
    | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_READ_FILE
    | LANDLOCK_ACCESS_FS_READ_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_FILE
    | LANDLOCK_ACCESS_FS_MAKE_CHAR
    | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG
    | LANDLOCK_ACCESS_FS_MAKE_SOCK
    | LANDLOCK_ACCESS_FS_MAKE_FIFO
    | LANDLOCK_ACCESS_FS_MAKE_BLOCK
    | LANDLOCK_ACCESS_FS_MAKE_SYM
)
ABI_WITH_REFER = 2
ABI_WITH_TRUNCATE = 3
ABI_WITH_TCP = 4
ABI_WITH_IOCTL_DEV = 5
ABI_WITH_SCOPES = 6


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Forbid this process every path but these, and as much else as the kernel can forbid."""
    abi = _abi_version()
    handled = _handled_file_rights(abi)
    ruleset_fd = _create_ruleset(abi, handled)
    for path in readable:
        _allow(ruleset_fd, path, READ & handled)
    for path in writable:
        _allow(ruleset_fd, path, READ_AND_WRITE & handled)
    libc.syscall("landlock_restrict_self", ruleset_fd, 0)
    os.close(ruleset_fd)


def _abi_version() -> int:
    try:
        return libc.syscall("landlock_create_ruleset", None, 0, LANDLOCK_CREATE_RULESET_VERSION)
    except OSError as error:
        raise OSError(ENOSYS, "the kernel has no Landlock") from error


def _handled_file_rights(abi: int) -> int:
    """The rights that this kernel knows; those that it handles are refused unless allowed."""
    handled = HANDLED_SINCE_ABI_1
    if abi >= ABI_WITH_REFER:
        handled |= LANDLOCK_ACCESS_FS_REFER
    if abi >= ABI_WITH_TRUNCATE:
        handled |= LANDLOCK_ACCESS_FS_TRUNCATE
    if abi >= ABI_WITH_IOCTL_DEV:
        handled |= LANDLOCK_ACCESS_FS_IOCTL_DEV
    return handled


def _create_ruleset(abi: int, handled: int) -> int:
    # struct landlock_ruleset_attr: handled_access_fs, handled_access_net, scoped.
    # An older kernel takes only the fields that it knows.
    fields = [handled]
    if abi >= ABI_WITH_TCP:
        fields.append(LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP)
    if abi >= ABI_WITH_SCOPES:
        fields.append(LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    return libc.syscall("landlock_create_ruleset", attributes, len(attributes), 0)


def _allow(ruleset_fd: int, path: str, rights: int) -> None:
    """Allow these rights on a file, or on a folder and all that is below it."""
    if not os.path.isdir(path):
        rights &= APPLIES_TO_FILES
    path_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    # struct landlock_path_beneath_attr: allowed_access, parent_fd; packed
    rule = struct.pack("=Qi", rights, path_fd)
    libc.syscall("landlock_add_rule", ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, rule, 0)
    os.close(path_fd)
