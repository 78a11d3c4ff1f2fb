"""The examples at the end of each help."""

import argparse

EXAMPLES: dict[str, tuple[str, ...]] = {
    "remember": (
        'memolith remember "Maria prefers tea." --tags people,taste',
        "memolith remember - < notes.txt",
    ),
    "recall": (
        'memolith recall "what does Maria drink?"',
        'memolith recall "the deploy" --since 7d --tag decision --limit 3',
    ),
    "context": ('memolith context "why PostgreSQL?" --budget-tokens 500',),
    "history": ("memolith history 019a8f2c",),
    "revise": (
        'memolith revise 019a8f2c "Maria prefers coffee."',
        "memolith revise 019a8f2c --title Drinks --tags people",
    ),
    "forget": ("memolith forget 019a8f2c",),
    "restore": ("memolith restore 019a8f2c",),
    "undo": ("memolith undo 12",),
    "erase": ("memolith erase 019a8f2c",),
    "call": (
        "memolith call recall --query tea --limit 3",
        'memolith call recall --arguments \'{"query": "tea"}\' --json',
        "memolith call recall --help",
    ),
    "similar": ('memolith similar "Maria likes tea." --threshold 0.8',),
    "list": (
        "memolith list --since 7d",
        "memolith list --tags people,taste --limit 50",
        "memolith list --forgotten",
    ),
    "show": ("memolith show 019a8f2c", "memolith show 019a8f2c --as-of 2w"),
    "compare": ("memolith compare 019a8f2c 019a91d0",),
    "graph": ("memolith graph Tea --depth 2 --format svg > tea.svg",),
    "verify": ("memolith verify",),
    "rebuild": ("memolith rebuild",),
    "upkeep": ("memolith upkeep",),
    "backup": ("memolith backup memory.db",),
    "restore-backup": ("memolith restore-backup memory.db --data restored",),
    "doctor": ("memolith doctor",),
    "migrate": ("memolith migrate",),
    "export": (
        "memolith export memory.jsonl",
        "memolith export - | gzip > memory.jsonl.gz",
        "memolith export vault --format obsidian",
        "memolith export memory.jsonl --format official",
    ),
    "import": (
        "memolith import memory.jsonl",
        "memolith import memory.json --from official",
        "memolith import my-vault --dry-run",
    ),
    "sync": ("memolith sync vault",),
    "import-chats": ("memolith import-chats conversations.json --folder /chats",),
    "copy": ("memolith copy --from sqlite:notes --to postgres://localhost/memolith",),
    "ingest": ("memolith ingest report.pdf 'notes/**/*.md'", "memolith ingest inbox --watch"),
    "serve": ("memolith serve", "memolith serve --host 0.0.0.0 --port 8000"),
    "stdio": ("memolith stdio --tools core",),
    "page": ("memolith page",),
    "worker": ("memolith worker",),
    "tools": ("memolith tools", "memolith tools core --json"),
    "families": ("memolith families", "memolith families --json"),
    "keys": (
        "memolith keys create laptop --scopes read,write --expires 90d",
        "memolith keys list",
    ),
    "vault": ("memolith vault reveal KEY", "memolith vault rekey"),
    "tenant": ("memolith tenant list",),
    "tenants": ("memolith tenants",),
    "database": ("memolith database distribute",),
    "install": ("memolith install claude-code --hooks", "memolith install cursor --data notes"),
    "uninstall": ("memolith uninstall cursor",),
    "completion": (
        "memolith completion bash > ~/.local/share/bash-completion/completions/memolith",
        "memolith completion zsh > ~/.zfunc/_memolith",
        "memolith completion fish > ~/.config/fish/completions/memolith.fish",
    ),
    "up": ("memolith up", "memolith up --port 8000 --data notes"),
    "down": ("memolith down",),
    "status": ("memolith status",),
    "logs": ("memolith logs", "memolith logs --follow"),
    "demo": ("memolith demo",),
    "bench": ("memolith bench",),
}
"""What a user might type, by command."""

FIRST_STEPS = (
    'memolith remember "Maria prefers tea."     save a text',
    'memolith recall "what does Maria drink?"   find it again',
    "memolith install claude-code               give it to an agent",
    "memolith demo                              look at a sample store in the browser",
    "memolith COMMAND --help                    the options of a command, with examples",
)
"""What `memolith` alone shows at its end."""


class ExamplesFormatter(argparse.HelpFormatter):
    """Fills paragraphs, but keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return "\n".join(indent + line for line in text.splitlines())
        return super()._fill_text(text, width, indent)


def examples_text(command: str) -> str:
    """The end of the help of a command."""
    return listed_examples(EXAMPLES[command])


def listed_examples(lines: tuple[str, ...]) -> str:
    return "\n".join(["examples:", *[f"  {line}" for line in lines]])
