"""The library: memory as an object in a Python program."""
