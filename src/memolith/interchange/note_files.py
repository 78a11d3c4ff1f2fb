"""Items as Markdown notes: what stands in a file, what it is called, and what a file says."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import quote

from memolith.domain.attributes import Attributes, Json
from memolith.domain.items import Item
from memolith.domain.passages import Block
from memolith.engine.front_matter import Note, read_note, write_note
from memolith.engine.note_text import NoteLink, links_of
from memolith.engine.notes import KIND, PATH
from memolith.engine.relation_labels import RELATED, word_of
from memolith.engine.validation import DEFAULT_NAMESPACE
from memolith.interchange.importers.files import split_tags, text

ID_FIELD = "memolith"
OWN_FIELDS = (
    ID_FIELD,
    "kind",
    "title",
    "tags",
    "project",
    "namespace",
    "status",
    "created",
    "updated",
    "attributes",
)
"""Fields that are no attributes. An attribute of such a name stands in `attributes`."""
LINKS_HEADING = "## Links"
FOLDERS = {
    "memory": "memories",
    "entity": "entities",
    "conversation": "conversations",
    "concept": "concepts",
    "document": "documents",
    "prompt": "prompts",
    "template": "templates",
    "project": "projects",
    "topic": "topics",
}
WRITABLE_KINDS = ("memory", "entity", "concept")
"""The kinds that can be changed in their file; others are only written there."""
LIST_KINDS = ("entity",)
"""The kinds whose blocks are the entries of a list."""
MAX_NAME_CHARACTERS = 80
MAX_NAME_BYTES = 180
RESERVED_NAMES = {"con", "prn", "aux", "nul"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)
}
"""What no file may be called on Windows."""
SHORT_ID_CHARACTERS = 8
_FORBIDDEN = re.compile(r'[\x00-\x1f\\/:*?"<>|#^\[\]]+')
Style = Literal["wiki", "markdown"]


class OutgoingLink(NamedTuple):
    """A link of an item, and the path from its note to the one that it leads to."""

    type: str
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class NoteContent:
    """What a note says that can be changed in its file."""

    title: str
    text: str
    tags: tuple[str, ...]
    project: str
    namespace: str
    status: str
    attributes: Attributes
    links: tuple[NoteLink, ...]


def render(item: Item, blocks: Sequence[Block], links: Sequence[OutgoingLink], style: Style) -> str:
    """The file of an item."""
    fields: dict[str, Json] = {ID_FIELD: item.id, "kind": item.kind}
    if item.title:
        fields["title"] = item.title
    if item.tags:
        fields["tags"] = list(item.tags)
    if item.project:
        fields["project"] = item.project
    if item.namespace and item.namespace != DEFAULT_NAMESPACE.get(item.kind):
        fields["namespace"] = item.namespace
    if item.status != "active":
        fields["status"] = item.status
    fields["created"] = item.created_at
    fields["updated"] = item.updated_at
    # At the top, where Obsidian shows and understands them: `aliases`, for example.
    fields |= {name: value for name, value in item.attributes.items() if name not in OWN_FIELDS}
    hidden = {name: value for name, value in item.attributes.items() if name in OWN_FIELDS}
    if hidden:
        fields["attributes"] = hidden
    body = _body(item.kind, blocks)
    if links:
        lines = sorted(f"- {link.type} {_link(link, style)}" for link in links)
        body += f"\n{LINKS_HEADING}\n\n" + "\n".join(lines) + "\n"
    return write_note(Note(fields, body))


def beside_text(links: Sequence[OutgoingLink], blocks: Sequence[Block]) -> list[OutgoingLink]:
    """The links that do not stand in the text as wiki links that work already."""
    told = {
        (word_of(link.label) or RELATED, link.target.lower())
        for block in blocks
        for link in links_of(block.text)
    }
    return [link for link in links if (link.type, _name(link).lower()) not in told]


def _body(kind: str, blocks: Sequence[Block]) -> str:
    if kind in LIST_KINDS and all("\n" not in block.text for block in blocks):
        return "".join(f"- {block.text}\n" for block in blocks)
    parts = []
    for block in blocks:
        heading = " · ".join(word for word in (block.speaker, block.locator) if word)
        parts.append(f"**{heading}**\n\n{block.text}" if heading else block.text)
    return "\n\n".join(parts) + "\n"


def _link(link: OutgoingLink, style: Style) -> str:
    name = _name(link)
    if style == "wiki":
        return f"[[{name}]]"
    return f"[{name}]({quote(link.path)})"


def _name(link: OutgoingLink) -> str:
    """How a wiki link calls the note that it leads to."""
    return link.path.rsplit("/", 1)[-1].removesuffix(".md")


def read_content(file_text: str, stem: str) -> NoteContent:
    """What a file says; a note without a title has the name of its file."""
    note = read_note(file_text)
    fields = note.fields
    body, section = _split_links(note.body)
    attributes = {name: value for name, value in fields.items() if name not in OWN_FIELDS}
    hidden = fields.get("attributes")
    if isinstance(hidden, dict):
        attributes |= hidden
    has_id = bool(text(fields.get(ID_FIELD)))
    return NoteContent(
        title=text(fields.get("title")) or ("" if has_id else stem),
        text=body.strip("\n"),
        tags=tuple(sorted({tag.removeprefix("#") for tag in split_tags(fields.get("tags"))})),
        project=text(fields.get("project")),
        namespace=text(fields.get("namespace")),
        status=text(fields.get("status")) or "active",
        attributes=attributes,
        links=tuple(sorted(links_of(section))),
    )


def _split_links(body: str) -> tuple[str, str]:
    """The text, and the section of links at its end."""
    before, heading, section = body.rpartition(f"\n{LINKS_HEADING}\n")
    if not heading and body.startswith(f"{LINKS_HEADING}\n"):
        before, section = "", body.removeprefix(LINKS_HEADING)
        heading = LINKS_HEADING
    is_list = all(line.startswith("- ") for line in section.split("\n") if line.strip())
    if not heading or not is_list:
        return body, ""
    return before, section


def blocks_of(content: NoteContent, kind: str) -> tuple[Block, ...]:
    """The blocks that the text of a note stands for."""
    if not content.text.strip():
        return ()
    lines = [line for line in content.text.split("\n") if line.strip()]
    if kind in LIST_KINDS and all(line.startswith("- ") for line in lines):
        return tuple(Block(line[2:]) for line in lines)
    return (Block(content.text),)


def kind_of(file_text: str) -> str:
    """The kind of item that a new note becomes."""
    kind = text(read_note(file_text).fields.get("kind"))
    return kind if kind in WRITABLE_KINDS else "memory"


def note_id(file_text: str) -> str:
    """The id of the item that a file says it is of; empty for a new note."""
    return text(read_note(file_text).fields.get(ID_FIELD))


@dataclass(slots=True)
class Names:
    """Gives every note a name of its own in the whole folder, so that wiki links are clear."""

    taken: set[str] = field(default_factory=set)
    """Names in lower case: some systems do not tell them apart."""

    def path_of(self, item: Item, blocks: Sequence[Block]) -> str:
        first_line = next(
            (line for block in blocks for line in block.text.splitlines() if line), ""
        )
        name = file_name(item.title or first_line) or item.kind
        number = SHORT_ID_CHARACTERS
        unique = name
        while unique.lower() in self.taken:
            unique = f"{name} ({item.id.replace('-', '')[-number:]})"
            number += 4
        self.taken.add(unique.lower())
        return f"{folder_of(item)}/{unique}.md"


def folder_of(item: Item) -> str:
    """The folder that an item is written to: that of the note, if it has one."""
    path = item.attributes.get(PATH) if item.kind == KIND else None
    parts = path.split("/")[:-1] if isinstance(path, str) else []
    names = [file_name(part) for part in parts]
    return "/".join(_folder_name(name) for name in names if name) or FOLDERS[item.kind]


def _folder_name(name: str) -> str:
    """The name, unless it is like that of a note, which may be there."""
    return f"{name}_" if name.lower().endswith(".md") else name


def own_path(name: str, kind: str) -> str | None:
    """The path that a new note has from the folder that somebody put it into, if it is one."""
    folder = name.rpartition("/")[0]
    return name if kind == KIND and folder not in ("", FOLDERS[kind]) else None


def file_name(title: str) -> str:
    """A title as the name of a file on every system and in Obsidian."""
    name = unicodedata.normalize("NFC", _FORBIDDEN.sub(" ", title))
    name = " ".join(name.split())[:MAX_NAME_CHARACTERS].strip(" .")
    name = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
    return f"{name}_" if name.lower() in RESERVED_NAMES else name


def link_targets(paths: Mapping[str, str]) -> dict[str, str]:
    """The item that a link means, by the names and paths of the notes."""
    targets = {}
    for path, id in paths.items():
        targets[path.lower()] = id
        targets[path.removesuffix(".md").lower()] = id
        targets[path.rsplit("/", 1)[-1].removesuffix(".md").lower()] = id
    return targets
