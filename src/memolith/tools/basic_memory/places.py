"""Move and delete notes, and see what is in a directory."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Filter
from memolith.engine.notes import (
    DEFAULT_TYPE,
    KIND,
    TYPE,
    checked_pattern,
    path_of,
    permalink_of,
    plain_directory,
    title_of,
)
from memolith.errors import InvalidInput
from memolith.tools.basic_memory.arguments import (
    Identifier,
    OutputFormat,
    Page,
    Project,
)
from memolith.tools.basic_memory.dialect import basic_memory
from memolith.tools.basic_memory.models import (
    DeletedNotes,
    DeleteNoteResult,
    DirectoryNode,
    ListDirectoryResult,
    ListProjectsResult,
    MovedNotes,
    MoveNoteResult,
)
from memolith.tools.call import Call

Sort = Literal["title_asc", "title_desc", "updated_asc", "updated_desc"]


@basic_memory.tool(
    needs_read=True, example={"identifier": "one", "destination_path": "zoo/Zebras.md"}
)
def move_note(
    call: Call,
    *,
    identifier: Identifier,
    destination_path: Annotated[str, Field(description="The new path, or directory.")] = "",
    destination_folder: Annotated[
        str | None, Field(description="The new directory; the name stays.")
    ] = None,
    is_directory: bool = False,
    project: Project = None,
    output_format: OutputFormat = "text",
) -> MoveNoteResult:
    """Move a note or, with is_directory=true, all notes of a directory. Permalinks stay."""
    if bool(destination_path) == bool(destination_folder):
        raise InvalidInput(
            "Give either destination_path or destination_folder.", field="destination_path"
        )
    moved: MovedNotes
    if is_directory:
        destination = destination_path or destination_folder or ""
        paths = call.engine.notes.move_directory(call.caller, identifier, destination, project)
        moved = {
            "moved": True,
            "title": None,
            "permalink": None,
            "file_path": None,
            "source": identifier,
            "destination": plain_directory(destination),
            "is_directory": True,
            "total_files": len(paths),
        }
    else:
        item = call.engine.notes.find(call.caller, identifier, project)
        name = path_of(item).rsplit("/", 1)[-1]
        folder = plain_directory(destination_folder or "")
        path = destination_path or f"{folder}/{name}"
        note = call.engine.notes.move(call.caller, item, path)
        moved = {
            "moved": True,
            "title": title_of(item),
            "permalink": permalink_of(note.item),
            "file_path": path_of(note.item),
            "source": path_of(item),
            "destination": path_of(note.item),
            "is_directory": False,
            "total_files": 1,
        }
    if output_format == "json":
        return {"result": moved}
    return {
        "result": f"# Moved\n{moved['source']} → {moved['destination']}\n"
        f"notes: {moved['total_files']}"
    }


@basic_memory.tool(destructive=True, needs_read=True, example={"identifier": "one"})
def delete_note(
    call: Call,
    *,
    identifier: Identifier,
    is_directory: bool = False,
    project: Project = None,
    output_format: OutputFormat = "text",
) -> DeleteNoteResult:
    """Delete a note or, with is_directory=true, all notes of a directory. They can be restored."""
    notes = call.engine.notes
    items: list[Item]
    if is_directory:
        if not plain_directory(identifier):
            raise InvalidInput("The top itself cannot be deleted.", field="identifier")
        items = notes.in_directory(call.caller, identifier, project)
    else:
        items = [notes.find(call.caller, identifier, project)]
    notes.forget(call.caller, items)
    if output_format == "text":
        lines = [f"- {path_of(item)}" for item in items]
        return {"result": "\n".join(["# Deleted", *lines])}
    only = None if is_directory else items[0]
    deleted: DeletedNotes = {
        "deleted": True,
        "title": title_of(only) if only else None,
        "permalink": permalink_of(only) if only else None,
        "file_path": path_of(only) if only else None,
        "is_directory": is_directory,
        "total_files": len(items),
    }
    return {"result": deleted}


@basic_memory.tool(read_only=True)
def list_directory(
    call: Call,
    *,
    dir_name: str = "/",
    depth: Annotated[int, Field(ge=1, le=10)] = 1,
    file_name_glob: Annotated[str | None, Field(description="For example `*meeting*`.")] = None,
    sort: Annotated[Sort | None, Field(description="Of notes; by name if left out.")] = None,
    page: Page = 1,
    page_size: Annotated[int, Field(ge=1, le=200)] = 10,
    output_format: OutputFormat = "text",
    project: Project = None,
) -> ListDirectoryResult:
    """The directories in a directory, and its notes."""
    items = call.engine.notes.in_directory(call.caller, dir_name, project)
    directory = plain_directory(dir_name)
    nodes = nodes_of(sorted_notes(items, sort), directory, depth)
    if file_name_glob is not None:
        pattern = checked_pattern(file_name_glob, "file_name_glob")
        nodes = [node for node in nodes if fnmatchcase(node["name"], pattern)]
    start = (page - 1) * page_size
    shown = nodes[start : start + page_size]
    if output_format == "text":
        lines = [node_line(node) for node in shown]
        head = f"# /{directory}\n{len(shown)} of {len(nodes)}"
        return {"result": "\n".join([head, *lines])}
    return {
        "result": {
            "directory": f"/{directory}",
            "nodes": shown,
            "total": len(nodes),
            "page": page,
            "page_size": page_size,
            "has_more": start + page_size < len(nodes),
        }
    }


@basic_memory.tool(read_only=True)
def list_memory_projects(call: Call, *, output_format: OutputFormat = "text") -> ListProjectsResult:
    """The projects that have notes, and how many."""
    counts = call.engine.reading.count_by(call.caller, "project", Filter(kinds=(KIND,)))
    named = sorted((name, count) for name, count in counts.items() if name)
    if output_format == "json":
        return {"result": {"projects": [{"name": name, "notes": count} for name, count in named]}}
    lines = [f"- {name}: {count} notes" for name, count in named] or ["There are no projects."]
    return {"result": "\n".join(["# Projects", *lines])}


def sorted_notes(items: list[Item], sort: Sort | None) -> list[Item]:
    """The notes in the order that is asked for; equal ones stay by path."""
    if sort is None:
        return sorted(items, key=lambda item: name_in(path_of(item)).casefold())
    by_title = sort.startswith("title")
    return sorted(
        items,
        key=lambda item: title_of(item).casefold() if by_title else item.updated_at,
        reverse=sort.endswith("desc"),
    )


def nodes_of(items: list[Item], directory: str, depth: int) -> list[DirectoryNode]:
    """What lies in a directory, as many levels deep: directories by name, then the notes."""
    directories: dict[str, DirectoryNode] = {}
    notes: list[DirectoryNode] = []
    start = directory.count("/") + 1 if directory else 0
    for item in items:
        parts = path_of(item).split("/")
        for level in range(start + 1, min(start + depth, len(parts) - 1) + 1):
            path = "/".join(parts[:level])
            directories.setdefault(path, directory_node(path))
        if len(parts) - start <= depth:
            notes.append(note_node(item, parts[-1]))
    by_name = sorted(directories, key=lambda path: (name_in(path).casefold(), path))
    return [directories[path] for path in by_name] + notes


def name_in(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def directory_node(path: str) -> DirectoryNode:
    return {
        "name": name_in(path),
        "directory_path": f"/{path}",
        "file_path": None,
        "type": "directory",
        "title": None,
        "permalink": None,
        "note_type": None,
        "updated_at": None,
    }


def note_node(item: Item, name: str) -> DirectoryNode:
    return {
        "name": name,
        "directory_path": f"/{path_of(item)}",
        "file_path": path_of(item),
        "type": "file",
        "title": title_of(item),
        "permalink": permalink_of(item),
        "note_type": str(item.attributes.get(TYPE) or DEFAULT_TYPE),
        "updated_at": item.updated_at,
    }


def node_line(node: DirectoryNode) -> str:
    if node["type"] == "directory":
        return f"- {node['directory_path']}/"
    return f"- {node['directory_path']} | {node['title']} | {node['permalink']}"
