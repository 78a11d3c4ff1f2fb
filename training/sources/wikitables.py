"""WikiTableQuestions: questions about tables of Wikipedia."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from training.sources.pair import Pair
from training.sources.repository import Repository
from training.sources.text import tidy, word_set

QUESTIONS = "data/training.tsv"
MAX_ROWS = 3
MAX_COLUMNS = 7
MAX_CELL_CHARS = 60


def build(repository: Repository) -> Iterator[Pair]:
    """Question -> the rows of its table with the answer, as text; negatives are other rows."""
    readable = set(repository.all_paths())
    for line in repository.text(QUESTIONS).splitlines()[1:]:
        _name, question, table, answer = line.split("\t")[:4]
        path = table.replace(".csv", ".tsv")
        if path not in readable:
            continue
        rows = [_cells(row) for row in repository.text(path).splitlines()]
        if len(rows) < 2 * MAX_ROWS + 1:
            continue
        right = _right_rows(rows, question, answer)
        if right:
            near = range(right[0] - 1, right[-1] + 2)
            others = [number for number in range(1, len(rows)) if number not in near]
            texts = (_text(rows, right),)
            yield Pair(tidy(question), texts, _wrong_texts(rows, others, question))


def _cells(row: str) -> list[str]:
    cells = next(csv.reader([row], delimiter="\t", quoting=csv.QUOTE_NONE), [])
    return [tidy(cell.replace("\\n", " ").replace("\\p", "|"))[:MAX_CELL_CHARS] for cell in cells]


def _right_rows(rows: list[list[str]], question: str, answer: str) -> list[int]:
    """The rows that hold an answer, the most telling first ones, else none.

    An answer that is a count or a sum stands in no row; such questions are passed over.
    """
    answers = {tidy(part).lower() for part in answer.split("|")}
    words = word_set(question)
    worth = {}
    for number, row in enumerate(rows[1:], start=1):
        if answers & {cell.lower() for cell in row}:
            worth[number] = len(words & word_set(" ".join(row)))
    ranked = sorted(worth, key=lambda number: (-worth[number], number))
    return sorted(ranked[:MAX_ROWS])


def _wrong_texts(rows: list[list[str]], others: list[int], question: str) -> tuple[str, ...]:
    words = word_set(question)
    ranked = sorted(
        others, key=lambda number: (-len(words & word_set(" ".join(rows[number]))), number)
    )
    chosen = sorted(ranked[:MAX_ROWS])
    return (_text(rows, chosen),) if chosen else ()


def _text(rows: list[list[str]], numbers: list[int]) -> str:
    header = rows[0][:MAX_COLUMNS]
    described = " | ".join(_row_text(header, rows[number]) for number in numbers)
    return f"Table with columns {', '.join(header)}. {described}"


def _row_text(header: list[str], row: list[str]) -> str:
    cells = zip(header, row, strict=False)
    return "; ".join(f"{name}: {cell}" for name, cell in cells if cell)
