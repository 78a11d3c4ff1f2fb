"""The Subcog tools; importing a module puts its tools into the family."""

from memolith.surfaces.subcog import prompts
from memolith.surfaces.subcog.family import subcog

__all__ = ["prompts", "subcog"]
