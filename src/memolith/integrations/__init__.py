"""Adapters that let agent frameworks use a memory; each needs the extra of its framework."""
