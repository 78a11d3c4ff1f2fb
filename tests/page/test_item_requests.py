"""Forms of the page of an item, and what is shown around it, as a browser without scripts asks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx2
import pytest

from memolith.doors.page.items import meant_by
from tests.page.visitor import Visitor, agent_call
from tests.programs.served import Served


@pytest.fixture
def visitor(served: Served) -> Iterator[Visitor]:
    with Visitor(served) as admin:
        yield admin


def keep(served: Served, content: str, **fields: object) -> str:
    """The id of a new memory."""
    return str(agent_call(served, "remember", content=content, **fields)["id"])


@pytest.fixture
def keys(served: Served) -> tuple[str, str]:
    """Two items that say the same, the older one first."""
    text = "The cellar key hangs on the hook by the back door, under the old lamp."
    return keep(served, text), keep(served, text)


def content_of(served: Served, id: str) -> str:
    (item,) = agent_call(served, "fetch", ids=[id])["items"]
    return str(item["content"])


def words(answer: httpx2.Response) -> str:
    """What a page says, without its tags and in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", answer.text)).split())


def hidden_field(answer: httpx2.Response, name: str) -> str:
    found = re.search(rf'type="hidden" name="{name}" value="([^"]*)"', answer.text)
    assert found is not None
    return found[1]


def changed_by_two(served: Served, visitor: Visitor) -> tuple[str, httpx2.Response]:
    """An item that somebody else changes before a correction is sent, and the answer to that."""
    id = keep(served, "Otters weigh 30 kilos.", title="Otters")
    agent_call(served, "revise", id=id, content="Otters weigh 31 kilos.")
    answer = visitor.post(
        f"/ui/item/{id}/revise", title="Otters", content="Otters weigh 32 kilos.", version="1"
    )
    return id, answer


def test_a_correction_that_came_too_late_keeps_what_was_typed_and_shows_the_other(
    served: Served, visitor: Visitor
) -> None:
    id, answer = changed_by_two(served, visitor)
    assert answer.status_code == 409
    assert '<details class="editor" id="revise" open>' in answer.text
    assert ">Otters weigh 32 kilos.</textarea>" in answer.text
    assert "<del>31 </del><ins>32 </ins>" in answer.text
    assert "Somebody changed this item while you wrote." in answer.text
    assert "expected_version" not in answer.text
    assert content_of(served, id) == "Otters weigh 31 kilos."


def test_a_correction_that_came_too_late_can_be_saved_on_top(
    served: Served, visitor: Visitor
) -> None:
    id, answer = changed_by_two(served, visitor)
    version = hidden_field(answer, "version")
    fields = {"title": "Otters", "content": "Otters weigh 32 kilos.", "version": version}
    saved = visitor.post(f"/ui/item/{id}/revise", **fields)
    assert saved.status_code == 303
    assert content_of(served, id) == "Otters weigh 32 kilos."


def test_an_undo_beside_a_refused_correction_returns_to_the_item(
    served: Served, visitor: Visitor
) -> None:
    id, answer = changed_by_two(served, visitor)
    assert f'name="back" value="/ui/item/{id}"' in answer.text


def test_a_saved_text_has_the_line_ends_that_it_had_before(
    served: Served, visitor: Visitor
) -> None:
    id = keep(served, "One.\nTwo.", title="Lines")
    visitor.post(f"/ui/item/{id}/revise", title="Lines", content="One.\r\nThree.", version="1")
    assert content_of(served, id) == "One.\nThree."


def linked_to(served: Served, id: str) -> list[tuple[str, str]]:
    """The types of the links of an item, and the titles of the other ends."""
    links = agent_call(served, "show_item", id=id)["links"]
    return [(link["type"], link["title"]) for link in links]


def test_the_question_which_item_is_meant_gets_the_focus(served: Served, visitor: Visitor) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    for title in ("Kelp forest", "Kelp soup"):
        keep(served, f"{title} is green.", title=title)
    answer = visitor.post(f"/ui/item/{id}/link", target="kelp", type="about")
    assert re.search(r"<p [^>]*autofocus>Which item do you mean\?", answer.text)


def test_words_of_one_item_alone_link_to_it_at_once(served: Served, visitor: Visitor) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    keep(served, "Kelp forest is green.", title="Kelp forest")
    answer = visitor.post(f"/ui/item/{id}/link", target="kelp", type="about")
    assert answer.status_code == 303
    assert linked_to(served, id) == [("about", "Kelp forest")]


def test_an_item_without_the_words_is_proposed_and_not_linked() -> None:
    candidates = [{"id": "one", "title": "Kelp forest", "has_words": False}]
    assert meant_by("seaweed", candidates) == ""


def test_a_relation_of_several_words_is_joined(served: Served, visitor: Visitor) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    keep(served, "Kelp forest is green.", title="Kelp forest")
    visitor.post(f"/ui/item/{id}/link", target="kelp forest", type="depends on ")
    assert linked_to(served, id) == [("depends_on", "Kelp forest")]


