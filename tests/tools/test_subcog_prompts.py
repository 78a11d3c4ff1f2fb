"""Prompts and templates of the Subcog family: the documented examples, every parameter and action,
the old names.
"""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import types
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from memolith.bootstrap import App
from memolith.domain.callers import Audience, Caller
from memolith.doors.mcp.server import MemolithServer
from memolith.engine.prompt_templates import MAX_TEMPLATE_CHARACTERS
from memolith.tools.call import Call
from memolith.tools.signature import Actions
from tests.checked import body_of, present, text_of
from tests.conftest import ME, note
from tests.stores import each_store

pytestmark = each_store
HERE = replace(ME, project="github.com/acme/widgets")
REVIEW: dict[str, Any] = {
    "name": "code-review",
    "description": "Comprehensive code review",
    "domain": "project",
    "content": "Review {{file}} for:\n- {{issue_type}} issues\n- Best practices",
    "tags": ["review", "quality"],
}
RESULTS: dict[str, Any] = {
    "name": "search-results",
    "description": "Format search results for display",
    "domain": "user",
    "content": "# {{title}}\n\n{{#each memories}}\n- **{{memory.namespace}}**: {{memory.content}}\n{{/each}}",
}


def run(
    app: App, tool: str, action: str, caller: Caller = HERE, **arguments: Any
) -> dict[str, Any]:
    outcome = app.registry.run(tool, {"action": action, **arguments}, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def prompts(app: App, action: str, caller: Caller = HERE, **arguments: Any) -> dict[str, Any]:
    return run(app, "subcog_prompts", action, caller, **arguments)


def templates(app: App, action: str, **arguments: Any) -> dict[str, Any]:
    return run(app, "subcog_templates", action, **arguments)


def refused(app: App, tool: str, caller: Caller = HERE, **arguments: Any) -> tuple[int, str, str]:
    """The code, the field and the words of an error."""
    with app.store.reading(None) as rows:
        before = rows.last_seq(ME.tenant)
    body = body_of(app.registry.run(tool, arguments, Call(caller, app.engine)))
    with app.store.reading(None) as rows:
        assert rows.last_seq(ME.tenant) == before
    return body["code"], body["data"].get("field", ""), body["message"]


def names(listed: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (one["name"], one["domain"]) for one in listed.get("prompts", listed.get("templates", []))
    ]


# Prompts


def test_the_documented_prompt_is_saved_got_and_run(app: App) -> None:
    saved = prompts(app, "save", **REVIEW)
    assert {name: saved[name] for name in REVIEW} == {**REVIEW, "tags": ["quality", "review"]}
    assert (saved["variables"], saved["version"], saved["usage_count"]) == (
        ["file", "issue_type"],
        1,
        0,
    )
    assert prompts(app, "get", name="code-review") == saved
    ran = prompts(
        app, "run", name="code-review", variables={"file": "src/main.rs", "issue_type": "security"}
    )
    assert ran["rendered"] == "Review src/main.rs for:\n- security issues\n- Best practices"
    assert prompts(app, "get", name="code-review")["usage_count"] == 1


def test_saving_again_replaces_and_keeps_the_versions(app: App) -> None:
    prompts(app, "save", **REVIEW)
    again = prompts(app, "save", name="code-review", content="Look at {{that}}")
    assert (again["version"], again["variables"], again["tags"]) == (2, ["that"], [])
    assert prompts(app, "save", name="code-review", content="Look at {{that}}")["version"] == 2
    assert prompts(app, "get", name="code-review", version=1)["content"] == REVIEW["content"]
    assert refused(app, "subcog_prompts", action="get", name="code-review", version=9)[:2] == (
        -32607,
        "version",
    )
    assert len(prompts(app, "list")["prompts"]) == 1


def test_the_nearest_domain_wins_and_a_named_one_is_looked_at_alone(app: App) -> None:
    for domain in ("org", "user", "project"):
        prompts(app, "save", name="greet", content=f"From the {domain}", domain=domain)
    assert prompts(app, "run", name="greet")["rendered"] == "From the project"
    for domain in ("org", "user", "project"):
        assert prompts(app, "run", name="greet", domain=domain)["rendered"] == f"From the {domain}"
        assert prompts(app, "get", name="greet", domain=domain)["domain"] == domain
    assert prompts(app, "run", ME, name="greet")["rendered"] == "From the user"
    other = replace(HERE, user="somebody", project="github.com/acme/gadgets")
    assert prompts(app, "run", other, name="greet")["rendered"] == "From the org"
    mate = replace(HERE, user="somebody")
    assert prompts(app, "run", mate, name="greet")["rendered"] == "From the project"
    assert names(prompts(app, "list")) == [
        ("greet", "project"),
        ("greet", "user"),
        ("greet", "org"),
    ]
    assert names(prompts(app, "list", domain="user")) == [("greet", "user")]
    assert prompts(app, "delete", name="greet", domain="project")["deleted"] is True
    assert prompts(app, "run", name="greet")["rendered"] == "From the user"


def test_an_admin_runs_his_own_prompt_and_not_somebody_elses(app: App) -> None:
    prompts(app, "save", replace(ME, user="somebody"), name="mine", content="x", domain="user")
    assert (
        refused(app, "subcog_prompts", replace(ME, admin=True), action="get", name="mine")[0]
        == -32607
    )


def test_outside_of_a_project_a_prompt_is_the_users(app: App) -> None:
    assert prompts(app, "save", ME, name="here", content="x")["domain"] == "user"
    assert prompts(app, "get", ME, name="here", domain="project")["domain"] == "user"


def test_a_list_is_filtered_by_tags_and_cut(app: App) -> None:
    for name, tags in (("code-review", ["a", "b"]), ("code-style", ["a"]), ("plan", ["b"])):
        prompts(app, "save", name=name, content="x", tags=tags)
    assert [name for name, _ in names(prompts(app, "list", tags=["a", "b"]))] == ["code-review"]
    cut = prompts(app, "list", limit=1)
    assert (len(cut["prompts"]), cut["total"]) == (1, 3)
    for n in range(25):
        prompts(app, "save", name=f"many-{n}", content="x")
    assert len(prompts(app, "list")["prompts"]) == 20


def test_variables_have_descriptions_defaults_and_may_be_optional(app: App) -> None:
    saved = prompts(
        app,
        "save",
        name="ask",
        content="{{who}} {{what}} {{#if why}}{{why}}{{/if}}",
        variables_def=[
            {"name": "who", "description": "A name.", "default": "you"},
            {"name": "what"},
            {"name": "why", "required": False},
        ],
    )
    assert saved["variables"] == ["who", "what", "why"]
    assert saved["variables_def"][0] == {
        "name": "who",
        "description": "A name.",
        "default": "you",
        "required": True,
    }
    assert prompts(app, "run", name="ask", variables={"what": "do"})["rendered"] == "you do "
    assert (
        prompts(app, "run", name="ask", variables={"what": "do", "who": "I", "why": "?"})[
            "rendered"
        ]
        == "I do ?"
    )
    code, field, words = refused(app, "subcog_prompts", action="run", name="ask")
    assert (code, field) == (-32608, "variables")
    assert words.endswith(": what.")
    code, field, words = refused(
        app,
        "subcog_prompts",
        action="save",
        name="ask",
        content="{{a}} {{9}} {{b}}",
        variables_def=[{"name": "b"}],
    )
    assert (code, field) == (-32608, "content")
    assert "`a` is not" in words
    assert "`9`" in words
    assert "`b`" not in words


def test_missing_values_are_all_named_and_values_are_not_expanded(app: App) -> None:
    prompts(app, "save", **REVIEW)
    code, field, words = refused(app, "subcog_prompts", action="run", name="code-review")
    assert (code, field, words) == (
        -32608,
        "variables",
        "Values are missing for: file, issue_type.",
    )
    ran = prompts(
        app, "run", name="code-review", variables={"file": "{{issue_type}}", "issue_type": "\\{\\{"}
    )
    assert ran["rendered"].startswith("Review {{issue_type}} for:\n- \\{\\{ issues")


def test_what_cannot_be_run_or_rendered_is_refused_and_counts_as_no_use(app: App) -> None:
    content = "{{#each rows}}{{#each rows}}{{row}}{{/each}}{{/each}}"
    for tool, action, name in (
        ("subcog_prompts", "run", "prompt"),
        ("subcog_templates", "render", "template"),
    ):
        run(app, tool, "save", name=name, content=content)
        for values, words in (
            ({}, "missing for: rows"),
            ({"rows": None}, "missing for: rows"),
            ({"rows": "text"}, "`rows` is repeated, so it must be a list"),
            ({"rows": ["x"] * 2000}, "more than 2,000,000 characters"),
        ):
            code, field, told = refused(app, tool, action=action, name=name, variables=values)
            assert (code, field) == (-32608, "variables")
            assert words in told
        assert refused(app, tool, action=action, name=name, variables=["rows"])[:2] == (
            -32602,
            "variables",
        )
        assert refused(app, tool, action=action, name=name, version=1)[:2] == (-32602, "version")
        assert run(app, tool, "get", name=name)["usage_count"] == 0
    assert refused(app, "subcog_prompts", action="run", name="prompt", query="x")[:2] == (
        -32602,
        "query",
    )


def test_a_description_is_derived_where_none_is_given(app: App) -> None:
    text = "\n# Plan the work\nStep by step."
    assert prompts(app, "save", name="plan", content=text)["description"] == "Plan the work"
    assert (
        prompts(app, "save", name="plan", content=text, description="Mine")["description"] == "Mine"
    )


@pytest.mark.parametrize(
    ("wrong", "code", "field"),
    [
        ({"name": "Code-Review"}, -32608, "name"),
        ({"name": "a--b"}, -32608, "name"),
        ({"name": "a-"}, -32608, "name"),
        ({"name": "9a"}, -32608, "name"),
        ({"name": ""}, -32608, "name"),
        ({"name": "a" * 65}, -32608, "name"),
        ({"name": "a_b"}, -32608, "name"),
        ({"name": "a\n"}, -32608, "name"),
        ({"content": " "}, -32608, "content"),
        ({"content": "{{open"}, -32608, "content"),
        ({"content": "{{subcog_x}}"}, -32608, "content"),
        ({"content": "x" * (MAX_TEMPLATE_CHARACTERS + 1)}, -32608, "content"),
        ({"domain": "team"}, -32602, "domain"),
        ({"variables": {}}, -32602, "variables"),
        ({"variables_def": [{"name": "a b"}]}, -32602, "variables_def.0.name"),
        ({"tags": [""]}, -32608, "tags"),
        ({"surprise": 1}, -32602, "surprise"),
        ({"content": None}, -32602, "content"),
    ],
)
def test_bad_input_is_refused_by_name_and_leaves_no_trace(
    app: App, wrong: dict[str, Any], code: int, field: str
) -> None:
    found = refused(
        app, "subcog_prompts", **{"action": "save", "name": "fine", "content": "x", **wrong}
    )
    assert found[0] == code
    assert found[1].replace("variables_def.name", "variables_def.0.name") == field


def test_what_is_not_there_is_not_found(app: App) -> None:
    prompts(app, "save", **REVIEW)
    for action in ("get", "run"):
        assert refused(app, "subcog_prompts", action=action, name="nope")[:2] == (-32607, "name")
    assert (
        refused(app, "subcog_prompts", action="delete", name="code-review", domain="user")[0]
        == -32607
    )
    assert refused(app, "subcog_prompts", action="delete", name="code-review")[:2] == (
        -32602,
        "domain",
    )
    prompts(app, "delete", name="code-review", domain="project")
    assert refused(app, "subcog_prompts", action="get", name="code-review")[0] == -32607
    assert refused(app, "subcog_templates", action="render", name="nope")[0] == -32607
    assert prompts(app, "save", **REVIEW)["version"] == 1


def test_secrets_are_redacted_and_told(app: App) -> None:
    saved = prompts(app, "save", name="keys", content="Use ghp_" + "a1B2" * 9 + " for {{x}}")
    assert saved["redactions"]
    assert "[REDACTED]" in saved["content"]
    # A description is cut here, and half of a secret would not be known as one.
    saved = prompts(app, "save", name="late", content=f"Ask {'very ' * 12}kindly ghp_" + "c3D4" * 9)
    assert saved["description"].startswith("Ask very")
    assert "c3D4" not in str(saved)


def test_a_retried_save_returns_the_first_result(app: App) -> None:
    call = Call(HERE, app.engine, idempotency_key="once")
    first, second = (
        app.registry.run("subcog_prompts", {"action": "save", **REVIEW}, call).body
        for _ in range(2)
    )
    assert (first["id"], first["version"]) == (second["id"], second["version"])


# The old names


def test_the_old_tools_equal_the_actions(app: App) -> None:
    found = app.registry.by_name
    actions = found["subcog_prompts"].signature
    assert isinstance(actions, Actions)
    for action, signature in actions.actions.items():
        old = found[f"prompt_{action}"]
        assert (old.signature.input_schema, old.signature.output_schema) == (
            signature.input_schema,
            signature.output_schema,
        )
        assert old.read_only == (signature.effect == "reads")
    steps: list[tuple[str, dict[str, Any]]] = [
        ("save", REVIEW),
        ("list", {"tags": ["review"]}),
        ("get", {"name": "code-review"}),
        ("run", {"name": "code-review", "variables": {"file": "a", "issue_type": "b"}}),
        ("run", {"name": "code-review"}),
        ("delete", {"name": "code-review", "domain": "project"}),
        ("get", {"name": "code-review"}),
        ("save", {"name": "Bad", "content": "x"}),
    ]
    answers = []
    for caller, by_old_name in ((HERE, True), (replace(HERE, tenant="other"), False)):
        bodies = [
            app.registry.run(
                f"prompt_{action}" if by_old_name else "subcog_prompts",
                given if by_old_name else {"action": action, **given},
                Call(caller, app.engine),
            ).body
            for action, given in steps
        ]
        answers.append(json.dumps([without_ids(body) for body in bodies]))
    assert answers[0] == answers[1]


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: without_ids(entry)
            for name, entry in value.items()
            if name not in ("id", "updated_at")
        }
    return [without_ids(entry) for entry in value] if isinstance(value, list) else value


