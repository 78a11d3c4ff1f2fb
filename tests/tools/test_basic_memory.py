"""The tools of basic-memory over memories as notes."""

from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.attributes import Json
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.errors import MemolithError
from memolith.interchange.exporters.folder import export_folder
from memolith.interchange.folder_sync import sync_folder
from memolith.interchange.importers.notes import read_basic_memory
from memolith.tools.call import Call
from tests.checked import body_of
from tests.conftest import ME
from tests.stores import each_store_in_full_run

pytestmark = each_store_in_full_run
TEA = """# Tea

- [fact] Maria prefers tea #people
- [ ] buy some
- [method] steep for three minutes

## Relations

- served_in [[Cups]]
- relates_to [[Coffee]]
"""


def call(app: App, tool: str, **arguments: Any) -> Any:
    outcome = app.registry.choose("basic_memory").run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)["result"]


def as_json(app: App, tool: str, **arguments: Any) -> Any:
    return call(app, tool, output_format="json", **arguments)


def refusal(app: App, tool: str, **arguments: Any) -> MemolithError:
    outcome = app.registry.choose("basic_memory").run(tool, arguments, Call(ME, app.engine))
    assert outcome.error is not None, outcome.body
    return outcome.error


def write(app: App, title: str, content: str, directory: str = "notes", **more: Any) -> Any:
    return as_json(app, "write_note", title=title, content=content, directory=directory, **more)


def links_of(app: App, title: str) -> list[tuple[str, str]]:
    """The relations that go out from a note, by type and title."""
    [result] = call(app, "build_context", url=title)["results"]
    own = result["primary_result"]["title"]
    return [
        (related["relation_type"], related["to_entity"])
        for related in result["related_results"]
        if related["type"] == "relation" and related["from_entity"] == own
    ]


def test_a_note_is_written_and_read_by_permalink_title_and_path(app: App) -> None:
    written = write(app, "Green Tea", TEA, "drinks/hot")
    assert written["permalink"] == "drinks/hot/green-tea"
    assert written["file_path"] == "drinks/hot/Green Tea.md"
    assert written["action"] == "created"
    for name in (
        "drinks/hot/green-tea",
        "memory://drinks/hot/green-tea",
        "Green Tea",
        "green tea",
        "drinks/hot/Green Tea.md",
        "drinks/hot/Green Tea",
    ):
        assert call(app, "read_note", identifier=name) == TEA


def test_a_written_note_is_a_memory_with_history(app: App) -> None:
    write(app, "Tea", TEA, tags=["drinks"], note_type="guide", metadata={"rating": 4})
    [item] = app.engine.notes.all(ME)
    assert (item.kind, item.title, item.tags) == ("memory", "Tea", ("drinks", "people"))
    assert item.attributes["type"] == "guide"
    assert item.attributes["rating"] == 4
    assert len(app.engine.history.history(ME, item.id)) == 1


def test_the_answer_of_a_write_counts_observations_and_relations(app: App) -> None:
    write(app, "Cups", "Blue.")
    text = call(app, "write_note", title="Tea", content=TEA, directory="notes")
    assert text.startswith("# Created note\nfile_path: notes/Tea.md\npermalink: notes/tea\n")
    assert "- fact: 1\n- method: 1" in text
    assert "- Resolved: 1\n- Unresolved: 1" in text
    assert "  - Coffee" in text


def test_tags_may_be_one_text(app: App) -> None:
    write(app, "Tea", "Green.", tags="drinks, #hot")
    assert app.engine.notes.all(ME)[0].tags == ("drinks", "hot")


def test_a_note_is_not_overwritten_unless_asked(app: App) -> None:
    first = write(app, "Tea", "First.")
    error = refusal(app, "write_note", title="Tea", content="Second.", directory="notes")
    assert error.field == "overwrite"
    assert call(app, "read_note", identifier="Tea") == "First."
    second = write(app, "Tea", "Second.", overwrite=True)
    assert (second["action"], second["permalink"]) == ("updated", first["permalink"])
    assert call(app, "read_note", identifier="Tea") == "Second."


