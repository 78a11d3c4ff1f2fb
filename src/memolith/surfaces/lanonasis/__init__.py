"""The LanOnasis tools; importing a module puts its tools into the family."""

from memolith.surfaces.lanonasis import intelligence, workplace
from memolith.surfaces.lanonasis.memories import lanonasis

__all__ = ["intelligence", "lanonasis", "workplace"]
