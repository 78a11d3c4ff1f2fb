"""The chatgpt family. It is served at `/mcp/chatgpt` only; results and errors are plain."""

from memolith.tools.family import Family

chatgpt = Family(
    "chatgpt",
    modules=("memolith.tools.chatgpt.search",),
    apart=True,
    instructions="Search the user's memory, then fetch what looks right.",
    purpose="search and fetch, which connectors and deep research ask for",
    stands_for="ChatGPT's connectors",
)
