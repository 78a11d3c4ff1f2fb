"""The seccomp filter: the system calls that computing needs, and no other.

No sockets to others, no new processes, and nothing that reaches into another process.
"""

import ctypes
import os
import struct
from collections.abc import Collection
from errno import ENOSYS, EOPNOTSUPP, EPERM
from typing import NamedTuple

from memolith.sandbox import libc
from memolith.sandbox.constants import (
    AF_UNIX,
    AUDIT_ARCH_AARCH64,
    AUDIT_ARCH_X86_64,
    BPF_ABS,
    BPF_JEQ,
    BPF_JGE,
    BPF_JMP,
    BPF_JSET,
    BPF_K,
    BPF_LD,
    BPF_RET,
    BPF_W,
    CLONE_THREAD,
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    F_GETFD,
    F_GETFL,
    F_GETLK,
    F_GETPIPE_SZ,
    F_OFD_GETLK,
    F_OFD_SETLK,
    F_OFD_SETLKW,
    F_SETFD,
    F_SETFL,
    F_SETLK,
    F_SETLKW,
    FIOCLEX,
    FIONBIO,
    FIONCLEX,
    FIONREAD,
    MADV_DODUMP,
    MADV_DOFORK,
    MADV_DONTDUMP,
    MADV_DONTFORK,
    MADV_DONTNEED,
    MADV_FREE,
    MADV_HUGEPAGE,
    MADV_NOHUGEPAGE,
    MADV_NORMAL,
    MADV_POPULATE_READ,
    MADV_POPULATE_WRITE,
    MADV_RANDOM,
    MADV_SEQUENTIAL,
    MADV_WILLNEED,
    MAP_ANONYMOUS,
    MAP_HUGETLB,
    MAP_SHARED,
    PR_GET_DUMPABLE,
    PR_GET_NAME,
    PR_SET_NAME,
    PR_SET_VMA,
    SECCOMP_FILTER_FLAG_TSYNC,
    SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO,
    SECCOMP_RET_KILL_PROCESS,
    SECCOMP_SET_MODE_FILTER,
    SOCK_CLOEXEC,
    SOCK_NONBLOCK,
    SOCK_STREAM,
    TCGETS,
    TIOCGWINSZ,
    X32_SYSCALL_BIT,
)
from memolith.sandbox.syscalls import ALLOWED, CHANGE_FILE_ATTRIBUTES, numbers_here

ARCHITECTURES = {"x86_64": AUDIT_ARCH_X86_64, "aarch64": AUDIT_ARCH_AARCH64}

# Where struct seccomp_data has what a filter looks at.
NUMBER_OFFSET = 0
ARCHITECTURE_OFFSET = 4
ARGUMENTS_OFFSET = 16
ARGUMENT_BYTES = 8

REFUSE = SECCOMP_RET_ERRNO | EPERM
PRETEND_NOT_TO_EXIST = SECCOMP_RET_ERRNO | ENOSYS
SAY_UNSUPPORTED = SECCOMP_RET_ERRNO | EOPNOTSUPP

# Datagram sockets could send to any socket that has a name, so pairs are made of streams only.
SOCKETPAIR_TYPES = (
    SOCK_STREAM,
    SOCK_STREAM | SOCK_CLOEXEC,
    SOCK_STREAM | SOCK_NONBLOCK,
    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
)
PRCTL_OPTIONS = (PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA)
IOCTL_REQUESTS = (TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX)

# Without F_SETOWN and F_SETSIG, by which the kernel would signal another process for this one.
FCNTL_COMMANDS = (
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    F_GETFD,
    F_SETFD,
    F_GETFL,
    F_SETFL,
    F_GETLK,
    F_SETLK,
    F_SETLKW,
    F_OFD_GETLK,
    F_OFD_SETLK,
    F_OFD_SETLKW,
    F_GETPIPE_SZ,
)

# Without MADV_PAGEOUT, MADV_COLD and the like: memory that a process has swapped out is still
# taken, but not seen by the server.
MADVISE_ADVICE = (
    MADV_NORMAL,
    MADV_RANDOM,
    MADV_SEQUENTIAL,
    MADV_WILLNEED,
    MADV_DONTNEED,
    MADV_FREE,
    MADV_DONTFORK,
    MADV_DOFORK,
    MADV_HUGEPAGE,
    MADV_NOHUGEPAGE,
    MADV_DONTDUMP,
    MADV_DODUMP,
    MADV_POPULATE_READ,
    MADV_POPULATE_WRITE,
)


class Instruction(NamedTuple):
    """One step of a filter: struct sock_filter. Jumps count the instructions to skip."""

    code: int
    skip_if_true: int
    skip_if_false: int
    operand: int


Program = list[Instruction]


def filter_system_calls(owns_file_system: bool) -> None:
    """Put the filter on every thread of this process; it can never be taken off."""
    program = build_filter(owns_file_system)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    # struct sock_fprog: the number of instructions, and where they are
    sock_fprog = struct.pack("H6xP", len(program), ctypes.addressof(buffer))
    libc.seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, sock_fprog)


