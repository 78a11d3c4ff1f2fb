"""The least that a stdio server can be: a loop over JSON lines, answering a list that is given as a
file.
"""

import json
import sys

with open(sys.argv[1], "rb") as file:
    tools = file.read()
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "initialize":
        answer = b'{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"0"}}'
    elif message.get("method") == "tools/list":
        answer = b'{"tools":%b}' % tools
    else:
        continue
    sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (message["id"], answer))
    sys.stdout.buffer.flush()
