"""System calls for which Python has no function; each raises OSError when the kernel refuses."""

import ctypes
import os
import struct

from memolith.sandbox.constants import AT_FDCWD
from memolith.sandbox.syscalls import CHECKED_OR_PRIVILEGED, numbers_here

NUMBERS = numbers_here(CHECKED_OR_PRIVILEGED)
_LIBC = ctypes.CDLL(None, use_errno=True)


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """Make a system call by its name and return what it returns."""
    result = int(_LIBC.syscall(NUMBERS[name], *arguments))
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{name}: {os.strerror(errno)}")
    return result


def prctl(option: int, arg2: int, arg3: int = 0, arg4: int = 0, arg5: int = 0) -> int:
    return syscall("prctl", option, arg2, arg3, arg4, arg5)


def unshare(flags: int) -> None:
    syscall("unshare", flags)


def mount(
    source: str, target: str, filesystem: str | None, flags: int, options: str | None = None
) -> None:
    encoded_filesystem = None if filesystem is None else filesystem.encode()
    encoded_options = None if options is None else options.encode()
    syscall(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        encoded_filesystem,
        flags,
        encoded_options,
    )


def mount_setattr(path: str, flags: int, attributes_set: int) -> None:
    """Set attributes of the mount at a path; with AT_RECURSIVE those of the mounts below it too."""
    # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    mount_attr = struct.pack("4Q", attributes_set, 0, 0, 0)
    syscall("mount_setattr", AT_FDCWD, os.fsencode(path), flags, mount_attr, len(mount_attr))


def umount2(target: str, flags: int) -> None:
    syscall("umount2", os.fsencode(target), flags)


def pivot_root(new_root: str, put_old: str) -> None:
    syscall("pivot_root", os.fsencode(new_root), os.fsencode(put_old))


def capset(header: bytes, data: bytes) -> None:
    syscall("capset", header, data)


def seccomp(operation: int, flags: int, program: bytes) -> None:
    syscall("seccomp", operation, flags, program)


def set_file_user(user: int, group: int) -> None:
    """Act as another user where files and processes are looked at, in this thread alone."""
    # Each asks the kernel for one thread only, unlike setresuid() of the C library. The group goes
    # first while we may still choose it, and comes back last for the same reason.
    if user == 0:
        _LIBC.setfsuid(user)
        _LIBC.setfsgid(group)
    else:
        _LIBC.setfsgid(group)
        _LIBC.setfsuid(user)
