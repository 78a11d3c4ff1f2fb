"""What ChatGPT's connectors and deep research get, in the shape that they document."""

from typing import Any

import pytest

from memolith.bootstrap import App
from memolith.doors.page.items import ITEM_PATH
from memolith.tools.call import Call
from memolith.tools.chatgpt.search import ITEM_PAGE
from tests.checked import body_of
from tests.conftest import ME

ADDRESS = "https://memory.example.com"


def ask(app: App, tool: str, **arguments: Any) -> Any:
    outcome = app.registry.choose("chatgpt").run(tool, arguments, Call(ME, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


@pytest.fixture
def id(app: App) -> str:
    arguments = {"content": "Maria prefers tea.", "title": "Drinks", "tags": ["people"]}
    outcome = app.registry.run("remember", arguments, Call(ME, app.engine))
    return str(body_of(outcome)["id"])


def test_a_search_gives_ids_titles_and_addresses_only(app: App, id: str) -> None:
    assert ask(app, "search", query="Maria tea") == {
        "results": [{"id": id, "title": "Drinks", "url": f"memolith://item/{id}"}]
    }


def test_a_document_has_the_five_documented_fields(app: App, id: str) -> None:
    document = ask(app, "fetch", id=id)
    assert list(document) == ["id", "title", "text", "url", "metadata"]
    assert (document["title"], document["text"]) == ("Drinks", "Maria prefers tea.")


def test_the_metadata_of_a_document_are_texts(app: App, id: str) -> None:
    metadata = ask(app, "fetch", id=id)["metadata"]
    assert {type(value) for value in metadata.values()} == {str}
    assert metadata["tags"] == "people"


@pytest.mark.parametrize("address", [ADDRESS, ADDRESS + "/"])
def test_citations_lead_to_the_page_of_the_server(app: App, id: str, address: str) -> None:
    app.address = address
    page = f"{ADDRESS}/ui/item/{id}"
    assert ask(app, "search", query="Maria tea")["results"][0]["url"] == page
    assert ask(app, "fetch", id=id)["url"] == page


def test_the_page_of_an_item_is_where_citations_lead(id: str) -> None:
    assert ITEM_PATH.format(id=id) == ITEM_PAGE + id


def test_a_document_is_fetched_by_its_address_too(app: App, id: str) -> None:
    app.address = ADDRESS
    [result] = ask(app, "search", query="Maria tea")["results"]
    assert ask(app, "fetch", id=result["url"])["id"] == id


@pytest.mark.parametrize("name, argument", [("search", "query"), ("fetch", "id")])
def test_each_tool_takes_one_text_and_only_reads(app: App, name: str, argument: str) -> None:
    tool = next(tool for tool in app.registry.choose("chatgpt").tools if tool.name == name)
    assert tool.read_only
    assert tool.input_schema["required"] == [argument]
    assert list(tool.input_schema["properties"]) == [argument]
    assert tool.input_schema["properties"][argument]["type"] == "string"
