"""Write, read and edit notes."""

from typing import Annotated

from pydantic import Field

from memolith.domain.queries import Filter, Query
from memolith.engine.note_edits import Edit, Operation, edited
from memolith.engine.notes import (
    DEFAULT_TYPE,
    NewNote,
    Note,
    SavedNote,
    check_unchanged,
    checked_path,
    file_name,
    path_of,
    permalink_of,
    plain_directory,
    plain_name,
    title_of,
)
from memolith.errors import InvalidInput, NotFound
from memolith.tools.arguments import JsonObject
from memolith.tools.basic_memory.arguments import Identifier, OutputFormat, Project
from memolith.tools.basic_memory.dialect import basic_memory
from memolith.tools.basic_memory.models import (
    EditNoteResult,
    ReadNoteResult,
    ViewNoteResult,
    WriteNoteResult,
)
from memolith.tools.basic_memory.views import fields_of, saved_text, whole_text
from memolith.tools.call import Call

MAX_SUGGESTIONS = 5
LineNumber = Annotated[int | None, Field(ge=1)]
Checksum = Annotated[
    str | None, Field(description="Refuse if the note is not the revision with this checksum.")
]


@basic_memory.tool(
    needs_read=True,
    example={"title": "Okapi", "content": "# Okapi\n- [fact] shy #animal", "directory": "zoo"},
)
def write_note(
    call: Call,
    *,
    title: str,
    content: Annotated[str, Field(description="The text in Markdown.")],
    directory: Annotated[str, Field(description="Where the note is; `/` is the top.")],
    project: Annotated[str | None, Field(description="Its project; none if left out.")] = None,
    tags: list[str] | str | None = None,
    note_type: str = DEFAULT_TYPE,
    metadata: JsonObject | None = None,
    overwrite: bool = False,
    expected_checksum: Checksum = None,
    output_format: OutputFormat = "text",
) -> WriteNoteResult:
    """Write a Markdown note.

    One that exists is replaced only with overwrite=true; use edit_note for small changes.
    """
    if expected_checksum is not None and not overwrite:
        raise InvalidInput(
            "A checksum is for replacing a note; say overwrite=true.", field="expected_checksum"
        )
    new = NewNote(
        title=title,
        text=content,
        path=place_of(title, directory),
        tags=listed(tags),
        type=note_type,
        metadata=metadata or {},
        project=project,
    )
    saved = call.engine.notes.write(
        call.caller, new, overwrite=overwrite, expected_checksum=expected_checksum
    )
    if output_format == "text":
        return {"result": saved_text(saved, "Created note" if saved.is_new else "Updated note", {})}
    item = saved.note.item
    return {
        "result": {
            "title": title_of(item),
            "permalink": permalink_of(item),
            "file_path": path_of(item),
            "checksum": saved.note.checksum,
            "action": "created" if saved.is_new else "updated",
            "similar_notes": [
                {"title": similar.title or similar.id, "similarity": similar.similarity}
                for similar in saved.similar
            ],
        }
    }


@basic_memory.tool(read_only=True, example={"identifier": "one"})
def read_note(
    call: Call,
    *,
    identifier: Identifier,
    project: Project = None,
    output_format: OutputFormat = "text",
    include_frontmatter: bool = False,
    start_line: LineNumber = None,
    end_line: LineNumber = None,
    include_content: bool = True,
) -> ReadNoteResult:
    """Read a note by its permalink, title or path, or some of its lines."""
    note = found(call, identifier, project)
    lines = whole_text(note, with_fields=include_frontmatter).split("\n")
    first = start_line or 1
    last = min(end_line or len(lines), len(lines))
    if first > last:
        raise InvalidInput(
            f"The note has {len(lines)} lines; choose lines of it.", field="start_line", value=first
        )
    content = "\n".join(lines[first - 1 : last]) if include_content else None
    item = note.item
    if output_format == "text":
        if content is None:
            content = "\n".join(
                [
                    f"# {title_of(item)}",
                    f"file_path: {path_of(item)}",
                    f"permalink: {permalink_of(item)}",
                    f"checksum: {note.checksum}",
                    f"updated_at: {item.updated_at}",
                ]
            )
        return {"result": content}
    return {
        "result": {
            "title": title_of(item),
            "permalink": permalink_of(item),
            "file_path": path_of(item),
            "content": content,
            "frontmatter": fields_of(item),
            "checksum": note.checksum,
            "updated_at": item.updated_at,
            "total_lines": len(lines),
            "next_start_line": last + 1 if last < len(lines) else None,
        }
    }


