"""The seccomp filter, run here instruction by instruction as the kernel would."""

import errno
import os
import struct
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("seccomp is a part of Linux", allow_module_level=True)

from memolith.sandbox.constants import (
    AF_UNIX,
    BPF_ABS,
    BPF_JEQ,
    BPF_JGE,
    BPF_JMP,
    BPF_JSET,
    BPF_LD,
    BPF_RET,
    CLONE_NEWUSER,
    CLONE_THREAD,
    F_DUPFD_CLOEXEC,
    F_SETOWN,
    F_SETOWN_EX,
    F_SETSIG,
    FALLOC_FL_KEEP_SIZE,
    MADV_DONTNEED,
    MADV_PAGEOUT,
    MAP_ANONYMOUS,
    MAP_HUGETLB,
    MAP_PRIVATE,
    MAP_SHARED,
    MAP_SHARED_VALIDATE,
    SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO,
    SECCOMP_RET_KILL_PROCESS,
    SOCK_CLOEXEC,
    SOCK_STREAM,
)
from memolith.sandbox.libc import NUMBERS
from memolith.sandbox.seccomp import ARCHITECTURES, build_filter
from memolith.sandbox.syscalls import ALLOWED, CHANGE_FILE_ATTRIBUTES, numbers_here

HERE = ARCHITECTURES[os.uname().machine]
REFUSED = SECCOMP_RET_ERRNO | errno.EPERM
SOCK_DGRAM = 2


def decide(number: int, *arguments: int, marks: bool = False, architecture: int = HERE) -> int:
    """What the filter returns for a system call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("IIQ6Q", number, architecture, 0, *padded)
    program = build_filter(owns_file_system=marks)
    value = 0
    position = 0
    while True:
        step = program[position]
        position += 1
        if step.code == BPF_LD | BPF_ABS:
            (value,) = struct.unpack_from("I", data, step.operand)
            continue
        if step.code == BPF_RET:
            return step.operand
        holds = {
            BPF_JMP | BPF_JEQ: value == step.operand,
            BPF_JMP | BPF_JGE: value >= step.operand,
            BPF_JMP | BPF_JSET: bool(value & step.operand),
        }[step.code]
        position += step.skip_if_true if holds else step.skip_if_false


def test_every_allowed_call_gets_through() -> None:
    for name, number in numbers_here(ALLOWED).items():
        assert decide(number) == SECCOMP_RET_ALLOW, name


def test_attributes_of_files_change_only_where_they_may() -> None:
    for name, number in numbers_here(CHANGE_FILE_ATTRIBUTES).items():
        assert decide(number) == REFUSED, name
        assert decide(number, marks=True) == SECCOMP_RET_ALLOW, name


@pytest.mark.parametrize("name", ["mount", "unshare", "pivot_root", "seccomp", "capset"])
def test_what_sets_the_sandbox_up_is_refused_inside(name: str) -> None:
    assert decide(NUMBERS[name]) == REFUSED


def test_an_unknown_call_is_refused() -> None:
    assert decide(9999) == REFUSED


def test_calls_of_another_architecture_kill() -> None:
    assert decide(NUMBERS["kill"], architecture=0x40000003) == SECCOMP_RET_KILL_PROCESS
    assert decide(0x40000000 + 39) == SECCOMP_RET_KILL_PROCESS


def test_only_threads_are_cloned() -> None:
    assert decide(NUMBERS["clone"], CLONE_THREAD) == SECCOMP_RET_ALLOW
    assert decide(NUMBERS["clone"], CLONE_NEWUSER) == REFUSED
    assert decide(NUMBERS["clone3"]) == SECCOMP_RET_ERRNO | errno.ENOSYS


def test_only_pairs_of_streams_are_made() -> None:
    pair = NUMBERS["socketpair"]
    assert decide(pair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC) == SECCOMP_RET_ALLOW
    assert decide(pair, AF_UNIX, SOCK_DGRAM) == REFUSED
    assert decide(pair, 2, SOCK_STREAM) == REFUSED


def test_a_process_signals_only_itself() -> None:
    for name in ("kill", "tgkill"):
        assert decide(NUMBERS[name], os.getpid()) == SECCOMP_RET_ALLOW
        assert decide(NUMBERS[name], 1) == REFUSED


def test_the_kernel_is_not_told_to_signal_another_process() -> None:
    assert decide(NUMBERS["fcntl"], 1, F_DUPFD_CLOEXEC) == SECCOMP_RET_ALLOW
    for command in (F_SETOWN, F_SETSIG, F_SETOWN_EX):
        assert decide(NUMBERS["fcntl"], 1, command) == REFUSED


def test_a_process_chooses_only_its_own_processors() -> None:
    for pid in (0, os.getpid()):
        assert decide(NUMBERS["sched_setaffinity"], pid) == SECCOMP_RET_ALLOW
    assert decide(NUMBERS["sched_setaffinity"], 1) == REFUSED


@pytest.mark.parametrize(
    ("flags", "decision"),
    [
        (MAP_PRIVATE, SECCOMP_RET_ALLOW),
        (MAP_PRIVATE | MAP_ANONYMOUS, SECCOMP_RET_ALLOW),
        (MAP_SHARED, SECCOMP_RET_ALLOW),
        (MAP_SHARED | MAP_ANONYMOUS, REFUSED),
        (MAP_SHARED_VALIDATE | MAP_ANONYMOUS, REFUSED),
        (MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, REFUSED),
    ],
)
def test_memory_that_nobody_counts_is_refused(flags: int, decision: int) -> None:
    assert decide(NUMBERS["mmap"], 0, 4096, 3, flags) == decision


def test_memory_is_given_back_but_not_swapped_out() -> None:
    assert decide(NUMBERS["madvise"], 0, 4096, MADV_DONTNEED) == SECCOMP_RET_ALLOW
    assert decide(NUMBERS["madvise"], 0, 4096, MADV_PAGEOUT) == REFUSED


def test_no_space_is_reserved_in_either_mode() -> None:
    unsupported = SECCOMP_RET_ERRNO | errno.EOPNOTSUPP
    for mode in (0, FALLOC_FL_KEEP_SIZE):
        for marks in (False, True):
            assert decide(NUMBERS["fallocate"], 1, mode, marks=marks) == unsupported
