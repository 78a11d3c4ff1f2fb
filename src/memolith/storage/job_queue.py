"""How jobs of the outbox are shared between tenants, and how long a failed one waits."""

PAUSES_S = (1, 5, 30, 120, 600, 3600)
"""How long a job waits after its first, second, ... failed attempt."""


def pause_s(attempts: int) -> int:
    """How long a job waits after so many failed attempts."""
    return PAUSES_S[min(attempts, len(PAUSES_S)) - 1]


def share_of(jobs: int, tenants: int) -> int:
    """How many of the jobs left to lease the next tenant gets, when so many tenants are left."""
    return max(1, jobs // tenants)
