"""What a coding agent hears from memory at certain moments: `memolith hook NAME`.

A hook must be quick and must never get in the way of its client: it searches by words only, imports
little, and a failure goes to `hooks.log` in the data folder.
"""
