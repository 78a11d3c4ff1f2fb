"""Programs of other systems, as their makers publish them, against a memolith server."""
