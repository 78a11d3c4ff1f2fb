"""The LanOnasis tools; importing a module puts its tools into the family."""

from memolith.surfaces.lanonasis import intelligence, memories, workplace
from memolith.surfaces.lanonasis.shapes import lanonasis

__all__ = ["intelligence", "lanonasis", "memories", "workplace"]