@basic_memory.tool(read_only=True, example={"identifier": "one"})
def view_note(call: Call, *, identifier: Identifier, project: Project = None) -> ViewNoteResult:
    """Read a note that the user wants to see, to be shown to them as it is."""
    note = found(call, identifier, project)
    return {
        "result": f"Show this note to the user as a Markdown artifact with the title "
        f"{title_of(note.item)!r}:\n\n---\n{note.text}\n---"
    }


@basic_memory.tool(
    needs_read=True,
    example={"identifier": "one", "operation": "append", "content": "- [fact] striped"},
)
def edit_note(
    call: Call,
    *,
    identifier: Identifier,
    operation: Operation,
    content: str,
    project: Project = None,
    section: Annotated[str | None, Field(description="The heading; `## ` if without #.")] = None,
    find_text: str | None = None,
    expected_replacements: Annotated[int, Field(ge=1)] = 1,
    replace_subsections: bool = True,
    metadata: JsonObject | None = None,
    expected_checksum: Checksum = None,
    output_format: OutputFormat = "text",
) -> EditNoteResult:
    """Change a note in place.

    find_replace needs find_text; the operations on sections need section. append and prepend make
    a note that is not there.
    """
    edit = Edit(
        operation,
        content,
        section or "",
        find_text or "",
        expected_replacements,
        replace_subsections,
    )
    refuse_other_operations(edit)
    saved = edited_note(call, identifier, project, edit, metadata, expected_checksum)
    if output_format == "text":
        heading = "Created note" if saved.is_new else "Edited note"
        return {"result": saved_text(saved, heading, {"operation": operation})}
    item = saved.note.item
    return {
        "result": {
            "title": title_of(item),
            "permalink": permalink_of(item),
            "file_path": path_of(item),
            "checksum": saved.note.checksum,
            "operation": operation,
            "fileCreated": saved.is_new,
        }
    }


def edited_note(
    call: Call,
    identifier: str,
    project: str | None,
    edit: Edit,
    metadata: JsonObject | None,
    expected_checksum: str | None,
) -> SavedNote:
    notes = call.engine.notes
    try:
        note = notes.read(call.caller, identifier, project)
    except NotFound:
        if edit.operation not in ("append", "prepend") or expected_checksum is not None:
            raise
        path = checked_path(plain_name(identifier))
        title = path.rsplit("/", 1)[-1].removesuffix(".md")
        new = NewNote(title, edit.content, path, metadata=metadata or {}, project=project)
        return notes.write(call.caller, new)
    check_unchanged(note, expected_checksum)
    return notes.change_text(call.caller, note, edited(note.text, edit), metadata)


def refuse_other_operations(edit: Edit) -> None:
    """Refuse what belongs to another operation, so that nothing is silently ignored."""
    is_section = edit.operation.endswith("section")
    if edit.section and not is_section:
        raise InvalidInput(f"`section` is not for {edit.operation}.", field="section")
    if edit.operation != "find_replace" and (edit.find_text or edit.expected_replacements != 1):
        field = "find_text" if edit.find_text else "expected_replacements"
        raise InvalidInput(f"`{field}` is for find_replace only.", field=field)
    if edit.operation != "replace_section" and not edit.replace_subsections:
        raise InvalidInput(
            "`replace_subsections` is for replace_section only.", field="replace_subsections"
        )


def found(call: Call, identifier: str, project: str | None) -> Note:
    """The note; if there is none, the error names notes that may be meant."""
    try:
        note = call.engine.notes.read(call.caller, identifier, project)
    except NotFound as error:
        wanted = Filter(kinds=("memory",), projects=() if project is None else (project,))
        query = Query(
            text=plain_name(identifier).replace("/", " ").replace("-", " ") or "note",
            filter=wanted,
            limit=MAX_SUGGESTIONS,
            per_item=True,
            family="basic_memory",
        )
        hits = call.engine.recall.search(call.caller, query).hits
        near = ", ".join(permalink_of(hit.item) for hit in hits)
        advice = f" Perhaps you mean: {near}." if near else ""
        raise NotFound(f"{error.message}{advice}", field="identifier", id=identifier) from error
    call.note_read(note.item.id)
    return note


def place_of(title: str, directory: str) -> str:
    """The path of a note with a title in a directory."""
    if not title.strip():
        raise InvalidInput("A note needs a title.", field="title")
    place = plain_directory(directory)
    name = file_name(title)
    return f"{place}/{name}" if place else name


def listed(tags: list[str] | str | None) -> list[str]:
    """Tags as a list, or as one text with commas."""
    if tags is None:
        return []
    parts = tags.split(",") if isinstance(tags, str) else tags
    plain = [part.strip().removeprefix("#") for part in parts]
    return [tag for tag in plain if tag]
