"""The MemoryLake family: files as memory, from good and hostile samples to the three tools that
read them.
"""

import json
import re
import shutil
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx2
import psutil
import pytest
from moto.server import ThreadedMotoServer

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.engine.validation import InputRules, Limits
from memolith.errors import MemolithError, TooLarge, Unavailable
from memolith.settings import Settings
from memolith.tools.call import Call
from tests.checked import body_of, error_of
from tests.conftest import ME, At
from tests.programs.children import TIMEOUT_S, Child, ask, cli, in_memory, scan, wait_for
from tests.programs.served import Served, thread
from tests.stores import each_store

FILES = Path(__file__).parents[1] / "files"
OTHER = Caller(user="other")
SALES = "region,month,amount\nNorth,January,120\nSouth,January,80\nNorth,February,140\n"


def rows(heading: str) -> list[list[str]]:
    """The table below a heading of the README of the samples."""
    text = (FILES / "README.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def run(app: App, tool: str, caller: Caller = ME, **arguments: Any) -> dict[str, Any]:
    outcome = app.registry.run(tool, arguments, Call(caller, app.engine))
    assert outcome.ok, outcome.body
    return body_of(outcome)


def take(app: App, path: Path, caller: Caller = ME, name: str | None = None) -> str:
    return app.engine.documents.ingest(caller, path, name or path.name).item.id


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def query(
    cleaned: str = "",
    entities: tuple[str, ...] = (),
    keywords: tuple[str, ...] = (),
    boosts: tuple[str, ...] = (),
    dense: str = "",
) -> dict[str, Any]:
    return {
        "parsed_query": {
            "bm25_cleaned_query": cleaned,
            "named_entities": list(entities),
            "bm25_keywords": list(keywords),
            "bm25_boost_keywords": list(boosts),
            "rewritten_query_for_dense_model": dense,
        }
    }


def search(app: App, *parts: Any, caller: Caller = ME, **named: Any) -> list[dict[str, Any]]:
    found = run(app, "search_memory", caller, **query(*parts, **named))["result"]
    assert found["n"] == len(found["results"])
    results: list[dict[str, Any]] = found["results"]
    return results


def names(app: App, *parts: Any, **named: Any) -> list[str]:
    return [one["name"] for one in search(app, *parts, **named)]


def stored(app: App) -> list[Path]:
    return [path for path in (app.settings.data / "files").rglob("*") if path.is_file()]


# Samples


def test_every_good_sample_has_the_counts_that_its_readme_states(app: App) -> None:
    for name, type, format, chunks, tables, figures, sheets, warning in rows("Good"):
        id = take(app, FILES / name)
        shown = run(app, "show_file", memory_id=id)
        file = shown["file"]
        assert (
            file["name"],
            file["type"],
            file["num_chunks"],
            file["num_tables"],
            file["num_figures"],
        ) == (name, type, int(chunks), int(tables), int(figures))
        assert ", ".join(file.get("sheet_names", [])) == sheets
        assert all(part.strip() in " ".join(file["warnings"]) for part in warning.split(";"))
        assert app.engine.reading.read(ME, id)[0].attributes["format"] == format
        assert bool(warning) == bool(file["warnings"])


def zip_bomb(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as part:
            for _ in range(50):
                part.write(bytes(10_000_000))
    return path


def sparse_sheet(path: Path) -> Path:
    row = '<row r="{0}"><c r="A{0}"><v>1</v></c><c r="XFD{0}"><v>1</v></c></row>'
    sample = FILES / "formulas_cached.xlsx"
    with zipfile.ZipFile(sample) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                cells = "".join(row.format(number) for number in range(1, 20_001)).encode()
                text = re.sub(
                    rb"<sheetData>.*</sheetData>", b"<sheetData>" + cells + b"</sheetData>", text
                )
                text = re.sub(rb"<dimension[^>]*>|<mergeCells.*</mergeCells>", b"", text)
            new.writestr(name, text)
    return path


def test_every_hostile_sample_gets_a_clear_error_and_costs_nothing_else(
    at: At, tmp_path: Path
) -> None:
    with thread(tmp_path / "data", reader_wall_s=10) as server:
        made = [
            (zip_bomb(tmp_path / "zipbomb.xlsx"), "unpacks to"),
            (sparse_sheet(tmp_path / "sparse.xlsx"), "run out of memory"),
        ]
        upload(server, FILES / "notes.md")
        before, count = psutil.Process().memory_info().rss, len(stored(server.app))
        for path, said in [*((FILES / name, said) for name, _, said in rows("Hostile")), *made]:
            answer = upload(server, path)
            assert answer.status_code in (400, 413), path.name
            assert said in answer.json()["message"], path.name
            assert answer.json()["field"] == "file"
            assert server.is_well()
        assert psutil.Process().memory_info().rss - before < 20_000_000, (
            "what reading them took is given back"
        )
        assert len(stored(server.app)) == count
        assert run(server.app, "list_files")["total"] == 1


def test_the_type_follows_from_the_content_and_not_from_the_name(app: App, tmp_path: Path) -> None:
    shutil.copy(FILES / "report.pdf", tmp_path / "wrong.txt")
    (tmp_path / "table.dat").write_bytes(b"a\tb\n1\t2\n3\t4\n")
    (tmp_path / "value.txt").write_text('{"name": "Ann", "cities": ["\\u5317\\u4eac"]}')
    for name, format in (("wrong.txt", "pdf"), ("table.dat", "tsv"), ("value.txt", "json")):
        assert (
            app.engine.reading.read(ME, take(app, tmp_path / name))[0].attributes["format"]
            == format
        )
    assert names(app, "北京") == ["value.txt"]


@pytest.mark.parametrize(
    "name, text",
    [
        ("u8.txt", "Grüße"),
        ("u16.txt", "Grüße 中文"),
        ("latin1.txt", "Grüße aus Köln"),
        ("gbk.txt", "包含销售数据"),
        ("sjis.txt", "日本語の文書"),
    ],
)
def test_a_text_is_read_in_its_own_encoding(app: App, name: str, text: str) -> None:
    chunks = run(app, "show_file", memory_id=take(app, FILES / name))["chunks"]
    assert text in chunks[0]["text"]


# Chunks and their places


def test_every_chunk_of_a_sheet_has_its_cells_and_repeats_the_header(app: App) -> None:
    shown = run(app, "show_file", memory_id=take(app, FILES / "book.xlsx"), limit=100)
    assert all(
        column in shown["summary"]
        for column in (
            "Region (text: North, South)",
            "Date (date from 2024-01-01 to 2024-07-18)",
            "Amount (number from 0 to 298.5)",
        )
    )
    sales = [
        chunk
        for chunk in shown["chunks"]
        if re.fullmatch(r"Sales 2024!A\d+:F\d+", chunk["locator"])
    ][1:]
    assert sales[0]["locator"].startswith("Sales 2024!A2:")
    assert sales[-1]["locator"].endswith(":F201")
    assert all(chunk["text"].startswith("Region | Date | Amount") for chunk in sales)
    assert "Zahlen!B3:C5" in [chunk["locator"] for chunk in shown["chunks"]]


def test_pages_headings_lines_and_slides_are_the_places_of_other_files(
    app: App, tmp_path: Path
) -> None:
    guide = write(
        tmp_path,
        "guide.md",
        "# Guide\n\nHello.\n\n## Install\n\nRun it.\n\n```\n# no heading\n```\n",
    )
    notes = write(tmp_path, "notes.txt", "One.\n\nTwo.\n")
    data = write(tmp_path, "data.json", json.dumps({"first": [1, 2], "second": {"a": "b"}}))
    wanted = {
        guide: ["Guide", "Guide > Install"],
        notes: ["lines 1-3"],
        data: ["first", "second"],
        FILES / "report.pdf": ["page 1", "page 1", "page 2", "page 3", "page 4"],
        FILES / "doc.docx": ["Plan", "Plan > Second"],
        FILES / "deck.pptx": ["slide 1", "slide 2"],
        FILES / "page.html": ["Head"],
    }
    for path, places in wanted.items():
        chunks = run(app, "show_file", memory_id=take(app, path))["chunks"]
        assert [chunk["locator"] for chunk in chunks] == places
    page = run(app, "show_file", memory_id=take(app, FILES / "page.html"))["chunks"]
    assert page[0]["text"] == "Head\nPara & text\n1"


def test_a_summary_consists_of_sentences_of_the_file(app: App, tmp_path: Path) -> None:
    text = (
        "Otters sleep afloat. Otters hold hands while they sleep afloat on the sea. Bread was cheap. "
        "Otters eat fish."
    )
    summary = run(app, "show_file", memory_id=take(app, write(tmp_path, "otters.txt", text)))[
        "summary"
    ]
    assert "Otters hold hands while they sleep afloat on the sea." in summary
    assert all(sentence in text for sentence in re.findall(r"[^.]+\.", summary))


def test_what_one_item_cannot_hold_is_left_out_with_a_warning(at: At, tmp_path: Path) -> None:
    app = App(at(tmp_path / "data"))
    app.input_rules = InputRules(Limits(item_bytes=3000))
    lines = "\n".join(f"Line {number} tells of animal {number}." for number in range(1000))
    file = run(app, "show_file", memory_id=take(app, write(tmp_path, "long.txt", lines)))["file"]
    assert file["warnings"][0].startswith("Only the beginning is searched, up to lines ")
    app.close()


# Documents


@each_store
def test_the_same_bytes_are_one_document_per_user(app: App, tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "The zebra is striped.")
    first = take(app, path)
    assert first.startswith("ds-")
    assert take(app, path, name="b.txt") == first
    other = take(app, path, OTHER)
    assert other != first
    assert [run(app, "list_files", caller)["total"] for caller in (ME, OTHER)] == [1, 1]
    assert search(app, "zebra")[0]["id"] == first
    assert len(stored(app)) == 2


@each_store
def test_a_deleted_file_comes_back_when_it_is_restored_or_taken_again(
    app: App, tmp_path: Path
) -> None:
    path = write(tmp_path, "a.txt", "The zebra is striped.")
    id = take(app, path)
    for back in (lambda: run(app, "restore_item", id=id), lambda: take(app, path)):
        run(app, "delete_file", memory_id=id)
        assert not search(app, "zebra")
        assert run(app, "list_files")["files"] == []
        assert not app.registry.run("fetch_memory", {"memory_ids": [id]}, Call(ME, app.engine)).ok
        back()
        assert search(app, "zebra")[0]["id"] == id


def test_erase_leaves_no_byte_of_a_file_and_it_can_be_taken_again(tmp_path: Path) -> None:
    with in_memory() as folder:
        app = open_app(Settings(data=folder / "data", embedder="none"))
        path = write(tmp_path, "secretive-name.txt", "The quagga lives on in one place only.")
        id = take(app, path)
        assert scan(folder / "data", ["quagga"])
        run(app, "erase_item", id=id)
        app.close()
        assert scan(folder / "data", ["quagga", "secretive-name"]) == []
        assert list((folder / "data" / "files").rglob("*ecretive*")) == []
        app = open_app(Settings(data=folder / "data", embedder="none"))
        again = take(app, path)
        assert again != id
        assert search(app, "quagga")[0]["id"] == again
        app.close()


def test_only_the_owner_sees_a_file(app: App, tmp_path: Path) -> None:
    id = take(app, write(tmp_path, "a.txt", "The zebra is striped."))
    assert search(app, "zebra", caller=OTHER) == []
    for tool, arguments in (
        ("fetch_memory", {"memory_ids": [id]}),
        ("show_file", {"memory_id": id}),
        ("delete_file", {"memory_id": id}),
        ("reread_file", {"memory_id": id}),
    ):
        outcome = app.registry.run(tool, arguments, Call(OTHER, app.engine))
        assert error_of(outcome).status == 404
    with pytest.raises(MemolithError), app.engine.documents.stored(OTHER, id):
        pass
    with app.engine.documents.stored(ME, id) as (name, path):
        assert (name, path.read_text()) == ("a.txt", "The zebra is striped.")


def test_a_document_that_is_no_file_is_not_shown_as_one(app: App) -> None:
    id = run(app, "remember", kind="document", content="The zebra is striped.")["id"]
    for tool in ("show_file", "delete_file", "reread_file"):
        outcome = app.registry.run(tool, {"memory_id": id}, Call(ME, app.engine))
        assert error_of(outcome).status == 404


def test_a_stored_file_keeps_its_base_name_whatever_path_came_with_it(
    app: App, tmp_path: Path
) -> None:
    path = write(tmp_path, "a.txt", "The zebra is striped.")
    for name, wanted in (
        ("../../etc/passwd", "passwd"),
        ("C:\\tmp\\plan.txt", "plan.txt"),
        ("..", "file"),
        ("a\nb\0.txt", "ab.txt"),
        ("長" * 300 + ".txt", "長" * 65 + ".txt"),
    ):
        path.write_text(f"zebra {wanted}")
        item, _ = app.engine.documents.ingest(ME, path, name)
        assert item.title == wanted


def test_reading_again_brings_back_what_the_file_says(app: App, tmp_path: Path) -> None:
    id = take(app, write(tmp_path, "a.txt", "The zebra is striped."))
    run(app, "revise", id=id, content="stale")
    assert not search(app, "zebra")
    run(app, "reread_file", memory_id=id)
    assert search(app, "zebra")[0]["cite"] == "lines 1-1"


def test_secrets_in_a_file_are_not_searched_and_a_refusal_of_them_leaves_no_trace(
    at: At, tmp_path: Path
) -> None:
    path = write(tmp_path, "a.txt", "The key is AKIAIOSFODNN7EXAMPLE for the zebra.")
    app = open_app(at(tmp_path / "redacts"))
    take(app, path)
    assert "[REDACTED]" in search(app, "zebra")[0]["text"]
    app.close()
    app = open_app(Settings(data=tmp_path / "blocks", embedder="none", secrets="block"))
    with pytest.raises(MemolithError):
        take(app, path)
    assert stored(app) == []
    assert run(app, "list_files")["total"] == 0
    app.close()


def test_a_file_that_is_too_large_is_refused(at: At, tmp_path: Path) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none", file_bytes=10))
    with pytest.raises(TooLarge):
        take(app, write(tmp_path, "a.txt", "The zebra is striped."))
    assert not (tmp_path / "data" / "files").exists()
    app.close()


# The three tools


@each_store
def test_metadata_counts_files_by_type_and_shows_samples(app: App, tmp_path: Path) -> None:
    for name in ("book.xlsx", "old.xls", "report.pdf", "data.csv", "doc.docx"):
        take(app, FILES / name)
    told = run(app, "get_memorylake_metadata")["result"]
    assert {name: value for name, value in told.items() if name.startswith("total")} == {
        "total_files": 5,
        "total_excel_files": 2,
        "total_pdf_files": 1,
        "total_txt_files": 1,
    }
    samples = {one["name"]: one for one in told["sample_memories"]}
    assert samples["book.xlsx"]["sheet_names"] == ["Sales 2024", "Zahlen", "Hidden", "Empty"]
    assert (samples["report.pdf"]["num_chunks"], samples["report.pdf"]["num_tables"]) == (5, 2)
    assert "sheet_names" not in samples["report.pdf"]


def animals(app: App, folder: Path) -> None:
    for name, text in {
        "zebra.txt": "The zebra runs over the plain.",
        "horse.txt": "The horse runs over the field.",
        "acme.txt": "Acme Tools sells a saw that runs.",
    }.items():
        take(app, write(folder, name, text))


def test_the_cleaned_query_finds_words(app: App, tmp_path: Path) -> None:
    animals(app, tmp_path)
    assert names(app, "zebra") == ["zebra.txt"]
    assert names(app, "horse")[0] == "horse.txt"


def test_keywords_add_words(app: App, tmp_path: Path) -> None:
    animals(app, tmp_path)
    assert names(app, "zebra", keywords=("field",)) == ["zebra.txt", "horse.txt"]


def test_boosted_words_count_more(app: App, tmp_path: Path) -> None:
    animals(app, tmp_path)
    assert names(app, "plain field")[0] == "zebra.txt"
    assert names(app, "plain field", boosts=("field",))[0] == "horse.txt"


def test_files_with_a_named_entity_come_first(app: App, tmp_path: Path) -> None:
    animals(app, tmp_path)
    assert names(app, "zebra runs plain", keywords=("acme tools",))[0] == "zebra.txt"
    assert (
        names(app, "zebra runs plain", keywords=("acme tools",), entities=("Acme Tools",))[0]
        == "acme.txt"
    )


def test_the_rewritten_query_is_what_the_model_is_asked(smart: App, tmp_path: Path) -> None:
    animals(smart, tmp_path)
    smart.upkeep.run()
    assert names(smart, "runs", dense="An animal with stripes in Africa.")[0] == "zebra.txt"
    assert names(smart, "runs", dense="A shop for carpenters.")[0] == "acme.txt"


def test_an_empty_field_follows_from_the_others_and_nothing_at_all_is_refused(
    app: App, tmp_path: Path
) -> None:
    animals(app, tmp_path)
    for parts in (
        {"cleaned": "zebra"},
        {"keywords": ("zebra",)},
        {"boosts": ("zebra",)},
        {"entities": ("zebra",)},
        {"dense": "zebra"},
    ):
        assert names(app, **parts) == ["zebra.txt"]
    outcome = app.registry.run("search_memory", query(" "), Call(ME, app.engine))
    assert (error_of(outcome).status, outcome.body["field"]) == (400, "parsed_query")
    less = query("zebra")
    del less["parsed_query"]["bm25_keywords"]
    outcome = app.registry.run("search_memory", less, Call(ME, app.engine))
    assert outcome.body["field"] == "parsed_query.bm25_keywords"


@each_store
def test_chinese_is_found_by_pairs_of_characters(app: App, tmp_path: Path) -> None:
    take(
        app,
        write(
            tmp_path,
            "年度报告.txt",
            "北京分公司第三季度的销售额增长了百分之十二。上海分公司没有变化。",
        ),
    )
    take(app, write(tmp_path, "手册.txt", "请先关闭电源，然后更换电池。"))
    assert names(app, "北京 销售额", ("北京分公司",), ("销售额",))[0] == "年度报告.txt"
    assert names(app, "更换电池") == ["手册.txt"]


def test_every_hit_cites_its_place(app: App) -> None:
    for name in ("book.xlsx", "report.pdf"):
        take(app, FILES / name)
    assert search(app, "Zürich naïve forecast")[0]["cite"] == "page 1"
    hit = search(app, "North 298.5")[0]
    assert hit["name"] == "book.xlsx"
    assert "298.5" in hit["text"]
    assert re.fullmatch(r"Sales 2024!A\d+:F\d+", hit["cite"])


def test_fetch_gives_a_plain_map_and_names_unknown_ids_in_a_warning(app: App) -> None:
    id = take(app, FILES / "book.xlsx")
    body = run(app, "fetch_memory", memory_ids=[id, "ds-nope"])
    assert body["warnings"] == ["There is no file 'ds-nope'."]
    assert {name: body[id][name] for name in ("id", "name", "source_type", "presigned_url")} == {
        "id": id,
        "name": "book.xlsx",
        "source_type": "excel_file",
        "presigned_url": None,
    }
    assert body[id]["summary"].startswith("Table Sales 2024!A1:F201: 200 rows")
    assert run(app, "fetch_memory", memory_ids=[f"memolith://item/{id}"]).keys() == {id}
    outcome = app.registry.run("fetch_memory", {"memory_ids": ["ds-nope"]}, Call(ME, app.engine))
    assert (error_of(outcome).status, outcome.body["field"]) == (404, "memory_ids")


def test_lists_of_files_and_of_chunks_have_pages(app: App, tmp_path: Path) -> None:
    animals(app, tmp_path)
    assert [one["name"] for one in run(app, "list_files", limit=2)["files"]] == [
        "acme.txt",
        "horse.txt",
    ]
    assert [one["name"] for one in run(app, "list_files", limit=2, offset=2)["files"]] == [
        "zebra.txt"
    ]
    shown = run(app, "show_file", memory_id=take(app, FILES / "u8.txt"), limit=1, offset=1)
    assert (len(shown["chunks"]), shown["total"]) == (1, 5)


# Where files lie


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server on this machine that speaks S3, and a bucket there."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    for name, value in {
        "ENDPOINT_URL": address,
        "ACCESS_KEY_ID": "zoo",
        "SECRET_ACCESS_KEY": "zoo",
        "DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    bucket = boto3.resource("s3").create_bucket(Bucket="zoo")
    yield bucket
    server.stop()


def test_files_lie_in_a_bucket_where_that_is_chosen(bucket: Any, tmp_path: Path) -> None:
    app = open_app(
        Settings(
            data=tmp_path / "data", embedder="none", files="s3://zoo/papers", runner_preload=()
        )
    )
    path = write(tmp_path, "zäbra.txt", "The zebra is striped.")
    id = take(app, path)
    assert [one.key.split("/")[0] for one in bucket.objects.all()] == ["papers"]
    assert stored(app) == []
    got = httpx2.get(
        run(app, "fetch_memory", memory_ids=[id])[id]["presigned_url"], timeout=TIMEOUT_S
    )
    assert got.text == "The zebra is striped."
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''z%C3%A4bra.txt"
    run(app, "revise", id=id, content="stale")
    run(app, "reread_file", memory_id=id)
    assert search(app, "zebra")[0]["id"] == id
    runner = run(app, "create_memory_code_runner")["result"]["executor_id"]
    code = f"print(get_memory_path({id!r}, 'zäbra.txt').read_text())"
    assert (
        run(app, "run_memory_code", executor_id=runner, code=code)["result"]["stdout"]
        == "The zebra is striped.\n"
    )
    run(app, "erase_item", id=id)
    assert list(bucket.objects.all()) == []
    app.close()


def test_a_file_that_is_gone_and_a_bucket_that_is_not_there_are_told_plainly(
    bucket: Any, tmp_path: Path
) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none", files="s3://zoo"))
    id = take(app, path := write(tmp_path, "a.txt", "The zebra is striped."))
    bucket.objects.all().delete()
    outcome = app.registry.run("reread_file", {"memory_id": id}, Call(ME, app.engine))
    assert (error_of(outcome).status, error_of(outcome).message) == (
        404,
        "The stored file is not there any more.",
    )
    app.close()
    app = open_app(Settings(data=tmp_path / "other", embedder="none", files="s3://nowhere"))
    with pytest.raises(Unavailable, match="bucket"):
        take(app, path)
    app.close()


def test_a_backup_holds_the_files_too(tmp_path: Path) -> None:
    ask(tmp_path / "data", "ingest", str(FILES / "notes.md"), str(FILES / "report.pdf"))
    ask(tmp_path / "data", "backup", str(tmp_path / "all.db"))
    ask(tmp_path / "again", "restore-backup", str(tmp_path / "all.db"))
    app = open_app(Settings(data=tmp_path / "again", embedder="none"))
    assert run(app, "list_files")["total"] == 2
    for file in run(app, "list_files")["files"]:
        with app.engine.documents.stored(ME, file["id"]) as (name, path):
            assert path.read_bytes() == (FILES / name).read_bytes()
    app.close()


def test_files_lie_in_a_folder_where_that_is_chosen(tmp_path: Path) -> None:
    app = open_app(
        Settings(data=tmp_path / "data", embedder="none", files=str(tmp_path / "shared"))
    )
    take(app, FILES / "notes.md")
    assert [path.read_bytes() for path in (tmp_path / "shared").rglob("ds-*")] == [
        (FILES / "notes.md").read_bytes()
    ]
    app.close()


# Over HTTP


def upload(
    server: Served, path: Path, key: str | None = None, name: str | None = None
) -> httpx2.Response:
    with path.open("rb") as file:
        return httpx2.post(
            f"{server.url}/files",
            files={"file": (name or path.name, file)},
            timeout=TIMEOUT_S,
            headers={"Authorization": f"Bearer {key or server.key()}"},
        )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with thread(tmp_path / "data", file_bytes=1_000_000) as made:
        made.app.address = made.url
        yield made


def test_an_upload_is_kept_and_found_and_its_address_works_without_a_key(served: Served) -> None:
    answer = upload(served, FILES / "book.xlsx")
    assert answer.status_code == 200, answer.text
    assert answer.json()["sheet_names"][0] == "Sales 2024"
    assert (answer.json()["known"], upload(served, FILES / "book.xlsx").json()["known"]) == (
        False,
        True,
    )
    id = answer.json()["id"]
    url = run(served.app, "fetch_memory", memory_ids=[id])[id]["presigned_url"]
    got = httpx2.get(url, timeout=TIMEOUT_S)
    assert got.content == (FILES / "book.xlsx").read_bytes()
    assert 'filename="book.xlsx"' in got.headers["content-disposition"]
    assert got.headers["x-content-type-options"] == "nosniff"


def test_an_address_that_was_changed_or_is_over_gives_nothing(
    served: Served, tmp_path: Path
) -> None:
    ids = [upload(served, FILES / name).json()["id"] for name in ("notes.md", "data.csv")]
    url = run(served.app, "fetch_memory", memory_ids=ids)[ids[0]]["presigned_url"]
    other = run(served.app, "fetch_memory", memory_ids=ids)[ids[1]]["presigned_url"]
    half = len(url) // 2 + 20
    for changed in (
        url[:half] + other[half:],
        url[:-1],
        url[:half] + "é" + url[half:],
        url.split("?")[0],
        url + "x",
    ):
        assert httpx2.get(changed, timeout=TIMEOUT_S).status_code == 403, changed
    served.app.settings = served.app.settings.model_copy(update={"file_url_s": -1})
    over = run(served.app, "fetch_memory", memory_ids=ids)[ids[0]]["presigned_url"]
    assert httpx2.get(over, timeout=TIMEOUT_S).status_code == 403
    run(served.app, "delete_file", memory_id=ids[0])
    assert httpx2.get(url, timeout=TIMEOUT_S).status_code == 404


def test_a_bad_upload_is_refused_and_leaves_no_trace(served: Served, tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_bytes(b"zebra " * 200_000)
    key = {"Authorization": f"Bearer {served.key()}"}
    post = f"{served.url}/files"
    assert upload(served, large).status_code == 413

    def parts() -> Any:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(200):
            yield b"zebra " * 1000

    form = {"Content-Type": "multipart/form-data; boundary=x"}
    assert (
        httpx2.post(post, content=parts(), headers=key | form, timeout=TIMEOUT_S).status_code == 413
    )
    torn = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nzebra'
    two = [("file", ("a.txt", b"one")), ("file", ("b.txt", b"two"))]
    requests: list[dict[str, Any]] = [
        {"content": b"zebra"},
        {"json": {}},
        {"content": torn, "headers": form},
        {"files": two},
        {"data": {"file": "zebra"}},
        {"files": {"file": ("a.txt", b"")}},
    ]
    for request in requests:
        answer = httpx2.post(
            post,
            **{**request, "headers": key | request.get("headers", {})},
            timeout=TIMEOUT_S,
        )
        assert (answer.status_code, answer.json()["field"]) == (400, "file"), request
    without_key = httpx2.post(post, files={"file": ("a.txt", b"zebra")}, timeout=TIMEOUT_S)
    assert without_key.status_code == 401
    reader = served.key("local", "local", "read")
    assert upload(served, FILES / "notes.md", reader).status_code == 403
    assert run(served.app, "list_files")["total"] == 0
    assert stored(served.app) == []


def test_a_read_only_server_takes_no_files(tmp_path: Path) -> None:
    with thread(tmp_path / "data", read_only=True) as server:
        assert upload(server, FILES / "notes.md").status_code == 404


# The command line


def test_ingest_takes_folders_and_patterns_and_only_what_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    (folder / "deep" / ".hidden").mkdir(parents=True)
    write(folder, "sales.csv", SALES)
    write(folder / "deep", "zebra.md", "# Zebra\n\nStriped.\n")
    write(folder / "deep" / ".hidden", "no.md", "# Hidden\n")
    write(folder, ".no.md", "# Hidden\n")
    data = tmp_path / "data"
    assert ask(data, "ingest", str(folder)) == {"taken": 2, "known": 0, "problems": []}
    write(folder, "more.txt", "An okapi.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    ran = cli(data, "ingest", str(folder), "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout) == {
        "taken": 1,
        "known": 2,
        "problems": [f"{folder / 'broken.pdf'}: The PDF is damaged and cannot be opened."],
    }
    assert ask(data, "ingest", str(folder / "**" / "*.md")) == {
        "taken": 0,
        "known": 1,
        "problems": [],
    }
    assert ask(data, "ingest", str(folder / "more.txt"), "--tenant", "acme")["taken"] == 1
    assert cli(data, "ingest", str(tmp_path / "nothing")).returncode == 2


def test_ingest_watches_a_folder(tmp_path: Path) -> None:
    folder, data = tmp_path / "papers", tmp_path / "data"
    folder.mkdir()
    app = open_app(Settings(data=data, embedder="none"))
    with Child(
        "-m",
        "memolith.doors.main",
        "ingest",
        "--watch",
        str(folder),
        "--data",
        str(data),
        MEMOLITH_EMBEDDER="none",
    ):
        write(folder, "a.txt", "The zebra is striped.")
        wait_for(lambda: search(app, "zebra"))
        write(folder, "a.txt", "The okapi is shy.")
        wait_for(lambda: search(app, "okapi"))
    app.close()


def test_ingest_that_watches_tells_refusals_and_waits_for_an_empty_pattern(tmp_path: Path) -> None:
    data, later = tmp_path / "data", tmp_path / "later"
    app = open_app(Settings(data=data, embedder="none"))
    arguments = ["-m", "memolith.doors.main", "ingest", "--watch", f"{later}/*.txt", "--json"]
    with Child(*arguments, "--data", str(data), MEMOLITH_EMBEDDER="none") as child:
        wait_for(lambda: child.complaints)
        assert child.complaints == [f"There is nothing at {later}/*.txt yet.\n"]
        later.mkdir()
        (later / "bad.txt").write_bytes(bytes(range(256)) * 4)
        wait_for(lambda: len(child.complaints) > 1)
        assert "This is no kind of file that is read here" in child.complaints[1]
        assert str(later / "bad.txt") in child.complaints[1]
        write(later, "good.txt", "The zebra is striped.")
        wait_for(lambda: search(app, "zebra"))
        # Everything was removed: it goes on waiting.
        for path in later.iterdir():
            path.unlink()
        write(later, "next.txt", "The okapi is shy.")
        wait_for(lambda: search(app, "okapi"))
        child.process.send_signal(signal.SIGINT)
        report = json.loads("\n".join(child.rest()))
        assert len(report["problems"]) == 1
        assert (report["taken"], len(child.complaints)) == (2, 2)
    app.close()


# One imported line for each way in which a document can lack what a reader finds out.
STRANGE_DOCUMENTS: list[dict[str, Any]] = [
    {},
    {"type": "pdf_file"},
    {"type": 7, "summary": None, "figures": "many", "tables": [], "warnings": "w", "sheets": 3},
    {"type": {}, "summary": [], "figures": None, "warnings": [1, "a"], "sheets": [None]},
]


@pytest.mark.parametrize("attributes", STRANGE_DOCUMENTS)
def test_an_imported_document_that_no_reader_has_seen_breaks_no_tool(
    tmp_path: Path, attributes: dict[str, Any]
) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none"))
    line = {
        "content": "The zebra is striped.",
        "title": "zoo",
        "kind": "document",
        "namespace": "files",
        "metadata": attributes,
    }
    app.engine.maintenance.import_(ME, [json.dumps(line)])
    metadata = run(app, "get_memorylake_metadata")["result"]
    assert metadata["total_files"] == 1
    shown = metadata["sample_memories"][0]
    assert isinstance(shown["type"], str)
    id = shown["id"]
    assert run(app, "list_files")["total"] == 1
    assert run(app, "fetch_memory", memory_ids=[id])[id]["name"] == "zoo"
    assert isinstance(run(app, "show_file", memory_id=id)["summary"], str)
    assert [hit["id"] for hit in search(app, "zebra")] == [id]
    app.close()


def test_a_scanned_file_has_a_summary_that_says_so(tmp_path: Path) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none"))
    id = take(app, FILES / "scanned.pdf")
    summary = run(app, "fetch_memory", memory_ids=[id])[id]["summary"]
    assert summary == "A scan of 2 pages without text; what it says is known only after OCR."
    app.close()


def test_every_sample_has_a_summary(tmp_path: Path) -> None:
    app = open_app(Settings(data=tmp_path / "data", embedder="none"))
    for name, *_ in rows("Good"):
        id = take(app, FILES / name)
        assert run(app, "fetch_memory", memory_ids=[id])[id]["summary"].strip(), name
    app.close()
