"""The family openmemory, beside the facts of the tools that OpenMemory had.

OpenMemory cannot be installed any more: its makers removed it. So the facts stand in a file.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from memolith.bootstrap import App
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME

FACTS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("openmemory_tools.toml").read_text(encoding="utf-8")
)["tools"]


def ask(app: App, tool: str, **arguments: Any) -> str:
    outcome = app.registry.choose("openmemory").run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return str(body_of(outcome)["result"])


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in ("description", "title")}


def test_the_tools_take_what_those_of_openmemory_took(app: App) -> None:
    tools = app.registry.choose("openmemory").tools
    ours = [
        {
            "name": tool.name,
            "arguments": {
                name: plain(schema) for name, schema in tool.input_schema["properties"].items()
            },
            "required": tool.input_schema.get("required", []),
        }
        for tool in tools
    ]
    assert ours == [{key: fact[key] for key in ("name", "arguments", "required")} for fact in FACTS]


def test_the_answers_have_the_fields_and_texts_of_openmemory(app: App) -> None:
    fields = {fact["name"]: set(fact.get("fields", ())) for fact in FACTS}
    texts = {fact["name"]: fact.get("text") for fact in FACTS}

    [added] = json.loads(ask(app, "add_memories", text="I keep bees."))["results"]
    assert fields["add_memories"] <= set(added)
    [found] = json.loads(ask(app, "search_memory", query="bees"))["results"]
    assert fields["search_memory"] == set(found)
    [listed] = json.loads(ask(app, "list_memories"))
    assert fields["list_memories"] <= set(listed)
    deleted = ask(app, "delete_memories", memory_ids=[added["id"]])
    assert deleted == texts["delete_memories"]
    assert ask(app, "delete_all_memories") == texts["delete_all_memories"]
