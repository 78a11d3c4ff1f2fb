"""What the tools of the MemoryLake family return."""

from typing import NotRequired, TypedDict


class FileBody(TypedDict):
    """A file as lists show it."""

    id: str
    name: str
    type: str
    num_chunks: int
    num_figures: int
    num_tables: int
    sheet_names: NotRequired[list[str]]
    warnings: NotRequired[list[str]]


class LakeMetadata(TypedDict):
    """How many files there are, and the newest of them."""

    total_files: int
    total_excel_files: int
    total_pdf_files: int
    total_txt_files: int
    sample_memories: list[FileBody]


class LakeMetadataResult(TypedDict):
    """The result of `get_memorylake_metadata`."""

    result: LakeMetadata


class FoundFile(TypedDict):
    """A file with the place that answers the question best."""

    id: str
    name: str
    summary: str
    type: str
    cite: str
    text: str
    score: float
    created_at: NotRequired[str]
    updated_at: NotRequired[str]


class FoundFiles(TypedDict):
    """The files that a search found."""

    results: list[FoundFile]
    n: int
    warnings: NotRequired[list[str]]


class FoundFilesResult(TypedDict):
    """The result of `search_memory`."""

    result: FoundFiles


class FetchedFile(TypedDict):
    """All that is known of a file, and an address to download it from."""

    id: str
    name: str
    source_type: str
    summary: str
    presigned_url: NotRequired[str | None]
    sheet_names: NotRequired[list[str]]
    warnings: NotRequired[list[str]]


class Runner(TypedDict):
    """A new Python runner."""

    executor_id: str
    mode: str
    warnings: NotRequired[list[str]]


class RunnerResult(TypedDict):
    """The result of `create_memory_code_runner`."""

    result: Runner


class CodeOutput(TypedDict):
    """What came of running code."""

    stdout: str
    stderr: str
    error: str | None
    truncated: bool
    duration_ms: int
    restarted: bool
    warnings: NotRequired[list[str]]


class CodeResult(TypedDict):
    """The result of `run_memory_code`."""

    result: CodeOutput