def build_filter(owns_file_system: bool) -> Program:
    """The whole filter; the first return that is reached decides.

    A process that owns its file system has a mount namespace, where everything but a scratch
    folder of fixed size is read-only.
    """
    own_pid = os.getpid()
    this_process = 0
    program = [*_kill_other_architectures(), _load(NUMBER_OFFSET), *_kill_x32()]
    program += _allow_always(numbers_here(ALLOWED).values())
    if owns_file_system:
        program += _allow_always(numbers_here(CHANGE_FILE_ATTRIBUTES).values())
    program += _say_that_space_cannot_be_reserved()
    program += _allow_memory_that_is_counted()
    program += _allow_arguments("madvise", {2: MADVISE_ADVICE})
    program += _allow_arguments("fcntl", {1: FCNTL_COMMANDS})
    program += _allow_threads_only()
    program += _allow_arguments("socketpair", {0: (AF_UNIX,), 1: SOCKETPAIR_TYPES})
    program += _allow_arguments("kill", {0: (own_pid,)})
    program += _allow_arguments("tgkill", {0: (own_pid,)})
    program += _allow_arguments("prlimit64", {0: (this_process, own_pid)})
    program += _allow_arguments("sched_setaffinity", {0: (this_process, own_pid)})
    program += _allow_arguments("prctl", {0: PRCTL_OPTIONS})
    program += _allow_arguments("ioctl", {1: IOCTL_REQUESTS})
    program.append(_return(REFUSE))
    return program


def _kill_other_architectures() -> Program:
    """The numbers below mean something else on another architecture, such as 32-bit x86."""
    return [
        _load(ARCHITECTURE_OFFSET),
        _jump_if_equal(ARCHITECTURES[os.uname().machine], skip_if_true=1),
        _return(SECCOMP_RET_KILL_PROCESS),
    ]


def _kill_x32() -> Program:
    return [
        Instruction(BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_SYSCALL_BIT),
        _return(SECCOMP_RET_KILL_PROCESS),
    ]


def _allow_always(numbers: Collection[int]) -> Program:
    program: Program = []
    for number in numbers:
        program += [_jump_if_equal(number, skip_if_false=1), _return(SECCOMP_RET_ALLOW)]
    return program


def _say_that_space_cannot_be_reserved() -> Program:
    """Refuse `fallocate`, which can take a whole disk before the server looks again.

    It would even do so behind the end of the file for the output. With this error the C library
    writes zeros instead.
    """
    return [
        _jump_if_equal(libc.NUMBERS["fallocate"], skip_if_false=1),
        _return(SAY_UNSUPPORTED),
    ]


def _allow_memory_that_is_counted() -> Program:
    """Allow `mmap`, but not for memory that stays taken while the server sees none of it.

    That is shared memory without a file, whose pages a process can let go of and still have, and
    huge pages. Shared maps of files are files, which have limits of their own. The bit of
    MAP_SHARED is also set in MAP_SHARED_VALIDATE.
    """
    return [
        _jump_if_equal(libc.NUMBERS["mmap"], skip_if_false=6),
        _load(_argument_offset(3)),
        _jump_if_set(MAP_HUGETLB, skip_if_true=3),
        _jump_if_set(MAP_SHARED, skip_if_false=1),
        _jump_if_set(MAP_ANONYMOUS, skip_if_true=1),
        _return(SECCOMP_RET_ALLOW),
        _return(REFUSE),
    ]


def _allow_threads_only() -> Program:
    """Allow `clone` for a thread; with CLONE_THREAD the kernel refuses new namespaces by itself.

    A filter cannot see the flags of `clone3`. Where that seems not to exist, the C library falls
    back to `clone`.
    """
    return [
        _jump_if_equal(libc.NUMBERS["clone"], skip_if_false=4),
        _load(_argument_offset(0)),
        _jump_if_set(CLONE_THREAD, skip_if_false=1),
        _return(SECCOMP_RET_ALLOW),
        _return(REFUSE),
        _jump_if_equal(libc.NUMBERS["clone3"], skip_if_false=1),
        _return(PRETEND_NOT_TO_EXIST),
    ]


def _allow_arguments(name: str, accepted: dict[int, tuple[int, ...]]) -> Program:
    """Allow a call only if each of these arguments, by its position, has an accepted value.

    All of these arguments are 32 bits wide, so the lower half is all there is to compare.
    """
    checks: Program = []
    for position, values in accepted.items():
        checks.append(_load(_argument_offset(position)))
        for index, value in enumerate(values):
            # Past the values that are left and the refusal behind them.
            checks.append(_jump_if_equal(value, skip_if_true=len(values) - index))
        checks.append(_return(REFUSE))
    checks.append(_return(SECCOMP_RET_ALLOW))
    return [_jump_if_equal(libc.NUMBERS[name], skip_if_false=len(checks)), *checks]


def _argument_offset(position: int) -> int:
    return ARGUMENTS_OFFSET + ARGUMENT_BYTES * position


def _load(offset: int) -> Instruction:
    return Instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset)


def _jump_if_equal(value: int, skip_if_true: int = 0, skip_if_false: int = 0) -> Instruction:
    return Instruction(BPF_JMP | BPF_JEQ | BPF_K, skip_if_true, skip_if_false, value)


def _jump_if_set(bit: int, skip_if_true: int = 0, skip_if_false: int = 0) -> Instruction:
    return Instruction(BPF_JMP | BPF_JSET | BPF_K, skip_if_true, skip_if_false, bit)


def _return(action: int) -> Instruction:
    return Instruction(BPF_RET | BPF_K, 0, 0, action)
