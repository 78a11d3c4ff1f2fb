"""What the pages say, mostly read without a browser, and that nothing of it is cut."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Page

from memolith.doors.page.rendering import size
from tests.page.visitor import agent_call, browser_of, sign_in_link, visit
from tests.programs.served import Served

IS_PLACEHOLDER_WHOLE = """(field) => {
    const style = getComputedStyle(field);
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return canvas.measureText(field.placeholder).width <= room;
}"""


@pytest.fixture
def visitor(served: Served) -> Iterator[httpx2.Client]:
    """The administrator, signed in."""
    with browser_of(served, follow_redirects=True) as client:
        client.get(sign_in_link(served))
        yield client


def words(page: str) -> str:
    """What is to be read on a page, or in a piece of one, on one line."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", page))
    return re.sub(r" ([.,:;])", r"\1", " ".join(text.split()))


def shown(visitor: httpx2.Client, path: str) -> str:
    """What is to be read on the page at this address."""
    answer = visitor.get(path)
    assert answer.status_code == 200, answer.text
    return words(answer.text)


def test_a_read_of_a_memory_without_a_title_is_called_by_its_first_words(
    served: Served, visitor: httpx2.Client
) -> None:
    note = agent_call(served, "remember", content="Kelp grows fast.")
    agent_call(served, "fetch", ids=[note["id"]])
    assert "local opened Kelp grows fast." in shown(visitor, "/ui/admin/reads")


@pytest.mark.parametrize("path", ["/ui", "/ui/timeline", "/ui/admin/audit"])
def test_pages_tell_alike_which_key_and_which_secret_was_made_and_revoked(
    served: Served, visitor: httpx2.Client, path: str
) -> None:
    key = agent_call(served, "create_client_key", name="laptop agent", scopes=["read"])
    agent_call(served, "revoke_client_key", id=key["id"])
    project = agent_call(served, "create_project", name="Zoo")
    secret = agent_call(
        served,
        "create_api_key",
        name="Stripe",
        type="api_key",
        value="not-so-secret",
        environment="staging",
        project_id=project["id"],
    )
    agent_call(served, "revoke_api_key", key_id=secret["id"])
    page = shown(visitor, path)
    for deed in ("made the key laptop agent", "revoked the key laptop agent"):
        assert f"local {deed}" in page
    for deed in ("stored the secret Stripe", "revoked the secret Stripe"):
        assert f"local {deed}" in page


@pytest.mark.parametrize("path", ["/ui", "/ui/timeline", "/ui/admin/audit", "/ui/item/{id}"])
def test_pages_tell_alike_what_happened_to_a_memory(
    served: Served, visitor: httpx2.Client, path: str
) -> None:
    id = agent_call(served, "remember", content="Kelp grows.", title="Kelp")["id"]
    agent_call(served, "revise", id=id, tags=["sea"])
    agent_call(served, "forget", id=id)
    page = shown(visitor, path.format(id=id))
    for verb in ("kept", "changed", "forgot"):
        assert f"local {verb} memory Kelp" in page or f"local {verb} it" in page


@pytest.mark.parametrize("path", ["/ui", "/ui/timeline", "/ui/admin/audit", "/ui/item/{id}"])
def test_an_undo_is_marked_as_one(served: Served, visitor: httpx2.Client, path: str) -> None:
    id = agent_call(served, "remember", content="Kelp grows.", title="Kelp")["id"]
    forgotten = agent_call(served, "forget", id=id)
    agent_call(served, "undo_event", event=forgotten["event"])
    page = shown(visitor, path.format(id=id))
    assert re.search("local restored (memory Kelp|it), undoing", page)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/ui", "New items per day: 1 in 30 days, without forgotten ones"),
        ("/ui/timeline", "New items of each of the last 42 days, without forgotten ones"),
    ],
)
def test_a_count_of_what_was_written_says_that_forgotten_items_are_left_out(
    served: Served, visitor: httpx2.Client, path: str, told: str
) -> None:
    agent_call(served, "remember", content="Kelp grows.")
    agent_call(served, "forget", id=agent_call(served, "remember", content="Gulls cry.")["id"])
    assert told in shown(visitor, path)


@pytest.mark.parametrize(
    ("path", "field"),
    [("/ui/admin/audit", "since"), ("/ui/admin/audit", "until"), ("/ui/admin/reads", "since")],
)
def test_a_wrong_date_in_the_address_is_told_beside_its_field(
    visitor: httpx2.Client, path: str, field: str
) -> None:
    answer = visitor.get(path, params={field: "last week"})
    assert answer.status_code == 400
    assert "“last week” is no date. Choose one here." in words(answer.text)
    assert f'name="{field}" type="date" value="" aria-invalid="true"' in answer.text


def test_the_last_day_of_the_audit_counts_whole(served: Served, visitor: httpx2.Client) -> None:
    agent_call(served, "remember", content="Kelp grows.", title="Kelp")
    today = agent_call(served, "activity")["days"][-1]["day"]
    assert "local kept memory Kelp" in shown(visitor, f"/ui/admin/audit?until={today}")


def test_looking_at_an_item_on_the_page_is_not_counted_there_as_reading_it(
    served: Served, visitor: httpx2.Client
) -> None:
    id = agent_call(served, "remember", content="Kelp grows.", title="Kelp")["id"]
    agent_call(served, "fetch", ids=[id])
    agent_call(served, "recall", query="kelp")
    for _ in range(3):
        page = shown(visitor, f"/ui/item/{id}")
    assert "Read 2 times" in page
    assert "local opened it through core fetch" in page
    assert "local found it by a search through core recall" in page
    assert "local opened Kelp on the web page, 3 times" in shown(visitor, "/ui/admin/reads")


