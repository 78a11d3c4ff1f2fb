"""The page of the graph: a picture to walk through, and lists that do the same by keyboard."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.page_graph import WANTED_FRAMES_PER_S, fill, measure, open_graph
from playwright.sync_api import Browser, Locator, Page, expect

from tests.page.browser import Axe, Record
from tests.page.hostility import EVERYTHING
from tests.page.visitor import agent_call, visit
from tests.programs.children import wait_for
from tests.programs.served import Served

CHAIN = ("Seed", "Sprout", "Tree", "Forest")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def garden(served: Served) -> dict[str, str]:
    """The ids of a chain of concepts, and of a memory and an entity beside it."""
    ids = {}
    for name in CHAIN:
        made = agent_call(served, "remember", kind="concept", title=name, content=f"About {name}.")
        ids[name] = str(made["id"])
    for first, second in pairwise(CHAIN):
        agent_call(served, "link", source=ids[first], target=ids[second], type="becomes")
    ids["note"] = str(agent_call(served, "remember", content="The oak is old.")["id"])
    agent_call(served, "link", source=ids["note"], target=ids["Tree"], type="about")
    ids["Maria"] = str(
        agent_call(served, "remember", kind="entity", title="Maria", content="A gardener.")["id"]
    )
    agent_call(served, "link", source=ids["Maria"], target=ids["Tree"], type="planted")
    return ids


def wait_for_picture(page: Page) -> None:
    """Until everything has its place."""
    expect(page.locator("body[data-graph-state=done]")).to_be_visible()


def still_picture(canvas: Locator) -> bytes:
    """What the canvas shows when nothing moves any more."""
    shown = [canvas.screenshot()]

    def is_still() -> bool:
        shown.append(canvas.screenshot())
        return shown[-1] == shown[-2]

    wait_for(is_still)
    return shown[-1]


def test_the_graph_is_drawn_and_listed_the_best_connected_first(
    page: Page, served: Served, garden: dict[str, str], record: Record
) -> None:
    visit(page, served, "/ui/graph")
    expect(page.locator("#graph-status")).to_have_text("Drawn: 6 items of 6, 5 links.")
    wait_for_picture(page)
    first = page.get_by_role("region", name="Items", exact=True).get_by_role("row").nth(1)
    expect(first).to_contain_text("Tree")
    expect(first).to_contain_text("4")
    assert record.errors == []
    assert all(request.startswith(served.url) for request in record.requests)


def test_a_click_chooses_an_item_whose_panel_leads_on(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    page.get_by_label("Find in the picture").fill("sprout")
    page.get_by_label("Find in the picture").press("Enter")
    canvas = page.locator("#canvas")
    box = canvas.bounding_box()
    assert box is not None
    panel = page.get_by_role("region", name="Chosen item")
    expect(panel).to_contain_text("Sprout")
    canvas.press("Escape")
    expect(panel).to_contain_text("Choose an item")
    # What was found stands in the middle.
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(panel.get_by_role("heading")).to_have_text("Sprout")
    expect(panel).to_contain_text("concept. 2 of 2 links are drawn.")
    panel.get_by_role("button", name="Tree").click()
    expect(panel.get_by_role("heading")).to_have_text("Tree")
    panel.get_by_role("link", name="Open the item").click()
    expect(page).to_have_url(f"{served.url}/ui/item/{garden['Tree']}")


def test_dragging_and_the_wheel_move_the_picture(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    canvas = page.locator("#canvas")
    box = canvas.bounding_box()
    assert box is not None
    before = canvas.screenshot()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 90, steps=3)
    page.mouse.up()
    wait_for(lambda: canvas.screenshot() != before)
    moved = still_picture(canvas)
    page.mouse.wheel(0, -300)
    wait_for(lambda: canvas.screenshot() != moved)


def test_expanding_adds_what_is_around_an_item(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, f"/ui/graph?around={garden['Seed']}")
    expect(page.locator("#graph-status")).to_have_text("Drawn: 2 items of 2, 1 link.")
    page.get_by_role("link", name="Show Sprout").click()
    panel = page.get_by_role("region", name="Chosen item")
    expect(panel).to_contain_text("1 of 2 links are drawn")
    panel.get_by_role("button", name="Expand").click()
    expect(page.locator("#graph-status")).to_contain_text("1 more.")
    expect(panel).to_contain_text("2 of 2 links are drawn")
    expect(panel.get_by_role("button", name="Tree")).to_be_visible()


def test_types_and_names_limit_what_is_shown(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph")
    status = page.locator("#graph-status")
    expect(status).to_contain_text("6 items")
    page.get_by_text("Types of items and of links").click()
    page.get_by_role("checkbox", name=re.compile("concept")).check()
    expect(status).to_have_text("Drawn: 4 items of 4, 3 links.")
    expect(page.get_by_role("region", name="Items", exact=True)).not_to_contain_text("Maria")
    page.get_by_role("checkbox", name=re.compile("concept")).uncheck()
    page.get_by_role("checkbox", name=re.compile("planted")).check()
    expect(status).to_have_text("Drawn: 2 items of 2, 1 link.")
    page.get_by_role("checkbox", name=re.compile("planted")).uncheck()
    page.get_by_label("Name contains").fill("tree")
    expect(status).to_have_text("Drawn: 1 item of 1, 0 links.")
    # The address shows the same to somebody else.
    assert "q=tree" in page.url


def test_the_shortest_path_is_found_by_the_list(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    page.get_by_role("link", name="Path from Seed").click()
    expect(page.locator("#graph-status")).to_have_text("Now choose where the path leads to.")
    page.get_by_role("link", name="Path to Forest").click()
    stops = page.locator("[data-path] > li")
    expect(stops).to_have_count(4)
    expect(stops.first).to_contain_text("Seed")
    expect(page.locator("#to-name")).to_have_text("Forest")
    page.get_by_label("Links at most").fill("2")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#path-result")).to_contain_text("no path of at most 2 links")


def test_the_picture_is_saved_as_svg(
    page: Page, served: Served, garden: dict[str, str], tmp_path: Path
) -> None:
    agent_call(served, "revise", id=garden["Maria"], title='<Maria> & "Zoë"')
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as SVG").click()
    assert saved.value.suggested_filename == "memolith-graph.svg"
    saved.value.save_as(tmp_path / "graph.svg")
    root = ElementTree.parse(tmp_path / "graph.svg").getroot()
    assert len(root.findall(f".//{SVG}line")) == 5
    assert len(root.findall(f".//{SVG}circle")) == 6
    names = {text.text for text in root.findall(f".//{SVG}text")}
    assert {"Seed", "Forest", '<Maria> & "Zoë"'} <= names
    places = {(circle.get("cx"), circle.get("cy")) for circle in root.findall(f".//{SVG}circle")}
    assert len(places) == 6


def test_everything_works_by_keyboard(page: Page, served: Served, garden: dict[str, str]) -> None:
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    canvas = page.locator("#canvas")
    before = canvas.screenshot()
    for key in ("ArrowLeft", "ArrowUp", "+", "+"):
        canvas.press(key)
    wait_for(lambda: canvas.screenshot() != before)
    canvas.press("0")
    canvas.press("Enter")
    panel = page.get_by_role("region", name="Chosen item")
    expect(panel.get_by_role("heading")).to_be_visible()
    # The list leads into the panel, and the panel is next in the order of the Tab key.
    page.get_by_role("link", name="Show Seed").focus()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("heading")).to_have_text("Seed")
    expect(panel).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel.get_by_role("link", name="Open the item")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("From the item")).to_have_value(garden["Seed"])


def test_the_lists_do_without_scripts(
    browser: Browser, served: Served, garden: dict[str, str]
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        visit(page, served, "/ui/graph")
        expect(page.locator("#canvas")).to_be_hidden()
        page.get_by_role("link", name="Show Seed").click()
        expect(page.get_by_role("region", name="Items", exact=True)).to_contain_text("Sprout")
        expect(page.get_by_role("region", name="Links", exact=True)).to_contain_text("becomes")
        page.get_by_role("link", name="Show all again").click()
        page.get_by_role("link", name="Path from Seed").click()
        expect(page.locator("#from-name")).to_have_text("Seed")
        page.get_by_role("link", name="Path to Tree").click()
        expect(page.locator("[data-path] > li")).to_have_count(3)


LABEL_END = """async () => {
    const { Drawing, Model, radiusOf } = await import("/ui/static/graph_canvas.js");
    const drawing = new Drawing(document.getElementById("canvas"), () => {}, () => {});
    const model = new Model();
    const name = "A name of many, many letters";
    model.add([{ id: "left", name, links: 1 }, { id: "right", name, links: 1 }], []);
    model.xs.set([0, 1000]);
    model.ys.set([0, 1]);
    drawing.setModel(model);
    drawing.fit();
    const { context } = drawing;
    context.font = "12px system-ui, sans-serif";
    const place = 1000 * drawing.scale + drawing.shiftX + radiusOf(model.nodes[1]);
    return (place + context.measureText(name).width) / drawing.width;
}"""


def test_the_fitting_picture_has_the_labels_in_it(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph")
    wait_for_picture(page)
    assert page.evaluate(LABEL_END) <= 1


def test_long_lists_have_pages(page: Page, served: Served) -> None:
    hub = agent_call(served, "remember", kind="concept", title="Hub", content="In the middle.")[
        "id"
    ]
    for number in range(52):
        made = agent_call(served, "remember", kind="entity", title=f"Spoke {number}", content="x")
        agent_call(served, "link", source=hub, target=made["id"], type="has")
    visit(page, served, "/ui/graph")
    rows = page.get_by_role("region", name="Items", exact=True).get_by_role("row")
    expect(rows).to_have_count(51)
    page.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(4)
    expect(page.get_by_text("51 to 53 of 53")).to_be_visible()


def test_an_empty_graph_and_an_unknown_item_are_told_in_words(page: Page, served: Served) -> None:
    visit(page, served, "/ui/graph")
    expect(page.get_by_text("Nothing here is linked.")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("textbox")).to_have_count(0)
    page.goto(f"{served.url}/ui/graph?around=nobody")
    expect(page.get_by_role("alert")).to_contain_text("No item fits")


def test_links_of_others_are_announced(page: Page, served: Served, garden: dict[str, str]) -> None:
    visit(page, served, "/ui/graph")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.locator("#graph-status")).to_contain_text("Drawn: 6 items")
    agent_call(served, "link", source=garden["Seed"], target=garden["Maria"], type="known_by")
    expect(page.locator("#graph-status")).to_contain_text("Press Show to see them")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#graph-status")).to_have_text("Drawn: 6 items of 6, 6 links.")


def test_nothing_grave_is_found_in_light_dark_and_on_a_phone(
    page: Page, served: Served, garden: dict[str, str], axe: Axe
) -> None:
    visit(
        page,
        served,
        f"/ui/graph?around={garden['Tree']}&from={garden['Seed']}&to={garden['Maria']}",
    )
    expect(page.get_by_role("region", name="Chosen item")).to_contain_text("Tree")
    assert axe.check(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe.check(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert axe.check(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_hostile_names_and_types_do_no_harm(page: Page, served: Served, record: Record) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    first = agent_call(served, "remember", kind="concept", title=EVERYTHING[:400], content="x")[
        "id"
    ]
    second = agent_call(served, "remember", content=EVERYTHING)["id"]
    agent_call(served, "link", source=first, target=second, type="about")
    visit(page, served, f"/ui/graph?around={first}&from={first}&to={second}&q=%3Cscript%3E")
    page.goto(f"{served.url}/ui/graph?around={first}&from={first}&to={second}")
    wait_for_picture(page)
    page.get_by_label("Find in the picture").fill("<script>")
    page.get_by_label("Find in the picture").press("Enter")
    page.get_by_role("region", name="Chosen item").get_by_role("button", name="Expand").click()
    expect(page.locator("#graph-status")).to_contain_text("0 more.")
    with page.expect_download():
        page.get_by_role("button", name="Save as SVG").click()
    assert page.evaluate("() => window.harmed ?? null") is None
    assert (record.errors, dialogs) == ([], [])
    assert all(request.startswith((served.url, "blob:")) for request in record.requests)


def test_a_key_that_only_reads_sees_its_own_graph(
    page: Page, served: Served, garden: dict[str, str]
) -> None:
    visit(page, served, "/ui/graph", served.key("ann", "local", "read"))
    expect(page.get_by_text("Nothing here is linked.")).to_be_visible()
    page.goto(f"{served.url}/ui/graph?around={garden['Seed']}")
    expect(page.get_by_role("alert")).to_contain_text("No item fits")


@pytest.mark.full
def test_5000_nodes_move_fluently(page: Page, served: Served) -> None:
    fill(served)
    page.set_viewport_size({"width": 1280, "height": 900})
    open_graph(page, served)
    for action in ("pan", "zoom"):
        assert measure(page, action).per_s > WANTED_FRAMES_PER_S
