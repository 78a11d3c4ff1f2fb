"""Runs commands as processes of their own without starting Python anew for each: one JSON request
per line.

The child is forked before anything of the data is touched, gets files in the place of its three
streams, and ends as any program does, with the last flush and the exit code that belong to it.
"""

import json
import os
import sys

import memolith.doors.cli.program  # noqa: F401 - imported before the fork, so no command pays for it
from memolith.doors.main import main

# Not through sys.stdin and sys.stdout, whose buffers the children would inherit.
requests, answers = open(os.dup(0), "rb", buffering=0), os.dup(1)  # noqa: SIM115
for request in map(json.loads, iter(requests.readline, b"")):
    pid = os.fork()
    if pid == 0:
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(os.path.join(request["files"], name), flags), number)
        os.environ.update(request["env"])
        sys.exit(main(request["arguments"]))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(answers, json.dumps(code).encode() + b"\n")
