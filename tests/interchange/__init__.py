"""Coming from other programs, and leaving."""
