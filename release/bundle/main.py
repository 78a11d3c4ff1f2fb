"""Starts memolith for a desktop app that has unpacked this bundle."""

import sys

from memolith.doors.main import main

if __name__ == "__main__":
    sys.exit(main(["stdio", *sys.argv[1:]]))
