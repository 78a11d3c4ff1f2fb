"""Requests that no page of ours sends: each is answered in plain words, and holds up nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from memolith.doors.page.decide import MAX_EVENTS, events_of_ranges
from memolith.doors.page.knowledge import MAX_TOPIC_DEPTH, topic_tree
from memolith.doors.page.rendering import MAX_WORK, Comparisons, own_blocks, render, templates
from memolith.doors.page.site import NAVIGATION
from memolith.errors import InvalidInput
from tests.page.sample import fill_sample
from tests.page.visitor import Visitor, agent_call
from tests.programs.served import Served, thread

FAST_S = 5.0
"""Far more than any of these takes, and far less than what they took when they held up others."""


ADMIN_PAGES = ("keys", "projects", "tenants", "vault", "settings", "copies", "audit", "reads")


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    with thread(tmp_path_factory.mktemp("hostile") / "data") as server:
        yield server, fill_sample(server)


@pytest.fixture
def admin(sample: tuple[Served, dict[str, str]]) -> Iterator[Visitor]:
    with Visitor(sample[0]) as visitor:
        yield visitor


def upload(served: Served, name: str, content: bytes) -> str:
    """The id of a file that a program brought."""
    answer = served.http.post(
        "/files",
        files={"file": (name, content)},
        headers={"authorization": f"Bearer {served.admin}"},
    )
    return str(answer.json()["id"])


def repeated(marker: str, count: int) -> str:
    """Every second word is the same one, the hardest case for a comparison."""
    return "".join(f"a {marker}{position} " for position in range(count))


@pytest.mark.parametrize("count", [100, 150, 700, 20_000])
def test_any_two_texts_are_compared_quickly_and_wholly(count: int) -> None:
    comparisons = Comparisons()
    old = repeated("x", count)
    new = repeated("y", count)
    began = time.thread_time()
    for _ in range(20):
        parts = comparisons.difference(old, new)
    assert time.thread_time() - began < FAST_S
    assert "".join(part.text for part in parts if part.change != "added") == old
    assert "".join(part.text for part in parts if part.change != "removed") == new


def test_a_small_change_of_a_long_text_is_shown_by_the_word() -> None:
    words = [f"word{position}" for position in range(MAX_WORK)]
    old = " ".join(words)
    new = old.replace("word5000 ", "other ")
    changed = [part for part in Comparisons().difference(old, new) if part.change != "kept"]
    assert changed == [("removed", "word5000 "), ("added", "other ")]


def test_changes_far_apart_in_a_long_text_are_shown_by_the_sentence() -> None:
    sentences = [f"This is the sentence with the number {number}. " for number in range(200)]
    old = "".join(sentences)
    new = "First. " + "".join(sentences[1:-1]) + "Last."
    changed = [part for part in Comparisons().difference(old, new) if part.change != "kept"]
    assert len(changed) == 4
    assert sum(len(part.text) for part in changed) < 120


def test_a_page_that_takes_long_holds_up_nobody(
    sample: tuple[Served, dict[str, str]], admin: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, ids = sample
    is_rendering = threading.Event()
    go_on = threading.Event()

    def slow(*_: object) -> str:
        is_rendering.set()
        assert go_on.wait(60)
        return "rendered"

    monkeypatch.setattr("memolith.doors.page.site.render", slow)
    answers: list[httpx2.Response] = []
    visit = threading.Thread(target=lambda: answers.append(admin.get(f"/ui/item/{ids['home']}")))
    visit.start()
    assert is_rendering.wait(60)
    assert served.ask("GET", "/health").status_code == 200
    go_on.set()
    visit.join()
    assert answers[0].text == "rendered"


def test_every_block_of_every_page_is_shown_by_itself_and_an_unknown_one_is_the_page(
    sample: tuple[Served, dict[str, str]], admin: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, ids = sample
    document = upload(served, "notes.txt", b"The boiler is serviced in September.")
    paths = [
        *(entry.path for entry in NAVIGATION if entry.path != "/ui/admin"),
        *(f"/ui/admin/{name}" for name in ADMIN_PAGES),
        "/ui/sign-in",
        "/ui/search?q=tea",
        "/ui/context?q=tea",
        f"/ui/item/{ids['home']}",
        f"/ui/item/{ids['home']}/erase",
        f"/ui/compare?first={ids['home']}&second={ids['billing']}",
        f"/ui/knowledge/concept/{ids['concept']}",
        f"/ui/files/{document}",
        "/ui/prompts/prompt/review",
        "/ui/prompts/prompt/review/edit",
        "/ui/prompts/new",
    ]
    shown: set[str] = set()

    def recorded(name: str, values: dict[str, Any], part: str = "") -> str:
        shown.add(name)
        for block in own_blocks(name):
            render(name, values, block)
        assert render(name, values, "no such block") == render(name, values)
        return render(name, values, part)

    monkeypatch.setattr("memolith.doors.page.site.render", recorded)
    answers = {path: admin.get(path, X_Part="nonsense").status_code for path in paths}
    assert set(answers.values()) == {200}, answers
    with_blocks = {name for name in templates().list_templates() if own_blocks(name)}
    assert with_blocks <= shown


@pytest.mark.parametrize(
    "name", ["x" * 300 + ".js", "..%2fsite.py", "%00.css", "none.js", "a/b.js"]
)
def test_a_file_that_the_page_does_not_have_is_not_found(
    sample: tuple[Served, dict[str, str]], name: str
) -> None:
    assert sample[0].ask("GET", f"/ui/static/{name}").status_code == 404


def multipart(key: bytes) -> bytes:
    return b'--b\r\ncontent-disposition: form-data; name="key"\r\n\r\n' + key + b"\r\n--b--\r\n"


@pytest.mark.parametrize("charset", ["unicode_escape", "undefined", "utf-7", "idna", "nonsense"])
def test_a_form_in_a_strange_charset_is_refused(
    sample: tuple[Served, dict[str, str]], charset: str
) -> None:
    answer = sample[0].ask(
        "POST",
        "/ui/sign-in",
        body=multipart(b"\\ud800\\x"),
        Content_Type=f"multipart/form-data; boundary=b; charset={charset}",
    )
    assert answer.status_code == 400
    assert "Send the form in UTF-8" in answer.text


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data; boundary=b", multipart(b"key")[:-20]),
        ("multipart/form-data; boundary=b", b"nothing of the kind"),
        ("multipart/form-data; boundary=b", multipart(b"a\x00b")),
        ("multipart/form-data", multipart(b"key")),
        ("application/x-www-form-urlencoded", b"key=a%00b"),
        ("application/x-www-form-urlencoded", b"a&" * 2000),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(
    sample: tuple[Served, dict[str, str]], content_type: str, body: bytes
) -> None:
    answer = sample[0].ask("POST", "/ui/sign-in", body=body, Content_Type=content_type)
    assert answer.status_code in (400, 401)


def test_ranges_of_events_are_counted_before_they_are_listed() -> None:
    with pytest.raises(InvalidInput, match="At most 500 events"):
        events_of_ranges(",".join(["1-500"] * 1_000_000))
    assert len(events_of_ranges("1-250,300-549")) == MAX_EVENTS


def test_only_who_may_undo_is_asked_what(sample: tuple[Served, dict[str, str]]) -> None:
    with Visitor(sample[0], sample[0].key("reader", "local", "read")) as reader:
        answer = reader.post("/ui/decide/undo", events="nonsense")
    assert answer.status_code == 403


@pytest.mark.parametrize("days", ["9999999", "0", "8", "-7", "x", "9" * 30])
def test_a_key_lives_as_long_as_one_of_the_choices(admin: Visitor, days: str) -> None:
    answer = admin.post("/ui/admin/keys", name="long", scope="read", lifetime=days)
    assert answer.status_code == 400
    assert "Choose one of the lifetimes" in answer.text


@pytest.mark.parametrize("depth", [150, 900, 200_000])
def test_json_that_is_nested_deeply_breaks_no_page(admin: Visitor, depth: int) -> None:
    for nested in ("[" * depth, "[" * depth + "]" * depth):
        decided = admin.post("/ui/decide", pair=nested, decision="keep_both")
        assert decided.status_code == 400
        preview = admin.post(
            "/ui/prompts/preview", kind="prompt", content="{{a}}", default__a=nested
        )
        assert preview.status_code in (200, 400)


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        ("prompt", {"variables": 5}),
        ("prompt", {"description": ["x"]}),
        ("template", {"variables": [3]}),
        ("topic", {"parent_topic_id": [1]}),
        ("topic", {"description": {"a": 1}}),
        ("concept", {"area": 5}),
        ("concept", {"certainty_score": "high"}),
        ("entity", {"aliases": "one"}),
        ("entity", {"properties": []}),
        ("project", {"members": [1]}),
    ],
)
def test_attributes_that_a_kind_relies_on_have_the_right_type(
    sample: tuple[Served, dict[str, str]], kind: str, metadata: dict[str, Any]
) -> None:
    answer = sample[0].tool(
        "remember", {"content": "Junk.", "title": "junk", "kind": kind, "metadata": metadata}
    )
    assert answer.status_code == 400
    assert f"of a {kind} must be" in answer.text


def test_variables_that_are_none_are_passed_over(
    sample: tuple[Served, dict[str, str]], admin: Visitor
) -> None:
    variables = [{"nonsense": 1}, {"name": "no name!"}, {"name": "a", "description": 5}]
    for kind in ("prompt", "template"):
        agent_call(
            sample[0],
            "remember",
            content="Hello {{a}}.",
            title="odd",
            kind=kind,
            metadata={"variables": [*variables, {"name": "good"}]},
        )
        for path in ("/ui/prompts", f"/ui/prompts/{kind}/odd", f"/ui/prompts/{kind}/odd/edit"):
            assert admin.get(path).status_code == 200, path


def test_topics_below_topics_are_shown_however_deep(
    sample: tuple[Served, dict[str, str]], admin: Visitor
) -> None:
    parent = agent_call(sample[0], "create_topic", name="level 0")["id"]
    for level in range(1, 30):
        parent = agent_call(
            sample[0], "create_topic", name=f"level {level}", parent_topic_id=parent
        )["id"]
    shown = admin.get("/ui/knowledge")
    assert shown.status_code == 200
    assert "level 29" in shown.text


def test_a_tree_of_topics_has_all_topics_and_is_never_too_deep() -> None:
    topics = [{"id": str(number), "parent_topic_id": str(number - 1)} for number in range(5000)]
    tree = topic_tree(topics)
    count = 0
    depth = 0
    while tree:
        count += len(tree)
        depth += 1
        tree = [below for node in tree for below in node["below"]]
    assert (count, depth) == (5000, MAX_TOPIC_DEPTH)


def test_a_page_before_that_is_no_address_is_left_out_of_an_error(admin: Visitor) -> None:
    answer = admin.http.post("/ui/sign-out", headers={"referer": "http://["})
    assert answer.status_code == 403
    assert "This form is out of date" in answer.text
