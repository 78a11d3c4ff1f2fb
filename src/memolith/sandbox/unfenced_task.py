"""The child that reads one file without a sandbox: gives up what it can, then runs the reader."""

import os
import sys
from contextlib import suppress
from pkgutil import resolve_name

from memolith.sandbox.read_task import print_result

STDIN_FD = 0
KILOBYTE = 1 << 10
SEARCHABLE_BY_OTHERS = 0o1


def main() -> None:
    """Read standard input with the function that the first argument names."""
    task, memory_mb, cpu_s, output_kb = sys.argv[1:]
    # Imports the reader, while everything can still be read.
    resolve_name(task)
    if os.name == "posix":
        _limit(int(memory_mb), int(cpu_s), int(output_kb) * KILOBYTE)
        _give_up_rights()
    print_result(task, STDIN_FD)


def _limit(memory_mb: int, cpu_s: int, output_bytes: int) -> None:
    # Only POSIX systems have these limits.
    import resource

    from memolith.sandbox.rlimits import MAX_OPEN_FILES, MEGABYTE

    wanted = {
        "RLIMIT_DATA": memory_mb * MEGABYTE,
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_FSIZE": output_bytes,
        "RLIMIT_NOFILE": MAX_OPEN_FILES,
        "RLIMIT_NPROC": 0,
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        # Not every system has all of them, and some refuse a few.
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (value, value))


def _give_up_rights() -> None:
    """Give up every capability; root becomes `nobody` if that user can read Python."""
    if os.getuid() == 0 and not _others_can_read_python():
        return
    if sys.platform == "linux":
        # Loads the C library as Linux has it.
        from memolith.sandbox.privileges import drop_privileges

        drop_privileges()
    elif os.getuid() == 0:
        # Only POSIX systems have it, and only root on some of them needs it.
        import pwd

        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)


def _others_can_read_python() -> bool:
    """Whether a module that the reader imports later can be found by another user."""
    for place in (sys.prefix, sys.base_prefix, os.path.dirname(__file__)):
        path = os.path.realpath(place)
        while path != os.path.dirname(path):
            if not os.stat(path).st_mode & SEARCHABLE_BY_OTHERS:
                return False
            path = os.path.dirname(path)
    return True


if __name__ == "__main__":
    main()