# Templates


def memories(app: App) -> None:
    for text, namespace in (
        ("Use OAuth tokens for authentication", "decisions"),
        ("Tomatoes need water", "learnings"),
        ("Authentication patterns: never log a <token> & co", "patterns"),
    ):
        app.engine.writing.remember(
            HERE,
            note(
                text,
                namespace=namespace,
                tags=("auth",),
                audience=Audience.PROJECT,
                project=HERE.project,
            ),
        )


def test_the_documented_template_is_saved_and_rendered(app: App) -> None:
    memories(app)
    saved = templates(app, "save", **RESULTS)
    assert (saved["version"], saved["domain"], saved["variables"]) == (1, "user", ["title"])
    body = templates(
        app,
        "render",
        name="search-results",
        query="authentication patterns",
        limit=10,
        variables={"title": "Auth Patterns"},
    )
    assert body["rendered"].startswith(
        "# Auth Patterns\n\n- **patterns**: Authentication patterns: never log"
    )
    assert "- **decisions**: Use OAuth" in body["rendered"]
    assert "Tomatoes" not in body["rendered"]
    assert (body["total_count"], body["format"], body["version"]) == (2, "markdown", 1)


def test_every_parameter_of_render_matters(app: App) -> None:
    memories(app)
    templates(
        app,
        "save",
        name="show",
        content="{{x}}|{{#each memories}}{{memory.content}}/{{/each}}|{{total_count}}",
    )
    given: dict[str, Any] = {"name": "show", "query": "authentication", "variables": {"x": "y"}}
    assert templates(app, "render", **given)["rendered"].endswith("|2")
    assert templates(app, "render", **given, limit=1)["rendered"].endswith("|1")
    assert templates(app, "render", name="show", variables={"x": "y"})["rendered"] == "y||0"
    assert refused(app, "subcog_templates", action="render", name="show")[:2] == (
        -32608,
        "variables",
    )
    assert refused(app, "subcog_templates", action="render", **given, domain="org")[0] == -32607
    assert refused(app, "subcog_templates", action="render", **{**given, "query": " "})[:2] == (
        -32608,
        "query",
    )
    assert refused(app, "subcog_templates", action="render", **given, format="pdf")[:2] == (
        -32602,
        "format",
    )


