"""The MemoryLake family: files found by what they say and given back whole, and Python that runs beside them."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from memolith.domain.blocks import block_data
from memolith.domain.queries import Condition, Query
from memolith.engine.context import cite
from memolith.engine.documents import FILES, SPACE, described
from memolith.engine.recall import MAX_QUERY
from memolith.errors import InvalidInput, NotFound
from memolith.tools.call import Call
from memolith.tools.family import Family
from memolith.tools.item_views import CHANGED, ItemId, Limit, bare_id, changed, given, manage, the
from memolith.tools.schema import Body
from memolith.tools.sekha.conversations import Offset
from memolith.tools.shape_notation import shape
from memolith.tools.signature import Argument

SAMPLES, MOST_FOUND, TEXT = 20, 10, 1000
COUNTED = ("excel_file", "pdf_file", "txt_file")
SAMPLE = shape(
    "sheet_names",
    id=str,
    name=str,
    type=str,
    num_chunks=int,
    num_figures=int,
    num_tables=int,
    sheet_names=[str],
    warnings=[str],
)
FOUND = shape(id=str, name=str, summary=str, type=str, cite=str, text=str, score=float)
FETCHED = shape(
    "presigned_url sheet_names",
    id=str,
    name=str,
    source_type=str,
    summary=str,
    presigned_url={"type": ["string", "null"]},
    sheet_names=[str],
    warnings=[str],
)
RAN = shape(
    stdout=str,
    stderr=str,
    error={"type": ["string", "null"]},
    truncated=bool,
    duration_ms=int,
    restarted=bool,
    warnings=[str],
)
ANEW = "The runner was started anew under the same id; what earlier calls had defined is gone."
Texts = Annotated[list[str], Field(max_length=50)]

memorylake = Family(
    "memorylake", instructions="Files, found by what they say: call get_memorylake_metadata first."
)


class ParsedQuery(Argument):
    """A question, taken apart; a part that is left empty follows from the others."""

    bm25_cleaned_query: Annotated[
        str, Field(max_length=MAX_QUERY // 4, description="Its telling words.")
    ]
    named_entities: Annotated[
        Texts, Field(description="People, firms, places and products; who has them comes first.")
    ]
    bm25_keywords: Annotated[Texts, Field(description="More words to look for.")]
    bm25_boost_keywords: Annotated[Texts, Field(description="Words that count more than others.")]
    rewritten_query_for_dense_model: Annotated[
        str, Field(max_length=MAX_QUERY // 4, description="It as a sentence.")
    ]

    def asked(self) -> Query:
        words, meant = self.bm25_cleaned_query.strip(), self.rewritten_query_for_dense_model.strip()
        entities = self.named_entities or [
            word for word in (*self.bm25_keywords, *self.bm25_boost_keywords) if word[:1].isupper()
        ]
        boosted = self.bm25_boost_keywords or entities
        keywords = [*self.bm25_keywords, *boosted, *entities]
        text = " ".join((words or ("" if keywords else meant), *keywords)).replace('"', " ").strip()
        if not text:
            raise InvalidInput(
                "There is nothing to search for; fill at least one field.", field="parsed_query"
            )
        return Query(
            text[:MAX_QUERY],
            FILES,
            limit=MOST_FOUND,
            per_item=True,
            meant=meant or words or text,
            boosted=tuple(boosted),
            entities=tuple(entities),
        )


@memorylake.tool(
    shape(
        result=shape(
            total_files=int,
            total_excel_files=int,
            total_pdf_files=int,
            total_txt_files=int,
            sample_memories=[SAMPLE],
        )
    ),
    read_only=True,
)
def get_memorylake_metadata(call: Call) -> Body:
    """How many files there are of which type, and the newest of them with their sheets, tables and figures."""
    page = call.engine.reading.list_items(call.caller, FILES, limit=SAMPLES)
    counts = {
        f"total_{type}s": call.engine.reading.list_items(
            call.caller, replace(FILES, where=(Condition("type", "eq", type),)), limit=1
        ).total
        for type in COUNTED
    }
    return {
        "result": {
            "total_files": page.total,
            **counts,
            "sample_memories": [*map(described, page.items)],
        }
    }


@memorylake.tool(shape(result=shape(results=[FOUND], n=int, warnings=[str])), read_only=True)
def search_memory(call: Call, *, parsed_query: ParsedQuery) -> Body:
    """Find files by words and by meaning; each with the place that fits best: a page, a range of cells, a heading."""
    found = call.engine.recall.search(call.caller, parsed_query.asked())
    return {
        "result": {
            "n": len(found.hits),
            "warnings": list(found.warnings),
            "results": [
                {
                    "id": hit.item.id,
                    "name": hit.item.title,
                    "summary": hit.item.attributes["summary"],
                    "type": hit.item.attributes["type"],
                    "cite": cite(hit),
                    "text": hit.passage.text[:TEXT],
                    "score": hit.score,
                }
                for hit in found.hits
            ],
        }
    }


@memorylake.tool({**shape(warnings=[str]), "additionalProperties": FETCHED}, read_only=True)
def fetch_memory(
    call: Call, *, memory_ids: Annotated[list[str], Field(min_length=1, max_length=100)]
) -> Body:
    """What is known of some files, and for each an address to download it from for a while."""
    chosen = replace(FILES, ids=tuple(map(bare_id, memory_ids)))
    items = call.engine.reading.list_items(call.caller, chosen, limit=len(memory_ids)).items
    unknown = sorted(set(chosen.ids) - {item.id for item in items})
    if not items:
        raise NotFound(
            f"There is no file {memory_ids[0][:100]!r}.", field="memory_ids", id=memory_ids[0]
        )
    return {
        **{
            item.id: {
                "id": item.id,
                "name": item.title,
                "source_type": item.attributes["type"],
                "summary": item.attributes["summary"],
                "presigned_url": call.engine.documents.url(item),
                "warnings": item.attributes["warnings"],
                **given(sheet_names=item.attributes["sheets"]),
            }
            for item in items
        },
        "warnings": [f"There is no file {id[:100]!r}." for id in unknown],
    }


@memorylake.tool(shape(result=shape(executor_id=str, mode=str, warnings=[str])), effect="runs")
def create_memory_code_runner(call: Call) -> Body:
    """Start a Python runner for `run_memory_code`; one per session is enough, for it keeps its variables."""
    executor = call.engine.runners.create(call.caller)
    mode, seen = call.engine.runners.state()
    return {"result": {"executor_id": executor, "mode": mode, "warnings": [seen] if seen else []}}


@memorylake.tool(shape(result=RAN), effect="runs")
def run_memory_code(
    call: Call,
    *,
    executor_id: Annotated[str, Field(description="What create_memory_code_runner gave.")],
    code: Annotated[
        str,
        Field(
            description="Python; print what you want to see. `get_memory_path(memory_id, "
            "memory_name)` gives the path of a file; pandas is there."
        ),
    ],
) -> Body:
    """Run Python in a sandbox without network; variables stay for the next call of the same runner."""
    ran = call.engine.runners.run(call.caller, executor_id, code, call.cancelled)
    return {"result": {**ran._asdict(), "warnings": [ANEW] if ran.restarted else []}}


@manage.tool(shape(files=[SAMPLE], total=int), read_only=True)
def list_files(call: Call, *, limit: Limit = 20, offset: Offset = 0) -> Body:
    """A page of the files that were taken in, the newest first."""
    page = call.engine.reading.list_items(call.caller, FILES, limit=limit, offset=offset)
    return {"files": [described(item) for item in page.items], "total": page.total}


@manage.tool(shape(file=SAMPLE, summary=str, chunks=[dict], total=int), read_only=True)
def show_file(call: Call, *, memory_id: ItemId, limit: Limit = 20, offset: Offset = 0) -> Body:
    """What was read in a file, piece by piece, each with its place."""
    item, blocks = call.engine.reading.read(
        call.caller, the(call, "document", memory_id, "memory_id", namespace=SPACE).id
    )
    return {
        "file": described(item),
        "summary": item.attributes["summary"],
        "total": len(blocks),
        "chunks": [block_data(block) for block in blocks[offset : offset + limit]],
    }


@manage.tool(CHANGED, destructive=True)
def delete_file(call: Call, *, memory_id: ItemId) -> Body:
    """Take a file out of every list and search; `restore_item` brings it back, `erase_item` removes its bytes."""
    again = bool(call.idempotency_key)
    file = the(call, "document", memory_id, "memory_id", forgotten=again, namespace=SPACE)
    return changed(call.engine.writing.forget(call.caller, file.id, key=call.idempotency_key))


@manage.tool(CHANGED, idempotent=True)
def reread_file(call: Call, *, memory_id: ItemId) -> Body:
    """Read a stored file again, which pays after an update of the readers."""
    return changed(
        call.engine.documents.reread(call.caller, the(call, "document", memory_id, "memory_id").id)
    )
