"""What a key with a single scope may do, for every tool, every action and every other door."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memolith.bootstrap import App, families
from memolith.domain.callers import SCOPES
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.engine.vault import Secret
from memolith.tools.call import Call
from memolith.tools.family import Tool
from memolith.tools.registry import Registry
from memolith.tools.signature import Actions
from tests.conftest import ME, At, note
from tests.programs.served import Served, thread
from tests.tools.stock import fill, open_quick

CANARY = "canaryque"
KINDS_FOUND_BY_TITLE = ("prompt", "template", "project")
ACTION_CALLS: dict[tuple[str, str], dict[str, Any]] = {
    ("subcog_entities", "create"): {"name": "Okapi", "entity_type": "Concept"},
    ("subcog_entities", "get"): {"entity_id": "zebra"},
    ("subcog_entities", "list"): {},
    ("subcog_entities", "delete"): {"entity_id": "zebra"},
    ("subcog_entities", "extract"): {"memory_id": "one", "min_confidence": 0.0},
    ("subcog_entities", "merge"): {"entity_ids": ["zebra", "zoo"]},
    ("subcog_relationships", "create"): {
        "from_entity": "zebra",
        "to_entity": "zoo",
        "relationship_type": "PartOf",
    },
    ("subcog_relationships", "get"): {"relationship_id": "rel-stripes"},
    ("subcog_relationships", "list"): {"entity_id": "zebra"},
    ("subcog_relationships", "delete"): {"relationship_id": "rel-stripes"},
    ("subcog_relationships", "infer"): {"entity_ids": ["zebra", "zoo"]},
    ("subcog_graph", "neighbors"): {"entity_id": "zebra"},
    ("subcog_graph", "path"): {"from_entity": "zebra", "to_entity": "zoo"},
    ("subcog_graph", "stats"): {},
    ("subcog_graph", "visualize"): {"format": "json"},
    ("subcog_prompts", "save"): {"name": "greet", "content": "Hi.", "domain": "user"},
    ("subcog_prompts", "list"): {},
    ("subcog_prompts", "get"): {"name": "greet"},
    ("subcog_prompts", "run"): {"name": "greet", "variables": {"name": "Zoe"}},
    ("subcog_prompts", "delete"): {"name": "greet", "domain": "user"},
    ("subcog_templates", "save"): {"name": "layout", "content": "Hi.", "domain": "user"},
    ("subcog_templates", "list"): {},
    ("subcog_templates", "get"): {"name": "layout"},
    ("subcog_templates", "render"): {"name": "layout", "query": "zebra"},
    ("subcog_templates", "delete"): {"name": "layout", "domain": "user"},
}
"""A good call of every action, pointing at what is stored."""


class Case(NamedTuple):
    """A tool, or one action of it, with a good call and the scopes that it says it needs."""

    tool: Tool
    arguments: dict[str, Any]
    scopes: frozenset[str]
    name: str


def _cases() -> Iterator[Case]:
    for family in families():
        for tool in family.tools:
            name = f"{tool.family}.{tool.name}"
            if isinstance(tool.signature, Actions):
                for action, signature in tool.signature.actions.items():
                    arguments = ACTION_CALLS[tool.name, action]
                    call = {tool.signature.key: action, **arguments}
                    yield Case(tool, call, signature.scopes, f"{name}.{action}")
            else:
                yield Case(tool, dict(tool.example), tool.signature.scopes, name)


CASES = list(_cases())
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def with_canaries(app: App) -> None:
    """Put the canary into every stored item: its title, text, tags, attributes and links."""
    engine = app.engine
    engine.writing.remember(ME, Draft("template", "layout", (Block("Old."),), id="layout"))
    engine.writing.link(
        ME,
        "zebra",
        "zoo",
        "RelatesTo",
        attributes={"properties": {"why": CANARY}},
        id="rel-stripes",
    )
    engine.writing.link(ME, "zebra", "one", "MentionedIn", attributes={"notes": CANARY})
    engine.writing.remember(ME, note(f"Beavers build at night, {CANARY}.", title=CANARY))
    # Nearly the same as what the examples write, so that they are told of it.
    for kind, text in (("memory", "Beavers build at night."), ("concept", "Black and white.")):
        engine.writing.remember(ME, note(text, kind=kind, title=CANARY, namespace="patterns"))
    for item in engine.reading.list_items(ME, limit=1000).items:
        _, blocks = engine.reading.read(ME, item.id)
        marked = tuple(
            replace(block, text=f"{block.text} {CANARY} on Kubernetes.") for block in blocks[:1]
        )
        summary = {"summary": CANARY} if item.kind == "document" else {}
        branch = {"branch": CANARY} if item.kind == "memory" else {}
        engine.writing.revise(
            ME,
            item.id,
            Patch(
                title=None if item.kind in KINDS_FOUND_BY_TITLE else f"{item.title} {CANARY}",
                blocks=(*marked, *blocks[1:]) if blocks else None,
                tags=(*item.tags, CANARY),
                attributes={"metadata": {"note": CANARY}, **summary, **branch},
            ),
        )
    # An example adds to it by its name.
    engine.writing.remember(ME, Draft("entity", "zebra", namespace="animal"))
    engine.projects.add_member(replace(ME, admin=True), "aquarium", CANARY)
    app.engine.vault.store(ME, Secret(CANARY, "api_key", "staging", "project", 90, {}), CANARY)


@pytest.fixture(scope="module")
def stock(at: At, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is copied for each test: with canaries in all its items."""
    folder = tmp_path_factory.mktemp("stock")
    fill(at(folder))
    with closing(open_quick(at(folder))) as app:
        with_canaries(app)
    return folder


