"""One memory server for AI agents.

from memolith import Memory

with Memory("notes") as memory:
    memory.remember("Maria prefers tea.", tags=["people"])
    for hit in memory.recall("what does Maria drink?"):
        print(hit.score, hit.text)
"""

__version__ = "0.1.0"
__all__ = ["AsyncMemory", "Memory", "__version__"]

# Importing it from `typing` would cost every hook some milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from memolith.doors.library.async_memory import AsyncMemory
    from memolith.doors.library.memory import Memory


def __getattr__(name: str) -> object:
    if name == "Memory":
        # A server or a hook does not need it, and starts several times as fast without.
        from memolith.doors.library.memory import Memory

        return Memory
    if name == "AsyncMemory":
        # The same reason.
        from memolith.doors.library.async_memory import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