def test_memories_have_their_fields_and_statistics(app: App) -> None:
    memories(app)
    templates(
        app,
        "save",
        name="all",
        content=(
            "{{#each memories}}{{#each this.tags}}{{tag}}{{/each}} {{memory.domain}} {{memory.score}} {{memory.id}} "
            "{{memory.created_at}} {{memory.updated_at}};{{/each}}{{namespace_counts.decisions}}"
            "{{statistics.total_count}}"
        ),
    )
    assert templates(app, "get", name="all")["variables"] == []
    text = templates(app, "render", name="all", query="OAuth")["rendered"]
    tag, domain, score, _, created, _ = text.split(";")[0].split(" ")
    assert (tag, domain, created[-1]) == ("auth", "project", "Z")
    assert 0 < float(score) <= 1
    assert text.endswith(";11")


def test_json_and_xml_are_parsed_by_real_parsers_and_escaped(app: App) -> None:
    memories(app)
    templates(app, "save", **RESULTS)
    given: dict[str, Any] = {
        "name": "search-results",
        "query": "patterns log token",
        "limit": 1,
        "variables": {"title": 'A "&" <B>'},
    }
    parsed = json.loads(templates(app, "render", **given, format="json")["rendered"])
    assert parsed["sections"][0] == {
        "level": 1,
        "title": 'A "&" <B>',
        "content": "- **patterns**: Authentication patterns: never log a <token> & co",
    }
    root = ElementTree.fromstring(templates(app, "render", **given, format="xml")["rendered"])
    assert root[0].get("title") == 'A "&" <B>'
    assert root[0].text == "- **patterns**: Authentication patterns: never log a <token> & co"