def test_the_list_of_keys_tells_in_a_sentence_what_a_key_may_do(
    served: Served, visitor: httpx2.Client
) -> None:
    agent_call(served, "create_client_key", name="all", scopes=["read", "write", "run", "admin"])
    assert "It may read, write, run code, administer." in shown(visitor, "/ui/admin/keys")


def test_the_key_that_one_is_signed_in_with_is_in_use_now(visitor: httpx2.Client) -> None:
    page = shown(visitor, "/ui/admin/keys")
    assert "in use now" in page
    assert "never used" not in page


def test_the_chosen_state_of_keys_is_marked(visitor: httpx2.Client) -> None:
    page = visitor.get("/ui/admin/keys?state=paused").text
    assert re.findall('aria-current="true">([a-z]*)<', page) == ["paused"]
    assert ".choices a[aria-current]" in visitor.get("/ui/static/admin.css").text


@pytest.fixture
def pond(served: Served) -> dict[str, str]:
    """Two linked memories."""
    ids = {
        title: agent_call(served, "remember", content=f"About the {title}.", title=title)["id"]
        for title in ("Water lily", "Dragonfly")
    }
    agent_call(served, "link", source=ids["Dragonfly"], target=ids["Water lily"], type="sits_on")
    return ids


@pytest.mark.parametrize("given", ["Water lily", "lily", "water lily ({})", "{}"])
def test_the_middle_of_the_graph_is_named_by_words_or_an_id(
    visitor: httpx2.Client, pond: dict[str, str], given: str
) -> None:
    around = given.format(pond["Water lily"])
    answer = visitor.get("/ui/graph/data", params={"around": around})
    assert answer.json()["around"] == pond["Water lily"]


def test_a_path_in_the_graph_is_found_between_words(
    visitor: httpx2.Client, pond: dict[str, str]
) -> None:
    assert "1 link." in shown(visitor, "/ui/graph?from=lily&to=dragonfly")


def test_an_end_of_a_path_that_is_not_found_is_told(
    visitor: httpx2.Client, pond: dict[str, str]
) -> None:
    assert "No item fits “zebra”" in shown(visitor, "/ui/graph?from=lily&to=zebra")


def test_linked_items_are_proposed_by_a_part_of_their_names(
    visitor: httpx2.Client, pond: dict[str, str]
) -> None:
    proposed = visitor.get("/ui/graph/items", params={"q": "drag"}).json()
    assert proposed == {"items": [{"id": pond["Dragonfly"], "title": "Dragonfly"}]}


def test_a_graph_without_links_has_no_controls(visitor: httpx2.Client) -> None:
    page = visitor.get("/ui/graph").text
    assert "Nothing here is linked." in page
    assert "graph-form" not in page


def take_in(served: Served, name: str, content: bytes) -> str:
    """Upload a file as an agent does; returns its id."""
    answer = served.http.post(
        "/files",
        files={"file": (name, content)},
        headers={"Authorization": f"Bearer {served.admin}"},
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def test_a_file_tells_what_is_in_it_in_the_right_number(
    served: Served, visitor: httpx2.Client
) -> None:
    id = take_in(served, "otters.txt", b"Otters hold hands.")
    page = shown(visitor, f"/ui/files/{id}")
    assert "In it 1 piece Taken in" in page


def test_a_file_tells_what_is_marked_in_words_that_fit_one_and_several_lines(
    served: Served, visitor: httpx2.Client
) -> None:
    id = take_in(served, "otters.txt", b"Otters hold hands.")
    (hit,) = agent_call(served, "recall", query="otters")["hits"]
    answer = visitor.get(f"/ui/files/{id}", params={"cite": hit["cite"]})
    assert f"Marked below: {hit['cite']}." in words(answer.text)


def test_the_question_before_erasing_ends_with_the_words_of_the_item(
    served: Served, visitor: httpx2.Client
) -> None:
    id = agent_call(served, "remember", content="Kelp grows.")["id"]
    page = shown(visitor, f"/ui/item/{id}/erase")
    assert "You are about to erase this memory: Kelp grows. Its text" in page


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (104_857_600, "100 MiB")],
)
def test_a_size_is_told_in_the_units_in_which_limits_are_set(count: int, told: str) -> None:
    assert size(count) == told


def test_no_wide_piece_is_cut_on_a_phone(page: Page, served: Served) -> None:
    take_in(served, "a-name-of-many-letters-for-otters.txt", b"Otters hold hands.")
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, served, "/ui/files")
    taken_in = page.get_by_role("region", name="Files").locator("time").bounding_box()
    assert taken_in is not None
    assert taken_in["x"] + taken_in["width"] <= 390
    for button in ("Light or dark", "Sign out"):
        box = page.get_by_role("button", name=button).bounding_box()
        assert box is not None
        assert box["height"] <= 36
    search = page.get_by_role("searchbox", name="Search memory")
    assert search.evaluate(IS_PLACEHOLDER_WHOLE)


def test_the_ways_to_search_are_whole_in_their_field(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 1200, "height": 800})
    visit(page, served, "/ui/search?status=active")
    box = page.get_by_label("Search by").bounding_box()
    assert box is not None
    assert box["width"] >= 180


@pytest.mark.parametrize("path", ["/ui/admin/audit", "/ui/timeline"])
def test_the_labels_of_filters_stand_in_one_line(page: Page, served: Served, path: str) -> None:
    page.set_viewport_size({"width": 1200, "height": 800})
    visit(page, served, path)
    labels = page.locator("main .filters label").all()
    tops = {round((label.bounding_box() or {"y": -1})["y"]) for label in labels}
    assert len(tops) == 1
