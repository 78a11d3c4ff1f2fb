"""The namespaces of what is learned while coding, and the words that give each away."""

NAMESPACES: dict[str, tuple[str, list[str]]] = {
    "decisions": ("What was decided about design and architecture, and why", ["decided", "chose", "going with"]),
    "patterns": ("How things are done here", ["always", "never", "convention"]),
    "learnings": ("What was found out the hard way", ["TIL", "learned", "discovered"]),
    "context": ("What one must know to understand the rest", ["because", "constraint", "requirement"]),
    "tech-debt": ("What should be done better later", ["TODO", "FIXME", "temporary", "hack"]),
    "blockers": ("What stands in the way", ["blocked", "waiting", "depends on"]),
    "progress": ("What is done", ["completed", "milestone", "shipped"]),
    "apis": ("How to call things and what they answer", ["endpoint", "request", "response"]),
    "config": ("How things are set up", ["environment", "setting", "variable"]),
    "security": ("What is dangerous and how it is prevented", ["vulnerability", "CVE", "auth"]),
    "performance": ("What is slow and what made it faster", ["benchmark", "latency", "throughput"]),
    "testing": ("What is tested and how", ["test", "edge case", "coverage"])}
