"""Looking after captures: the repository around the server, gc, consolidation, enriching,
reindexing, resources.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.consolidate import planted, run_all

from memolith.adapters.git import checkout
from memolith.analysts.builtin.analyst import BuiltinAnalyst
from memolith.bootstrap import App, open_app
from memolith.domain.callers import Audience, Caller
from memolith.domain.events import Changes
from memolith.domain.items import Draft, Patch
from memolith.domain.queries import Query
from memolith.engine.graph.walking import Traversal
from memolith.ports.repository import Checkout
from memolith.tools.call import Call
from tests.checked import body_of, present
from tests.conftest import ME, At, note
from tests.stores import each_store, each_store_in_full_run
from tests.tools.subcog_calls import capture, found, refused, run

pytestmark = each_store
ORIGIN = "https://github.com/acme/widgets.git"


def git(folder: Path, *arguments: str) -> str:
    """Run the real git, with nobody's own settings."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed, and this test builds a repository with it")
    environ = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    return subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environ,
    ).stdout


def repository(folder: Path, origin: str = ORIGIN) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


@pytest.fixture(scope="module")
def widgets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that nobody changes."""
    return repository(tmp_path_factory.mktemp("widgets") / "widgets")


def working(at: At, data: Path, folder: Path, embedder: str = "none") -> App:
    """An app on a data folder that works in a repository."""
    return open_app(at(data, embedder).model_copy(update={"repo": str(folder)}))


def local(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    return run(app, tool, local=True, **arguments)


# The repository, as its files tell


def found_checkout(path: Path) -> Checkout:
    return present(checkout(path))


@pytest.mark.parametrize(
    ("url", "project"),
    [
        (ORIGIN, "github.com/acme/widgets"),
        ("git@github.com:acme/widgets.git", "github.com/acme/widgets"),
        ("ssh://git@GitHub.com:22/acme/widgets/", "github.com/acme/widgets"),
        ("/srv/git/widgets.git", "srv/git/widgets"),
        (
            "https://me:pass@git.example.com:8443/team/sub/widgets",
            "git.example.com/team/sub/widgets",
        ),
        ("git://example.com/widgets.git", "example.com/widgets"),
    ],
)
def test_the_project_is_the_address_of_the_remote_without_what_differs_between_machines(
    tmp_path: Path, url: Any, project: str
) -> None:
    found = found_checkout(repository(tmp_path / "here", url))
    assert (found.project, found.branch, found.path) == (project, "main", str(tmp_path / "here"))


def test_the_first_remote_counts_unless_one_is_called_origin_and_without_any_the_folder_does(
    tmp_path: Path,
) -> None:
    folder = repository(tmp_path / "tools", "")
    assert found_checkout(folder).project.startswith("tools-")
    assert (
        found_checkout(folder).project
        != found_checkout(repository(tmp_path / "other" / "tools", "")).project
    )
    git(folder, "remote", "add", "upstream", "https://example.com/up/tools")
    assert found_checkout(folder).project == "example.com/up/tools"
    git(folder, "remote", "add", "origin", "https://example.com/me/tools")
    assert found_checkout(folder).project == "example.com/me/tools"


def test_branches_are_found_loose_packed_unborn_remote_and_in_worktrees(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    folder = repository(tmp_path / "here", str(bare))
    for name in ("packed/one", "away"):
        git(folder, "branch", name)
    git(folder, "push", "-q", "origin", "away")
    git(folder, "branch", "-D", "away")
    git(folder, "pack-refs", "--all")
    git(folder, "branch", "loose/two")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "in-tree")
    (tmp_path / "tree" / "deep").mkdir()
    tree = found_checkout(tmp_path / "tree" / "deep")
    assert (tree.branch, tree.path, tree.project) == (
        "in-tree",
        str(tmp_path / "tree"),
        found_checkout(folder).project,
    )
    every = frozenset({"main", "packed/one", "loose/two", "in-tree", "away"})
    assert tree.branches() == found_checkout(folder).branches() == every
    git(folder, "checkout", "-q", "--orphan", "unborn")
    assert found_checkout(folder).branch == "unborn"
    assert found_checkout(folder).branches() == every | {"unborn"}
    git(folder, "checkout", "-q", "--detach", "main")
    assert found_checkout(folder).branch is None


def test_where_no_repository_can_be_read_there_is_none(tmp_path: Path) -> None:
    assert checkout(tmp_path) is None
    (tmp_path / ".git").write_text("gitdir: nowhere")
    assert checkout(tmp_path) is None
    folder = repository(tmp_path / "new")
    (folder / ".git" / "reftable").mkdir()
    assert found_checkout(folder).branches() is None


# What a capture takes from it


def test_a_capture_belongs_to_the_project_and_the_branch_of_the_moment(
    at: At, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "widgets")
    app = working(at, tmp_path / "data", folder)
    first = local(
        app,
        "capture",
        content="On main.",
        namespace="config",
        source=str(folder / "src" / "main.rs"),
    )
    git(folder, "checkout", "-q", "-b", "feature/auth")
    second = local(app, "capture", content="On a branch.", namespace="config", source="src/main.rs")
    git(folder, "checkout", "-q", "--detach")
    third = local(app, "capture", content="On no branch.", namespace="config")
    mine = local(app, "capture", content="For me.", namespace="config", domain="user")
    whole = [local(app, "get", memory_id=one["urn"]) for one in (first, second, third, mine)]
    assert [one["branch"] for one in whole] == ["main", "feature/auth", None, None]
    assert [one["project"] for one in whole] == ["github.com/acme/widgets"] * 3 + [None]
    assert [one["source"] for one in whole] == ["src/main.rs", "src/main.rs", None, None]
    assert first["urn"].startswith("subcog://project/config/")
    assert {row["id"] for row in local(app, "recall", filter="path:src/*")["results"]} == {
        first["id"],
        second["id"],
    }
    assert [row["id"] for row in local(app, "recall", filter="branch:feature/*")["results"]] == [
        second["id"]
    ]
    # Over HTTP the folder of the server is nobody's project.
    assert run(app, "capture", content="Far away.", namespace="config")["urn"].startswith(
        "subcog://user/"
    )
    app.close()


def test_the_status_tells_of_the_repository_the_store_and_the_memories(
    at: At, tmp_path: Path, widgets: Path, storage: str
) -> None:
    app = working(at, tmp_path / "data", widgets)
    for n, space in enumerate(("decisions", "decisions", "apis")):
        local(app, "capture", content=f"Number {n}.", namespace=space, tags=["rust", f"t{n}"])
    app.engine.writing.remember(ME, note("Written elsewhere.", namespace="reference"))
    status = local(app, "status")
    assert status["repository"] == {
        "path": str(widgets),
        "project_id": "github.com/acme/widgets",
        "branch": "main",
    }
    assert status["storage"] == {"persistence": storage, "index": storage, "vector": "none"}
    assert status["statistics"]["total_count"] == 4
    assert status["statistics"]["namespace_counts"] == {"decisions": 2, "apis": 2}
    assert status["statistics"]["top_tags"][0] == {"tag": "rust", "count": 3}
    assert set(status["statistics"]["recent_topics"]) == {"rust", "t0", "t1", "t2"}
    assert run(app, "status")["repository"] == {"path": None, "project_id": None, "branch": None}
    app.close()


# gc


def test_gc_deletes_the_memories_of_branches_that_are_gone_and_no_others(
    at: At, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "widgets")
    app, kept = working(at, tmp_path / "data", folder), {}
    for name in ("deleted", "renamed", "merged", "merged-and-deleted", "in-tree"):
        git(folder, "checkout", "-q", "-b", name, "main")
        git(folder, "commit", "-q", "--allow-empty", "-m", name)
        kept[name] = local(app, "capture", content=f"About {name}.", namespace="progress")["id"]
    git(folder, "checkout", "-q", "main")
    kept["main"] = local(app, "capture", content="About main.", namespace="progress")["id"]
    kept["user"] = local(app, "capture", content="Mine.", namespace="progress", domain="user")["id"]
    others = repository(tmp_path / "gears", "https://github.com/acme/gears.git")
    git(others, "checkout", "-q", "-b", "deleted")
    elsewhere = working(at, tmp_path / "data", others)
    kept["other repository"] = local(elsewhere, "capture", content="Gears.", namespace="progress")[
        "id"
    ]
    elsewhere.close()
    hers = note(
        "Hers.",
        audience=Audience.PROJECT,
        project="github.com/acme/widgets",
        attributes={"branch": "deleted"},
    )
    kept["colleague"] = app.engine.writing.remember(Caller(user="ann"), hers).item.id
    for name in ("merged", "merged-and-deleted"):
        git(folder, "merge", "-q", "--no-edit", name)
    git(folder, "branch", "-q", "-D", "deleted", "merged-and-deleted")
    git(folder, "branch", "-q", "-m", "renamed", "new-name")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"), "in-tree")
    git(folder, "pack-refs", "--all")
    gone = ["deleted", "merged-and-deleted", "renamed"]

    def present() -> set[str]:
        rows = app.engine.reading.list_items(Caller(user="admin", admin=True), limit=100).items
        return {name for name, id in kept.items() if id in {item.id for item in rows}}

    preview = {
        "stale_branches": gone,
        "memories_affected": 3,
        "purged": 0,
        "dry_run": True,
        "status": "preview",
    }
    assert local(app, "gc", dry_run=True) == preview
    assert present() == kept.keys()
    in_tree = working(at, tmp_path / "data", tmp_path / "tree")
    assert local(in_tree, "gc", dry_run=True) == preview
    in_tree.close()
    assert local(app, "gc", branch="main", dry_run=True)["memories_affected"] == 0
    assert local(app, "gc", branch="renamed") == {
        **preview,
        "stale_branches": ["renamed"],
        "memories_affected": 1,
        "dry_run": False,
        "status": "completed",
    }
    assert present() == kept.keys() - {"renamed"}
    assert local(app, "gc")["stale_branches"] == ["deleted", "merged-and-deleted"]
    assert present() == kept.keys() - set(gone)
    assert local(app, "gc")["memories_affected"] == 0
    assert set(found(app, filter="status:tombstoned")) == {kept[name] for name in gone}
    app.engine.writing.restore(ME, kept["deleted"])
    assert "deleted" in present()
    app.close()


def test_a_purge_erases_tombstones_of_this_project_that_are_old_enough(
    at: At, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "widgets")
    app = working(at, tmp_path / "data", folder)
    old, other = (
        local(app, "capture", content=f"{n} zebra.", namespace="config")["id"] for n in (1, 2)
    )
    private = local(app, "capture", content="3 zebra.", namespace="config", domain="user")["id"]
    git(folder, "checkout", "-q", "-b", "gone")
    stale = local(app, "capture", content="4 zebra.", namespace="config")["id"]
    git(folder, "checkout", "-q", "main")
    git(folder, "branch", "-D", "gone")
    for id in (old, private):
        local(app, "delete", memory_id=id)
    assert local(app, "gc", purge=True, older_than="30d", dry_run=True) | {"status": ""} == {
        "stale_branches": ["gone"],
        "memories_affected": 1,
        "purged": 0,
        "dry_run": True,
        "status": "",
    }
    for dry in (True, False):
        answer = local(app, "gc", purge=True, dry_run=dry)
        assert (answer["memories_affected"], answer["purged"], answer["stale_branches"]) == (
            2,
            2,
            ["gone"],
        )
    assert found(app, filter="status:tombstoned") == [private]
    with app.store.reading("local") as rows:
        assert [rows.item("local", id) is None for id in (old, stale, other, private)] == [
            True,
            True,
            False,
            False,
        ]
    # Who works in no project purges what belongs to none.
    assert run(app, "gc", purge=True, older_than="0s")["purged"] == 1
    app.close()


def test_gc_without_a_repository_and_with_bad_ages_is_refused(app: App, widgets: Path) -> None:
    assert refused(app, "gc")[:2] == (-32608, "branch")
    assert refused(app, "gc", purge=True, older_than="soon")[:2] == (-32608, "older_than")
    outcome = app.registry.run("subcog_gc", {"older_than": "3d"}, Call(ME, app.engine, local=True))
    assert body_of(outcome)["data"]["field"] in ("branch", "older_than")


# Reindexing and the rest


def test_a_reindex_is_about_the_tenant_of_the_caller_alone(app: App) -> None:
    other = Caller("acme", "ann")
    for number in range(3):
        app.engine.writing.remember(
            other, note(f"Zebra {number} of another tenant.", id=f"{number}")
        )
    capture(app, "A zebra of mine.")
    told: list[tuple[float, float | None]] = []
    call = Call(
        ME, app.engine, local=True, progress=lambda done, total, _: told.append((done, total))
    )
    outcome = app.registry.run("subcog_reindex", {}, call)
    assert outcome.ok
    with app.store.reading(ME.tenant) as rows:
        events = rows.last_seq(ME.tenant)
    assert told[-1] == (events, events)
    assert app.engine.maintenance.verify() == []
    assert app.engine.recall.search(other, Query("zebra")).hits


def test_a_reindex_mends_the_rows_and_the_text_index_of_its_tenant(app: App) -> None:
    id = capture(app, "The okapi is shy.")
    other = Caller("acme", "ann")
    app.engine.writing.remember(other, note("The okapi of others.", id="theirs"))
    with app.store.writing(ME.tenant) as rows:
        item = rows.item(ME.tenant, id)
        assert item is not None
        rows.apply(Changes(before=item, item=item._replace(title="Forged", passages=0), keep=0))
        rows.write_totals()
    assert app.engine.maintenance.verify()
    assert app.engine.maintenance.reindex(ME.tenant) == 1
    assert app.engine.maintenance.verify() == []
    assert found(app, query="okapi") == [id]


def test_a_reindex_counts_the_memories_and_leaves_them_as_they_are(
    at: At, tmp_path: Path, widgets: Path
) -> None:
    app = working(at, tmp_path / "data", widgets)
    id = local(app, "capture", content="The zebra is striped.", namespace="context")["id"]
    capture(app, "A private zebra.")
    assert local(app, "reindex")["indexed"] == 2
    answer = local(app, "reindex", repo_path=str(widgets))
    assert (answer["indexed"], answer["status"]) == (1, "success")
    assert found(app, query="striped") == [id]
    assert app.engine.maintenance.verify() == []
    assert refused(app, "reindex", repo_path=str(widgets))[:2] == (-32608, "repo_path")
    for path in (tmp_path, tmp_path / ("x" * 300)):
        outcome = app.registry.run(
            "subcog_reindex", {"repo_path": str(path)}, Call(ME, app.engine, local=True)
        )
        assert body_of(outcome)["data"]["field"] == "repo_path"
    app.close()


@pytest.mark.parametrize(
    "direction", [{}, {"direction": "push"}, {"direction": "fetch"}, {"direction": "full"}]
)
def test_a_sync_says_that_it_is_deprecated(app: App, direction: dict[str, Any]) -> None:
    answer = run(app, "sync", **direction)
    assert answer["status"] == "deprecated"
    assert "subcog_sync is deprecated" in answer["message"]


# Consolidation

TWINS = [
    "We use PostgreSQL for storage because of JSONB support.",
    "We use PostgreSQL for the storage because of its JSONB support.",
    "We use PostgreSQL for storage because of the JSONB support it has.",
]


def active(app: App) -> set[str]:
    return set(found(app, filter="status:active"))


def test_a_merge_leaves_one_memory_with_all_tags_and_can_be_undone(smart: App) -> None:
    ids = [capture(smart, text, tags=[f"t{n}"], source="a.md") for n, text in enumerate(TWINS)]
    apart = capture(smart, "We use PostgreSQL for storage, but not because of JSONB support.")
    foreign = capture(smart, TWINS[0], "apis")
    before = active(smart)
    preview = run(smart, "consolidate", namespace="decisions", strategy="merge", dry_run=True)
    assert (preview["groups_found"], preview["dry_run"], preview["results"]) == (1, True, [])
    (merge,) = preview["candidate_merges"]
    assert merge["memories"] == ids
    assert 0.9 <= merge["similarity"] <= 1
    assert active(smart) == before
    done = run(smart, "consolidate", namespace="decisions")
    assert done["candidate_merges"] == preview["candidate_merges"]
    (made,) = done["results"]
    assert active(smart) == {made, apart, foreign}
    whole = run(smart, "get", memory_id=made)
    assert (whole["tags"], whole["content"], whole["source"]) == (
        ["t0", "t1", "t2"],
        merge["proposed_content"],
        "a.md",
    )
    assert set(found(smart, filter="status:superseded")) == set(ids)
    links = smart.engine.graph.explore(ME, made, Traversal(1, ["Supersedes"])).links
    assert {(link.source, link.target) for link in links} == {(made, id) for id in ids}
    assert run(smart, "consolidate", namespace="decisions")["groups_found"] == 0
    assert smart.engine.maintenance.verify() == []
    for event in reversed(done["events"]):
        smart.engine.history.undo(ME, event)
    assert active(smart) == before


def test_undoing_a_second_dedupe_leaves_the_link_of_the_first(smart: App) -> None:
    first, second = (capture(smart, text) for text in TWINS[:2])
    run(smart, "consolidate", namespace="decisions", strategy="dedupe")
    smart.engine.writing.revise(ME, second, Patch(status="active"))
    again = run(smart, "consolidate", namespace="decisions", strategy="dedupe")
    for event in reversed(again["events"]):
        smart.engine.history.undo(ME, event)
    assert [
        link.target
        for link in smart.engine.graph.explore(ME, first, Traversal(1, ["Supersedes"])).links
    ] == [second]


def test_dedupe_keeps_the_oldest_and_summarize_keeps_all_and_adds_one(smart: App) -> None:
    ids = [capture(smart, text) for text in TWINS]
    summary = run(smart, "consolidate", namespace="decisions", strategy="summarize")
    (made,) = summary["results"]
    assert active(smart) == {*ids, made}
    assert {
        link.target
        for link in smart.engine.graph.explore(ME, made, Traversal(1, ["RelatesTo"])).links
    } == set(ids)
    assert (
        run(smart, "consolidate", namespace="decisions", strategy="summarize")["groups_found"] == 0
    )
    assert run(smart, "consolidate", namespace="decisions", strategy="dedupe")["results"] == ids[:1]
    assert active(smart) == {ids[0], made}


def test_a_query_narrows_what_is_consolidated_and_a_star_does_not(smart: App) -> None:
    for text in (
        *TWINS[:2],
        "Tabs are banned in this code base.",
        "Tabs are banned in the code base.",
    ):
        capture(smart, text)
    groups = {
        query: run(smart, "consolidate", namespace="decisions", query=query, dry_run=True)[
            "groups_found"
        ]
        for query in ("", "*", "PostgreSQL storage", "the weather on Mars")
    }
    assert groups == {"": 2, "*": 2, "PostgreSQL storage": 1, "the weather on Mars": 0}


def test_memories_of_different_people_projects_and_audiences_are_not_merged(app: App) -> None:
    ann = Caller(user="ann", project="p")
    for caller, domain in (
        (ann, "project"),
        (ann, "user"),
        (ann, "org"),
        (ME, "org"),
        (ann, "user"),
    ):
        run(app, "capture", caller, content="The very same.", namespace="config", domain=domain)
    answer = run(app, "consolidate", ann, namespace="config", strategy="dedupe")
    assert [len(group["memories"]) for group in answer["candidate_merges"]] == [2]


@each_store_in_full_run
def test_planted_duplicates_are_found_and_no_contradiction_is_merged(smart: App) -> None:
    texts, twins, rivals = planted(300, 30, 12, random.Random(4))
    share, merged, equal = run_all(smart, texts, twins, rivals)
    assert share >= 0.9
    assert merged == 0
    assert equal


def test_an_endpoint_writes_the_merged_text_unless_it_changes_a_fact(
    app: App, tmp_path: Path
) -> None:
    class Scribe(BuiltinAnalyst):
        name = "http/scribe"

        def __init__(self, answer: str) -> None:
            super().__init__()
            self.answer = answer

        def rewrite(self, task: str, texts: Sequence[str]) -> str:
            return self.answer

    for n in range(2):
        capture(app, "Backups run at 3 in the morning.", tags=[str(n)])
    builtin = app.analysts[-1]
    for answer, wanted, warned in [
        ("Backups run nightly at 3.", "Backups run nightly at 3.", False),
        ("Backups run at 4 in the morning.", "Backups run at 3 in the morning.", True),
    ]:
        app.analysts[:] = [Scribe(answer), builtin]
        body = run(app, "consolidate", namespace="decisions", dry_run=True)
        assert body["candidate_merges"][0]["proposed_content"] == wanted
        assert any("changed a fact" in warning for warning in body["warnings"]) is warned


# Enriching


def test_an_enriched_memory_has_more_tags_a_list_and_its_context(smart: App) -> None:
    text = "We chose PostgreSQL for the order service. It keeps JSONB documents. Its replicas take over in seconds."
    capture(smart, "The order service keeps its documents in JSONB columns.")
    id = capture(smart, text, tags=["storage"], source="docs/orders.md")
    answer = run(
        smart, "enrich", memory_id=id, enrich_tags=True, enrich_structure=True, add_context=True
    )
    changes, whole = answer["changes"], run(smart, "get", memory_id=id)
    assert answer["memory_id"] == id
    assert changes["structure_improved"] is True
    assert changes["tags_added"]
    assert set(whole["tags"]) == {"storage", *changes["tags_added"]}
    assert whole["content"].count("\n- ") == 2
    assert whole["content"].replace("\n- ", " ").replace("\n", "").split() == text.split()
    assert whole["context"] == changes["context_added"]
    assert "docs/orders.md" in whole["context"]
    assert "JSONB columns" in whole["context"]
    again = run(smart, "enrich", memory_id=id)["changes"]
    assert again["structure_improved"] is False


def test_each_part_of_enriching_can_be_left_out(app: App) -> None:
    id = capture(app, "First this is so. Then that is so. Last comes the zebra.")
    nothing = run(app, "enrich", memory_id=id, enrich_tags=False, enrich_structure=False)
    assert nothing["changes"] == {
        "tags_added": [],
        "structure_improved": False,
        "context_added": None,
    }
    assert run(app, "enrich", memory_id=id, enrich_structure=False)["changes"]["tags_added"]
    assert run(app, "enrich", memory_id=id, enrich_tags=False)["changes"]["structure_improved"]
    assert refused(app, "enrich", memory_id="nope")[:2] == (-32604, "memory_id")


# Resources


def read(app: App, path: str) -> Any:
    subcog = next(family for family in app.registry.families if family.name == "subcog")
    return present(subcog.resources).read(Call(ME, app.engine), f"subcog://{path}")


def test_memories_are_resources_by_id_urn_namespace_topic_and_search(app: App) -> None:
    one = run(
        app,
        "capture",
        content="The zebra is striped.",
        namespace="patterns",
        tags=["animal", "a b/c"],
    )
    two = run(app, "capture", content="Ports are open.", namespace="config", tags=["net"])
    app.engine.writing.remember(
        ME, Draft("prompt", "code-review", tags=("t",), attributes={"description": "Reviews."})
    )
    ids = {
        "_": {one["id"], two["id"]},
        "_/config": {two["id"]},
        "topics/animal": {one["id"]},
        "topics/a%20b%2Fc": {one["id"]},
        "search/zebra%20striped": {one["id"]},
        "_/apis": set(),
    }
    for path, wanted in ids.items():
        listed = read(app, path)
        assert ({row["id"] for row in listed["memories"]}, listed["count"]) == (
            wanted,
            len(wanted),
        ), path
        assert all("content" not in row for row in listed["memories"])
    for path in (f"memory/{one['id']}", one["urn"].removeprefix("subcog://"), f"_/_/{one['id']}"):
        assert read(app, path)["content"] == "The zebra is striped."
    assert read(app, "topics")["topics"] == {"animal": 1, "a b/c": 1, "net": 1}
    assert len(read(app, "namespaces")["namespaces"]) == 12
    assert read(app, "_prompts")["prompts"] == [
        {"name": "code-review", "domain": "user", "tags": ["t"], "description": "Reviews."}
    ]
    assert "subcog_recall" in read(app, "help")["tools"]
    assert "subcog://search/{query}" in read(app, "help")["resources"]


def test_resources_are_listed_templated_completed_and_missing_ones_refused(app: App) -> None:
    capture(app, "x", tags=["rust", "ruby", "go"])
    subcog = next(family for family in app.registry.families if family.name == "subcog")
    offers, call = present(subcog.resources), Call(ME, app.engine)
    assert all(read(app, one.uri.removeprefix("subcog://")) for one in offers.listed(call))
    assert "subcog://topics/{topic}" in [one.uri for one in offers.templates]
    assert present(subcog.prompts).complete(call, "subcog://topics/{topic}", "topic", "ru") == [
        "ruby",
        "rust",
    ]
    assert present(subcog.prompts).complete(call, "subcog://_/{namespace}", "namespace", "de") == [
        "decisions"
    ]
    assert offers.address == "subcog://"
    for path in ("nowhere", "_/zoo", "memory/nope", "topics/", "org/config/nope", "a/b/c/d"):
        with pytest.raises(Exception, match="There is no"):
            read(app, path)
