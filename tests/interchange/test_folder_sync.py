"""A folder of notes and the store stay in step, both ways, and no change is ever lost."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from memolith.bootstrap import App
from memolith.domain.items import Draft, Patch
from memolith.domain.passages import Block
from memolith.domain.queries import Filter
from memolith.errors import InvalidInput
from memolith.interchange.folder_sync import SyncReport, sync_folder
from tests.conftest import ME, note
from tests.interchange.test_importers import imported
from tests.stores import each_store

pytestmark = each_store
needs_links = pytest.mark.skipif(os.name == "nt", reason="Windows lets few users make links")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "Vault Köln"


def sync(app: App, vault: Path) -> SyncReport:
    """Sync, and check that a second sync has nothing more to do."""
    report = sync_folder(app.engine, ME, vault)
    second = sync_folder(app.engine, ME, vault)
    changes = {name: paths for name, paths in asdict(second).items() if paths}
    assert set(changes) <= {"conflicts", "refused"}
    assert app.engine.maintenance.verify() == []
    return report


def remember(app: App, text: str, **fields: object) -> str:
    return app.engine.writing.remember(ME, note(text, **fields)).item.id


def text_of(app: App, id: str) -> str:
    _, blocks = app.engine.reading.read(ME, id)
    return "\n".join(block.text for block in blocks)


def edit(path: Path, old: str, new: str) -> None:
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")


def names(app: App) -> list[str]:
    return sorted(item.title for item in app.engine.reading.list_all(ME, Filter()))


def test_every_item_becomes_a_note_with_fields_and_wiki_links(app: App, vault: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea", tags=("drinks", "köln"))
    maria = app.engine.writing.remember(
        ME, Draft(kind="entity", title="Maria", blocks=(Block("Drinks tea"), Block("Lives here")))
    ).item.id
    app.engine.writing.link(ME, maria, tea, "likes")
    report = sync(app, vault)
    assert sorted(report.written) == ["entities/Maria.md", "memories/Tea.md"]
    entity = (vault / "entities" / "Maria.md").read_text(encoding="utf-8")
    assert f'memolith: "{maria}"\n' in entity
    assert entity.endswith("- Drinks tea\n- Lives here\n\n## Links\n\n- likes [[Tea]]\n")
    assert "tags:\n  - drinks\n  - köln\n" in (vault / "memories" / "Tea.md").read_text("utf-8")
    assert (vault / ".obsidian").is_dir()


def test_a_change_in_the_file_changes_the_item(app: App, vault: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea", tags=("drinks",))
    milk = remember(app, "White milk.", title="Milk")
    sync(app, vault)
    file = vault / "memories" / "Tea.md"
    edit(file, "Green tea.", "Black tea.\n\n## Links\n\n- goes with [[Milk]]")
    edit(file, "  - drinks", "  - hot\n  - drinks")
    edit(file, "title: Tea", "title: All about tea\nrating: 5")
    report = sync(app, vault)
    assert report.revised == ["memories/Tea.md"]
    item, _ = app.engine.reading.read(ME, tea)
    assert text_of(app, tea) == "Black tea."
    assert (item.title, item.tags) == ("All about tea", ("drinks", "hot"))
    assert item.attributes["rating"] == 5
    with app.store.reading(ME.tenant) as rows:
        assert rows.link_between(ME.tenant, tea, milk, "goes_with") is not None
    edit(file, "- goes_with [[Milk]]\n", "")
    sync(app, vault)
    with app.store.reading(ME.tenant) as rows:
        assert rows.link_between(ME.tenant, tea, milk, "goes_with") is None


def test_a_tag_that_somebody_adds_to_the_text_becomes_a_tag(app: App, vault: Path) -> None:
    id = remember(app, "Maria drinks #tea.", title="Maria", tags=("people",))
    sync(app, vault)
    file = vault / "memories" / "Maria.md"
    edit(file, "#tea.", "#tea.\n- [skill] Knows Rust #rust\n\n#review")
    sync(app, vault)
    item, _ = app.engine.reading.read(ME, id)
    assert item.tags == ("people", "review", "rust")


def test_a_change_in_the_store_changes_the_file(app: App, vault: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    app.engine.writing.revise(ME, tea, Patch(blocks=(Block("Black tea."),)))
    report = sync(app, vault)
    assert report.written == ["memories/Tea.md"]
    assert "Black tea." in (vault / "memories" / "Tea.md").read_text(encoding="utf-8")


def test_a_note_that_somebody_writes_is_remembered_with_its_date_tags_and_links(
    app: App, vault: Path
) -> None:
    remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    (vault / "Ideas").mkdir()
    path = vault / "Ideas" / "New idea.md"
    path.write_text(
        "---\ncreated: 2024-05-06\naliases: [Idea]\n---\nBrew it #cold.\n\n## Links\n\n"
        "- about [[Tea]]\n- see [[Nowhere]]\n",
        encoding="utf-8",
    )
    report = sync(app, vault)
    assert report.remembered == ["Ideas/New idea.md"]
    item = next(item for item in app.engine.reading.list_all(ME, Filter()) if item.tags)
    assert (item.title, item.tags) == ("New idea", ("cold",))
    assert item.created_at == "2024-05-06T00:00:00.000000Z"
    content = path.read_text(encoding="utf-8")
    assert "aliases:\n  - Idea\n" in content
    assert "- about [[Tea]]" in content
    # A link that leads nowhere stays in the text.
    assert "- see [[Nowhere]]" in text_of(app, item.id)


def test_a_note_is_written_to_its_own_directory(app: App, vault: Path) -> None:
    remember(app, "Try again.", title="Retry", attributes={"path": "design/net/Retry.md"})
    remember(app, "Elsewhere.", title="Out", attributes={"path": "../.hidden/a.md/Out.md"})
    report = sync(app, vault)
    assert sorted(report.written) == ["design/net/Retry.md", "hidden/a.md_/Out.md"]


def test_a_note_that_is_known_stays_where_it_is(app: App, vault: Path) -> None:
    id = remember(app, "Try again.", title="Retry")
    sync(app, vault)
    app.engine.writing.revise(ME, id, Patch(attributes={"path": "design/Retry.md"}))
    assert sync(app, vault).written == ["memories/Retry.md"]


def test_a_new_file_gives_its_note_the_directory_it_lies_in(app: App, vault: Path) -> None:
    for folder in ("decisions", "memories"):
        (vault / folder).mkdir(parents=True)
        (vault / folder / f"In {folder}.md").write_text("Redis.", encoding="utf-8")
    sync(app, vault)
    paths = {
        item.title: item.attributes.get("path")
        for item in app.engine.reading.list_all(ME, Filter())
    }
    assert paths == {"In decisions": "decisions/In decisions.md", "In memories": None}


def test_changes_on_both_sides_are_both_kept_and_shown(app: App, vault: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    file = vault / "memories" / "Tea.md"
    app.engine.writing.revise(ME, tea, Patch(blocks=(Block("Black tea."),)))
    edit(file, "Green tea.", "White tea.")
    report = sync(app, vault)
    assert len(report.conflicts) == 1
    assert "memories/Tea.md has changed on both sides" in report.conflicts[0]
    assert "Black tea." in file.read_text(encoding="utf-8")
    aside = vault / "memories" / "Tea (conflict 1).md"
    assert "White tea." in aside.read_text(encoding="utf-8")
    assert text_of(app, tea) == "Black tea."
    # It is told until somebody has dealt with it.
    assert "Tea (conflict 1).md" in sync(app, vault).conflicts[0]
    aside.unlink()
    assert sync(app, vault) == SyncReport()


def test_the_same_change_on_both_sides_is_no_conflict(app: App, vault: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    app.engine.writing.revise(ME, tea, Patch(blocks=(Block("Black tea."),)))
    edit(vault / "memories" / "Tea.md", "Green tea.", "Black tea.")
    report = sync(app, vault)
    assert report.conflicts == []


def test_a_removed_file_forgets_its_item_and_a_forgotten_item_removes_its_file(
    app: App, vault: Path
) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    milk = remember(app, "White milk.", title="Milk")
    remember(app, "Sweet sugar.", title="Sugar")
    sync(app, vault)
    (vault / "memories" / "Tea.md").unlink()
    app.engine.writing.forget(ME, milk)
    report = sync(app, vault)
    assert (report.forgotten, report.removed) == (["memories/Tea.md"], ["memories/Milk.md"])
    assert names(app) == ["Sugar"]
    app.engine.writing.restore(ME, tea)
    sync(app, vault)
    assert (vault / "memories" / "Tea.md").exists()


def test_a_removal_on_one_side_and_a_change_on_the_other_loses_nothing(
    app: App, vault: Path
) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    milk = remember(app, "White milk.", title="Milk")
    sync(app, vault)
    (vault / "memories" / "Tea.md").unlink()
    app.engine.writing.revise(ME, tea, Patch(blocks=(Block("Black tea."),)))
    edit(vault / "memories" / "Milk.md", "White milk.", "Oat milk.")
    app.engine.writing.forget(ME, milk)
    report = sync_folder(app.engine, ME, vault)
    assert len(report.conflicts) == 2
    assert "Black tea." in (vault / "memories" / "Tea.md").read_text(encoding="utf-8")
    assert "Oat milk." in (vault / "memories" / "Milk (conflict 1).md").read_text(encoding="utf-8")


def test_a_moved_note_stays_the_same_item_and_a_copy_becomes_a_new_one(
    app: App, vault: Path
) -> None:
    tea = remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    (vault / "Drinks").mkdir()
    moved = (vault / "memories" / "Tea.md").rename(vault / "Drinks" / "My tea.md")
    assert sync(app, vault) == SyncReport()
    (vault / "Drinks" / "Copy.md").write_bytes(moved.read_bytes())
    edit(moved, "Green tea.", "Black tea.")
    report = sync(app, vault)
    assert (report.remembered, report.revised) == (["Drinks/Copy.md"], ["Drinks/My tea.md"])
    assert text_of(app, tea) == "Black tea."
    assert len(names(app)) == 2


def test_a_file_that_cannot_be_taken_is_told_and_left_alone(app: App, vault: Path) -> None:
    remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    broken = vault / "memories" / "Tea.md"
    broken.write_bytes(broken.read_bytes() + "ö".encode("latin-1"))
    empty = vault / "empty.md"
    empty.write_text("", encoding="utf-8")
    before = broken.read_bytes()
    report = sync_folder(app.engine, ME, vault)
    assert [line.split(":")[0] for line in report.refused] == ["memories/Tea.md", "empty.md"]
    assert (broken.read_bytes(), empty.read_bytes()) == (before, b"")
    assert names(app) == ["Tea"]


def test_a_conversation_is_written_and_not_read_back(app: App, vault: Path) -> None:
    blocks = (Block("Tea?", "user"), Block("Yes.", "assistant"))
    talk = app.engine.writing.remember(
        ME, Draft(kind="conversation", title="Talk", blocks=blocks)
    ).item.id
    sync(app, vault)
    edit(vault / "conversations" / "Talk.md", "Yes.", "No.")
    report = sync(app, vault)
    assert "a conversation cannot be changed in its file" in report.refused[0]
    assert text_of(app, talk) == "Tea?\nYes."
    assert "No." in (vault / "conversations" / "Talk (conflict 1).md").read_text(encoding="utf-8")


def test_an_empty_folder_does_not_forget_everything(app: App, vault: Path) -> None:
    for number in range(12):
        remember(app, f"Tea number {number}.", title=f"Tea {number}")
    sync(app, vault)
    for path in (vault / "memories").iterdir():
        path.unlink()
    with pytest.raises(InvalidInput, match=r"12 of 12 notes are missing.*--accept-removals"):
        sync_folder(app.engine, ME, vault)
    assert len(names(app)) == 12
    report = sync_folder(app.engine, ME, vault, accept_removals=True)
    assert len(report.forgotten) == 12
    assert names(app) == []


def test_names_that_a_system_forbids_become_names_that_all_allow(app: App, vault: Path) -> None:
    titles = ["CON", "a/b: c?", "A", "a", ".hidden", "ends.", "[[x]] #y", "", "日本" * 60]
    for title in titles:
        remember(app, "Tea.", title=title)
    sync(app, vault)
    stems = [path.stem for path in (vault / "memories").iterdir()]
    assert len({stem.lower() for stem in stems}) == len(titles)
    assert all(not set(stem) & set('\\/:*?"<>|#^[]') for stem in stems)
    assert all(len(stem.encode()) < 200 for stem in stems)
    assert "con" not in [stem.lower() for stem in stems]


def test_a_vault_fills_another_store(app: App, vault: Path, tmp_path: Path) -> None:
    tea = remember(app, "Green tea.", title="Tea", tags=("drinks",))
    maria = app.engine.writing.remember(
        ME, Draft(kind="entity", title="Maria", namespace="Person", blocks=(Block("Drinks tea"),))
    ).item.id
    app.engine.writing.link(ME, maria, tea, "likes")
    sync(app, vault)
    (vault / ".memolith" / "sync.json").unlink()
    for item in app.engine.reading.list_all(ME, Filter()):
        app.engine.writing.erase(ME, item.id)
    report = sync(app, vault)
    assert len(report.remembered) == 2
    items = {item.title: item for item in app.engine.reading.list_all(ME, Filter())}
    assert items["Maria"].kind == "entity"
    with app.store.reading(ME.tenant) as rows:
        assert rows.link_between(ME.tenant, items["Maria"].id, items["Tea"].id, "likes")


@needs_links
def test_a_link_in_the_folder_brings_in_no_file_from_elsewhere(
    app: App, vault: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "private.md"
    outside.write_text("Only for me.", encoding="utf-8")
    vault.mkdir()
    (vault / "link.md").symlink_to(outside)
    report = sync(app, vault)
    assert report.refused == ["link.md: A link or a device is not read. Put the note itself here."]
    assert names(app) == []


@needs_links
def test_a_pipe_in_the_folder_is_not_waited_for(app: App, vault: Path) -> None:
    vault.mkdir()
    os.mkfifo(vault / "pipe.md")
    assert len(sync(app, vault).refused) == 1


@needs_links
@pytest.mark.parametrize("name", ["memories", ".memolith"])
def test_nothing_is_written_through_a_link_to_another_folder(
    app: App, vault: Path, tmp_path: Path, name: str
) -> None:
    remember(app, "Green tea.", title="Tea")
    outside = tmp_path / "outside"
    outside.mkdir()
    vault.mkdir()
    (vault / name).symlink_to(outside)
    with pytest.raises(InvalidInput, match="is a link"):
        sync_folder(app.engine, ME, vault)
    assert list(outside.iterdir()) == []


@needs_links
def test_a_folder_that_became_a_link_lets_no_item_be_forgotten(
    app: App, vault: Path, tmp_path: Path
) -> None:
    remember(app, "Green tea.", title="Tea")
    sync(app, vault)
    (vault / "memories").rename(tmp_path / "moved")
    (vault / "memories").symlink_to(tmp_path / "moved")
    with pytest.raises(InvalidInput, match="is a link"):
        sync_folder(app.engine, ME, vault)
    assert names(app) == ["Tea"]


@pytest.mark.parametrize(
    "files", ['[{"path": "a.md"}]', '[{"path": "a", "item": "b", "version": "c", "digest": "d"}]']
)
def test_a_damaged_state_is_told(app: App, vault: Path, files: str) -> None:
    state = vault / ".memolith" / "sync.json"
    state.parent.mkdir(parents=True)
    state.write_text(f'{{"format": 1, "tenant": "local", "files": {files}}}', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"sync\.json is damaged; remove it"):
        sync_folder(app.engine, ME, vault)


def test_a_list_keeps_its_entries_whatever_separators_these_hold(app: App, vault: Path) -> None:
    draft = Draft(
        kind="entity", title="Maria", blocks=(Block("Tea\u2028green"), Block("Lives here"))
    )
    maria = app.engine.writing.remember(ME, draft).item.id
    sync(app, vault)
    edit(vault / "entities" / "Maria.md", "Lives here", "Lives there")
    sync(app, vault)
    _, blocks = app.engine.reading.read(ME, maria)
    assert [block.text for block in blocks] == ["Tea\u2028green", "Lives there"]


def test_a_folder_that_was_imported_is_refused_and_left_as_it_is(app: App, vault: Path) -> None:
    vault.mkdir()
    file = vault / "Tea.md"
    file.write_text("Green tea.", encoding="utf-8")
    imported(app, vault, "--from", "obsidian")
    with pytest.raises(InvalidInput, match=r"1 of 1, such as Tea\.md.*Sync a new folder"):
        sync_folder(app.engine, ME, vault)
    assert names(app) == ["Tea"]
    assert [path.name for path in vault.iterdir()] == ["Tea.md"]
    assert file.read_text(encoding="utf-8") == "Green tea."


def test_notes_that_were_imported_from_elsewhere_get_into_a_new_folder(
    app: App, vault: Path
) -> None:
    elsewhere = vault.with_name("Elsewhere")
    elsewhere.mkdir()
    (elsewhere / "Tea.md").write_text("Green tea.", encoding="utf-8")
    imported(app, elsewhere, "--from", "obsidian")
    assert sync(app, vault).written == ["memories/Tea.md"]
