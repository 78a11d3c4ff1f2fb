"""The namespaces of what is learned while coding, and the words that give each away."""

from __future__ import annotations

# Name to description and signal words, all in lower case.
NAMESPACES: dict[str, tuple[str, tuple[str, ...]]] = {
    "decisions": ("What was decided about design and architecture", ("decided", "chose", "going with")),
    "patterns": ("Conventions and ways of doing things here", ("always", "never", "convention")),
    "learnings": ("What debugging and trying taught", ("til", "learned", "discovered")),
    "context": ("Background that explains why", ("because", "constraint", "requirement")),
    "tech-debt": ("What is to be cleaned up later", ("todo", "fixme", "temporary", "hack")),
    "blockers": ("What stands in the way", ("blocked", "waiting", "depends on")),
    "progress": ("What is done", ("completed", "milestone", "shipped")),
    "apis": ("Contracts of interfaces", ("endpoint", "request", "response")),
    "config": ("Settings and environments", ("environment", "setting", "variable")),
    "security": ("Weaknesses and how access is guarded", ("vulnerability", "cve", "auth")),
    "performance": ("Measurements and what made things faster", ("benchmark", "latency", "throughput")),
    "testing": ("How things are tested, and edge cases", ("test", "edge case", "coverage")),
}
