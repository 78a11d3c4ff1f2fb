"""The tables and plots of docs/why/scale.md are those of the result files."""

from pathlib import Path

from scripts.scale import BEGIN, END, PAGE, Result, files, growth, page, results, table

FIGURES = {"hybrid_p50_ms": 4.0, "write_p50_ms": 2.0, "import_per_s": 1234.5}


def made_up() -> list[Result]:
    larger = FIGURES | {"hybrid_p50_ms": 12.0}
    return [
        Result("sqlite", 1_000, 10.0, 1.0, FIGURES),
        Result("sqlite", 10_000, 60.0, 1.0, larger),
    ]


def test_page_and_plots_equal_the_result_files() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, f"run `python -m scripts.scale`: {path}"


def test_every_result_has_a_column() -> None:
    measured = results()
    assert measured
    text = PAGE.read_text(encoding="utf-8")
    for result in measured:
        assert f" {result.size:,} " in text.split(BEGIN)[1].split(END)[0]


def test_a_result_changes_the_page() -> None:
    text = page(PAGE.read_text(encoding="utf-8"), made_up())
    assert "| import without vectors, items/s | 1,234 | 1,234 |" in text
    assert "10 times the passages cost 3.0 times" in growth(made_up())
    assert "| verify, s | – | – |" in table(made_up())


def test_results_are_read_from_any_folder(tmp_path: Path) -> None:
    assert results(tmp_path) == []
