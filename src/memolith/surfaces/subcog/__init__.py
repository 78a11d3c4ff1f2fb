"""The Subcog tools; importing a module puts its tools into the family."""

from memolith.surfaces.subcog import graph
from memolith.surfaces.subcog.family import subcog

__all__ = ["graph", "subcog"]