def test_an_overwritten_note_keeps_the_fields_and_tags_that_are_not_given(app: App) -> None:
    fields = {"origin": "Assam", "rating": 3}
    write(app, "Tea", "First. #new", tags=["hot"], metadata=fields)
    write(app, "Tea", "Second. #old", overwrite=True, metadata={"rating": 4})
    (item,) = app.engine.notes.all(ME)
    assert item.tags == ("hot", "old")
    assert (item.attributes["origin"], item.attributes["rating"]) == ("Assam", 4)
    write(app, "Tea", "Third.", overwrite=True, tags=["cold"])
    assert app.engine.notes.all(ME)[0].tags == ("cold",)


def test_a_checksum_protects_from_writing_over_a_newer_note(app: App) -> None:
    first = write(app, "Tea", "First.")
    second = write(app, "Tea", "2", overwrite=True, expected_checksum=first["checksum"])
    assert second["checksum"] != first["checksum"]
    stale = {"overwrite": True, "expected_checksum": first["checksum"]}
    error = refusal(app, "write_note", title="Tea", content="3", directory="notes", **stale)
    assert error.type == "version_conflict"


def test_a_checksum_without_overwrite_is_refused(app: App) -> None:
    arguments = {"title": "Tea", "content": "1", "directory": "", "expected_checksum": "0"}
    assert refusal(app, "write_note", **arguments).field == "expected_checksum"


@pytest.mark.parametrize("directory", ["../outside", "a/../../b", "~/notes", "a\\b", "./a"])
def test_a_directory_that_leads_elsewhere_is_refused(app: App, directory: str) -> None:
    arguments = {"title": "Tea", "content": "1", "directory": directory}
    assert refusal(app, "write_note", **arguments).field == "directory"


def test_own_fields_cannot_be_given_as_metadata(app: App) -> None:
    arguments = {"title": "Tea", "content": "1", "directory": "", "metadata": {"permalink": "x"}}
    assert refusal(app, "write_note", **arguments).field == "metadata"


def test_permalinks_are_unique(app: App) -> None:
    assert write(app, "Green Tea", "1")["permalink"] == "notes/green-tea"
    assert write(app, "green-tea", "2")["permalink"] == "notes/green-tea-1"


def test_a_note_is_found_by_a_name_in_other_letters_or_one_that_follows_from_its_title(
    app: App,
) -> None:
    write(app, "Tea", "Green.", "Drinks")
    other = Draft(kind="memory", title="Where: the Bäckerei?", blocks=(Block("At the corner."),))
    app.engine.writing.remember(ME, other)
    for name in ("TEA", "drinks/tea", "DRINKS/TEA.md", "Drinks/tea"):
        assert as_json(app, "read_note", identifier=name)["title"] == "Tea", name
    for name in ("Where the Bäckerei.md", "where-the-bäckerei", "WHERE: THE BÄCKEREI?"):
        found = as_json(app, "read_note", identifier=name)
        assert found["title"] == "Where: the Bäckerei?", name


def test_a_field_called_path_that_is_no_text_is_no_path(app: App) -> None:
    odd: dict[str, Json] = {"path": 5, "permalink": ["x"], "unresolved_links": "x"}
    draft = Draft(kind="memory", title="Odd", blocks=(Block("Text."),), attributes=odd)
    app.engine.writing.remember(ME, draft)
    assert as_json(app, "read_note", identifier="odd.md")["file_path"] == "Odd.md"
    assert write(app, "x", "Text.")["action"] == "created"


def test_projects_have_notes_of_their_own(app: App) -> None:
    write(app, "Tea", "Here.", project="home")
    write(app, "Tea", "There.", project="work")
    assert call(app, "read_note", identifier="Tea", project="work") == "There."
    assert refusal(app, "read_note", identifier="Tea").field == "identifier"
    assert as_json(app, "list_memory_projects") == {
        "projects": [{"name": "home", "notes": 1}, {"name": "work", "notes": 1}]
    }
    assert "- home: 1 notes" in call(app, "list_memory_projects")


def test_a_relation_becomes_a_link_when_its_target_is_written(app: App) -> None:
    write(app, "Tea", TEA)
    assert links_of(app, "Tea") == []
    write(app, "Coffee", "Black.")
    assert links_of(app, "Tea") == [("relates_to", "Coffee")]
    write(app, "Cups", "Blue.")
    assert sorted(links_of(app, "Tea")) == [
        ("relates_to", "Coffee"),
        ("served_in", "Cups"),
    ]
    tea = app.engine.notes.find(ME, "Tea")
    assert "unresolved_links" not in tea.attributes


