"""The pages of files: taking them in, reading them, running code over them, deleting and undo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.browser import Axe, Record
from tests.page.looks import HOSTILE, assert_harmless, assert_open_to_all, refuse_dialogs
from tests.page.visitor import agent_call, visit
from tests.programs.served import Served, thread

FILES = Path(__file__).parents[1] / "files"
DROP = """([names, texts]) => {
    const carried = new DataTransfer();
    names.forEach((name, number) => carried.items.add(new File([texts[number]], name)));
    const drop = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
    document.getElementById("upload").dispatchEvent(drop);
}"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server whose runners load nothing ahead, because here they only start."""
    with thread(tmp_path / "data", runner_preload=()) as server:
        yield server


def take_in(served: Served, name: str, content: bytes | None = None) -> str:
    """Upload a file as an agent does; returns its id."""
    data = content if content is not None else (FILES / name).read_bytes()
    answer = served.http.post(
        "/files",
        files={"file": (name, data)},
        headers={"Authorization": f"Bearer {served.admin}"},
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def test_several_files_are_taken_in_and_a_bad_one_is_told(
    page: Page, served: Served, record: Record, axe: Axe
) -> None:
    dialogs = refuse_dialogs(page)
    visit(page, served, "/ui/files")
    expect(page.get_by_text("No file yet.")).to_be_visible()
    names = ["book.xlsx", "garbage.pdf", "notes.md"]
    page.get_by_label("Choose files").set_input_files([FILES / name for name in names])
    page.get_by_role("button", name="Take in").click()
    lines = page.locator("#uploads li")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("taken in")
    expect(lines.nth(0)).to_contain_text("Hidden sheets are searched too")
    expect(lines.nth(1)).to_contain_text("The PDF is damaged and cannot be opened.")
    expect(lines.nth(2)).to_contain_text("taken in")
    expect(page.get_by_text("2 files, the newest first")).to_be_visible()
    assert_open_to_all(page, axe)
    page.get_by_role("region", name="Files").get_by_role("link", name="notes.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("notes.md")
    assert_harmless(record, served, dialogs)


def test_files_are_dropped_and_known_ones_are_recognised(page: Page, served: Served) -> None:
    visit(page, served, "/ui/files")
    expect(page.get_by_text("or drop them here")).to_be_visible()
    page.evaluate(DROP, [["a.txt", "b.txt"], ["Otters hold hands.", "Otters hold hands."]])
    lines = page.locator("#uploads li")
    expect(lines.nth(0)).to_contain_text("taken in")
    expect(lines.nth(1)).to_contain_text("was taken in before")
    expect(page.get_by_text("1 file, the newest first")).to_be_visible()


def test_a_form_without_scripts_takes_a_file(context: BrowserContext, served: Served) -> None:
    browser = context.browser
    assert browser is not None
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    visit(page, served, "/ui/files")
    page.get_by_label("Choose files").set_input_files(FILES / "notes.md")
    page.get_by_role("button", name="Take in").click()
    expect(page.get_by_text("Taken in.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("notes.md")
    plain.close()


def test_files_are_found_by_name(page: Page, served: Served) -> None:
    take_in(served, "notes.md")
    take_in(served, "data.csv")
    visit(page, served, "/ui/files")
    page.get_by_label("Name contains").fill("note")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 file, the newest first")).to_be_visible()


def test_a_sheet_is_a_table_with_the_cited_cells_marked(
    page: Page, served: Served, axe: Axe
) -> None:
    id = take_in(served, "book.xlsx")
    visit(page, served, f"/ui/files/{id}?cite=Sales+2024!B3")
    sheet = page.locator("#cited")
    expect(sheet.get_by_role("heading")).to_contain_text("Sales 2024")
    expect(sheet.locator("td.cited")).to_have_text(["2024-01-02"])
    expect(sheet.get_by_role("row", name="3 South 2024-01-02")).to_be_visible()
    expect(page.locator("#summary + p")).to_contain_text("200 rows")
    assert_open_to_all(page, axe)


def test_a_page_is_text_and_the_cited_one_is_marked(page: Page, served: Served) -> None:
    id = take_in(served, "report.pdf")
    visit(page, served, f"/ui/files/{id}?cite=page+2")
    expect(page.locator("#cited")).to_have_class(re.compile("cited"))
    expect(page.locator("#cited h3")).to_contain_text("page 2")
    page.goto(f"{served.url}/ui/files/{id}?cite=page+99")
    expect(page.get_by_text("page 99 is not in this file")).to_be_visible()


def test_a_hit_of_a_search_leads_to_its_place_in_the_file(page: Page, served: Served) -> None:
    text = (
        "# Otters\n\nOtters hold hands while they sleep.\n\n# Keys\n\nThe key hangs by the door.\n"
    )
    take_in(served, "animals.md", text.encode())
    visit(page, served, "/ui/search?q=key+hangs+by+the+door")
    page.get_by_role("link", name="Keys", exact=True).click()
    expect(page.locator("#cited")).to_contain_text("The key hangs by the door.")


def test_a_big_file_comes_in_pages(page: Page, served: Served) -> None:
    rows = "\n".join(f"{number},{'word ' * 20}{number}" for number in range(2000))
    id = take_in(served, "big.csv", f"number,text\n{rows}\n".encode())
    visit(page, served, f"/ui/files/{id}")
    expect(page.get_by_text(re.compile("Pieces 1 to 50 of"))).to_be_visible()
    page.get_by_role("link", name="After").click()
    expect(page.get_by_text(re.compile("Pieces 51 to 100 of"))).to_be_visible()
    page.goto(f"{served.url}/ui/files/{id}?cite=A1500")
    expect(page.locator("td.cited")).to_have_text(["1498"])


def test_a_file_is_deleted_and_comes_back(page: Page, served: Served) -> None:
    id = take_in(served, "notes.md")
    visit(page, served, f"/ui/files/{id}")
    page.get_by_role("button", name="Read it again").click()
    expect(page.get_by_text("Read again.")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    expect(page.get_by_text("No file yet.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="notes.md")).to_be_visible()
    assert agent_call(served, "list_files")["total"] == 1


def test_code_runs_over_a_file_and_keeps_its_variables(page: Page, served: Served) -> None:
    id = take_in(served, "notes.md")
    visit(page, served, f"/ui/files/{id}")
    code = page.get_by_label("Code")
    expect(code).to_have_value(re.compile(f"get_memory_path\\('{id}', 'notes.md'\\)"))
    code.fill(f"text = open(get_memory_path('{id}', 'notes.md')).read()\nprint(len(text))")
    code.press("Control+Enter")
    expect(page.get_by_label("Output")).to_have_text(str(len((FILES / "notes.md").read_text())))
    expect(page.locator("#run-result")).to_contain_text(re.compile(r"Done in [\d,]+ ms"))
    code.fill("print(text[:3].upper() + '!')\n1 / 0")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("Error", exact=True)).to_contain_text("ZeroDivisionError")
    expect(page.get_by_label("Output")).to_contain_text("!")


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [("otters.csv", b"name,kilos\nAnna,30\n", "['Anna', '30']"), ("book.xlsx", None, "[")],
)
def test_the_code_that_is_offered_runs(
    page: Page, served: Served, name: str, content: bytes | None, shown: str
) -> None:
    id = take_in(served, name, content)
    visit(page, served, f"/ui/files/{id}")
    expect(page.get_by_label("Code")).not_to_have_value(re.compile("pandas"))
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("Output")).to_contain_text(shown)
    expect(page.get_by_label("Error", exact=True)).to_have_count(0)


def test_a_runner_that_is_gone_is_replaced(page: Page, served: Served) -> None:
    id = take_in(served, "notes.md")
    visit(page, served, f"/ui/files/{id}")
    page.evaluate("document.querySelector('[name=executor_id]').value = 'gone'")
    page.get_by_label("Code").fill("print(6 * 7)")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("Output")).to_have_text("42")


def test_a_file_is_taken_in_by_keys_alone(page: Page, served: Served) -> None:
    visit(page, served, "/ui/files")
    # The script has run by then, which changes the form.
    expect(page.get_by_text("or drop them here")).to_be_visible()
    with page.expect_file_chooser() as opened:
        page.get_by_label("Choose files").press("Enter")
    opened.value.set_files(FILES / "notes.md")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Take in")).to_be_focused()
    page.keyboard.press("Enter")
    link = page.locator("#uploads").get_by_role("link", name="notes.md")
    expect(link).to_be_visible()
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("notes.md")


def test_hostile_names_and_contents_stay_text(page: Page, served: Served, record: Record) -> None:
    dialogs = refuse_dialogs(page)
    name = "<img src=x onerror=alert(1)>{{ 7 }}.csv"
    line = HOSTILE.replace(",", " ").replace("|", " ").replace('"', "")[:280]
    id = take_in(served, name, f"one,two\n{line},1\n{line},2\n".encode())
    visit(page, served, "/ui/files")
    expect(page.get_by_role("link", name=name)).to_be_visible()
    page.goto(f"{served.url}/ui/files/{id}?cite=%3Cscript%3Ealert(1)%3C/script%3E")
    expect(page.get_by_text("is not in this file")).to_be_visible()
    expect(page.locator(".sheet")).to_contain_text("<script>alert(1)</script>")
    page.get_by_label("Code").fill("print('<script>alert(5)</script>')")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("Output")).to_have_text("<script>alert(5)</script>")
    assert_harmless(record, served, dialogs)


def test_what_a_key_may_not_do_is_not_offered(page: Page, served: Served) -> None:
    id = take_in(served, "notes.md")
    visit(page, served, "/ui/files", served.key("local", "local", "read"))
    expect(page.locator("#main button")).to_have_text(["Show"])
    page.goto(f"{served.url}/ui/files/{id}")
    expect(page.locator("#main button")).to_have_text(["Copy"])
    expect(page.get_by_label("Code")).to_have_count(0)


def test_an_upload_without_the_token_of_the_form_is_refused(served: Served, page: Page) -> None:
    visit(page, served, "/ui/files")
    status = page.evaluate(
        """async () => {
            const body = new FormData();
            body.append("file", new File(["Otters."], "otters.txt"));
            return (await fetch("/ui/files", { method: "POST", body })).status;
        }"""
    )
    assert status == 403
    assert agent_call(served, "list_files")["total"] == 0
