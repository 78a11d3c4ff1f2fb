"""What other programs remembered comes whole, once, with its dates, tags, links and ids."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.domain.blocks import text_of
from memolith.domain.items import Draft, Item, Patch
from memolith.domain.queries import Filter
from memolith.doors.cli.foreign import find_foreign, import_foreign
from memolith.doors.cli.parser import parse
from memolith.engine.named_graph import NamedRelation
from memolith.errors import InvalidInput
from memolith.interchange.importers import files, notes
from memolith.interchange.programs import CHAT_PROGRAMS, PROGRAMS, find_source
from tests.conftest import ME
from tests.interchange import foreign_files
from tests.stores import each_store

pytestmark = each_store
EVERYTHING = Filter()
SOURCES: dict[str, Callable[[Path], Path]] = {
    "mem0": foreign_files.mem0,
    "openmemory": foreign_files.openmemory,
    "official": foreign_files.official,
    "basic-memory": foreign_files.basic_memory,
    "obsidian": foreign_files.obsidian,
    "mcp-memory-service": foreign_files.mcp_memory_service_database,
    "mempalace": foreign_files.mempalace,
    "claude-mem": foreign_files.claude_mem,
    "chroma": foreign_files.chroma,
    "chatgpt": foreign_files.chatgpt,
    "claude": foreign_files.claude,
    "gemini": foreign_files.gemini,
    "codex": foreign_files.codex,
    "letta": foreign_files.letta,
    "zep": foreign_files.zep,
}


def imported(app: App, place: Path, *flags: str) -> dict[str, Any]:
    """What `memolith import` returns, without a process of its own."""
    options = parse(["import", str(place), *flags])
    source = find_foreign(options)
    assert source is not None
    return import_foreign(app, options, source)  # type: ignore[return-value]


def items(app: App) -> dict[str, Item]:
    """Every item by its id in the other program."""
    return {
        str(item.attributes["source_id"]): item
        for item in app.engine.reading.list_all(ME, EVERYTHING)
    }


def text(app: App, item: Item) -> str:
    with app.store.reading(ME.tenant) as rows:
        return text_of(rows.passages(ME.tenant, item.id))


def links(app: App) -> set[tuple[str, str, str]]:
    """Every link by the ids in the other program."""
    names = {item.id: name for name, item in items(app).items()}
    with app.store.reading(ME.tenant) as rows:
        return {
            (names[link.source], link.type, names[link.target])
            for link in rows.all_links(ME.tenant)
        }


def reasons(report: dict[str, Any]) -> dict[str, int]:
    return {row["why"]: row["count"] for row in report["left_out"]}


def log_length(app: App) -> int:
    return app.engine.maintenance.event_count(ME.tenant)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_is_recognised_and_nothing_comes_twice(
    app: App, tmp_path: Path, program: str
) -> None:
    place = SOURCES[program](tmp_path)
    assert find_source(place).program == program
    first = imported(app, place)
    assert first["program"] == program
    assert first["taken"] > 0
    length = log_length(app)
    second = imported(app, place)
    assert (second["taken"], second["known"]) == (0, first["taken"])
    assert log_length(app) == length
    assert app.engine.maintenance.verify() == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_dry_run_reports_the_same_and_writes_nothing(
    app: App, tmp_path: Path, program: str
) -> None:
    place = SOURCES[program](tmp_path)
    length = log_length(app)
    preview = imported(app, place, "--dry-run")
    assert log_length(app) == length
    real = imported(app, place)
    assert preview.pop("dry_run") is True
    assert real.pop("dry_run") is False
    assert preview == real


@pytest.mark.parametrize("program", PROGRAMS)
def test_again_takes_everything_once_more_except_chats(
    app: App, tmp_path: Path, program: str
) -> None:
    place = SOURCES[program](tmp_path)
    first = imported(app, place)
    if program in CHAT_PROGRAMS:
        with pytest.raises(InvalidInput, match="--again does not go with chats"):
            imported(app, place, "--again")
        return
    second = imported(app, place, "--again")
    # Two entities of one name and type cannot be: the second is the first.
    assert second["taken"] + second["known"] == first["taken"]
    kinds = {item.kind for item in items(app).values()}
    assert (second["taken"] > 0) == (kinds != {"entity"})


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_source_is_left_as_it_is(app: App, tmp_path: Path, program: str) -> None:
    made = tmp_path / "made"
    made.mkdir()
    place = SOURCES[program](made)

    def state() -> dict[str, bytes]:
        files = [path for path in made.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files}

    before = state()
    imported(app, place)
    assert state() == before


def test_entities_of_the_reference_server_keep_observations_types_and_relations(
    app: App, tmp_path: Path
) -> None:
    report = imported(app, foreign_files.official(tmp_path))
    maria = items(app)["Maria Müller"]
    assert (maria.kind, maria.title, maria.namespace) == ("entity", "Maria Müller", "person")
    assert text(app, maria) == "Prefers tea.\nLives in Köln"
    assert links(app) == {("Maria Müller", "works_at", "Acme"), ("Acme", "knows", "Nobody")}
    assert reasons(report) == {"An item cannot be linked to itself.": 1}
    assert report["left_out"][0]["for_example"] == ["Acme owns Acme"]


def test_what_only_a_relation_names_becomes_an_entity_when_its_line_comes(
    app: App, tmp_path: Path
) -> None:
    path = foreign_files.official(tmp_path)
    imported(app, path)
    assert items(app)["Nobody"].status == "implied"
    line = {"type": "entity", "name": "Nobody", "entityType": "person", "observations": ["Is odd."]}
    path.write_text(path.read_text("utf-8") + "\n" + json.dumps(line), encoding="utf-8")
    assert imported(app, path)["updated"] == 1
    nobody = items(app)["Nobody"]
    assert (nobody.status, nobody.namespace) == ("active", "person")


def test_what_only_a_relation_named_here_becomes_the_entity_that_is_imported(
    app: App, tmp_path: Path
) -> None:
    knows = NamedRelation("Bob", "Maria Müller", "knows")
    app.engine.named_graph.create_relations(ME, [knows])
    path = foreign_files.official(tmp_path)
    imported(app, path)
    maria = app.engine.named_graph.open(ME, ["Maria Müller"])
    assert [entity.type for entity in maria.entities] == ["person"]
    assert knows in maria.relations
    length = log_length(app)
    imported(app, path)
    assert log_length(app) == length


def test_a_status_that_was_changed_here_survives_a_change_of_the_source(
    app: App, tmp_path: Path
) -> None:
    path = foreign_files.official(tmp_path)
    imported(app, path)
    maria = items(app)["Maria Müller"].id
    app.engine.writing.revise(ME, maria, Patch(status="archived", namespace="boss"))
    path.write_text(path.read_text("utf-8").replace("Köln", "Bonn"), encoding="utf-8")
    assert imported(app, path)["updated"] == 1
    changed = items(app)["Maria Müller"]
    assert (changed.status, changed.namespace) == ("archived", "boss")


def test_a_relation_to_an_entity_that_is_here_already_ends_there(app: App, tmp_path: Path) -> None:
    here = app.engine.writing.remember(ME, Draft("entity", "Nobody", namespace="Person")).item
    imported(app, foreign_files.official(tmp_path))
    with app.store.reading(ME.tenant) as rows:
        assert [link.type for link in rows.neighbours(ME.tenant, [here.id], "incoming")] == [
            "knows"
        ]


def test_what_was_forgotten_here_stays_forgotten_and_its_links_are_told(
    app: App, tmp_path: Path
) -> None:
    path = foreign_files.official(tmp_path)
    imported(app, path)
    app.engine.writing.forget(ME, items(app)["Acme"].id)
    report = imported(app, path)
    assert reasons(report)["a link to something that was forgotten here"] == 2
    assert "Acme" not in items(app)


def test_an_entity_that_is_here_under_the_same_name_learns_what_is_new(
    app: App, tmp_path: Path
) -> None:
    path = foreign_files.official(tmp_path)
    imported(app, path)
    lines = path.read_text(encoding="utf-8").replace("Lives in Köln", "Lives in Bonn")
    path.write_text(lines, encoding="utf-8")
    report = imported(app, path, "--again")
    assert report["merged"] == 1
    assert text(app, items(app)["Maria Müller"]) == "Prefers tea.\nLives in Köln\nLives in Bonn"


def test_memories_of_mem0_keep_dates_authors_categories_and_metadata(
    app: App, tmp_path: Path
) -> None:
    imported(app, foreign_files.mem0(tmp_path))
    item = items(app)[str(foreign_files.MEM0["id"])]
    assert text(app, item) == "Maria prefers tea."
    assert item.created_at == "2025-03-01T17:00:00.556728Z"
    assert item.updated_at == "2025-03-02T17:00:00.556728Z"
    assert item.tags == ("food",)
    assert item.attributes["author"] == "ann"
    assert item.attributes["room"] == "kitchen"
    # `expires_at` would make the item expire here.
    assert item.attributes["source_expires_at"] == "never"
    assert "expires_at" not in item.attributes


def test_the_history_of_mem0_gives_the_last_text_and_leaves_deleted_ones_out(
    app: App, tmp_path: Path
) -> None:
    report = imported(app, foreign_files.mem0_history(tmp_path))
    item = items(app)["a"]
    assert text(app, item) == "Köln lies on the Rhine river"
    assert item.created_at == "2025-03-01T10:00:00.000000Z"
    assert reasons(report) == {"deleted in mem0": 1}


def test_the_backup_and_the_database_of_openmemory_are_the_same_memories(
    app: App, tmp_path: Path
) -> None:
    report = imported(app, foreign_files.openmemory(tmp_path))
    item = items(app)["11111111-2222-3333-4444-555555555555"]
    assert item.tags == ("preferences",)
    assert item.attributes["author"] == "Ann"
    assert item.attributes["app"] == "cursor"
    assert item.attributes["mood"] == "calm"
    assert item.created_at == "2025-04-01T08:00:00.000000Z"
    assert item.updated_at == "2025-04-02T08:00:00.000000Z"
    archived = items(app)["11111111-2222-3333-4444-666666666666"]
    assert archived.status == "archived"
    assert reasons(report) == {"deleted in OpenMemory": 1}
    again = imported(app, foreign_files.openmemory_database(tmp_path))
    assert (again["taken"], again["known"]) == (0, 2)


def test_notes_of_obsidian_keep_fields_tags_aliases_and_links(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.obsidian(tmp_path))
    maria = items(app)["People/Maria.md"]
    assert maria.title == "Maria"
    assert maria.tags == ("people", "tea")
    assert maria.created_at == "2024-05-06T07:08:09.000000Z"
    assert maria.attributes["aliases"] == ["Mary", "M. Müller"]
    assert maria.attributes["rating"] == 4
    assert links(app) == {
        ("People/Maria.md", "links_to", "Tea Notes.md"),
        ("People/Maria.md", "links_to", "Milk.md"),
        ("Tea Notes.md", "links_to", "People/Maria.md"),
    }
    why = reasons(report)
    assert why["a note without text"] == 1
    assert why["a file that is no Markdown note; `memolith ingest` takes files"] == 1
    assert why["a link to something that is not there"] == 1
    assert any("latin.md is not UTF-8 text: byte 1" in reason for reason in why)


def test_notes_of_basic_memory_keep_permalinks_and_typed_relations(
    app: App, tmp_path: Path
) -> None:
    imported(app, foreign_files.basic_memory(tmp_path))
    note = items(app)["drinks/coffee-brewing"]
    assert note.title == "Coffee Brewing"
    assert note.tags == ("brewing", "clarity", "coffee")
    assert note.attributes["type"] == "note"
    assert "- [method] Pour over gives clarity" in text(app, note)
    assert links(app) == {("drinks/coffee-brewing", "pairs_with", "food/chocolate-desserts")}


def test_mcp_memory_service_keeps_dates_tags_types_and_its_graph(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.mcp_memory_service_database(tmp_path))
    item = items(app)["hash-1"]
    assert item.created_at == "2023-11-14T22:13:20.500000Z"
    assert item.updated_at == "2023-11-14T22:15:00.500000Z"
    assert item.tags == ("köln", "people")
    assert item.attributes["memory_type"] == "note"
    assert item.attributes["who"] == "ann"
    assert links(app) == {("hash-1", "causes", "hash-2")}
    assert reasons(report) == {"deleted in mcp-memory-service": 1}
    again = imported(app, foreign_files.mcp_memory_service(tmp_path))
    assert (again["taken"], again["known"]) == (0, 1)


def test_chroma_keeps_documents_with_their_metadata(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.chroma(tmp_path))
    item = items(app)["notes/a"]
    assert text(app, item) == "Tea is good in Köln"
    assert item.tags == ("x", "y")
    assert item.attributes["collection"] == "notes"
    assert [item.attributes[name] for name in ("topic", "n", "share", "flag")] == [
        "food",
        3,
        1.5,
        True,
    ]
    assert item.created_at == "2025-06-01T12:00:00.000000Z"
    assert reasons(report) == {"an embedding without a document": 1}


def test_mempalace_keeps_drawers_and_its_knowledge_graph(app: App, tmp_path: Path) -> None:
    imported(app, foreign_files.mempalace(tmp_path))
    drawer = items(app)["drawer_1"]
    assert drawer.project == "billing"
    assert drawer.tags == ("billing", "decisions")
    assert drawer.attributes["author"] == "claude"
    assert drawer.created_at == "2026-02-03T04:05:06.000007Z"
    assert items(app)["entity/max"].title == "Max"
    assert links(app) == {("entity/max", "does", "entity/chess")}


def test_claude_mem_keeps_observations_summaries_and_prompts(app: App, tmp_path: Path) -> None:
    imported(app, foreign_files.claude_mem(tmp_path))
    observation = items(app)["observation/1"]
    assert observation.title == "Fixed the tea counter"
    assert observation.project == "shop"
    assert observation.tags == ("bugfix", "counting", "observation")
    assert text(app, observation) == "The counter ran in both hooks.\n\n- It counted twice"
    assert observation.created_at == "2025-10-01T10:00:00.000000Z"
    assert "Learned: Hooks run twice" in text(app, items(app)["summary/1"])
    assert text(app, items(app)["prompts/c-1"]) == "Why is tea counted twice?\nMend it."


def test_letta_keeps_memory_blocks_and_what_was_said(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.letta(tmp_path))
    block = items(app)["block-0"]
    assert (block.title, block.attributes["author"]) == ("human", "Sam")
    talk = items(app)["agent-0/messages"]
    assert text(app, talk) == "I like tea.\nNoted."
    assert talk.created_at == "2025-07-01T10:00:00.000000Z"
    assert set(reasons(report)) == {
        "a memory block without text",
        "a message of the role system",
        "one of the tools, which are no memory",
    }


def test_zep_keeps_nodes_facts_and_episodes(app: App, tmp_path: Path) -> None:
    imported(app, foreign_files.zep(tmp_path))
    assert text(app, items(app)["n-1"]) == "A tea drinker."
    fact = items(app)["e-1"]
    assert text(app, fact) == "Maria works at Acme"
    assert fact.attributes["valid_at"] == "2020-01-01T00:00:00Z"
    assert items(app)["ep-1"].attributes["author"] == "Maria"
    assert links(app) == {
        ("n-1", "WORKS_AT", "n-2"),
        ("n-1", "MentionedIn", "e-1"),
        ("n-2", "MentionedIn", "e-1"),
    }


def test_gemini_questions_come_with_their_answers(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.gemini(tmp_path))
    (chat,) = items(app).values()
    assert text(app, chat) == "Why is tea green?\nBecause it is not oxidised."
    assert reasons(report) == {"an activity that is no prompt": 1}


def test_a_memory_that_changed_in_the_source_is_brought_up_to_date(
    app: App, tmp_path: Path
) -> None:
    path = foreign_files.mem0(tmp_path)
    imported(app, path)
    changed = {**foreign_files.MEM0, "memory": "Maria prefers coffee."}
    foreign_files.write_json(path, {"results": [changed]})
    report = imported(app, path)
    assert (report["taken"], report["updated"]) == (0, 1)
    item = items(app)[str(changed["id"])]
    assert text(app, item) == "Maria prefers coffee."
    assert item.created_at == "2025-03-01T17:00:00.556728Z"


def test_a_memory_that_changed_on_both_sides_stays_as_it_is_here(app: App, tmp_path: Path) -> None:
    path = foreign_files.mem0(tmp_path)
    imported(app, path)
    item = items(app)[str(foreign_files.MEM0["id"])]
    app.engine.writing.tag(ME, item.id, add=["mine"])
    foreign_files.write_json(path, {"results": [{**foreign_files.MEM0, "memory": "Other."}]})
    report = imported(app, path)
    assert report["updated"] == 0
    assert any("changed both here and in the source" in why for why in reasons(report))
    assert text(app, items(app)[str(foreign_files.MEM0["id"])]) == "Maria prefers tea."


def test_what_was_forgotten_or_erased_here_does_not_come_back(app: App, tmp_path: Path) -> None:
    path = foreign_files.mem0(tmp_path)
    imported(app, path)
    item = items(app)[str(foreign_files.MEM0["id"])]
    app.engine.writing.forget(ME, item.id)
    assert imported(app, path)["taken"] == 0
    app.engine.writing.erase(ME, item.id)
    report = imported(app, path)
    assert report["taken"] == 0
    assert any("erased here" in why for why in reasons(report))
    assert imported(app, path, "--again")["taken"] == 1


def test_one_bad_record_does_not_keep_the_others_out(app: App, tmp_path: Path) -> None:
    long = "ä" * 700_000
    entries = [
        {**foreign_files.MEM0, "id": "1", "created_at": "next Tuesday", "updated_at": None},
        {**foreign_files.MEM0, "id": "2", "created_at": "2199-01-01", "updated_at": None},
        {**foreign_files.MEM0, "id": "3", "memory": "  "},
        {**foreign_files.MEM0, "id": "4", "metadata": {"x": "y" * 60_000}},
        {**foreign_files.MEM0, "id": "5", "memory": long},
        {**foreign_files.MEM0, "id": "5"},
    ]
    path = foreign_files.write_json(tmp_path / "mem0.json", entries)
    report = imported(app, path)
    assert report["taken"] == 4
    assert reasons(report) == {
        "a date that cannot be read (its item came)": 1,
        "a date that is not in the past (its item came)": 1,
        "a memory without text": 1,
        "metadata of more than 50,000 bytes (its item came)": 1,
        "the id comes twice in the source": 1,
    }
    assert text(app, items(app)["5"]).replace("\n", "") == long


def test_an_import_that_fails_leaves_no_trace(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign_files.mempalace(tmp_path)

    def fail(*_: object) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(type(app.engine.writing), "link_in", fail)
    length = log_length(app)
    with pytest.raises(RuntimeError, match="out of luck"):
        imported(app, path)
    assert log_length(app) == length


def test_secrets_are_redacted_and_reported(app: App, tmp_path: Path) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLQ"
    entry = {**foreign_files.MEM0, "memory": f"The key is {secret}."}
    report = imported(app, foreign_files.write_json(tmp_path / "mem0.json", [entry]))
    assert sum(report["redactions"].values()) == 1
    assert secret not in text(app, items(app)[str(entry["id"])])


def test_the_wrong_program_is_refused_with_the_right_one(app: App, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="looks like mem0, not like zep"):
        imported(app, foreign_files.mem0(tmp_path), "--from", "zep")


def test_a_folder_of_basic_memory_can_be_taken_as_a_vault(app: App, tmp_path: Path) -> None:
    report = imported(app, foreign_files.basic_memory(tmp_path), "--from", "obsidian")
    assert report["program"] == "obsidian"
    assert "drinks/Coffee Brewing.md" in items(app)


@pytest.mark.parametrize("content", ["", "{}", "[1]", "not json", '{"tea": 1}'])
def test_what_is_nobodys_is_refused(app: App, tmp_path: Path, content: str) -> None:
    path = tmp_path / "unknown.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"unknown.json is not recognised"):
        imported(app, path)


def test_a_place_without_anything_is_refused(app: App, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="empty is not recognised"):
        imported(app, tmp_path / "empty")
    with pytest.raises(InvalidInput, match="There is nothing at"):
        imported(app, tmp_path / "nowhere")


def test_a_damaged_database_is_refused(app: App, tmp_path: Path) -> None:
    path = foreign_files.mcp_memory_service_database(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidInput, match="cannot be read as a SQLite database"):
        imported(app, path)


def test_a_pickle_in_a_qdrant_folder_runs_no_code(app: App, tmp_path: Path) -> None:
    # What `pickle` would call when it loads this: os.system("touch …").
    marker = tmp_path / "ran"
    evil = b"cos\nsystem\n(S'touch " + str(marker).encode() + b"'\ntR."
    path = foreign_files.write_database(
        tmp_path / "storage.sqlite",
        "create table points (id text primary key, point blob)",
        points=[{"id": "1", "point": evil}],
    )
    with pytest.raises(InvalidInput, match=r"it holds os.system"):
        imported(app, path)
    assert not marker.exists()


def test_lines_of_memolith_itself_are_left_to_the_plain_import(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text(json.dumps({"content": "Tea."}), encoding="utf-8")
    assert find_foreign(parse(["import", str(path)])) is None
    assert find_foreign(parse(["import", "-"])) is None


def test_a_copy_of_a_vault_elsewhere_is_the_same_vault(app: App, tmp_path: Path) -> None:
    vault = foreign_files.obsidian(tmp_path)
    first = imported(app, vault)
    copy = tmp_path / "elsewhere"
    shutil.copytree(vault, copy)
    assert imported(app, copy)["known"] == first["taken"]


# Damaged and hostile files


def damaged_archives(folder: Path) -> dict[str, Path]:
    """Archives that cannot be read, each in another way."""
    memory = {"id": "1", "content": "Tea. " * 1000, "state": "active", "categories": []}
    lines = gzip.compress(json.dumps(memory).encode())
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("memories.json", json.dumps({"memories": [memory], "export_meta": {}}))
    packed = archive.getvalue()
    entry = packed.index(b"PK\x01\x02")
    contents = {
        "cut.jsonl.gz": lines[:-20],
        "changed.jsonl.gz": lines[:15] + b"\xff\xff" + lines[17:],
        "other.gz": b"no gzip",
        "changed.zip": packed[:45] + b"\xff\xff" + packed[47:],
        "password.zip": packed[:6] + b"\1" + packed[7 : entry + 8] + b"\1" + packed[entry + 9 :],
        "method.zip": packed[:8]
        + b"\x63"
        + packed[9 : entry + 10]
        + b"\x63"
        + packed[entry + 11 :],
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


def test_an_archive_that_cannot_be_read_is_refused_by_its_name(app: App, tmp_path: Path) -> None:
    for name, path in damaged_archives(tmp_path).items():
        with pytest.raises(InvalidInput, match=f"{re.escape(name)} cannot be unpacked"):
            imported(app, path)


@pytest.mark.parametrize("content", ['{"memories": [{"id": "1"', "[" * 100_000])
def test_a_backup_that_is_cut_off_is_refused_rather_than_empty(
    app: App, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "backup.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("memories.json", content)
    with pytest.raises(InvalidInput, match=r"backup\.zip is not JSON"):
        imported(app, path)


def test_an_archive_that_unpacks_to_too_much_is_refused(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1000)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("memories.json", " " * 100_000)
    with pytest.raises(InvalidInput, match=r"bomb\.zip holds more than 1,000 bytes"):
        imported(app, path)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")
def test_a_vault_with_links_and_pipes_brings_its_own_notes_alone(app: App, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "private.md").write_text("Only for me.", encoding="utf-8")
    (vault / "link.md").symlink_to(tmp_path / "private.md")
    os.mkfifo(vault / "pipe.md")
    (vault / "tea.md").write_text("Green tea.", encoding="utf-8")
    report = imported(app, vault)
    assert set(items(app)) == {"tea.md"}
    assert [entry["count"] for entry in report["left_out"]] == [2]


def test_lines_of_json_end_only_with_a_line_feed(app: App, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    entity = {"type": "entity", "name": "Tea", "entityType": "drink", "observations": ["a\u2028b"]}
    path.write_text(json.dumps(entity, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    imported(app, path)
    _, blocks = app.engine.reading.read(ME, items(app)["Tea"].id)
    assert [block.text for block in blocks] == ["a\u2028b"]


def test_broken_front_matter_is_in_the_report_and_its_note_comes(app: App, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "tea.md").write_text("---\ntitle Tea\ntags: [hot]\n---\nGreen.", encoding="utf-8")
    report = imported(app, vault, "--from", "obsidian")
    assert report["taken"] == 1
    (row,) = report["left_out"]
    assert row["why"] == "a line of front matter that is no field (its note came)"
    assert row["for_example"] == ["tea.md: title Tea"]
    assert items(app)["tea.md"].tags == ("hot",)


def test_a_report_has_three_examples_of_each_reason_or_all_of_them(
    app: App, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(5):
        (vault / f"{number}.pdf").write_bytes(b"x")
    (vault / "tea.md").write_text("Green.", encoding="utf-8")
    (few,) = imported(app, vault, "--from", "obsidian", "--dry-run")["left_out"]
    assert (few["count"], few["for_example"]) == (5, ["0.pdf", "1.pdf", "2.pdf"])
    (every,) = imported(app, vault, "--from", "obsidian", "--all-examples")["left_out"]
    assert (every["count"], len(every["for_example"])) == (5, 5)


# Folders with notes of the same name


def project(place: Path, **notes: str) -> Path:
    """A project of basic-memory: notes by their permalink, with what they say."""
    place.mkdir(parents=True, exist_ok=True)
    for permalink, said in notes.items():
        fields = f"---\ntitle: {permalink.title()}\npermalink: {permalink}\n---\n\n"
        (place / f"{permalink.title()}.md").write_text(f"{fields}{said}\n", encoding="utf-8")
    return place


def counted(report: dict[str, Any]) -> tuple[int, int, int]:
    return report["taken"], report["updated"], report["known"]


def texts(app: App) -> list[str]:
    return sorted(text(app, item) for item in app.engine.reading.list_all(ME, EVERYTHING))


def as_before_folders_were_told_apart(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import as memolith did when an id was one of the program alone."""
    read = notes.read_note_folder
    monkeypatch.setattr(
        notes,
        "read_note_folder",
        lambda place, program: replace(read(place, program), folder=None),
    )


