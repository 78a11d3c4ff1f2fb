"""claude-mem: its SQLite database, or what its export script writes as JSON."""

from pathlib import Path

from memolith.domain.attributes import Json
from memolith.domain.passages import Block
from memolith.engine.foreign_data import ForeignData, ForeignRecord
from memolith.interchange.importers.files import (
    JsonObject,
    first,
    json_object_of,
    json_texts,
    objects,
    open_sqlite,
    read_json,
    rows_of,
    tables_of,
    text,
    texts,
)

DATABASE_TABLES = {"observations", "session_summaries", "user_prompts"}
SUMMARY_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
SESSION_FIELDS = ("memory_session_id", "sdk_session_id")
KEPT_FIELDS = ("type", "subtitle", "prompt_number", "generated_by_model", "agent_type")
FILE_FIELDS = ("files_read", "files_modified", "files_edited")


def is_claude_mem_export(value: Json) -> bool:
    return isinstance(value, dict) and {"observations", "summaries", "prompts"} <= value.keys()


def read_claude_mem(path: Path) -> ForeignData:
    export = json_object_of(read_json(path))
    return _data(
        objects(export.get("observations")),
        objects(export.get("summaries")),
        objects(export.get("prompts")),
        [],
    )


def read_claude_mem_database(path: Path) -> ForeignData:
    tables = tables_of(path)
    with open_sqlite(path) as connection:
        observations = rows_of(connection, "observations", "id")
        summaries = rows_of(connection, "session_summaries", "id")
        prompts = rows_of(connection, "user_prompts", "id")
        directives = rows_of(connection, "directives", "id") if "directives" in tables else []
    return _data(observations, summaries, prompts, directives)


def _data(
    observations: list[JsonObject],
    summaries: list[JsonObject],
    prompts: list[JsonObject],
    directives: list[JsonObject],
) -> ForeignData:
    data = ForeignData("claude-mem")
    for row in observations:
        parts = [text(first(row, "narrative", "text")), *_facts(row)]
        _add(data, "observation", row, text(row.get("title")), parts)
    for row in summaries:
        parts = [_part(row, name) for name in SUMMARY_PARTS]
        _add(data, "summary", row, text(row.get("request")), parts)
    for row in directives:
        _add(data, "directive", row, "", [text(row.get("content"))])
    _add_prompts(data, prompts)
    return data


def _facts(row: JsonObject) -> list[str]:
    facts = _listed(row.get("facts"))
    return ["\n".join(f"- {fact}" for fact in facts)] if facts else []


def _part(row: JsonObject, name: str) -> str:
    content = text(row.get(name))
    return f"{name.replace('_', ' ').capitalize()}: {content}" if content else ""


def _listed(value: Json) -> list[str]:
    """Lists are JSON in the database, and may be lists in an export."""
    return json_texts(value) or (texts(value) if isinstance(value, list) else [])


def _add(data: ForeignData, kind: str, row: JsonObject, title: str, parts: list[str]) -> None:
    id = f"{kind}/{row.get('id')}"
    content = "\n\n".join(part for part in parts if part.strip())
    if not content and not title:
        data.left_out.add(f"an empty {kind}", id)
        return
    attributes: dict[str, Json] = {name: row.get(name) for name in KEPT_FIELDS}
    attributes["session"] = first(row, *SESSION_FIELDS)
    for name in FILE_FIELDS:
        attributes[name] = list[Json](_listed(row.get(name)))
    tags = [kind, text(row.get("type")), *_listed(row.get("concepts"))]
    data.records.append(
        ForeignRecord(
            source_id=id,
            title=title,
            blocks=(Block(content or title),),
            tags=tuple(tag for tag in tags if tag),
            created_at=first(row, "created_at_epoch", "created_at"),
            updated_at=row.get("updated_at_epoch"),
            author=text(row.get("agent_id")),
            project=text(first(row, "merged_into_project", "project")),
            attributes=attributes,
        )
    )


def _add_prompts(data: ForeignData, prompts: list[JsonObject]) -> None:
    """What the user asked, one conversation per session."""
    sessions: dict[str, list[JsonObject]] = {}
    for row in prompts:
        session = text(first(row, "content_session_id", "claude_session_id"))
        if text(row.get("prompt_text")).strip():
            sessions.setdefault(session, []).append(row)
        else:
            data.left_out.add("an empty prompt", f"prompt/{row.get('id')}")
    for session, rows in sessions.items():
        blocks = [
            Block(
                text(row["prompt_text"]), "user", str(first(row, "created_at_epoch", "created_at"))
            )
            for row in rows
        ]
        data.records.append(
            ForeignRecord(
                source_id=f"prompts/{session}",
                kind="conversation",
                title=" ".join(blocks[0].text.split())[:80],
                blocks=tuple(blocks),
                created_at=first(rows[0], "created_at_epoch", "created_at"),
                attributes={"session": session},
            )
        )
