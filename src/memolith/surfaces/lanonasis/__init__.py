"""The LanOnasis tools; importing a module puts its tools into the family."""

from memolith.surfaces.lanonasis import workplace
from memolith.surfaces.lanonasis.memories import lanonasis

__all__ = ["lanonasis", "workplace"]
