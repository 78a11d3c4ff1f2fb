"""`python -m memolith` is the command `memolith`."""

import sys

from memolith.doors.main import main

if __name__ == "__main__":
    sys.exit(main())
