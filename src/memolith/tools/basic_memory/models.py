"""What the tools of basic_memory return: a text for the model, or one of these objects."""

from typing import Literal, TypedDict

from memolith.domain.attributes import Json


class SimilarNote(TypedDict):
    """A note that says nearly the same."""

    title: str
    similarity: float


class WrittenNote(TypedDict):
    """A note after `write_note`."""

    title: str
    permalink: str
    file_path: str
    checksum: str
    action: str
    similar_notes: list[SimilarNote]


class WriteNoteResult(TypedDict):
    """The result of `write_note`."""

    result: str | WrittenNote


class NoteDocument(TypedDict):
    """A note as `read_note` gives it."""

    title: str
    permalink: str
    file_path: str
    content: str | None
    frontmatter: dict[str, Json]
    checksum: str
    updated_at: str
    total_lines: int
    next_start_line: int | None


class ReadNoteResult(TypedDict):
    """The result of `read_note`."""

    result: str | NoteDocument


class ViewNoteResult(TypedDict):
    """The result of `view_note`."""

    result: str


class EditedNote(TypedDict):
    """A note after `edit_note`."""

    title: str
    permalink: str
    file_path: str
    checksum: str
    operation: str
    fileCreated: bool


class EditNoteResult(TypedDict):
    """The result of `edit_note`."""

    result: str | EditedNote


class MovedNotes(TypedDict):
    """What `move_note` moved."""

    moved: bool
    title: str | None
    permalink: str | None
    file_path: str | None
    source: str
    destination: str
    is_directory: bool
    total_files: int


class MoveNoteResult(TypedDict):
    """The result of `move_note`."""

    result: str | MovedNotes


class DeletedNotes(TypedDict):
    """What `delete_note` deleted."""

    deleted: bool
    title: str | None
    permalink: str | None
    file_path: str | None
    is_directory: bool
    total_files: int


class DeleteNoteResult(TypedDict):
    """The result of `delete_note`."""

    result: str | DeletedNotes


class FoundNote(TypedDict):
    """One note that `search_notes` found."""

    title: str
    type: str
    score: float
    permalink: str
    file_path: str
    matched_chunk: str
    updated_at: str
    metadata: dict[str, Json]


class FoundNotes(TypedDict):
    """A page of what `search_notes` found."""

    results: list[FoundNote]
    current_page: int
    page_size: int
    total: int
    has_more: bool


class SearchNotesResult(TypedDict):
    """The result of `search_notes`."""

    result: str | FoundNotes


class NoteSummary(TypedDict):
    """A note in a context or a list."""

    type: Literal["entity"]
    title: str
    permalink: str
    file_path: str
    content: str | None
    created_at: str
    updated_at: str


class ObservationSummary(TypedDict):
    """An observation of a note."""

    type: str
    category: str
    content: str
    permalink: str
    file_path: str


class RelationSummary(TypedDict):
    """A relation between two notes."""

    type: Literal["relation"]
    relation_type: str
    from_entity: str
    to_entity: str


class NoteContext(TypedDict):
    """A note with its observations and what is linked to it."""

    primary_result: NoteSummary
    observations: list[ObservationSummary]
    related_results: list[NoteSummary | RelationSummary]


class ContextMetadata(TypedDict):
    """What a context is about."""

    uri: str
    depth: int
    timeframe: str | None
    primary_count: int
    related_count: int


class GraphContext(TypedDict):
    """What `build_context` found."""

    results: list[NoteContext]
    metadata: ContextMetadata
    page: int
    page_size: int
    has_more: bool


class BuildContextResult(TypedDict):
    """The result of `build_context`."""

    result: str | GraphContext


class RecentActivityResult(TypedDict):
    """The result of `recent_activity`."""

    result: str | list[NoteSummary]


class DirectoryNode(TypedDict):
    """A note or a directory in a listing."""

    name: str
    directory_path: str
    file_path: str | None
    type: str
    title: str | None
    permalink: str | None
    note_type: str | None
    updated_at: str | None


class DirectoryListing(TypedDict):
    """A page of what is in a directory."""

    directory: str
    nodes: list[DirectoryNode]
    total: int
    page: int
    page_size: int
    has_more: bool


class ListDirectoryResult(TypedDict):
    """The result of `list_directory`."""

    result: str | DirectoryListing


class NoteProject(TypedDict):
    """A project, and how many notes it has."""

    name: str
    notes: int


class NoteProjects(TypedDict):
    """What `list_memory_projects` found."""

    projects: list[NoteProject]


class ListProjectsResult(TypedDict):
    """The result of `list_memory_projects`."""

    result: str | NoteProjects
