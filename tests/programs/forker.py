"""Runs commands as processes of their own without starting Python anew for each: one JSON request
per line.

The child is forked before anything of the data is touched, gets files in the place of its three
streams, and ends as any program does, with the last flush and the exit code that belong to it.
"""

import gc
import json
import os
import sys
from importlib import import_module

from memolith.bootstrap import families
from memolith.doors.cli.commands import LISTED_COMMANDS
from memolith.doors.main import main

# What commands import when they need it is imported before the fork, so that none pays for it.
LATE = (
    "memolith.analysts.builtin.analyst",
    "memolith.doors.cli.program",
    "memolith.engine.engine",
    "memolith.retrieval.embedding.serving",
    "memolith.retrieval.vectors.stage",
    "memolith.settings",
)
for module in (*LATE, *(listed.module for listed in LISTED_COMMANDS)):
    import_module(module)
TOOLS = [family.tools for family in families()]
# The garbage collector of a child would otherwise touch, and so copy, all that was imported.
gc.freeze()

# Not through sys.stdin and sys.stdout, whose buffers the children would inherit.
requests, answers = open(os.dup(0), "rb", buffering=0), os.dup(1)  # noqa: SIM115
for request in map(json.loads, iter(requests.readline, b"")):
    pid = os.fork()
    if pid == 0:
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(os.path.join(request["files"], name), flags), number)
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["folder"])
        sys.exit(main(request["arguments"]))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(answers, json.dumps(code).encode() + b"\n")
