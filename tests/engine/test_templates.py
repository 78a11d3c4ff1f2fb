"""The template language: what is filled in, what is left alone, and everything that is refused, all
at once.
"""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.attributes import Json
from memolith.engine.prompt_templates import (
    MAX_BLOCK_DEPTH,
    MAX_TEMPLATE_CHARACTERS,
    Template,
    as_json,
    as_xml,
)
from memolith.errors import InvalidInput, TooLarge


def filled(content: str, **values: Json) -> str:
    return Template(content).render(values)


def problems(content: str) -> str:
    with pytest.raises(InvalidInput) as error:
        Template(content)
    assert error.value.field == "content"
    return error.value.message


def test_values_are_filled_in_by_name_and_by_path() -> None:
    assert filled("{{a}}-{{ a }}-{{b.c.d}}", a="x", b={"c": {"d": "y"}}) == "x-x-y"
    assert (
        filled(
            "{{n}} {{yes}} {{tags}} {{object}}", n=3.5, yes=True, tags=["a", 2], object={"k": ["ü"]}
        )
        == '3.5 true a, 2 {"k": ["ü"]}'
    )


def test_several_and_nested_loops_know_their_entries_by_this_and_by_the_singular() -> None:
    content = (
        "{{#each groups}}{{group.name}}:{{#each group.tags}} {{tag}}/{{this}}/{{group.name}}{{/each}};{{/each}}"
        "{{#each boxes}}{{box}}{{/each}}{{#each entries}}{{entry.a}}{{this.a}}{{/each}}"
        "{{#each data}}{{item}}{{/each}}"
    )
    assert (
        filled(
            content,
            groups=[{"name": "A", "tags": ["x", "y"]}, {"name": "B", "tags": []}],
            boxes=[1, 2],
            entries=[{"a": 3}],
            data=[4],
        )
        == "A: x/x/A y/y/A;B:;12334"
    )


def test_a_choice_takes_what_holds_and_what_is_not_given_does_not() -> None:
    content = (
        "{{#if note}}Note: {{note}}{{else}}{{#if other}}{{other}}{{else}}nothing{{/if}}{{/if}}"
    )
    assert filled(content, note="x") == "Note: x"
    assert filled(content, note="", other="y") == "y"
    assert filled(content) == "nothing"
    assert (
        filled("{{#each xs}}{{#if x.done}}+{{else}}-{{/if}}{{/each}}", xs=[{"done": True}, {}])
        == "+-"
    )


def test_lines_that_hold_a_block_alone_leave_no_line_behind() -> None:
    assert filled("a\n{{#each xs}}\n- {{x}}\n{{/each}}\nb", xs=[1, 2]) == "a\n- 1\n- 2\nb"
    assert filled("a\n  {{#if x}}\nyes\n  {{else}}\nno\n  {{/if}}\nb", x=False) == "a\nno\nb"


def test_escaped_braces_stay_braces_and_fenced_code_is_not_searched() -> None:
    assert filled(r"\{\{x\}\} {{x}} \{ \d", x=1) == r"{{x}} 1 \{ \d"
    code = "```py\n{{x}} {{\n```\n~~~~\n}} {{9}}\n~~~\n~~~~\n"
    assert filled(code + "{{x}}", x=1) == code + "1"
    assert list(Template(code).names) == []
    assert list(Template("```\n{{x}} never closed").names) == ["x"]
    assert list(Template("`{{x}}`").names) == ["x"]


@given(st.text(st.sampled_from("{}#/xeachif \\`~\n"), max_size=30))
def test_a_value_is_never_expanded_again(value: str) -> None:
    assert filled("{{value}}", value=value, x="secret", secret="no") == value


def told(content: str, values: Json) -> str:
    """How a text is rendered, or in which words it is refused."""
    try:
        template = Template(content)
        return template.render(dict.fromkeys(template.names, values))
    except InvalidInput as error:
        return f"{error.field}: {error.message}"


@given(st.text(st.sampled_from("{}#/.xyeachifls \\`\n"), max_size=40))
def test_any_text_is_a_template_or_is_refused_with_its_problems(content: str) -> None:
    choices: list[Json] = [[], ["x"], "x"]
    for values in choices:
        found = told(content, values)
        assert not found.startswith("content: ") or "line " in found
        assert (
            not found.startswith("variables: ") or "missing" in found or "must be a list" in found
        )


