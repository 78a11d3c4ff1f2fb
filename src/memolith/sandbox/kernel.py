"""What the Linux kernel offers to fence a process in, called without any library, on x86-64 and arm64."""

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterable, Sequence
from errno import ENOSYS, EPERM
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, REFUSE, UNKNOWN = 0x7FFF0000, 0x80000000, 0x50000 | EPERM, 0x50000 | ENOSYS
STREAMS, PRCTLS = (1, 0x80001, 0x801, 0x80801), (3, 15, 16, 0x53564D41)
IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
BIND, RECURSIVE, PRIVATE, BELOW, NO_SETUID, NO_DEVICES, NO_EXEC, READ_ONLY = (
    4096,
    16384,
    1 << 18,
    0x8000,
    2,
    4,
    8,
    7,
)
NEW_USER, NEW_OTHERS = 0x10000000, 0x20000 | 0x4000000 | 0x8000000 | 0x20000000 | 0x40000000
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
LIBRARIES = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
)
# What Landlock lets do: read; write all but programs, devices, sockets and pipes; of these what a file can take.
READ, WRITE, OF_FILE = 0b1100, 0b1111_0001_1011_1110, 0b1100_0000_0000_0110
Line = tuple[int, int, int, int]
ROWS = [line.split() for line in Path(__file__).with_name("syscalls.txt").read_text().splitlines()]


def numbers(part: str) -> dict[str, int]:
    """The calls of a part of the table, with their numbers on this machine."""
    column = [*MACHINES].index(os.uname().machine)
    return {
        name: int(both[column])
        for kind, name, *both in ROWS
        if kind == part and both[column] != "-"
    }


CALLS = numbers("ours")


def call(name: str, *arguments: object) -> int:
    """Call the kernel by name; texts go as bytes."""
    result = LIBC.syscall(
        CALLS[name], *(os.fsencode(one) if isinstance(one, str) else one for one in arguments)
    )
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return int(result)


def readable() -> list[str]:
    """The interpreter, its packages and the libraries below them."""
    own = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[1])}
    found = (
        own | set(map(os.path.realpath, own)) | {path for path in LIBRARIES if os.path.exists(path)}
    )
    return [
        path
        for path in sorted(found, key=len)
        if not any(path.startswith(f"{above}/") for above in found)
    ]