def test_a_relation_stays_where_it_leads_when_another_note_gets_the_name(app: App) -> None:
    write(app, "Hub", "Here.", "b")
    write(app, "Leaf", "- part_of [[Hub]]\n- needs [[Queue]]", "a")
    write(app, "Hub", "Another.", "a")
    write(app, "Hub", "Elsewhere.", "/", project="p")
    write(app, "Queue", "Long.", "a")
    call(app, "edit_note", identifier="a/leaf", operation="append", content="More.")
    [result] = call(app, "build_context", url="a/leaf")["results"]
    near = {other["permalink"] for other in result["related_results"] if other["type"] == "entity"}
    assert near == {"b/hub", "a/queue"}


def test_a_relation_leads_to_the_note_of_the_same_project(app: App) -> None:
    write(app, "Hub", "Elsewhere.", "a")
    write(app, "Hub", "Here.", "b", project="p")
    write(app, "New", "- part_of [[Hub]]", "z", project="p")
    [result] = call(app, "build_context", url="z/new")["results"]
    assert result["related_results"][0]["permalink"] == "b/hub"


def test_a_relation_that_is_taken_out_of_the_text_is_no_link_any_more(app: App) -> None:
    write(app, "Coffee", "Black.")
    write(app, "Tea", TEA)
    edit = {"operation": "find_replace", "find_text": "- relates_to [[Coffee]]\n", "content": ""}
    call(app, "edit_note", identifier="Tea", **edit)
    assert links_of(app, "Tea") == []


def test_a_link_that_somebody_made_stays_when_the_text_changes(app: App) -> None:
    write(app, "Coffee", "Black.")
    write(app, "Tea", "Green.")
    notes = app.engine.notes
    tea, coffee = notes.find(ME, "Tea"), notes.find(ME, "Coffee")
    app.engine.writing.link(ME, tea.id, coffee.id, "rivals")
    call(app, "edit_note", identifier="Tea", operation="append", content="More.")
    assert links_of(app, "Tea") == [("rivals", "Coffee")]


def test_lines_of_a_note_are_read(app: App) -> None:
    write(app, "Lines", "1\n2\n3\n4")
    part = as_json(app, "read_note", identifier="Lines", start_line=2, end_line=3)
    assert (part["content"], part["total_lines"], part["next_start_line"]) == ("2\n3", 4, 4)
    assert call(app, "read_note", identifier="Lines", start_line=4) == "4"
    assert refusal(app, "read_note", identifier="Lines", start_line=5).field == "start_line"


def test_front_matter_comes_when_it_is_asked_for(app: App) -> None:
    write(app, "Tea", "Green.", tags=["hot"], metadata={"rating": 4})
    text = call(app, "read_note", identifier="Tea", include_frontmatter=True)
    assert text == (
        "---\ntitle: Tea\ntype: note\npermalink: notes/tea\ntags:\n  - hot\nrating: 4\n---\n\nGreen."
    )
    document = as_json(app, "read_note", identifier="Tea")
    assert document["frontmatter"]["rating"] == 4
    assert document["content"] == "Green."


def test_a_note_is_described_without_its_content(app: App) -> None:
    written = write(app, "Tea", "Green.")
    document = as_json(app, "read_note", identifier="Tea", include_content=False)
    assert (document["content"], document["checksum"]) == (None, written["checksum"])
    text = call(app, "read_note", identifier="Tea", include_content=False)
    assert "Green." not in text
    assert written["checksum"] in text


def test_a_note_that_is_not_there_is_answered_with_notes_that_may_be_meant(app: App) -> None:
    write(app, "Green tea", "Steep it.")
    error = refusal(app, "read_note", identifier="tea green leaves")
    assert error.type == "not_found"
    assert "notes/green-tea" in error.message


def test_a_note_of_another_family_is_a_note(app: App) -> None:
    arguments = {"content": "Wombats dig.", "title": "Wombats"}
    app.registry.run("remember", arguments, Call(ME, app.engine))
    assert call(app, "read_note", identifier="wombats") == "Wombats dig."


def test_a_note_is_viewed_as_an_artifact(app: App) -> None:
    write(app, "Tea", "Green.")
    text = call(app, "view_note", identifier="Tea")
    assert "artifact" in text
    assert "\nGreen.\n" in text


SECTIONS = "# Tea\n\n## How\nold\n\n### Sub\nsub\n\n## Why\nwarm\n"


