"""The Subcog tools; importing a module puts its tools into the family."""

from memolith.surfaces.subcog import captures
from memolith.surfaces.subcog.family import subcog

__all__ = ["captures", "subcog"]