def outcome_for(app: App, case: Case, scopes: frozenset[str]) -> Any:
    """What a key with these scopes gets."""
    registry = Registry(
        [family for family in families() if family.name == case.tool.family],
        [one for family in families() if family.name == case.tool.family for one in family.tools],
    )
    arguments = dict(case.arguments)
    if "executor_id" in arguments:
        arguments |= {
            "executor_id": app.sandbox.create((ME.tenant, ME.user)),
            "code": "print(open(get_memory_path('ds-zoo', 'zoo.txt')).read())",
        }
    caller = replace(ME, admin="admin" in scopes)
    return registry.run(case.tool.name, arguments, Call(caller, app.engine, scopes=scopes))


def test_every_action_has_a_call_here() -> None:
    assert len(ACTION_CALLS) == sum(isinstance(case.tool.signature, Actions) for case in CASES)


@each_case
def test_a_single_scope_allows_what_it_says_and_without_read_nothing_stored_comes_back(
    stocked: App, case: Case
) -> None:
    # Writing comes last, because it changes what the others would find.
    for scope in ("read", "run", "admin", "write"):
        outcome = outcome_for(stocked, case, frozenset((scope,)))
        if case.scopes <= {scope}:
            assert outcome.ok, outcome.body
        else:
            assert outcome.error.status == 403
            missing = ", ".join(sorted(case.scopes - {scope}))
            assert f"needs a key with the scope: {missing}." in outcome.error.message
        if scope != "read":
            assert CANARY not in outcome.text
    assert CANARY not in outcome_for(stocked, case, SCOPES - {"read"}).text


WITH_TWO_SCOPES = [case for case in CASES if len(case.scopes) > 1]
TELLING_CALLS: dict[str, dict[str, Any]] = {
    "basic_memory.write_note": {
        "title": "Beavers",
        "content": f"Beavers build at night. {CANARY} on Kubernetes.",
        "directory": "",
    },
    "subcog.subcog_update": {"memory_id": "one", "content": "New."},
    "subcog.subcog_enrich": {"memory_id": "four", "add_context": True},
}
"""Calls that show what a tool can tell, where its example does not."""


@pytest.mark.parametrize("case", WITH_TWO_SCOPES, ids=[case.name for case in WITH_TWO_SCOPES])
def test_a_tool_that_needs_two_scopes_tells_what_was_stored(stocked: App, case: Case) -> None:
    arguments = TELLING_CALLS.get(case.name, case.arguments)
    outcome = outcome_for(stocked, case._replace(arguments=arguments), case.scopes)
    assert outcome.ok, outcome.body
    told = (CANARY, "Kubernetes", "A young zebra.")
    assert any(word in outcome.text for word in told)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with thread(tmp_path_factory.mktemp("served")) as made:
        made.app.engine.writing.remember(ME, note(f"A {CANARY}.", id="one", title=CANARY))
        for kind in ("prompt", "template"):
            made.app.engine.writing.remember(
                ME, Draft(kind, CANARY, (Block(f"{CANARY} {{{{tag}}}}"),), tags=(CANARY,))
            )
        made.app.engine.writing.remember(
            ME, note(f"The {CANARY}.", id="herd", kind="concept", title="herd")
        )
        yield made


READS = [
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "subcog://_"}),
    ("resources/read", {"uri": "subcog://_prompts"}),
    ("resources/read", {"uri": "subcog://memory/one"}),
    ("resources/read", {"uri": f"subcog://search/{CANARY}"}),
    ("resources/read", {"uri": "memolith://item/one"}),
    ("resources/read", {"uri": "concept://herd"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": CANARY, "arguments": {"tag": "x"}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": CANARY},
            "argument": {"name": "tag", "value": CANARY[:3]},
        },
    ),
]


@pytest.mark.parametrize(("method", "params"), READS)
def test_resources_prompts_and_completions_need_the_scope_read(
    served: Served, method: str, params: dict[str, Any]
) -> None:
    for scope in ("write", "run", "admin"):
        answer = served.mcp(method, params, served.key("local", "local", scope))
        assert "needs a key with the scope: read" in answer.json()["error"]["message"]
    readable = served.mcp(method, params, served.key("local", "local", "read")).json()
    if params.get("uri") != "memolith://item/one":
        assert "result" in readable


def test_a_key_sees_the_tools_of_which_it_may_use_an_action(served: Served) -> None:
    listed = {
        scope: set(served.listed(served.key("local", "local", scope))) for scope in sorted(SCOPES)
    }
    assert "subcog_prompts" in listed["read"] & listed["write"]
    assert "update_memory" not in listed["read"] | listed["write"]
    assert "run_memory_code" not in listed["run"]
    assert "subcog_prompts" not in listed["run"] | listed["admin"]


def test_an_upload_needs_write_and_tells_without_read_only_what_was_sent(served: Served) -> None:
    def upload(name: str, *scopes: str) -> Any:
        return served.http.post(
            "/files",
            files={"file": (name, b"The same bytes.")},
            headers={"Authorization": f"Bearer {served.key('local', 'local', *scopes)}"},
        )

    for scope in ("read", "run", "admin"):
        assert upload("a.txt", scope).status_code == 403
    first = upload(f"{CANARY}.txt", "read", "write").json()
    again = upload("other.txt", "write").json()
    assert again == {"id": first["id"], "known": True}
    assert upload("other.txt", "read", "write").json() == {**first, "known": True}
