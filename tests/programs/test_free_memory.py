"""Freed memory goes back to the system."""

import platform
import subprocess
import sys

import pytest

from tests.programs.children import environment

PROGRAM = """
import resource
from pathlib import Path
from memolith.adapters.free_memory import limit_pools, return_freed_memory

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

limit_pools()
blocks = [b"x" * 100_000 + bytes([n % 256]) for n in range(1000)]
# One in ten stays, so that the allocator cannot return the rest by itself.
blocks = blocks[::10]
before = resident_mb()
return_freed_memory()
print(before - resident_mb())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
def test_what_was_freed_is_given_back() -> None:
    printed = subprocess.check_output([sys.executable, "-c", PROGRAM], env=environment())
    assert float(printed) > 50