def test_every_problem_is_told_with_its_line() -> None:
    told = problems(
        "{{}}\n{{9x}}\n{{a b}} {{a..b}}\n{{system_x}} {{SUBCOG_y}} {{__z}}\n{{this}}\n{{#each xs}}\n"
        "{{/if}}\n{{else}}\n{{open\n}} shut }}\n{{#unless x}}{{! hm }}{{> part}}{{{x}}}"
    )
    for line, word in (
        (1, "missing"),
        (2, "`9x`"),
        (3, "`a b`"),
        (3, "`a..b`"),
        (4, "`system_x` is reserved"),
        (4, "`SUBCOG_y`"),
        (4, "`__z`"),
        (5, "`this`"),
        (6, "`#each` is not closed"),
        (7, "`/if`"),
        (8, "`else`"),
        (10, "`}}`"),
        (11, "`#unless x`"),
        (11, "`! hm`"),
        (11, "`> part`"),
        (11, "`{{`"),
    ):
        assert f"line {line}: " in told
        assert word in told, word
    assert "not closed" in problems("{{#if a}}{{#each b}}{{/each}}")
    assert "else" in problems("{{#if a}}{{else}}{{else}}{{/if}}")
    assert "else" in problems("{{#each a}}{{else}}{{/each}}")
    assert "deep" in problems(
        "{{#if a}}" * (MAX_BLOCK_DEPTH + 1) + "{{/if}}" * (MAX_BLOCK_DEPTH + 1)
    )
    assert "name is missing" in problems("{{#each }}{{/each}}")


def test_missing_values_are_all_named_and_an_entry_may_lack_a_field() -> None:
    with pytest.raises(InvalidInput) as error:
        filled(
            "{{a}} {{b.c}} {{#each ds}}{{d.no}}{{e}}{{/each}} {{#each fs}}{{/each}}", b={}, ds=[{}]
        )
    assert error.value.message == "Values are missing for: a, b.c, e, fs."
    assert error.value.field == "variables"
    with pytest.raises(InvalidInput, match="for: a"):
        filled("{{a}}", a=None)
    assert filled("[{{#each ds}}{{d.no}}{{this.no}}{{/each}}]", ds=[{}, 1]) == "[]"


def test_names_say_whether_they_are_needed() -> None:
    content = "{{a}} {{#if b}}{{b}}{{c}}{{/if}} {{#each ds}}{{d}}{{this}}{{a.x}}{{e}}{{/each}}"
    assert Template(content).names == {"a": True, "b": False, "c": False, "ds": True, "e": True}


def test_limits_are_told() -> None:
    with pytest.raises(TooLarge):
        Template("x" * (MAX_TEMPLATE_CHARACTERS + 1))
    with pytest.raises(TooLarge):
        filled("{{a}}" * 30, a="x" * 100_000)
    with pytest.raises(InvalidInput, match="list"):
        filled("{{#each xs}}{{/each}}", xs="abc")
    many: list[Json] = list(range(1000))
    with pytest.raises(TooLarge):
        filled("{{#each a}}{{#each a}}{{#each a}}{{/each}}{{/each}}{{/each}}", a=many)


def test_control_characters_do_not_get_through() -> None:
    assert filled("{{a}}", a="x\x07\x1b[31m\r\ny\tz") == "x[31m\ny\tz"


def test_as_json_cuts_at_headings_outside_of_code() -> None:
    text = "before\n# One\na\n## Two <b>\n```\n# no heading\n```\n"
    assert json.loads(as_json(text)) == {
        "raw": text,
        "sections": [
            {"level": 0, "title": "", "content": "before"},
            {"level": 1, "title": "One", "content": "a"},
            {"level": 2, "title": "Two <b>", "content": "```\n# no heading\n```"},
        ],
    }
    assert json.loads(as_json("")) == {"sections": [], "raw": ""}


@given(st.text(max_size=60))
def test_as_xml_is_well_formed_whatever_the_values(value: str) -> None:
    text = filled("# {{v}}\n- {{v}}\n{{v}}", v=value)
    assert ElementTree.fromstring(as_xml(text)).tag == "context"


def test_as_xml_has_sections_escaped() -> None:
    root = ElementTree.fromstring(as_xml('# A & "B"\n- one <1>\n\n```\n# code\n```\n## C\n'))
    assert [(part.tag, part.get("level"), part.get("title"), part.text) for part in root] == [
        ("section", "1", 'A & "B"', "- one <1>\n\n```\n# code\n```"),
        ("section", "2", "C", None),
    ]
