"""What a search did on its way from all items to its hits; a search fills it where one is given."""

from dataclasses import dataclass, field

from memolith.ports.ranker import Ranked


@dataclass
class Funnel:
    """How many passages each step of a search had."""

    by_words: int = 0
    """How many have the telling words."""
    by_meaning: int = 0
    """How many are nearest by meaning."""
    by_date: int = 0
    """How many were said on the days that the question names."""
    neighbours: int = 0
    """How many stand beside the best ones."""
    scored: int = 0
    """How many were scored, each once."""
    judged: int = 0
    """How many of the best a second network read together with the question."""
    below: list[Ranked] = field(default_factory=list)
    """Those that were left out because their score is too low, the best first."""
    unquoted: int = 0
    """How many were left out because they lack what the question quotes."""
    ranked: int = 0
    """How many are hits."""
