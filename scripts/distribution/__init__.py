"""Builds and checks what is released: `make dist`."""
