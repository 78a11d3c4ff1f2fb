"""System calls by name, with their numbers on both architectures.

`ALLOWED` is what every sandboxed process may call. Whatever stands in no table is refused.
`tests/tools/test_runner.py` compares the numbers with the headers of the kernel.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple


class SyscallNumbers(NamedTuple):
    """The number of one system call; None where the architecture does not have it."""

    x86_64: int | None
    aarch64: int | None


ALLOWED: Mapping[str, SyscallNumbers] = {
    # Files that are open.
    "read": SyscallNumbers(x86_64=0, aarch64=63),
    "write": SyscallNumbers(x86_64=1, aarch64=64),
    "close": SyscallNumbers(x86_64=3, aarch64=57),
    "fstat": SyscallNumbers(x86_64=5, aarch64=80),
    "lseek": SyscallNumbers(x86_64=8, aarch64=62),
    "pread64": SyscallNumbers(x86_64=17, aarch64=67),
    "pwrite64": SyscallNumbers(x86_64=18, aarch64=68),
    "readv": SyscallNumbers(x86_64=19, aarch64=65),
    "writev": SyscallNumbers(x86_64=20, aarch64=66),
    "preadv": SyscallNumbers(x86_64=295, aarch64=69),
    "pwritev": SyscallNumbers(x86_64=296, aarch64=70),
    "preadv2": SyscallNumbers(x86_64=327, aarch64=286),
    "pwritev2": SyscallNumbers(x86_64=328, aarch64=287),
    "flock": SyscallNumbers(x86_64=73, aarch64=32),
    "fsync": SyscallNumbers(x86_64=74, aarch64=82),
    "fdatasync": SyscallNumbers(x86_64=75, aarch64=83),
    "ftruncate": SyscallNumbers(x86_64=77, aarch64=46),
    "fadvise64": SyscallNumbers(x86_64=221, aarch64=223),
    "readahead": SyscallNumbers(x86_64=187, aarch64=213),
    "copy_file_range": SyscallNumbers(x86_64=326, aarch64=285),
    "sendfile": SyscallNumbers(x86_64=40, aarch64=71),
    "dup": SyscallNumbers(x86_64=32, aarch64=23),
    "dup2": SyscallNumbers(x86_64=33, aarch64=None),
    "dup3": SyscallNumbers(x86_64=292, aarch64=24),
    "close_range": SyscallNumbers(x86_64=436, aarch64=436),
    "fstatfs": SyscallNumbers(x86_64=138, aarch64=44),
    "getdents": SyscallNumbers(x86_64=78, aarch64=None),
    "getdents64": SyscallNumbers(x86_64=217, aarch64=61),
    "fchdir": SyscallNumbers(x86_64=81, aarch64=50),
    # Files by their path; Landlock decides which.
    "open": SyscallNumbers(x86_64=2, aarch64=None),
    "openat": SyscallNumbers(x86_64=257, aarch64=56),
    "stat": SyscallNumbers(x86_64=4, aarch64=None),
    "lstat": SyscallNumbers(x86_64=6, aarch64=None),
    "newfstatat": SyscallNumbers(x86_64=262, aarch64=79),
    "statx": SyscallNumbers(x86_64=332, aarch64=291),
    "access": SyscallNumbers(x86_64=21, aarch64=None),
    "faccessat": SyscallNumbers(x86_64=269, aarch64=48),
    "faccessat2": SyscallNumbers(x86_64=439, aarch64=439),
    "readlink": SyscallNumbers(x86_64=89, aarch64=None),
    "readlinkat": SyscallNumbers(x86_64=267, aarch64=78),
    "statfs": SyscallNumbers(x86_64=137, aarch64=43),
    "getcwd": SyscallNumbers(x86_64=79, aarch64=17),
    "chdir": SyscallNumbers(x86_64=80, aarch64=49),
    "umask": SyscallNumbers(x86_64=95, aarch64=166),
    "rename": SyscallNumbers(x86_64=82, aarch64=None),
    "renameat": SyscallNumbers(x86_64=264, aarch64=38),
    "renameat2": SyscallNumbers(x86_64=316, aarch64=276),
    "mkdir": SyscallNumbers(x86_64=83, aarch64=None),
    "mkdirat": SyscallNumbers(x86_64=258, aarch64=34),
    "rmdir": SyscallNumbers(x86_64=84, aarch64=None),
    "unlink": SyscallNumbers(x86_64=87, aarch64=None),
    "unlinkat": SyscallNumbers(x86_64=263, aarch64=35),
    # Memory.
    "brk": SyscallNumbers(x86_64=12, aarch64=214),
    "mprotect": SyscallNumbers(x86_64=10, aarch64=226),
    "munmap": SyscallNumbers(x86_64=11, aarch64=215),
    "mremap": SyscallNumbers(x86_64=25, aarch64=216),
    "msync": SyscallNumbers(x86_64=26, aarch64=227),
    "mincore": SyscallNumbers(x86_64=27, aarch64=232),
    "mbind": SyscallNumbers(x86_64=237, aarch64=235),
    "get_mempolicy": SyscallNumbers(x86_64=239, aarch64=236),
    # Pipes and waiting for input.
    "pipe": SyscallNumbers(x86_64=22, aarch64=None),
    "pipe2": SyscallNumbers(x86_64=293, aarch64=59),
    "poll": SyscallNumbers(x86_64=7, aarch64=None),
    "ppoll": SyscallNumbers(x86_64=271, aarch64=73),
    "select": SyscallNumbers(x86_64=23, aarch64=None),
    "pselect6": SyscallNumbers(x86_64=270, aarch64=72),
    "eventfd": SyscallNumbers(x86_64=284, aarch64=None),
    "eventfd2": SyscallNumbers(x86_64=290, aarch64=19),
    "epoll_create": SyscallNumbers(x86_64=213, aarch64=None),
    "epoll_create1": SyscallNumbers(x86_64=291, aarch64=20),
    "epoll_ctl": SyscallNumbers(x86_64=233, aarch64=21),
    "epoll_wait": SyscallNumbers(x86_64=232, aarch64=None),
    "epoll_pwait": SyscallNumbers(x86_64=281, aarch64=22),
    "epoll_pwait2": SyscallNumbers(x86_64=441, aarch64=441),
    # Sockets that are open; only `socketpair` makes new ones.
    "sendto": SyscallNumbers(x86_64=44, aarch64=206),
    "recvfrom": SyscallNumbers(x86_64=45, aarch64=207),
    "sendmsg": SyscallNumbers(x86_64=46, aarch64=211),
    "recvmsg": SyscallNumbers(x86_64=47, aarch64=212),
    "shutdown": SyscallNumbers(x86_64=48, aarch64=210),
    "getsockname": SyscallNumbers(x86_64=51, aarch64=204),
    "getpeername": SyscallNumbers(x86_64=52, aarch64=205),
    "getsockopt": SyscallNumbers(x86_64=55, aarch64=209),
    # Signals of its own.
    "rt_sigaction": SyscallNumbers(x86_64=13, aarch64=134),
    "rt_sigprocmask": SyscallNumbers(x86_64=14, aarch64=135),
    "rt_sigreturn": SyscallNumbers(x86_64=15, aarch64=139),
    "rt_sigpending": SyscallNumbers(x86_64=127, aarch64=136),
    "rt_sigtimedwait": SyscallNumbers(x86_64=128, aarch64=137),
    "rt_sigsuspend": SyscallNumbers(x86_64=130, aarch64=133),
    "sigaltstack": SyscallNumbers(x86_64=131, aarch64=132),
    "pause": SyscallNumbers(x86_64=34, aarch64=None),
    "restart_syscall": SyscallNumbers(x86_64=219, aarch64=128),
    # Time.
    "time": SyscallNumbers(x86_64=201, aarch64=None),
    "gettimeofday": SyscallNumbers(x86_64=96, aarch64=169),
    "nanosleep": SyscallNumbers(x86_64=35, aarch64=101),
    "clock_gettime": SyscallNumbers(x86_64=228, aarch64=113),
    "clock_getres": SyscallNumbers(x86_64=229, aarch64=114),
    "clock_nanosleep": SyscallNumbers(x86_64=230, aarch64=115),
    "alarm": SyscallNumbers(x86_64=37, aarch64=None),
    "getitimer": SyscallNumbers(x86_64=36, aarch64=102),
    "setitimer": SyscallNumbers(x86_64=38, aarch64=103),
    "timer_create": SyscallNumbers(x86_64=222, aarch64=107),
    "timer_settime": SyscallNumbers(x86_64=223, aarch64=110),
    "timer_gettime": SyscallNumbers(x86_64=224, aarch64=108),
    "timer_getoverrun": SyscallNumbers(x86_64=225, aarch64=109),
    "timer_delete": SyscallNumbers(x86_64=226, aarch64=111),
    "times": SyscallNumbers(x86_64=100, aarch64=153),
    # Threads.
    "futex": SyscallNumbers(x86_64=202, aarch64=98),
    "set_tid_address": SyscallNumbers(x86_64=218, aarch64=96),
    "set_robust_list": SyscallNumbers(x86_64=273, aarch64=99),
    "get_robust_list": SyscallNumbers(x86_64=274, aarch64=100),
    "gettid": SyscallNumbers(x86_64=186, aarch64=178),
    "rseq": SyscallNumbers(x86_64=334, aarch64=293),
    "membarrier": SyscallNumbers(x86_64=324, aarch64=283),
    "sched_yield": SyscallNumbers(x86_64=24, aarch64=124),
    "sched_getparam": SyscallNumbers(x86_64=143, aarch64=121),
    "sched_getscheduler": SyscallNumbers(x86_64=145, aarch64=120),
    "sched_get_priority_max": SyscallNumbers(x86_64=146, aarch64=125),
    "sched_get_priority_min": SyscallNumbers(x86_64=147, aarch64=126),
    "sched_getaffinity": SyscallNumbers(x86_64=204, aarch64=123),
    "getcpu": SyscallNumbers(x86_64=309, aarch64=168),
    "arch_prctl": SyscallNumbers(x86_64=158, aarch64=None),
    # The process itself.
    "exit": SyscallNumbers(x86_64=60, aarch64=93),
    "exit_group": SyscallNumbers(x86_64=231, aarch64=94),
    "wait4": SyscallNumbers(x86_64=61, aarch64=260),
    "waitid": SyscallNumbers(x86_64=247, aarch64=95),
    "getpid": SyscallNumbers(x86_64=39, aarch64=172),
    "getppid": SyscallNumbers(x86_64=110, aarch64=173),
    "getpgrp": SyscallNumbers(x86_64=111, aarch64=None),
    "getpgid": SyscallNumbers(x86_64=121, aarch64=155),
    "getsid": SyscallNumbers(x86_64=124, aarch64=156),
    "getuid": SyscallNumbers(x86_64=102, aarch64=174),
    "getgid": SyscallNumbers(x86_64=104, aarch64=176),
    "geteuid": SyscallNumbers(x86_64=107, aarch64=175),
    "getegid": SyscallNumbers(x86_64=108, aarch64=177),
    "getgroups": SyscallNumbers(x86_64=115, aarch64=158),
    "getresuid": SyscallNumbers(x86_64=118, aarch64=148),
    "getresgid": SyscallNumbers(x86_64=120, aarch64=150),
    "getrlimit": SyscallNumbers(x86_64=97, aarch64=163),
    "getrusage": SyscallNumbers(x86_64=98, aarch64=165),
    "uname": SyscallNumbers(x86_64=63, aarch64=160),
    "sysinfo": SyscallNumbers(x86_64=99, aarch64=179),
    "getrandom": SyscallNumbers(x86_64=318, aarch64=278),
}

CHANGE_FILE_ATTRIBUTES: Mapping[str, SyscallNumbers] = {
    # Landlock does not cover most of these, so they are allowed only where a mount namespace
    # makes everything but the scratch folder read-only.
    "chmod": SyscallNumbers(x86_64=90, aarch64=None),
    "fchmod": SyscallNumbers(x86_64=91, aarch64=52),
    "truncate": SyscallNumbers(x86_64=76, aarch64=45),
    "utime": SyscallNumbers(x86_64=132, aarch64=None),
    "utimes": SyscallNumbers(x86_64=235, aarch64=None),
    "futimesat": SyscallNumbers(x86_64=261, aarch64=None),
    "utimensat": SyscallNumbers(x86_64=280, aarch64=88),
    "fchmodat": SyscallNumbers(x86_64=268, aarch64=53),
    "link": SyscallNumbers(x86_64=86, aarch64=None),
    "symlink": SyscallNumbers(x86_64=88, aarch64=None),
    "linkat": SyscallNumbers(x86_64=265, aarch64=37),
    "symlinkat": SyscallNumbers(x86_64=266, aarch64=36),
}

CHECKED_OR_PRIVILEGED: Mapping[str, SyscallNumbers] = {
    # Allowed with certain arguments only: see seccomp.py.
    "clone": SyscallNumbers(x86_64=56, aarch64=220),
    "clone3": SyscallNumbers(x86_64=435, aarch64=435),
    "socketpair": SyscallNumbers(x86_64=53, aarch64=199),
    "kill": SyscallNumbers(x86_64=62, aarch64=129),
    "tgkill": SyscallNumbers(x86_64=234, aarch64=131),
    "prlimit64": SyscallNumbers(x86_64=302, aarch64=261),
    "prctl": SyscallNumbers(x86_64=157, aarch64=167),
    "ioctl": SyscallNumbers(x86_64=16, aarch64=29),
    "fcntl": SyscallNumbers(x86_64=72, aarch64=25),
    "fallocate": SyscallNumbers(x86_64=285, aarch64=47),
    "mmap": SyscallNumbers(x86_64=9, aarch64=222),
    "madvise": SyscallNumbers(x86_64=28, aarch64=233),
    "sched_setaffinity": SyscallNumbers(x86_64=203, aarch64=122),
    # Called to set up the sandbox, and refused inside it.
    "seccomp": SyscallNumbers(x86_64=317, aarch64=277),
    "pivot_root": SyscallNumbers(x86_64=155, aarch64=41),
    "mount_setattr": SyscallNumbers(x86_64=442, aarch64=442),
    "landlock_create_ruleset": SyscallNumbers(x86_64=444, aarch64=444),
    "landlock_add_rule": SyscallNumbers(x86_64=445, aarch64=445),
    "landlock_restrict_self": SyscallNumbers(x86_64=446, aarch64=446),
    "mount": SyscallNumbers(x86_64=165, aarch64=40),
    "umount2": SyscallNumbers(x86_64=166, aarch64=39),
    "unshare": SyscallNumbers(x86_64=272, aarch64=97),
    "capset": SyscallNumbers(x86_64=126, aarch64=91),
}


def numbers_here(calls: Mapping[str, SyscallNumbers]) -> dict[str, int]:
    """The numbers of these system calls on this machine, without those that it does not have."""
    machine = os.uname().machine
    found: dict[str, int] = {}
    for name, numbers in calls.items():
        number: int | None = getattr(numbers, machine)
        if number is not None:
            found[name] = number
    return found
