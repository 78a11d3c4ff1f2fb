"""Count, find and fetch files."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.items import Item
from memolith.domain.queries import Condition, Hit
from memolith.engine.documents import FILES, file_facts
from memolith.engine.packing import cite
from memolith.errors import NotFound
from memolith.tools.arguments import bare_id
from memolith.tools.call import Call
from memolith.tools.lookup import MAX_SHOWN_ID_LENGTH
from memolith.tools.memorylake.dialect import memorylake
from memolith.tools.memorylake.models import (
    FetchedFile,
    FoundFile,
    FoundFilesResult,
    LakeMetadataResult,
)
from memolith.tools.memorylake.parsed_query import ParsedQuery
from memolith.tools.memorylake.views import file_body
from memolith.tools.result_schema import Published, result_schema
from memolith.tools.schema import Body, Schema

SAMPLE_FILES = 20
MAX_FOUND_TEXT_LENGTH = 1000

FETCHED_FILES_SCHEMA: Schema = {
    "properties": {"warnings": {"items": {"type": "string"}, "type": "array"}},
    "type": "object",
    "additionalProperties": result_schema(FetchedFile),
}
FetchedFiles = Annotated[Body, Published(FETCHED_FILES_SCHEMA)]
"""The result of `fetch_memory`: a `FetchedFile` by its id, and `warnings`.

The ids are the keys, as documented, so no `TypedDict` can describe it.
"""


@memorylake.tool(read_only=True)
def get_memorylake_metadata(call: Call) -> LakeMetadataResult:
    """How many files there are of which type, and the newest of them with their sheets, tables and
    figures.
    """
    page = call.engine.reading.list_items(call.caller, FILES, limit=SAMPLE_FILES)
    return {
        "result": {
            "total_files": page.total,
            "total_excel_files": _count(call, "excel_file"),
            "total_pdf_files": _count(call, "pdf_file"),
            "total_txt_files": _count(call, "txt_file"),
            "sample_memories": [file_body(item) for item in page.items],
        }
    }


@memorylake.tool(
    read_only=True,
    example={
        "parsed_query": {
            "bm25_cleaned_query": "zebra",
            "named_entities": [],
            "bm25_keywords": ["zebra"],
            "bm25_boost_keywords": [],
            "rewritten_query_for_dense_model": "An animal with stripes.",
        }
    },
)
def search_memory(call: Call, *, parsed_query: ParsedQuery) -> FoundFilesResult:
    """Find files by words and by meaning; each with the place that fits best: a page, a range of
    cells, a heading.
    """
    found = call.engine.recall.search(call.caller, parsed_query.to_query())
    call.note_hits({hit.item.id for hit in found.hits})
    return {
        "result": {
            "n": len(found.hits),
            "warnings": list(found.warnings),
            "results": [_found_file(hit) for hit in found.hits],
        }
    }


@memorylake.tool(read_only=True, example={"memory_ids": ["ds-zoo"]})
def fetch_memory(
    call: Call, *, memory_ids: Annotated[list[str], Field(min_length=1, max_length=100)]
) -> FetchedFiles:
    """What is known of some files, and for each an address to download it from for a while."""
    ids = tuple(bare_id(id) for id in memory_ids)
    chosen = replace(FILES, ids=ids)
    items = call.engine.reading.list_items(call.caller, chosen, limit=len(memory_ids)).items
    if not items:
        raise NotFound(_no_such_file(memory_ids[0]), field="memory_ids", id=memory_ids[0])
    unknown = sorted(set(ids) - {item.id for item in items})
    fetched: Body = {item.id: _fetched_file(call, item) for item in items}
    fetched["warnings"] = [_no_such_file(id) for id in unknown]
    return fetched


def _found_file(hit: Hit) -> FoundFile:
    facts = file_facts(hit.item)
    return {
        "id": hit.item.id,
        "name": hit.item.title,
        "summary": facts.summary,
        "type": facts.type,
        "cite": cite(hit.item, hit.passage),
        "text": hit.passage.text[:MAX_FOUND_TEXT_LENGTH],
        "score": hit.score,
        "created_at": hit.item.created_at,
        "updated_at": hit.item.updated_at,
    }


def _count(call: Call, file_type: str) -> int:
    chosen = replace(FILES, where=(Condition("type", "eq", file_type),))
    return call.engine.reading.list_items(call.caller, chosen, limit=1).total


def _no_such_file(id: str) -> str:
    return f"There is no file {id[:MAX_SHOWN_ID_LENGTH]!r}."


def _fetched_file(call: Call, item: Item) -> FetchedFile:
    facts = file_facts(item)
    fetched: FetchedFile = {
        "id": item.id,
        "name": item.title,
        "source_type": facts.type,
        "summary": facts.summary,
        "presigned_url": call.engine.documents.url(item),
        "warnings": facts.warnings,
    }
    if facts.sheets:
        fetched["sheet_names"] = facts.sheets
    return fetched