def test_a_wrong_relation_is_told_before_it_is_asked_which_item_is_meant(
    served: Served, visitor: Visitor
) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    for title in ("Kelp forest", "Kelp soup"):
        keep(served, f"{title} is green.", title=title)
    answer = visitor.post(f"/ui/item/{id}/link", target="kelp", type="depends on/at")
    assert answer.status_code == 400
    assert "How they are related takes letters" in answer.text
    assert 'name="target" value="kelp"' in answer.text
    assert 'name="type" value="depends on/at"' in answer.text


def test_a_forgotten_item_tells_how_a_search_finds_it(served: Served, visitor: Visitor) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    told = visitor.get(visitor.post(f"/ui/item/{id}/forget").headers["location"])
    hidden = "This item is forgotten: hidden from searches, unless you choose the status forgotten."
    assert hidden in words(told)
    found = visitor.get("/ui/search?status=forgotten&q=otters")
    assert f"/ui/item/{id}" in found.text


def test_the_filter_by_status_says_what_it_leaves_out(visitor: Visitor) -> None:
    assert '<option value="">all but forgotten</option>' in visitor.get("/ui/search").text


def test_an_item_that_waits_for_a_decision_is_not_called_replaced(
    served: Served, visitor: Visitor
) -> None:
    old = keep(served, "The public API allows 600 requests per minute.")
    new = keep(served, "The public API allows 900 requests per minute.")
    with served.app.store.writing("local") as rows:
        rows.put_superseded(old, new, "2026-11-16", 0.93, "number: 600 became 900")
    shown = visitor.get(f"/ui/item/{old}")
    assert "seems replaced, not decided yet: To decide" in words(shown)
    agent_call(served, "link", source=old, target=new, type="DistinctFrom")
    assert "seems replaced" not in visitor.get(f"/ui/item/{old}").text


def test_the_undo_of_the_first_event_says_that_it_forgets(served: Served, visitor: Visitor) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    agent_call(served, "revise", id=id, title="Sleep")
    shown = visitor.get(f"/ui/item/{id}").text
    assert shown.count(">Undo: forget it</button>") == 1
    assert shown.count(">Undo</button>") == 1


def test_what_was_undone_can_be_undone(served: Served, visitor: Visitor) -> None:
    here = f"/ui/item/{keep(served, 'Otters sleep.', title='Otters')}"
    undone = visitor.post("/ui/undo", event=1, back=here).headers["location"]
    assert "This item is forgotten" in visitor.get(undone).text
    offered = httpx2.URL(undone).params["event"]
    visitor.post("/ui/undo", event=offered, back=here)
    assert "This item is forgotten" not in visitor.get(here).text


def test_a_decision_that_was_undone_can_be_taken_again(
    keys: tuple[str, str], served: Served, visitor: Visitor
) -> None:
    first, second = keys
    decided = visitor.post("/ui/decide", first=first, second=second, decision="keep_first")
    events = httpx2.URL(decided.headers["location"]).params["events"]
    undone = visitor.post("/ui/decide/undo", events=events)
    again = httpx2.URL(undone.headers["location"]).params["events"]
    visitor.post("/ui/decide/undo", events=again)
    assert agent_call(served, "show_item", id=second)["forgotten"]


def compared(visitor: Visitor) -> httpx2.Response:
    """The page that compares the only pair that waits for a decision."""
    found = re.search(r'href="(/ui/compare[^"]*)"', visitor.get("/ui/decide?kind=duplicate").text)
    assert found is not None
    return visitor.get(html.unescape(found[1]))


def test_a_pair_that_waits_is_compared_by_age_and_leads_back(
    keys: tuple[str, str], visitor: Visitor
) -> None:
    shown = compared(visitor)
    assert "Only in the older · only in the newer" in words(shown)
    assert 'href="/ui/decide?kind=duplicate"' in shown.text
    assert re.findall('name="decision" value="([^"]*)"', shown.text) == [
        "keep_first",
        "keep_second",
        "keep_both",
    ]


def test_a_pair_that_was_compared_is_decided_on_the_page_that_it_came_from(
    keys: tuple[str, str], visitor: Visitor, served: Served
) -> None:
    shown = compared(visitor)
    fields = {name: hidden_field(shown, name) for name in ("first", "second", "kind")}
    answer = visitor.post("/ui/decide", **fields, decision="keep_second")
    assert answer.headers["location"].startswith("/ui/decide?done=decided&kind=duplicate&events=")
    assert agent_call(served, "show_item", id=keys[0])["forgotten"]


def test_what_changes_an_item_stands_right_below_its_title(
    served: Served, visitor: Visitor
) -> None:
    id = keep(served, "Otters sleep.", title="Otters")
    shown = visitor.get(f"/ui/item/{id}").text
    places = [shown.index(mark) for mark in ("<h1>", ">Revise<", ">Tag<", ">Forget<", "About it<")]
    assert places == sorted(places)
