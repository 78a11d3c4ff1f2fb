"""Every command of `memolith` in the order of its help, and the file that holds it.

To add a command, add a line here and a `Command` to the table of its file. Only the file of the
command at hand is imported, because all of them together take a third of a second.
"""

from typing import NamedTuple

TOOLS = "memolith.doors.cli.tool_commands"
MEMORIES = "memolith.doors.cli.memories"
MAINTENANCE = "memolith.doors.cli.maintenance"
KEYS = "memolith.doors.cli.keys"
TRANSFER = "memolith.doors.cli.transfer"
NOTES = "memolith.doors.cli.export_formats"
FILES = "memolith.doors.cli.files"
SERVER = "memolith.doors.cli.server"
TENANTS = "memolith.doors.cli.tenants"
DATABASES = "memolith.doors.cli.databases"
COMPARING = "memolith.doors.cli.comparing"
BACKGROUND_SERVER = "memolith.doors.cli.background_server"
SAMPLES = "memolith.doors.cli.samples"
BENCH = "memolith.doors.cli.bench"
COMPLETION = "memolith.doors.cli.completion"
INSTALL = "memolith.doors.install.commands"


class ListedCommand(NamedTuple):
    """A command as the help lists it."""

    name: str
    module: str
    help: str


LISTED_COMMANDS = (
    ListedCommand("remember", TOOLS, "Save a text."),
    ListedCommand("recall", TOOLS, "Find what was remembered, by words and by meaning."),
    ListedCommand(
        "context", TOOLS, "Get the best passages within a budget of tokens, with their sources."
    ),
    ListedCommand("history", TOOLS, "Show what happened to an item."),
    ListedCommand("revise", TOOLS, "Change an item."),
    ListedCommand("forget", TOOLS, "Forget an item; you can restore it."),
    ListedCommand("restore", TOOLS, "Restore a forgotten item."),
    ListedCommand("undo", TOOLS, "Undo one event by its number."),
    ListedCommand("erase", TOOLS, "Remove every byte of an item for good."),
    ListedCommand(
        "call", TOOLS, "Call a tool: memolith call TOOL --arguments '{…}', or a flag per argument."
    ),
    ListedCommand("similar", MEMORIES, "Find items that say nearly the same as a text."),
    ListedCommand("list", MEMORIES, "List what was remembered, newest first."),
    ListedCommand("show", MEMORIES, "Show an item."),
    ListedCommand("compare", COMPARING, "Show what differs between two items."),
    ListedCommand("graph", MEMORIES, "Draw what is linked to a concept or any other item."),
    ListedCommand(
        "verify", MAINTENANCE, "Check that tables and indexes equal a replay of the log."
    ),
    ListedCommand("rebuild", MAINTENANCE, "Rebuild tables and indexes from the log."),
    ListedCommand(
        "upkeep", MAINTENANCE, "Make missing vectors, write a new snapshot, flush and tidy up."
    ),
    ListedCommand(
        "backup",
        MAINTENANCE,
        "Copy everything into one file while others go on writing; ingested files go into a folder "
        "beside it.",
    ),
    ListedCommand("restore-backup", MAINTENANCE, "Restore a backup into an empty data folder."),
    ListedCommand(
        "doctor",
        MAINTENANCE,
        "Show versions, sizes and pending work, and what is wrong with how to fix it.",
    ),
    ListedCommand(
        "migrate", MAINTENANCE, "Bring the schema of the database up to date, as its owner."
    ),
    ListedCommand(
        "export",
        TRANSFER,
        "Write a tenant as JSON Lines, Markdown notes, an Obsidian vault, a table or for mem0.",
    ),
    ListedCommand(
        "import",
        TRANSFER,
        'Read an export, lines like {"content": "…"}, or what another program remembered; running '
        "it again adds nothing twice.",
    ),
    ListedCommand(
        "sync",
        NOTES,
        "Keep a folder of Markdown notes, such as an Obsidian vault, and the store in step.",
    ),
    ListedCommand(
        "import-chats",
        TRANSFER,
        "Import chats from ChatGPT, Claude, Claude Code, Codex or Markdown files; running it again "
        "adds nothing twice.",
    ),
    ListedCommand(
        "copy",
        TRANSFER,
        "Copy everything from one store to another and compare them; run it again to continue "
        "after a stop.",
    ),
    ListedCommand(
        "ingest", FILES, "Save files with their text; running it again takes only what is new."
    ),
    ListedCommand("serve", SERVER, "Serve MCP and REST over HTTP."),
    ListedCommand("up", BACKGROUND_SERVER, "Run the server in the background."),
    ListedCommand("down", BACKGROUND_SERVER, "Stop the server that runs in the background."),
    ListedCommand("status", BACKGROUND_SERVER, "Tell whether a server runs in the background."),
    ListedCommand("logs", BACKGROUND_SERVER, "Show the log of the server in the background."),
    ListedCommand(
        "demo", SAMPLES, "Fill a sample store in a folder of its own, and print a link to its page."
    ),
    ListedCommand("bench", BENCH, "Measure writing, searching and starting on your own data."),
    ListedCommand("stdio", SERVER, "Serve MCP over standard input and output."),
    ListedCommand(
        "page", SERVER, "Print a link that opens the web page, signed in; it works once."
    ),
    ListedCommand(
        "worker",
        SERVER,
        "Make vectors and tidy up until stopped; any number may run on one database.",
    ),
    ListedCommand("tools", SERVER, "List families and tools, and what each costs a model to see."),
    ListedCommand(
        "families",
        SERVER,
        "List families: what each is for, how much it costs a model, and whose clients it serves.",
    ),
    ListedCommand("keys", KEYS, "Create, list and revoke the keys of HTTP clients."),
    ListedCommand(
        "vault",
        KEYS,
        "Show the value of a key in the vault, or seal all keys with a new master key.",
    ),
    ListedCommand(
        "tenant",
        TENANTS,
        "List tenants, move one to another PostgreSQL database, or remove what it left behind.",
    ),
    ListedCommand(
        "tenants",
        TENANTS,
        "Show where tenants live, how large they are, and which moves would help; add a database.",
    ),
    ListedCommand(
        "database",
        DATABASES,
        "Distribute the tables of a PostgreSQL database over the servers of a Citus cluster.",
    ),
    ListedCommand("install", INSTALL, "Add memolith to the config file of a client."),
    ListedCommand("uninstall", INSTALL, "Remove memolith from the config file of a client."),
    ListedCommand(
        "completion", COMPLETION, "Print a script that lets bash, zsh or fish complete commands."
    ),
    ListedCommand(
        "hook",
        "memolith.doors.hooks.run",
        "Answer a hook of a coding agent: session-start, prompt, pre-compact or stop, with its "
        "JSON on standard input.",
    ),
)
