"""Prompts and templates in one list, and what a content becomes before it is saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME
from tests.stores import each_store

pytestmark = each_store
BOB = replace(ME, user="bob")


def run(app: App, tool: str, caller: Caller = ME, /, **arguments: Any) -> Any:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def names(app: App, caller: Caller = ME, **arguments: Any) -> list[str]:
    return [prompt["name"] for prompt in run(app, "list_prompts", caller, **arguments)["prompts"]]


@pytest.fixture
def library(app: App) -> App:
    """Two prompts of mine, one for everybody, and a template."""
    save = {"content": "Hello {{name}}.", "domain": "user"}
    run(app, "prompt_save", name="greet", **save, tags=["polite"], description="Says hello")
    run(app, "prompt_save", name="apology", **save, description="Says sorry")
    run(app, "prompt_save", name="motto", content="Onwards.", domain="org")
    run(app, "subcog_templates", action="save", name="digest", **save)
    return app


def test_prompts_and_templates_are_listed_by_name(library: App) -> None:
    page = run(library, "list_prompts")
    assert [(prompt["kind"], prompt["name"]) for prompt in page["prompts"]] == [
        ("prompt", "apology"),
        ("template", "digest"),
        ("prompt", "greet"),
        ("prompt", "motto"),
    ]
    assert page["total"] == 4
    assert page["prompts"][0]["variables"] == ["name"]


def test_a_list_is_narrowed_and_paged(library: App) -> None:
    assert names(library, kind="template") == ["digest"]
    assert names(library, query="HELLO") == ["digest", "greet"], "the description is its text"
    assert names(library, query="apol") == ["apology"]
    assert names(library, tags=["polite"]) == ["greet"]
    assert names(library, domain="org") == ["motto"]
    assert names(library, limit=2) == ["apology", "digest"]
    assert names(library, offset=3) == ["motto"]


def test_others_see_what_is_for_everybody(library: App) -> None:
    assert names(library, BOB) == ["motto"]


def preview(app: App, **arguments: Any) -> Any:
    return run(app, "preview_prompt", **arguments)


def test_a_preview_has_the_values_and_names_what_is_missing(app: App) -> None:
    shown = preview(app, content="{{a}} and {{b}}", variables={"a": "tea"})
    assert shown["rendered"] == "tea and {{b}}"
    assert shown["missing"] == ["b"]
    assert shown["variables"] == [
        {"name": "a", "required": True},
        {"name": "b", "required": True},
    ]


def test_a_list_without_a_value_is_shown_with_one_entry(app: App) -> None:
    content = "{{#if a}}{{#each files}}- {{file}}{{/each}}{{/if}}"
    assert preview(app, content=content)["rendered"] == "- {{file}}"


def test_a_value_that_does_not_fit_is_told(app: App) -> None:
    shown = preview(app, content="{{#each files}}x{{/each}}", variables={"files": "one"})
    assert shown["rendered"] is None
    assert "must be a list" in shown["problem"]


def test_a_template_is_shown_with_an_example_of_a_memory(app: App) -> None:
    content = "{{total_count}}: {{#each memories}}{{memory.content}}{{/each}}"
    shown = preview(app, content=content, kind="template")
    assert shown["rendered"] == "1: An example of a memory."
    assert shown["variables"] == []
    assert preview(app, content=content)["missing"] == ["total_count", "memories"]


def test_a_content_that_cannot_be_used_is_refused(app: App) -> None:
    outcome = app.registry.run("preview_prompt", {"content": "{{#if}}"}, Call(ME, app.engine))
    assert "line 1" in str(body_of(outcome))