def test_two_projects_with_a_note_of_the_same_permalink_are_both_kept(
    app: App, tmp_path: Path
) -> None:
    one = project(tmp_path / "one", index="Of one.", plan="Paint.")
    two = project(tmp_path / "two", index="Of two.")
    assert counted(imported(app, one)) == (2, 0, 0)
    assert counted(imported(app, two, "--from", "basic-memory")) == (1, 0, 0)
    assert texts(app) == ["Of one.", "Of two.", "Paint."]
    assert counted(imported(app, one)) == (0, 0, 2)
    assert counted(imported(app, two)) == (0, 0, 1)


def test_two_vaults_with_a_note_of_the_same_name_are_both_kept(app: App, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Index.md").write_text(f"Of {name}.", encoding="utf-8")
        assert imported(app, tmp_path / name)["taken"] == 1
    assert texts(app) == ["Of one.", "Of two."]


def test_a_note_that_changed_in_its_folder_is_updated_even_if_it_is_the_only_one(
    app: App, tmp_path: Path
) -> None:
    imported(app, project(tmp_path / "one", index="First."))
    report = imported(app, project(tmp_path / "one", index="Second."))
    assert counted(report) == (0, 1, 0)
    assert texts(app) == ["Second."]


def test_another_folder_of_the_same_name_needs_a_name_of_its_own(app: App, tmp_path: Path) -> None:
    imported(app, project(tmp_path / "a" / "notes", index="Of a."))
    other = project(tmp_path / "b" / "notes", index="Of b.")
    with pytest.raises(InvalidInput, match="--project NAME"):
        imported(app, other)
    assert counted(imported(app, other, "--project", "more")) == (1, 0, 0)
    # Its place tells which one it is.
    assert counted(imported(app, other)) == (0, 0, 1)
    assert texts(app) == ["Of a.", "Of b."]


def test_a_folder_that_was_moved_is_the_same_folder(app: App, tmp_path: Path) -> None:
    imported(app, project(tmp_path / "a" / "notes", index="Index.", plan="Paint."))
    moved = project(tmp_path / "b" / "notes", index="Index.", plan="Paint and sand.")
    assert counted(imported(app, moved)) == (0, 1, 1)


def test_a_folder_is_not_imported_under_a_second_name(app: App, tmp_path: Path) -> None:
    place = project(tmp_path / "one", index="Index.")
    imported(app, place)
    with pytest.raises(InvalidInput, match="imported before, as 'one'"):
        imported(app, place, "--project", "other")


def test_notes_of_an_earlier_version_are_known_and_updated(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project(tmp_path / "one", index="Index.", plan="Paint.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, place)
    dates = {item.updated_at for item in items(app).values()}
    project(place, plan="Paint and sand.", new="New.")
    assert counted(imported(app, place)) == (1, 1, 1)
    assert items(app)["index"].updated_at in dates
    project(place, index="Other.", plan="Other, too.", new="New as well.")
    assert counted(imported(app, place)) == (0, 3, 0)
    assert len(texts(app)) == 3


def test_another_project_leaves_notes_of_an_earlier_version_alone(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = project(tmp_path / "one", index="Of one.", plan="Paint.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, one)
    assert counted(imported(app, project(tmp_path / "two", index="Of two."))) == (1, 0, 0)
    assert counted(imported(app, one)) == (0, 0, 2)
    assert texts(app) == ["Of one.", "Of two.", "Paint."]


def test_a_note_that_an_earlier_version_mixed_up_is_there_for_both_projects_again(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = project(tmp_path / "one", index="Of one.", plan="Paint.")
    two = project(tmp_path / "two", index="Of two.", tea="Green.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, one)
        imported(app, two)
    assert "Of one." not in texts(app)
    imported(app, one)
    imported(app, two)
    assert texts(app) == ["Green.", "Of one.", "Of two.", "Paint."]


def test_what_was_erased_does_not_come_back_although_an_earlier_version_brought_it(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project(tmp_path / "one", index="Index.", plan="Paint.", tea="Green.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, place)
    app.engine.writing.erase(ME, items(app)["tea"].id)
    assert counted(imported(app, place)) == (0, 0, 2)
    assert counted(imported(app, place)) == (0, 0, 2)


def test_a_note_that_changed_on_both_sides_is_not_doubled_after_an_earlier_version(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project(tmp_path / "one", index="Index.", plan="Paint.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, place)
    app.engine.writing.revise(ME, items(app)["plan"].id, Patch(title="Mine"))
    project(place, plan="Paint and sand.")
    for _ in range(2):
        assert counted(imported(app, place)) == (0, 0, 1)
    assert len(texts(app)) == 2


# The project of imported notes


def projects(app: App) -> dict[str, str | None]:
    """The project of each note by its title."""
    return {item.title: item.project for item in app.engine.reading.list_all(ME, EVERYTHING)}


def test_notes_of_basic_memory_are_in_the_project_that_their_folder_is_called(
    app: App, tmp_path: Path
) -> None:
    imported(app, project(tmp_path / "work-notes", index="Index."))
    assert projects(app) == {"Index": "work-notes"}


def test_permalinks_that_begin_with_their_project_name_it(app: App, tmp_path: Path) -> None:
    place = project(tmp_path / "basic-memory", index="Index.", plan="Paint.")
    for path in place.iterdir():
        said = path.read_text(encoding="utf-8").replace("permalink: ", "permalink: main/")
        path.write_text(said, encoding="utf-8")
    imported(app, place)
    assert projects(app) == {"Index": "main", "Plan": "main"}


def test_the_project_of_an_import_can_be_chosen(app: App, tmp_path: Path) -> None:
    place = project(tmp_path / "notes", index="Index.")
    imported(app, place, "--project", "work")
    project(place, plan="Paint.")
    imported(app, place)
    assert projects(app) == {"Index": "work", "Plan": "work"}


def test_notes_of_a_vault_are_in_a_project_only_if_one_is_named(app: App, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Tea.md").write_text("---\nproject: drinks\n---\nGreen.", encoding="utf-8")
    (vault / "Milk.md").write_text("White.", encoding="utf-8")
    imported(app, vault)
    assert projects(app) == {"Milk": None, "Tea": "drinks"}
    imported(app, vault, "--again", "--project", "home")
    everything = app.engine.reading.list_all(ME, EVERYTHING)
    named = {item.project for item in everything if item.title == "Milk"}
    assert named == {None, "home"}


def test_memories_of_other_programs_can_have_a_project(app: App, tmp_path: Path) -> None:
    imported(app, foreign_files.mem0(tmp_path), "--project", "work")
    assert set(projects(app).values()) == {"work"}


def test_chats_have_no_project(app: App, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="leave it out"):
        imported(app, foreign_files.chatgpt(tmp_path), "--project", "work")


def test_notes_of_an_earlier_version_get_their_project(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project(tmp_path / "one", index="Index.", plan="Paint.")
    with monkeypatch.context() as earlier:
        as_before_folders_were_told_apart(app, earlier)
        imported(app, place)
    mine = items(app)["plan"].id
    app.engine.writing.revise(ME, mine, Patch(project="mine"))
    imported(app, place)
    assert projects(app) == {"Index": "one", "Plan": "mine"}
