"""Looks for words in every file of a folder, whatever their case: `scan.py FOLDER`, words as JSON on stdin."""

import json
import sys
from pathlib import Path

words = json.loads(sys.stdin.buffer.read())
found = []
for path in sorted(Path(sys.argv[1]).rglob("*")):
    if path.is_file():
        data = path.read_bytes().lower()
        found += [f"{path.name}: {word}" for word in words if word.lower().encode() in data]
print(json.dumps(found))
