"""The names under which the HTTP door tells the MCP server about a request, in the ASGI scope."""

CALLER_KEY = "memolith.caller"
"""The `Caller` that the key or token stands for."""

SCOPES_KEY = "memolith.scopes"
"""What the key or token allows, a frozenset of scope names."""

REQUEST_ID_KEY = "memolith.request"
"""The id of the request, as in the log and in the header `x-request-id`."""

SHARE_KEY = "memolith.share"
"""The `Share` that the request counts against."""

STALE_READS_KEY = "memolith.stale_reads"
"""The `StaleReads` that the client permits; absent if everything must be current."""
