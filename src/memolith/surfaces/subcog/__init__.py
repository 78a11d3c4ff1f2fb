"""The Subcog tools; importing a module puts its tools into the family."""

from memolith.surfaces.subcog import captures, care, graph, prompts
from memolith.surfaces.subcog.captures import subcog

__all__ = ["captures", "care", "graph", "prompts", "subcog"]
