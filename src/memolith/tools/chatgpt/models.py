"""What the tools for ChatGPT return, in the form that client documents."""

from typing import TypedDict


class SearchResult(TypedDict):
    """One result of `search`."""

    id: str
    title: str
    url: str


class SearchResults(TypedDict):
    """The result of `search`."""

    results: list[SearchResult]


class FetchedDocument(TypedDict):
    """The result of `fetch`."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]
