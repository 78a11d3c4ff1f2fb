"""Does search_memory find the right file, and what does each of its five fields bring?"""

from __future__ import annotations

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.checked import body_of

from bench.material import ME, fresh
from memolith.bootstrap import App
from memolith.tools.call import Call

ROOT = Path(__file__).parents[1]
FIELDS = (
    "bm25_cleaned_query",
    "named_entities",
    "bm25_keywords",
    "bm25_boost_keywords",
    "rewritten_query_for_dense_model",
)
MIN_HIT_AT_5 = 0.9
WANTED_PLACES = 5

Query = dict[str, str | list[str]]


class Question(NamedTuple):
    """The file that answers, and the question in its five fields."""

    file: str
    query: Query

    def without(self, fields: tuple[str, ...]) -> Query:
        """The fields, some of them left empty."""
        query = dict(self.query)
        for name in fields:
            query[name] = "" if isinstance(query[name], str) else []
        return query


class Score(NamedTuple):
    """The shares of questions whose file is among the first five, and the first."""

    hit_at_5: float
    hit_at_1: float
    missed: list[str]

    def line(self, name: str) -> str:
        return f"{name:44}{self.hit_at_5:8.3f}{self.hit_at_1:8.3f}"


class Material(NamedTuple):
    """The questions, and the texts of files that are made for them."""

    questions: list[Question]
    chinese_files: dict[str, str]


def load_material() -> Material:
    data = tomllib.loads((ROOT / "bench" / "files_questions.toml").read_text(encoding="utf-8"))
    questions = []
    for entry in data["questions"]:
        questions.append(Question(entry["file"], {name: entry[name] for name in FIELDS}))
    return Material(questions, data["chinese_files"])


def ingest_files(app: App, chinese_files: dict[str, str], folder: Path) -> int:
    """Take in the pages of the project, the good samples and the Chinese texts; how many."""
    names: dict[Path, str] = {}
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        names[path] = path.name
    names[ROOT / "docs" / "why" / "README.md"] = "why.md"
    for name, text in chinese_files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        names[path] = name
    samples = ROOT / "tests" / "files"
    good_samples = (samples / "README.md").read_text().split("## Hostile")[0]
    for path in sorted(samples.iterdir()):
        if f"| {path.name} |" in good_samples:
            names[path] = path.name
    for path, name in names.items():
        app.engine.documents.ingest(ME, path, name)
    app.upkeep.run()
    return len(names)


def score(app: App, questions: list[Question], *empty_fields: str) -> Score:
    """Ask every question with some fields left empty."""
    among_first = 0
    first = 0
    missed = []
    for question in questions:
        arguments = {"parsed_query": question.without(empty_fields)}
        outcome = app.registry.run("search_memory", arguments, Call(ME, app.engine))
        assert outcome.ok, outcome.body
        names = [hit["name"] for hit in body_of(outcome)["result"]["results"]]
        if question.file in names[:WANTED_PLACES]:
            among_first += 1
        else:
            sentence = question.query["rewritten_query_for_dense_model"]
            missed.append(f"{question.file}: {sentence}")
        if names[:1] == [question.file]:
            first += 1
    return Score(among_first / len(questions), first / len(questions), missed)


def main() -> None:
    """All fields, then each removed, then each alone."""
    questions, chinese_files = load_material()
    chinese = [question for question in questions if question.file in chinese_files]
    with fresh("minilm") as app, TemporaryDirectory() as folder:
        count = ingest_files(app, chinese_files, Path(folder))
        print(f"{len(questions)} questions, {len(chinese)} in Chinese, over {count} files")
        print(f"{'fields':44}{'hit@5':>8}{'hit@1':>8}")
        whole = score(app, questions)
        verdict = "ok" if whole.hit_at_5 >= MIN_HIT_AT_5 else "MISSED"
        print(f"{whole.line('all five')}   bar {MIN_HIT_AT_5}: {verdict}")
        print(score(app, chinese).line("all five, Chinese"))
        for name in FIELDS:
            print(score(app, questions, name).line(f"without {name}"))
        for name in FIELDS:
            others = [other for other in FIELDS if other != name]
            asked = [question for question in questions if question.query[name]]
            print(score(app, asked, *others).line(f"only {name} ({len(asked)})"))
        for line in whole.missed:
            print(f"missed: {line}")


if __name__ == "__main__":
    main()