def test_versions_count_up_and_can_be_read(app: App) -> None:
    for n in (1, 2, 3):
        assert templates(app, "save", name="v", content=f"text {n}")["version"] == n
    assert [templates(app, "get", name="v", version=n)["content"] for n in (1, 2, 3)] == [
        "text 1",
        "text 2",
        "text 3",
    ]
    assert templates(app, "get", name="v")["version"] == 3
    assert refused(app, "subcog_templates", action="get", name="v", version=4)[:2] == (
        -32607,
        "version",
    )


def test_templates_are_listed_filtered_and_deleted_apart_from_prompts(app: App) -> None:
    templates(app, "save", name="one", content="x", tags=["a"], domain="org")
    templates(app, "save", name="two", content="x", description="Second")
    prompts(app, "save", name="one", content="y")
    assert names(templates(app, "list")) == [("two", "project"), ("one", "org")]
    assert (
        names(templates(app, "list", tags=["a"]))
        == names(templates(app, "list", domain="org"))
        == [("one", "org")]
    )
    assert templates(app, "get", name="two", domain="project")["description"] == "Second"
    assert templates(app, "delete", name="one", domain="org") == {
        "name": "one",
        "domain": "org",
        "deleted": True,
    }
    assert names(templates(app, "list")) == [("two", "project")]