@pytest.mark.parametrize(
    "edit, after",
    [
        ({"operation": "append", "content": "end"}, SECTIONS + "end"),
        ({"operation": "prepend", "content": "top"}, "top\n" + SECTIONS),
        (
            {"operation": "find_replace", "find_text": "old", "content": "new"},
            SECTIONS.replace("old", "new"),
        ),
        (
            {
                "operation": "find_replace",
                "find_text": "## ",
                "content": "# ",
                "expected_replacements": 3,
            },
            SECTIONS.replace("## ", "# "),
        ),
        (
            {"operation": "replace_section", "section": "## How", "content": "new"},
            "# Tea\n\n## How\nnew\n\n## Why\nwarm\n",
        ),
        (
            {"operation": "replace_section", "section": "How", "content": "## How\nnew"},
            "# Tea\n\n## How\nnew\n\n## Why\nwarm\n",
        ),
        (
            {
                "operation": "replace_section",
                "section": "How",
                "content": "new",
                "replace_subsections": False,
            },
            "# Tea\n\n## How\nnew\n\n### Sub\nsub\n\n## Why\nwarm\n",
        ),
        (
            {"operation": "insert_before_section", "section": "Why", "content": "new"},
            "# Tea\n\n## How\nold\n\n### Sub\nsub\n\nnew\n\n## Why\nwarm\n",
        ),
        (
            {"operation": "insert_after_section", "section": "Why", "content": "new"},
            "# Tea\n\n## How\nold\n\n### Sub\nsub\n\n## Why\nnew\nwarm\n",
        ),
    ],
)
def test_a_note_is_edited(app: App, edit: dict[str, Any], after: str) -> None:
    write(app, "Tea", SECTIONS)
    edited = as_json(app, "edit_note", identifier="Tea", **edit)
    assert (edited["operation"], edited["fileCreated"]) == (edit["operation"], False)
    assert call(app, "read_note", identifier="Tea") == after


