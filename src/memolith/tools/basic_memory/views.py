"""Notes as texts and objects: front matter, summaries, and what was written."""

from collections import Counter
from collections.abc import Mapping

from memolith.domain.attributes import Json
from memolith.domain.items import Item
from memolith.engine.front_matter import Note as FrontNote
from memolith.engine.front_matter import write_note
from memolith.engine.note_text import observations_of
from memolith.engine.notes import (
    DEFAULT_TYPE,
    OWN_ATTRIBUTES,
    TYPE,
    Note,
    SavedNote,
    path_of,
    permalink_of,
    title_of,
)
from memolith.tools.basic_memory.models import NoteSummary


def fields_of(item: Item) -> dict[str, Json]:
    """The fields at the top of a note."""
    fields: dict[str, Json] = {
        "title": title_of(item),
        "type": item.attributes.get(TYPE) or DEFAULT_TYPE,
        "permalink": permalink_of(item),
    }
    if item.tags:
        fields["tags"] = list(item.tags)
    return {**fields, **metadata_of(item)}


def metadata_of(item: Item) -> dict[str, Json]:
    """The fields that somebody gave a note."""
    return {name: value for name, value in item.attributes.items() if name not in OWN_ATTRIBUTES}


def whole_text(note: Note, *, with_fields: bool) -> str:
    """The note as a file has it, or its text alone."""
    if not with_fields:
        return note.text
    return write_note(FrontNote(fields_of(note.item), "\n" + note.text))


def summary_of(item: Item, content: str | None = None) -> NoteSummary:
    return {
        "type": "entity",
        "title": title_of(item),
        "permalink": permalink_of(item),
        "file_path": path_of(item),
        "content": content,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def saved_text(saved: SavedNote, heading: str, more: Mapping[str, str]) -> str:
    """What a model is told about a note that it wrote."""
    note = saved.note
    lines = [f"# {heading}"]
    if note.item.project:
        lines.append(f"project: {note.item.project}")
    lines += [f"file_path: {path_of(note.item)}", f"permalink: {permalink_of(note.item)}"]
    lines.append(f"checksum: {note.checksum}")
    lines += [f"{name}: {value}" for name, value in more.items()]
    categories = Counter(observation.category for observation in observations_of(note.text))
    if categories:
        lines += ["", "## Observations"]
        lines += [f"- {category}: {count}" for category, count in sorted(categories.items())]
    if saved.resolved or saved.unresolved:
        lines += ["", "## Relations", f"- Resolved: {saved.resolved}"]
    if saved.unresolved:
        lines.append(f"- Unresolved: {len(saved.unresolved)} (made when the note is written)")
        lines += [f"  - {target}" for target in saved.unresolved]
    if note.item.tags:
        lines += ["", "## Tags", "- " + ", ".join(note.item.tags)]
    if saved.similar:
        lines += ["", "## Similar notes"]
        lines += [f"- {similar.title or similar.id}" for similar in saved.similar]
    return "\n".join(lines)
