"""The namespaces for what is learned while coding, and the words that hint at each."""

from typing import NamedTuple


class Namespace(NamedTuple):
    """What belongs into a namespace, and the words in a text that hint at it."""

    about: str
    signal_words: tuple[str, ...]


NAMESPACES = {
    "decisions": Namespace(
        "What was decided about design and architecture, and why",
        ("decided", "chose", "going with"),
    ),
    "patterns": Namespace("How things are done here", ("always", "never", "convention")),
    "learnings": Namespace("What was found out the hard way", ("TIL", "learned", "discovered")),
    "context": Namespace(
        "What one must know to understand the rest", ("because", "constraint", "requirement")
    ),
    "tech-debt": Namespace(
        "What should be done better later", ("TODO", "FIXME", "temporary", "hack")
    ),
    "blockers": Namespace("What stands in the way", ("blocked", "waiting", "depends on")),
    "progress": Namespace("What is done", ("completed", "milestone", "shipped")),
    "apis": Namespace(
        "How to call things and what they answer", ("endpoint", "request", "response")
    ),
    "config": Namespace("How things are set up", ("environment", "setting", "variable")),
    "security": Namespace(
        "What is dangerous and how it is prevented", ("vulnerability", "CVE", "auth")
    ),
    "performance": Namespace(
        "What is slow and what made it faster", ("benchmark", "latency", "throughput")
    ),
    "testing": Namespace("What is tested and how", ("test", "edge case", "coverage")),
}
"""Every namespace by its name, in the order in which clients see them."""