def bind(source: str, target: str, flags: int = READ_ONLY) -> None:
    """Show a file or folder at another place too, marked as read-only and the like."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    else:
        os.makedirs(target, exist_ok=True) if os.path.isdir(source) else Path(target).touch()
        call("mount", source, target, None, BIND | RECURSIVE, None)
        call("mount_setattr", -100, target, BELOW, struct.pack("4Q", flags, 0, 0, 0), 32)


def leave_the_world(root: str, memory: str, scratch_mb: int) -> None:
    """Move into namespaces of our own, where only the interpreter, /memory and /scratch are left."""
    user, group = os.getuid(), os.getgid()
    call("unshare", NEW_OTHERS | (NEW_USER if user else 0))
    maps = (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    )
    for name, text in maps if user else ():
        Path(f"/proc/self/{name}").write_text(text)
    call("mount", "none", "/", None, RECURSIVE | PRIVATE, None)
    call("mount", "tmpfs", root, "tmpfs", NO_SETUID, "size=1m,mode=755")
    for path in (*readable(), *DEVICES):
        bind(path, root + path, NO_SETUID if path in DEVICES else READ_ONLY)
    bind(memory, f"{root}/memory", READ_ONLY | NO_EXEC)
    for name in ("scratch", "old"):
        os.mkdir(f"{root}/{name}")
    options = f"size={scratch_mb}m,nr_inodes=1024,mode=1777"
    call("mount", "tmpfs", f"{root}/scratch", "tmpfs", NO_SETUID | NO_DEVICES | NO_EXEC, options)
    call("pivot_root", root, f"{root}/old")
    os.chdir("/")
    call("umount2", "/old", 2)
    os.rmdir("/old")
    call("mount_setattr", -100, "/", 0, struct.pack("4Q", READ_ONLY, 0, 0, 0), 32)


def drop_privileges(user: int | None) -> None:
    """Become another user if one is given, and give up every capability for good."""
    for capability in range(64):
        LIBC.prctl(24, capability, 0, 0, 0)
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    call("capset", struct.pack("2I", 0x20080522, 0), bytes(24))
    call("prctl", 38, 1, 0, 0, 0)


def restrict_files(read: Iterable[str], written: Iterable[str]) -> None:
    """Forbid every path but these, new TCP connections, and signals and sockets to the world outside (Landlock)."""
    version = LIBC.syscall(CALLS["landlock_create_ruleset"], None, 0, 1)
    if version < 1:
        raise OSError(ENOSYS, "the kernel has no Landlock")
    known = (1 << 13) - 1 | sum(
        1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = call("landlock_create_ruleset", struct.pack("3Q", known, 3, 3), size, 0)
    for path, allowed in [
        *((path, READ) for path in read),
        *((path, READ | WRITE) for path in written),
    ]:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed &= known if os.path.isdir(path) else known & OF_FILE
        call("landlock_add_rule", ruleset, 1, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    call("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def limit_resources(memory_mb: int, scratch_mb: int, threads: int | None) -> None:
    """Limits that the kernel itself keeps; the address space is wider, as much of it is never touched."""
    limits = {
        "CORE": 0,
        "AS": memory_mb + 2048 << 20,
        "NOFILE": 64,
        "FSIZE": scratch_mb << 20,
        "MEMLOCK": 0,
        "STACK": 8 << 20,
        "MSGQUEUE": 0,
        "SIGPENDING": 128,
    } | ({"NPROC": threads} if threads else {})
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def guarded(name: str, *checks: tuple[int, Sequence[int]]) -> list[Line]:
    """Allow a call only if each of these arguments has one of the values."""
    body: list[Line] = []
    for argument, values in checks:
        body += [
            (LOAD, 0, 0, 16 + 8 * argument),
            *((EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)),
            (RETURN, 0, 0, REFUSE),
        ]
    return [(EQUAL, 0, len(body) + 1, CALLS[name]), *body, (RETURN, 0, 0, ALLOW)]


def filter_calls(marks: bool) -> None:
    """Let through only the calls that computing needs: no sockets, no processes, nothing of another process."""
    me, through = os.getpid(), numbers("allow") | (numbers("mark") if marks else {})
    lines: list[Line] = [
        (LOAD, 0, 0, 4),
        (EQUAL, 1, 0, MACHINES[os.uname().machine]),
        (RETURN, 0, 0, KILL),
        # From here on the numbers of another ABI, x32.
        (LOAD, 0, 0, 0),
        (AT_LEAST, 0, 1, 0x40000000),
        (RETURN, 0, 0, KILL),
        *(
            line
            for number in through.values()
            for line in ((EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW))
        ),
        # Only threads; without clone3, whose flags cannot be seen, the C library falls back to clone.
        (EQUAL, 0, 4, CALLS["clone"]),
        (LOAD, 0, 0, 16),
        (ANY_BIT, 0, 1, 0x10000),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
        (EQUAL, 0, 1, CALLS["clone3"]),
        (RETURN, 0, 0, UNKNOWN),
        # Pairs of datagram sockets could send to any socket with a name.
        *guarded("socketpair", (0, (1,)), (1, STREAMS)),
        *guarded("kill", (0, (me,))),
        *guarded("tgkill", (0, (me,))),
        *guarded("prlimit64", (0, (0, me))),
        *guarded("prctl", (0, PRCTLS)),
        *guarded("ioctl", (1, IOCTLS)),
        (RETURN, 0, 0, REFUSE),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    call("seccomp", 1, 1, struct.pack("H6xP", len(lines), ctypes.addressof(code)))
