"""What stands in the text of a Markdown note: links to other notes, tags and observations."""

import re
from typing import NamedTuple
from urllib.parse import unquote

LINK = "links_to"
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_FILE_LINK = re.compile(
    r"\[[^\[\]\n]*\]\(<?([^()<>\n#]+?\.(?:md|markdown))(?:#[^()\n]*)?>?\)", re.I
)
_RELATION = re.compile(
    r"^[ \t]*[-*][ \t](?P<type>[^\[\]\n]*)"
    r"\[(?:\[(?P<target>[^\[\]|#\n]+)|[^\[\]\n]*\]\(<?(?P<file>[^()<>\n#]+?\.(?:md|markdown)))[^\n]*$",
    re.M | re.I,
)
"""An entry of a list that begins with what the link in it means."""
_TAG = re.compile(r"(?:^|(?<=[\s(]))#([^\W\d][\w/-]*|\d+[^\W\d][\w/-]*)")

_OBSERVATION = re.compile(r"^[ \t]*[-*][ \t]+\[(?![ xX-]\])([^\[\]()\n]+)\][ \t]+(\S[^\n]*)$", re.M)


class NoteLink(NamedTuple):
    """A link as it stands in a note: what it leads to is a name or a path."""

    target: str
    label: str


def links_of(body: str) -> list[NoteLink]:
    """The links of a note to others, each once; a list entry can say what a link means."""
    without_code = _CODE.sub(" ", body)
    labels: dict[str, str] = {}
    for match in _RELATION.finditer(without_code):
        target = (match["target"] or match["file"]).strip()
        labels.setdefault(target, match["type"].strip().rstrip(":") or LINK)
    links = []
    for match in _WIKI_LINK.finditer(without_code):
        target = match[1].strip()
        links.append(NoteLink(target, labels.get(target, LINK)))
    for match in _FILE_LINK.finditer(without_code):
        if "://" not in match[1]:
            target = match[1].strip()
            links.append(NoteLink(unquote(target), labels.get(target, LINK)))
    return list(dict.fromkeys(links))


def written_tags(body: str) -> list[str]:
    """The tags in the text of a note, as often as they stand there."""
    return _TAG.findall(_CODE.sub(" ", body))


class Observation(NamedTuple):
    """An entry of a list that says a fact of some category: `- [category] fact`."""

    category: str
    text: str


def observations_of(body: str) -> list[Observation]:
    """The observations of a note in their order; boxes to tick are none."""
    found = _OBSERVATION.findall(_CODE.sub(" ", body))
    return [Observation(category.strip(), text.strip()) for category, text in found]
