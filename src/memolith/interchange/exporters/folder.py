"""Items as a folder of Markdown notes, which Obsidian and other programs open."""

import os
from pathlib import Path

from memolith.domain.callers import Caller
from memolith.engine.engine import Engine
from memolith.engine.progress import Progress, no_progress
from memolith.errors import InvalidInput
from memolith.interchange.exporters.collection import links_between, live_items
from memolith.interchange.note_files import Names, OutgoingLink, Style, beside_text, render
from memolith.private_files import make_private_folder, open_private

OBSIDIAN_FOLDER = ".obsidian"


def refuse_links(folder: Path, path: str) -> None:
    """Refuse a path that a link in the folder leads to another place."""
    place = folder
    for part in Path(path).parent.parts:
        place = place / part
        if place.is_symlink():
            raise InvalidInput(
                f"{place} is a link, and what lies behind it is not kept in step. Put a folder in "
                "its place, or sync the folder behind it.",
                field="folder",
            )


def write_file(folder: Path, path: str, content: str) -> None:
    """Write a file at once: whoever reads it sees the old one or the new one."""
    refuse_links(folder, path)
    place = folder / path
    make_private_folder(str(place.parent))
    temporary = place.with_name(f".{place.name[:100]}.{os.getpid()}.tmp")
    # A new file: one of this name that is there may be a link.
    temporary.unlink(missing_ok=True)
    with open(temporary, "x", encoding="utf-8", newline="", opener=open_private) as file:
        file.write(content)
    os.replace(temporary, place)


def make_obsidian_vault(folder: Path) -> None:
    """What Obsidian looks for in a vault."""
    if not (folder / OBSIDIAN_FOLDER).exists():
        write_file(folder, f"{OBSIDIAN_FOLDER}/app.json", "{}\n")


def export_folder(
    engine: Engine,
    caller: Caller,
    folder: Path,
    style: Style,
    progress: Progress = no_progress,
) -> int:
    """Write every item as a note into a new folder; returns how many."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(
            f"{folder} is not empty. Name a new folder, or use `memolith sync` to bring this one "
            "up to date.",
            field="file",
        )
    texts = list(live_items(engine, caller))
    names = Names()
    paths = {item.id: names.path_of(item, blocks) for item, blocks in texts}
    titles = {item.id: item.title for item, _ in texts}
    links = links_between(engine, caller, set(paths))
    make_private_folder(str(folder))
    for number, (item, blocks) in enumerate(texts, start=1):
        to_top = "../" * paths[item.id].count("/")
        outgoing = [
            OutgoingLink(link.type, to_top + paths[link.target], titles[link.target])
            for link in links.get(item.id, ())
        ]
        if style == "wiki":
            outgoing = beside_text(outgoing, blocks)
        write_file(folder, paths[item.id], render(item, blocks, outgoing, style))
        progress(number, len(texts))
    if style == "wiki":
        make_obsidian_vault(folder)
    return len(texts)