# As prompts of the client


def test_saved_prompts_are_prompts_of_the_client_with_arguments_and_completions(app: App) -> None:
    memories(app)
    app.engine.writing.remember(ME, note("x", namespace="decisions"))

    async def main() -> None:
        told: list[str] = []

        async def heard(message: Any) -> None:
            told.append(getattr(message, "method", ""))

        server = MemolithServer(app.registry.choose("subcog"), lambda: app.engine)
        async with Client(server, message_handler=heard, mode="legacy") as client:
            await client.call_tool(
                "subcog_prompts",
                {
                    "action": "save",
                    "name": "ask",
                    "domain": "user",
                    "content": "{{who}} in {{namespace}}{{#if why}}: {{why}}{{/if}}",
                    "description": "Asks.",
                    "variables_def": [
                        {"name": "who", "description": "A name.", "default": "you"},
                        {"name": "namespace"},
                        {"name": "why", "required": False},
                    ],
                },
            )
            (listed,) = (await client.list_prompts()).prompts
            assert (listed.name, listed.description) == ("ask", "Asks.")
            assert [(one.name, one.required or False) for one in present(listed.arguments)] == [
                ("who", False),
                ("namespace", True),
                ("why", False),
            ]
            assert present(listed.arguments)[0].description == "A name."
            got = await client.get_prompt("ask", {"namespace": "apis", "why": "so"})
            assert text_of(got.messages[0].content) == "you in apis: so"
            with pytest.raises(MCPError, match="namespace"):
                await client.get_prompt("ask")
            with pytest.raises(MCPError, match="Unknown prompt"):
                await client.get_prompt("nope")
            reference = types.PromptReference(name="ask")
            for name, value, wanted in (
                ("who", "", ["you"]),
                ("who", "x", []),
                ("namespace", "de", ["decisions"]),
            ):
                found = await client.complete(reference, {"name": name, "value": value})
                assert found.completion.values == wanted
            await client.call_tool("prompt_delete", {"name": "ask", "domain": "user"})
            assert (await client.list_prompts()).prompts == []
            assert told.count("notifications/prompts/list_changed") == 2

    anyio.run(main)
