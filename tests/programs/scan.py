"""Looks for words in every file of a folder, whatever their case: `scan.py FOLDER`, words as JSON
on stdin.
"""

import json
import re
import sys
from pathlib import Path

words = [word.lower() for word in json.loads(sys.stdin.buffer.read())]
letters = "".join(sorted(set("".join(words))))
run = re.compile(f"[{re.escape(letters)}]{{{min(map(len, words))},}}".encode())
found = []
for path in sorted(Path(sys.argv[1]).rglob("*")):
    if path.is_file():
        # Only what consists of the letters that the words have can hold one.
        data = b" ".join(run.findall(path.read_bytes().lower()))
        found += [f"{path.name}: {word}" for word in words if word.encode() in data]
print(json.dumps(found))
