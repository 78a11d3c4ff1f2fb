"""Namespaces of its own: a process that sees only the interpreter, /memory and /scratch."""

import os
from pathlib import Path

from memolith.sandbox import libc
from memolith.sandbox.constants import (
    AT_RECURSIVE,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MNT_DETACH,
    MOUNT_ATTR_NODEV,
    MOUNT_ATTR_NOEXEC,
    MOUNT_ATTR_NOSUID,
    MOUNT_ATTR_RDONLY,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
)
from memolith.sandbox.system_paths import NULL_DEVICE, READ_ONLY_DEVICES, readable_paths

NAMESPACES = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
READ_ONLY = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV
ROOT_OPTIONS = "size=1m,mode=755"
MAX_SCRATCH_INODES = 1024
OLD_ROOT = "old"


def enter_namespaces(root: str, memory: str, scratch_mb: int) -> None:
    """Move this process into new namespaces and make the empty folder `root` its file system.

    The next fork is the first process of the new PID namespace.
    """
    _unshare()
    # Mounts made from here on must not show up outside.
    libc.mount("none", "/", None, MS_REC | MS_PRIVATE)
    libc.mount("tmpfs", root, "tmpfs", MS_NOSUID, ROOT_OPTIONS)
    for path in readable_paths():
        _bind(path, root + path, READ_ONLY)
    for device in (NULL_DEVICE, *READ_ONLY_DEVICES):
        _bind(device, root + device, MOUNT_ATTR_NOSUID)
    _bind(memory, f"{root}/memory", READ_ONLY | MOUNT_ATTR_NOEXEC)
    _mount_scratch(f"{root}/scratch", scratch_mb)
    _change_root(root)


def _unshare() -> None:
    user = os.getuid()
    group = os.getgid()
    if user == 0:
        libc.unshare(NAMESPACES)
        return
    # An ordinary user may make the other namespaces only inside a user namespace.
    libc.unshare(NAMESPACES | CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _bind(source: str, target: str, attributes: int) -> None:
    """Show a file or folder at a second place, with these mount attributes."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        Path(target).touch()
    libc.mount(source, target, None, MS_BIND | MS_REC)
    libc.mount_setattr(target, AT_RECURSIVE, attributes)


def _mount_scratch(target: str, scratch_mb: int) -> None:
    os.mkdir(target)
    options = f"size={scratch_mb}m,nr_inodes={MAX_SCRATCH_INODES},mode=1777"
    libc.mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)


def _change_root(root: str) -> None:
    """Make `root` the root, and take the old one out of sight."""
    os.mkdir(f"{root}/{OLD_ROOT}")
    libc.pivot_root(root, f"{root}/{OLD_ROOT}")
    os.chdir("/")
    libc.umount2(f"/{OLD_ROOT}", MNT_DETACH)
    os.rmdir(f"/{OLD_ROOT}")
    libc.mount_setattr("/", 0, READ_ONLY)