@pytest.mark.parametrize(
    "edit, field",
    [
        ({"operation": "find_replace", "find_text": "none"}, "find_text"),
        ({"operation": "find_replace", "find_text": "##"}, "find_text"),
        ({"operation": "find_replace"}, "find_text"),
        ({"operation": "replace_section", "section": "None"}, "section"),
        ({"operation": "replace_section"}, "section"),
        ({"operation": "append", "section": "How"}, "section"),
        ({"operation": "append", "find_text": "old"}, "find_text"),
        ({"operation": "append", "expected_replacements": 2}, "expected_replacements"),
        ({"operation": "append", "replace_subsections": False}, "replace_subsections"),
        ({"operation": "append", "expected_checksum": "0"}, "expected_checksum"),
        ({"operation": "shred"}, "operation"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(app: App, edit: dict[str, Any], field: str) -> None:
    write(app, "Tea", SECTIONS)
    assert refusal(app, "edit_note", identifier="Tea", content="new", **edit).field == field
    assert call(app, "read_note", identifier="Tea") == SECTIONS


def test_headings_in_code_are_no_sections(app: App) -> None:
    write(app, "Tea", "## How\n```\n## How\n```\nold\n")
    edit = {"operation": "replace_section", "section": "How", "content": "new"}
    call(app, "edit_note", identifier="Tea", **edit)
    assert call(app, "read_note", identifier="Tea") == "## How\nnew"


def test_an_edit_can_set_metadata(app: App) -> None:
    write(app, "Tea", "Green.", metadata={"rating": 4, "origin": "Assam"})
    edit = {"operation": "append", "content": "Hot.", "metadata": {"rating": 5}}
    call(app, "edit_note", identifier="Tea", **edit)
    fields = as_json(app, "read_note", identifier="Tea")["frontmatter"]
    assert (fields["rating"], fields["origin"]) == (5, "Assam")


def test_append_makes_a_note_that_is_not_there(app: App) -> None:
    edit = {"operation": "append", "content": "Green."}
    made = as_json(app, "edit_note", identifier="drinks/Tea", **edit)
    assert (made["fileCreated"], made["file_path"]) == (True, "drinks/Tea.md")
    replace = {"operation": "replace_section", "section": "x", "content": "x"}
    assert refusal(app, "edit_note", identifier="none", **replace).type == "not_found"


def test_a_moved_note_keeps_its_permalink(app: App) -> None:
    write(app, "Tea", "Green.")
    moved = as_json(app, "move_note", identifier="Tea", destination_path="old/Green.md")
    assert (moved["file_path"], moved["permalink"]) == ("old/Green.md", "notes/tea")
    assert call(app, "read_note", identifier="notes/tea") == "Green."
    folder = as_json(app, "move_note", identifier="Tea", destination_folder="new/place")
    assert folder["destination"] == "new/place/Green.md"


def test_a_move_needs_one_free_destination(app: App) -> None:
    write(app, "Tea", "Green.")
    write(app, "Coffee", "Black.")
    both = {"destination_path": "a/b.md", "destination_folder": "a"}
    assert refusal(app, "move_note", identifier="Tea", **both).field == "destination_path"
    assert refusal(app, "move_note", identifier="Tea").field == "destination_path"
    taken = {"destination_path": "notes/Coffee.md"}
    assert refusal(app, "move_note", identifier="Tea", **taken).type == "already_exists"


def test_a_directory_is_moved(app: App) -> None:
    write(app, "Tea", "Green.", "drinks/hot")
    write(app, "Milk", "White.", "drinks")
    arguments = {"identifier": "drinks", "destination_path": "old", "is_directory": True}
    assert as_json(app, "move_note", **arguments)["total_files"] == 2
    nodes = as_json(app, "list_directory", depth=3)["nodes"]
    assert [node["directory_path"] for node in nodes] == [
        "/old/hot",
        "/old",
        "/old/Milk.md",
        "/old/hot/Tea.md",
    ]


def test_a_directory_cannot_be_moved_into_itself(app: App) -> None:
    write(app, "Tea", "Green.", "drinks")
    arguments = {"identifier": "drinks", "destination_path": "drinks/a", "is_directory": True}
    assert refusal(app, "move_note", **arguments).field == "destination_path"


def test_a_deleted_note_can_be_restored(app: App) -> None:
    write(app, "Tea", "Green.")
    id = app.engine.notes.find(ME, "Tea").id
    assert as_json(app, "delete_note", identifier="Tea")["permalink"] == "notes/tea"
    assert refusal(app, "delete_note", identifier="Tea").type == "not_found"
    app.engine.writing.restore(ME, id)
    assert call(app, "read_note", identifier="Tea") == "Green."


def test_a_directory_is_deleted(app: App) -> None:
    write(app, "Tea", "Green.", "drinks/hot")
    write(app, "Drinks", "All.", "")
    assert "- drinks/hot/Tea.md" in call(app, "delete_note", identifier="drinks", is_directory=True)
    assert [item.title for item in app.engine.notes.all(ME)] == ["Drinks"]
    assert refusal(app, "delete_note", identifier="/", is_directory=True).field == "identifier"


def test_notes_are_searched_by_words(app: App) -> None:
    write(app, "Tea", "Steep the leaves.")
    write(app, "Coffee", "Grind the beans.")
    found = as_json(app, "search_notes", query="leaves")
    assert [note["permalink"] for note in found["results"]] == ["notes/tea"]
    assert found["results"][0]["matched_chunk"] == "Steep the leaves."
    assert "## Tea" in call(app, "search_notes", query="leaves")
    assert "No notes" in call(app, "search_notes", query="xylophone")


@pytest.mark.parametrize(
    "arguments, titles",
    [
        ({}, ["Coffee", "Tea"]),
        ({"query": "tea", "search_type": "title"}, ["Tea"]),
        ({"query": "hot/*", "search_type": "permalink"}, ["Tea"]),
        ({"query": "tag:bitter"}, ["Coffee"]),
        ({"tags": ["bitter"]}, ["Coffee"]),
        ({"note_types": ["guide"]}, ["Tea"]),
        ({"status": "draft"}, ["Coffee"]),
        ({"metadata_filters": {"rating": {"$gte": 4}}}, ["Tea"]),
        ({"metadata_filters": {"rating": 3}}, ["Coffee"]),
        ({"metadata_filters": {"rating": {"$in": [3, 9]}}}, ["Coffee"]),
        ({"project": "home"}, ["Tea"]),
        ({"after_date": "1d"}, ["Coffee", "Tea"]),
        ({"after_date": "2999-01-01"}, []),
        ({"page": 2, "page_size": 1}, ["Tea"]),
    ],
)
def test_notes_are_listed_by_filters(
    app: App, arguments: dict[str, Any], titles: list[str]
) -> None:
    write(app, "Tea", "a", "hot", note_type="guide", metadata={"rating": 5}, project="home")
    coffee = {"status": "draft", "rating": 3}
    write(app, "Coffee", "b", "cold", tags=["bitter"], metadata=coffee)
    found = as_json(app, "search_notes", **arguments)
    assert [note["title"] for note in found["results"]] == titles


def test_a_threshold_leaves_out_weaker_hits(app: App) -> None:
    write(app, "Tea", "Steep the leaves.")
    assert as_json(app, "search_notes", query="leaves", min_similarity=1)["results"] == []


@pytest.mark.parametrize(
    "arguments, field",
    [
        ({"min_similarity": 0.5}, "min_similarity"),
        ({"metadata_filters": {"a": {"$near": 1}}}, "metadata_filters"),
        ({"after_date": "soon"}, "after_date"),
        ({"search_type": "magic", "query": "a"}, "search_type"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    app: App, arguments: dict[str, Any], field: str
) -> None:
    assert refusal(app, "search_notes", **arguments).field == field


def test_a_context_has_observations_and_what_is_linked(app: App) -> None:
    write(app, "Kitchen", "Warm.")
    write(app, "Cups", "In the [[Kitchen]].")
    write(app, "Tea", TEA)
    [result] = call(app, "build_context", url="memory://notes/tea")["results"]
    assert result["primary_result"]["content"] == TEA
    assert [(fact["category"], fact["content"]) for fact in result["observations"]] == [
        ("fact", "Maria prefers tea #people"),
        ("method", "steep for three minutes"),
    ]
    near = [other["title"] for other in result["related_results"] if other["type"] == "entity"]
    assert near == ["Cups"]
    deep = call(app, "build_context", url="notes/tea", depth=2)["results"][0]["related_results"]
    assert [other["title"] for other in deep if other["type"] == "entity"] == ["Cups", "Kitchen"]
    none = call(app, "build_context", url="notes/tea", max_related=0)["results"][0]
    assert none["related_results"] == []
    old = call(app, "build_context", url="notes/tea", timeframe="2999-01-01")["results"][0]
    assert old["related_results"] == []


def test_a_context_of_a_pattern_has_a_page_of_notes(app: App) -> None:
    for title in ("A", "B", "C"):
        write(app, title, "text", "many")
    first = call(app, "build_context", url="many/*", page_size=2)
    assert [result["primary_result"]["title"] for result in first["results"]] == ["A", "B"]
    assert first["has_more"]
    second = call(app, "build_context", url="many/*", page_size=2, page=2)
    assert [result["primary_result"]["title"] for result in second["results"]] == ["C"]
    assert refusal(app, "build_context", url="none/*").field == "url"


def test_a_context_can_be_read_as_text(app: App) -> None:
    write(app, "Coffee", "Black.")
    write(app, "Tea", TEA)
    text = call(app, "build_context", url="Tea", output_format="text")
    assert "- Tea relates_to Coffee" in text


def test_recent_notes_are_listed_the_newest_first(app: App) -> None:
    write(app, "Tea", "Green.")
    write(app, "Coffee", "Black.", project="home")
    call(app, "edit_note", identifier="Tea", operation="append", content="Hot.")
    recent = as_json(app, "recent_activity")
    assert [note["title"] for note in recent] == ["Tea", "Coffee"]
    assert [note["title"] for note in as_json(app, "recent_activity", project="home")] == ["Coffee"]
    assert [note["title"] for note in as_json(app, "recent_activity", page=2, page_size=1)] == [
        "Coffee"
    ]
    assert as_json(app, "recent_activity", timeframe="2999-01-01") == []
    assert "Tea | notes/tea" in call(app, "recent_activity", timeframe="2 weeks ago")


@pytest.mark.parametrize("timeframe", ["today", "yesterday", "last week", "36h", "3 months ago"])
def test_a_note_of_now_is_within_every_timeframe(app: App, timeframe: str) -> None:
    write(app, "Tea", "Green.")
    assert len(as_json(app, "recent_activity", timeframe=timeframe)) == 1


def test_a_directory_is_listed(app: App) -> None:
    write(app, "Tea", "Green.", "drinks/hot")
    write(app, "Milk", "White.", "drinks", project="home")
    nodes = as_json(app, "list_directory", dir_name="/drinks")["nodes"]
    assert [(node["directory_path"], node["file_path"], node["type"]) for node in nodes] == [
        ("/drinks/hot", None, "directory"),
        ("/drinks/Milk.md", "drinks/Milk.md", "file"),
    ]
    named = as_json(app, "list_directory", depth=9, file_name_glob="T*")["nodes"]
    assert [node["permalink"] for node in named] == ["drinks/hot/tea"]
    page = as_json(app, "list_directory", dir_name="drinks", page=2, page_size=1)
    assert ([node["name"] for node in page["nodes"]], page["total"]) == (["Milk.md"], 2)
    own = as_json(app, "list_directory", dir_name="drinks", project="home")["nodes"]
    assert [node["name"] for node in own] == ["Milk.md"]
    assert "- /drinks/Milk.md | Milk | drinks/milk" in call(app, "list_directory", depth=2)
    assert refusal(app, "list_directory", dir_name="none").type == "not_found"


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        (None, ["a", "Milk.md", "Tea.md", "water.md"]),
        ("title_asc", ["a", "Milk.md", "Tea.md", "water.md"]),
        ("title_desc", ["a", "water.md", "Tea.md", "Milk.md"]),
        ("updated_asc", ["a", "Tea.md", "water.md", "Milk.md"]),
        ("updated_desc", ["a", "Milk.md", "water.md", "Tea.md"]),
    ],
)
def test_notes_of_a_directory_are_sorted(app: App, sort: str | None, names: list[str]) -> None:
    for title, directory in (("Tea", ""), ("water", ""), ("Milk", ""), ("Deep", "a")):
        write(app, title, "Text.", directory)
    nodes = as_json(app, "list_directory", sort=sort)["nodes"]
    assert [node["name"] for node in nodes] == names


def test_a_model_reads_the_text_and_not_json_around_it(app: App) -> None:
    write(app, "Tea", "Green.")
    tools = app.registry.choose("basic_memory")
    read = tools.run("read_note", {"identifier": "Tea"}, Call(ME, app.engine))
    assert read.text == "Green."
    missing = tools.run("read_note", {"identifier": "None"}, Call(ME, app.engine))
    assert missing.text.startswith("There is no note 'None'.")


def test_notes_are_in_step_with_a_folder(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    write(app, "Tea", "Green.", "drinks")
    sync_folder(app.engine, ME, folder)
    file = folder / "drinks" / "Tea.md"
    text = file.read_text(encoding="utf-8")
    assert "permalink: drinks/tea\n" in text
    file.write_text(text.replace("Green.", "Black."), encoding="utf-8")
    coffee = "---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\n---\nBitter.\n"
    (folder / "Coffee.md").write_text(coffee, encoding="utf-8")
    sync_folder(app.engine, ME, folder)
    assert call(app, "read_note", identifier="drinks/tea") == "Black."
    assert call(app, "read_note", identifier="drinks/coffee") == "Bitter."
    call(app, "edit_note", identifier="Coffee", operation="append", content="Hot.")
    sync_folder(app.engine, ME, folder)
    assert "Bitter.\nHot." in (folder / "Coffee.md").read_text(encoding="utf-8")


def test_relations_that_are_typed_into_a_file_become_links(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    write(app, "Tea", "Green.", "drinks")
    write(app, "Checklist", "Cups.")
    sync_folder(app.engine, ME, folder)
    file = folder / "drinks" / "Tea.md"
    typed = "Green.\n- likes [[Checklist]]\n- needs [[Cups]]"
    file.write_text(file.read_text(encoding="utf-8").replace("Green.", typed), encoding="utf-8")
    (folder / "Milk.md").write_text("- goes_with [[Tea]]", encoding="utf-8")
    sync_folder(app.engine, ME, folder)
    assert links_of(app, "drinks/tea") == [("likes", "Checklist")]
    assert links_of(app, "Milk") == [("goes_with", "Tea")]
    (folder / "Cups.md").write_text("Blue.", encoding="utf-8")
    sync_folder(app.engine, ME, folder)
    assert sorted(links_of(app, "drinks/tea")) == [("likes", "Checklist"), ("needs", "Cups")]
    report = sync_folder(app.engine, ME, folder)
    assert (report.conflicts, report.refused, report.revised) == ([], [], [])


def test_an_exported_note_does_not_repeat_the_relations_in_its_text(
    app: App, tmp_path: Path
) -> None:
    write(app, "Coffee", "Black.")
    write(app, "Tea", "- relates_to [[Coffee]]")
    tea, coffee = app.engine.notes.find(ME, "Tea"), app.engine.notes.find(ME, "Coffee")
    app.engine.writing.link(ME, tea.id, coffee.id, "rivals")
    export_folder(app.engine, ME, tmp_path / "vault", "wiki")
    exported = (tmp_path / "vault" / "notes" / "Tea.md").read_text(encoding="utf-8")
    assert exported.endswith("- relates_to [[Coffee]]\n\n## Links\n\n- rivals [[Coffee]]\n")


def test_what_was_imported_from_basic_memory_is_read_by_its_permalink(
    app: App, tmp_path: Path
) -> None:
    (tmp_path / "drinks").mkdir()
    tea = "---\ntitle: Tea\ntype: guide\npermalink: drinks/tea\n---\n- goes_with [[Cake]]\n"
    (tmp_path / "drinks" / "Tea.md").write_text(tea, encoding="utf-8")
    cake = "---\ntitle: Cake\ntype: note\npermalink: food/cake\n---\nSweet.\n"
    (tmp_path / "Cake.md").write_text(cake, encoding="utf-8")
    app.engine.foreign_import.bring_in(ME, read_basic_memory(tmp_path))
    document = as_json(app, "read_note", identifier="drinks/tea")
    assert (document["file_path"], document["frontmatter"]["type"]) == ("drinks/Tea.md", "guide")
    assert links_of(app, "drinks/tea") == [("goes_with", "Cake")]


def test_a_relation_of_an_imported_note_waits_for_its_note(app: App, tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    tea = "---\ntitle: Tea\npermalink: tea\n---\n- goes_with [[Cake]]\n- needs [[Cups]]\n"
    (place / "Tea.md").write_text(tea, encoding="utf-8")
    app.engine.foreign_import.bring_in(ME, read_basic_memory(place))
    before = app.engine.notes.find(ME, "tea").updated_at
    write(app, "Cake", "Sweet.")
    assert links_of(app, "tea") == [("goes_with", "Cake")]
    assert app.engine.notes.find(ME, "tea").updated_at == before


def test_a_relation_of_an_imported_note_leads_to_a_note_that_is_here(
    app: App, tmp_path: Path
) -> None:
    write(app, "Cake", "Sweet. See [[Tea]].")
    place = tmp_path / "work"
    place.mkdir()
    tea = "---\ntitle: Tea\npermalink: tea\n---\n- goes_with [[Cake]]\n"
    (place / "Tea.md").write_text(tea, encoding="utf-8")
    report = app.engine.foreign_import.bring_in(ME, read_basic_memory(place))
    assert links_of(app, "tea") == [("goes_with", "Cake")]
    assert links_of(app, "Cake") == [("links_to", "Tea")]
    assert (report.links, not report.left_out.counts) == (2, True)


def test_notes_of_one_permalink_are_told_apart_by_their_project(app: App, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        index = f"---\ntitle: Index\npermalink: index\n---\nOf {name}.\n"
        (tmp_path / name / "Index.md").write_text(index, encoding="utf-8")
        app.engine.foreign_import.bring_in(ME, read_basic_memory(tmp_path / name))
    message = refusal(app, "read_note", identifier="index").message
    assert "index (project one)" in message
    assert "index (project two)" in message
    assert call(app, "read_note", identifier="index", project="two") == "Of two."


def test_imported_notes_are_read_and_edited_in_their_project(app: App, tmp_path: Path) -> None:
    place = tmp_path / "work-notes"
    place.mkdir()
    tea = "---\ntitle: Tea\npermalink: tea\n---\nGreen.\n"
    (place / "Tea.md").write_text(tea, encoding="utf-8")
    app.engine.foreign_import.bring_in(ME, read_basic_memory(place))
    assert as_json(app, "list_memory_projects")["projects"] == [{"name": "work-notes", "notes": 1}]
    assert call(app, "read_note", identifier="tea", project="work-notes") == "Green."
    edit = {"operation": "append", "content": "Hot.", "project": "work-notes"}
    assert as_json(app, "edit_note", identifier="tea", **edit)["fileCreated"] is False


@pytest.mark.parametrize(
    ("tool", "field"), [("build_context", "url"), ("list_directory", "file_name_glob")]
)
def test_a_pattern_that_no_name_can_have_is_refused(app: App, tool: str, field: str) -> None:
    assert refusal(app, tool, **{field: "*x" * 501}).field == field
