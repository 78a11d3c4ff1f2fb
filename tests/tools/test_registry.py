"""A tool is a typed function: what is derived from it, what is refused, and how outcomes are
worded.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import logging
import pkgutil
import re
import subprocess
import sys
from typing import Annotated, Any, TypedDict

import jsonschema
import pytest
from pydantic import Field

from memolith import bootstrap as app
from memolith.domain.callers import Caller
from memolith.errors import InvalidInput
from memolith.tools.call import Call, InputNeeded
from memolith.tools.family import Family
from memolith.tools.registry import Registry
from memolith.tools.signature import Actions
from tests.checked import error_of, present
from tests.demo_engine import DemoEngine
from tests.demo_family import ERRORS, families, registry

ENGINE: Any = DemoEngine()
DEMO = registry()
TOOLS = [tool for family in families() for tool in family.tools]


def call(**more: Any) -> Call:
    return Call(Caller(), ENGINE, **more)


def run(name: str, arguments: dict[str, Any], **more: Any) -> Any:
    return DEMO.run(name, arguments, call(**more))


def keywords(schema: Any, named: bool = False) -> set[str]:
    if isinstance(schema, list):
        return {key for part in schema for key in keywords(part)}
    if not isinstance(schema, dict):
        return set()
    own = set() if named else set(schema)
    return own | {
        key
        for name, part in schema.items()
        for key in keywords(part, name == "properties" and not named)
    }


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_valid_flat_and_without_titles(tool: Any) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert not keywords(schema) & {"title", "$ref", "$defs", "discriminator"}
    assert tool.input_schema["additionalProperties"] is False
    assert all("description" in argument for argument in tool.input_schema["properties"].values())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_note", {"note_id": "umlaut"}),
        ("list_notes", {"limit": 1, "order": "desc"}),
        ("list_notes", {"json": True}),
        (
            "add_note",
            {"text": "x", "tags": ["a"], "stamps": [{"title": "t"}], "metadata": {"a": [1, None]}},
        ),
        ("slow", {}),
        ("coded_fail", {"kind": "none"}),
        ("saved_prompts", {"action": "list"}),
        ("saved_prompts", {"action": "save", "name": "n", "text": "t"}),
        ("tidy", {}),
    ],
)
def test_a_result_fits_its_schema_and_the_arguments_theirs(
    name: str, arguments: dict[str, Any]
) -> None:
    tool = present(DEMO.find(name))
    jsonschema.validate(arguments, tool.input_schema)
    outcome = run(name, arguments)
    assert outcome.ok, outcome.body
    jsonschema.validate(outcome.body, tool.output_schema)
    assert json.loads(outcome.text) == outcome.body


@pytest.mark.parametrize(
    ("name", "arguments", "field", "says"),
    [
        ("get_note", {}, "note_id", "Field required"),
        ("get_note", {"note_id": 5}, "note_id", "a valid string"),
        ("get_note", {"note_id": ""}, "note_id", "at least 1"),
        ("get_note", {"note_id": "one", "noteid": 1}, "noteid", "possible: note_id"),
        ("get_note", {"noteid": "one"}, "noteid", "possible: note_id"),
        ("list_notes", {"limit": 51}, "limit", "less than or equal to 50"),
        ("list_notes", {"limit": 0}, "limit", "greater than or equal to 1"),
        ("list_notes", {"limit": "5"}, "limit", "a valid integer"),
        ("list_notes", {"limit": 5.5}, "limit", "a valid integer"),
        ("list_notes", {"limit": True}, "limit", "a valid integer"),
        ("list_notes", {"limit": None}, "limit", "a valid integer"),
        ("list_notes", {"order": "up"}, "order", "'asc' or 'desc'"),
        ("list_notes", {"json": "yes"}, "json", "a valid boolean"),
        ("add_note", {"text": "x", "tags": "a"}, "tags", "a valid array"),
        ("add_note", {"text": "x", "tags": ["a", 2]}, "tags.1", "a valid string"),
        ("add_note", {"text": "x", "tags": list("abcd")}, "tags", "at most 3"),
        ("add_note", {"text": "x", "stamps": [{}]}, "stamps.0.title", "required"),
        (
            "add_note",
            {"text": "x", "stamps": [{"title": "t", "colour": 1}]},
            "stamps.0.colour",
            "possible: title, weight",
        ),
        ("add_note", {"text": "x", "metadata": [1]}, "metadata", "an object"),
        ("add_note", {"text": "x", "score": 1}, "score", "less than 1"),
        ("add_note", {"text": "x", "score": float("nan")}, "score", "finite"),
        ("add_note", {"text": "x", "metadata": {"a": 2**63}}, "metadata", "64 bits"),
        ("add_note", {"text": "nul \0"}, "text", "NUL"),
        ("add_note", {"text": "half \ud83d"}, "text", "surrogate"),
        ("add_note", {"text": "x", "metadata": {"half \ud83d": 1}}, "metadata", "surrogate"),
        ("add_note", {"text": "x", "half \ud83d": 1}, "an argument's name", "surrogate"),
        ("saved_prompts", {}, "action", "save, list"),
        ("saved_prompts", {"action": "burn"}, "action", "save, list"),
        ("saved_prompts", {"action": 1}, "action", "save, list"),
        (
            "saved_prompts",
            {"action": "list", "name": "x"},
            "name",
            "does not belong to the action `list`",
        ),
        ("saved_prompts", {"action": "list", "nme": "x"}, "nme", "possible: limit"),
        ("saved_prompts", {"action": "save", "name": "x"}, "text", "required"),
    ],
)
def test_bad_arguments_are_refused_and_the_field_is_named(
    name: str, arguments: dict[str, Any], field: str, says: str
) -> None:
    outcome = run(name, arguments)
    assert not outcome.ok
    assert outcome.error.status == 400
    assert outcome.body["error"] == "validation_error"
    assert outcome.body["field"] == field
    assert says in outcome.body["message"]
    outcome.text.encode()


def test_a_refused_value_is_kept_for_dialects_that_show_it() -> None:
    assert run("list_notes", {"limit": 99}).error.value == 99


def test_nesting_without_end_is_refused() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    outcome = run("add_note", {"text": "x", "metadata": {"deep": deep}})
    assert outcome.body["field"] == "metadata"
    assert "64 levels" in outcome.body["message"]


def test_null_stands_for_an_optional_argument_that_was_left_out() -> None:
    assert run("list_notes", {"order": None}).body == run("list_notes", {}).body
    assert present(DEMO.find("list_notes")).input_schema["properties"]["order"]["type"] == "string"


def test_an_empty_addition_is_left_out_of_the_result_and_a_null_stays() -> None:
    body = run("get_note", {"note_id": "one"}).body
    assert "warnings" not in body
    assert body["title"] is None


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_is_worded_by_the_family(kind: Any) -> None:
    plain, coded = run("fail", {"kind": kind}), run("coded_fail", {"kind": kind})
    assert plain.body == {"error": kind, "message": plain.error.message, "field": "kind"}
    assert coded.body.keys() == {"code", "message", "data"}
    assert type(coded.error) is ERRORS[kind]


def test_a_crash_is_logged_under_its_request_and_its_text_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        outcome = run("fail", {"kind": "crash"}, request_id="r-17")
    assert outcome.error.status == 500
    assert "r-17" in outcome.body["message"]
    assert "r-17" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "hunter2" not in outcome.text + caplog.text.replace(
        'raise RuntimeError("the password is hunter2")', ""
    )


def test_bad_input_leaves_no_trace_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    run("get_note", {"note_id": 5})
    assert caplog.text == ""


def test_an_unknown_tool_is_not_found() -> None:
    outcome = run("nope", {})
    assert outcome.error.status == 404
    assert "nope" in outcome.body["message"]


def test_a_tool_needs_its_scope() -> None:
    reader = frozenset(("read",))
    assert run("get_note", {"note_id": "one"}, scopes=reader).ok
    refused = run("add_note", {"text": "x"}, scopes=reader)
    assert refused.error.status == 403
    assert "write" in refused.body["message"]
    assert [tool.name for tool in DEMO.tools if tool.is_usable_with(reader)] == [
        "get_note",
        "list_notes",
        "saved_prompts",
        "coded_fail",
    ]


def test_a_question_to_the_user_gets_out() -> None:
    def ask(message: str, schema: Any) -> None:
        raise InputNeeded(message, schema)

    with pytest.raises(InputNeeded):
        run("wipe", {}, elicit=ask)
    assert run("wipe", {}, elicit=lambda message, schema: {"sure": True}).body == {
        "text": "sure=True"
    }
    assert run("wipe", {}, elicit=lambda message, schema: None).body == {"text": "declined"}


def test_profiles_choose_what_is_seen() -> None:
    def names(profile: str, **more: bool) -> list[str]:
        return [tool.name for tool in DEMO.choose(profile, **more).tools]

    everything = names("all")
    assert "tidy" not in everything
    assert "search" not in everything
    assert names("demo,coded") == everything
    assert names("coded, get_note") == ["coded_fail", "get_note"]
    assert names("chatgpt") == ["search", "get_note"]
    assert names("all", read_only=True) == ["get_note", "list_notes", "coded_fail"]
    assert [family.name for family in DEMO.choose("coded").shown] == ["coded"]
    assert "tidy" in [tool.name for tool in DEMO.tools]


@pytest.mark.parametrize("profile", ["manage", "tidy", "nope", "", "demo,,coded"])
def test_an_unknown_profile_is_refused_with_the_families_named(profile: str) -> None:
    with pytest.raises(InvalidInput, match="demo, coded"):
        DEMO.choose(profile)


def test_a_tool_outside_the_profile_cannot_be_run() -> None:
    outcome = DEMO.choose("demo", read_only=True).run("add_note", {"text": "x"}, call())
    assert error_of(outcome).status == 404


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        Registry([*families(), *families()])


def test_a_tool_is_found_without_importing_the_tools_of_other_families() -> None:
    program = (
        "import sys; from memolith.bootstrap import families; from memolith.tools.registry import Registry; "
        "print(Registry(families()).choose().find('fetch').family); "
        "print([name for name in sys.modules if name.startswith('memolith.tools.') and name.count('.') > 2])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    family, modules = ran.stdout.splitlines()
    assert family == "core"
    assert "memolith.tools.core.items" in modules
    loaded = ast.literal_eval(modules)
    assert [name for name in loaded if not name.endswith(".dialect") and ".core." not in name] == []


@pytest.mark.parametrize("family", app.families(), ids=lambda family: family.name)
def test_every_module_that_defines_tools_of_a_family_is_listed_in_it(family: Family) -> None:
    before = list(family.tools)
    folder = importlib.import_module(f"memolith.tools.{family.name}")
    for module in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        importlib.import_module(module.name)
    assert family.tools == before


def test_action_tools_publish_one_flat_object() -> None:
    tool = present(DEMO.find("saved_prompts"))
    assert list(tool.input_schema["properties"]) == ["action", "name", "text", "limit"]
    assert tool.input_schema["required"] == ["action"]
    assert tool.input_schema["properties"]["action"]["enum"] == ["save", "list"]
    assert isinstance(tool.signature, Actions)
    assert {name: action.effect for name, action in tool.signature.actions.items()} == {
        "save": "writes",
        "list": "reads",
    }
    assert "required" not in tool.output_schema


class Named(TypedDict):
    """A name."""

    name: str


def make(function: Any, **more: Any) -> Registry:
    family = Family("made")
    family.tool(**more)(function)
    return Registry([family])


def test_models_are_built_when_they_are_first_needed() -> None:
    def lazy(call: Call, *, count: int = 1) -> Named:
        """Never called."""
        raise NotImplementedError

    signature = make(lazy, read_only=True).tools[0].signature
    assert not vars(signature).keys() & {"model", "input_schema"}
    assert signature.input_schema["properties"]["count"]["type"] == "integer"
    assert "model" in vars(signature)


def test_a_check_of_the_author_words_its_own_refusal() -> None:
    from pydantic import AfterValidator

    def even(value: int) -> int:
        if value % 2:
            raise ValueError("only even numbers go in pairs")
        return value

    def pairs(
        call: Call, *, count: Annotated[int, AfterValidator(even), Field(description="How many.")]
    ) -> Named:
        """Pairs."""
        return {"name": "pair"}

    pairs.__annotations__ = {
        "call": Call,
        "count": Annotated[int, AfterValidator(even)],
        "return": Named,
    }
    made = make(pairs)
    assert made.run("pairs", {"count": 2}, call()).ok
    assert (
        made.run("pairs", {"count": 3}, call()).body["message"]
        == "`count`: only even numbers go in pairs"
    )


@pytest.mark.parametrize(
    "tool", [tool for family in app.families() for tool in family.tools], ids=lambda tool: tool.name
)
def test_every_tool_has_a_good_name_words_a_shape_strict_arguments_and_fitting_traits(
    tool: Any,
) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", tool.name)
    assert tool.description
    assert tool.output_schema["properties"]
    assert not tool.read_only or (not tool.destructive and tool.effect != "writes")
    for signature in (
        tool.signature.actions.values() if isinstance(tool.signature, Actions) else [tool.signature]
    ):
        first, *rest = inspect.signature(signature.function).parameters.values()
        assert first.name == "call"
        assert all(one.kind is one.KEYWORD_ONLY for one in rest)
