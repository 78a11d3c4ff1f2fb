"""The shipped model itself: what its vectors are like, and what happens when it cannot be loaded."""

import math
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from memolith.errors import EmbedderDown
from memolith.retrieval.embedding.minilm import (
    BATCH_ROWS,
    BATCH_TOKENS,
    MODEL_FILE,
    MODEL_FOLDER,
    VOCAB_FILE,
    MiniLM,
    batches,
)

LONG = "The bridge was closed and the ferry did not run that week either. " * 30
TEXTS = [
    "The cat sleeps on the windowsill.",
    "ok",
    LONG,
    "Two engineers moved the database to another machine during the night.",
    "def area(radius): return 3.14 * radius ** 2",
    "Le café ferme à midi.",
    *(
        f"Note {number}: " + "remember the milk and the bread " * (number % 9)
        for number in range(60)
    ),
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    """One loaded model for all tests of this file."""
    loaded = MiniLM()
    assert loaded.wait(60)
    return loaded


def numbers(vector: bytes | None) -> tuple[float, ...]:
    """The vector as numbers."""
    assert vector is not None
    return struct.unpack("<384f", vector)


def cosine(left: bytes | None, right: bytes | None) -> float:
    """How alike two unit vectors are."""
    return sum(a * b for a, b in zip(numbers(left), numbers(right), strict=True))


def run(code: str) -> subprocess.CompletedProcess[str]:
    """What a Python process of its own makes of that code."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def damaged(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a copy of the model folder in which one byte of a file is flipped."""

    def copy(name: str) -> Path:
        folder = Path(shutil.copytree(MODEL_FOLDER, tmp_path / "model"))
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 0x01
        (folder / name).write_bytes(content)
        return folder

    return copy


def test_every_vector_has_unit_length(model: MiniLM) -> None:
    for vector in model.embed(TEXTS):
        assert math.hypot(*numbers(vector)) == pytest.approx(1.0, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(model: MiniLM) -> None:
    fresh = MiniLM()
    together = model.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        alone = numbers(fresh.embed([text])[0])
        assert max(abs(a - b) for a, b in zip(alone, numbers(vector), strict=True)) < 1e-5


def test_vectors_come_in_the_order_of_the_texts(model: MiniLM) -> None:
    assert model.embed(TEXTS[::-1]) == model.embed(TEXTS)[::-1]


def test_equal_texts_have_equal_vectors(model: MiniLM) -> None:
    first, other, second = model.embed(["twice in one call", "something else", "twice in one call"])
    assert first == second != other


def test_nothing_gives_nothing_without_loading() -> None:
    idle = MiniLM()
    assert idle.embed([]) == []
    assert idle._loading is None


@pytest.mark.parametrize(
    "text",
    [
        "今天下午三点在会议室开会，讨论明年的预算。",
        "نلتقي غداً في المكتب لمناقشة الميزانية الجديدة.",
        "Встречаемся завтра в офисе, чтобы обсудить бюджет.",
        "🎉🎉🎉",
        "",
        " \n\t",
        "\u200b\ufeff",
    ],
)
def test_a_text_the_model_does_not_understand_has_no_vector(model: MiniLM, text: str) -> None:
    assert model.embed([text]) == [None]


@pytest.mark.parametrize(
    "text", ["张伟 moved from MySQL to PostgreSQL last year", "Call Иванов about the invoice"]
)
def test_a_foreign_name_does_not_cost_an_english_text_its_vector(model: MiniLM, text: str) -> None:
    assert model.embed([text]) != [None]


def test_a_text_without_a_vector_does_not_shift_the_others(model: MiniLM) -> None:
    plain = model.embed(["red apples", "green pears"])
    assert model.embed(["", "red apples", "会议室预算讨论", "green pears"]) == [
        None,
        plain[0],
        None,
        plain[1],
    ]


def test_a_paraphrase_is_nearer_than_another_subject(model: MiniLM) -> None:
    text, paraphrase, other = model.embed(
        [
            "The train to Berlin was cancelled this morning.",
            "This morning's Berlin train did not run.",
            "She grows tomatoes on her balcony.",
        ]
    )
    assert cosine(text, paraphrase) > 0.7 > 0.3 > cosine(text, other)


def test_what_lies_beyond_the_limit_changes_nothing(model: MiniLM) -> None:
    ended, longer = model.embed([LONG, LONG + "Then came the flood."])
    assert ended == longer


def test_many_threads_get_what_one_gets(model: MiniLM) -> None:
    shared, found = MiniLM(), {}
    threads = [
        threading.Thread(
            target=lambda start=start: found.update({start: shared.embed(TEXTS[start::6])})
        )
        for start in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = model.embed(TEXTS)
    for start, vectors in found.items():
        for made, wanted in zip(vectors, expected[start::6], strict=True):
            assert cosine(made, wanted) == pytest.approx(1.0, abs=1e-5)
    assert len(found) == 6


def test_batches_hold_every_row_once_within_their_bounds() -> None:
    lengths = {place: 2 + place * 37 % 255 for place in range(700)}
    made = list(batches(lengths))
    assert sorted(place for batch in made for place in batch) == sorted(lengths)
    assert all(len(batch) <= BATCH_ROWS for batch in made)
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= BATCH_TOKENS for batch in made)
    assert all(lengths[left[0]] >= lengths[right[0]] for left, right in pairwise(made))


@pytest.mark.parametrize("name", [MODEL_FILE, VOCAB_FILE])
def test_a_tampered_file_is_named_and_not_used(damaged: Callable[[str], Path], name: str) -> None:
    with pytest.raises(EmbedderDown, match=name):
        MiniLM(damaged(name)).embed(["hello"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderDown, match=MODEL_FILE):
        MiniLM(tmp_path).embed(["hello"])


def test_a_failure_in_the_background_is_raised_at_the_next_use(
    damaged: Callable[[str], Path],
) -> None:
    broken = MiniLM(damaged(MODEL_FILE))
    assert not broken.wait(60)
    with pytest.raises(EmbedderDown, match="reinstall"):
        broken.embed(["hello"])


def test_a_repaired_file_is_used_without_a_restart(damaged: Callable[[str], Path]) -> None:
    folder = damaged(VOCAB_FILE)
    healing = MiniLM(folder)
    assert not healing.wait(60)
    with pytest.raises(EmbedderDown):
        healing.embed(["hello"])
    shutil.copy(MODEL_FOLDER / VOCAB_FILE, folder / VOCAB_FILE)
    assert healing.embed(["hello"]) != [None]
    assert healing.wait(0.0)


def test_waiting_ends_when_time_is_up() -> None:
    assert MiniLM().wait(0.0) is False


def test_loading_in_the_background_does_not_keep_the_process_alive() -> None:
    ended = run("from memolith.retrieval.embedding.minilm import MiniLM; MiniLM().wait(0.0)")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_thread_at_work_does_not_crash_the_end_of_the_process(rounds: int) -> None:
    ended = run(f"""
import threading
from memolith.errors import EmbedderDown
from memolith.retrieval.embedding.minilm import MiniLM
model, begun = MiniLM(), threading.Semaphore(0)
def work():
    try:
        for number in range(1000000):
            model.embed([f"{{number}} words of a text that is never seen twice"])
            begun.release()
    except EmbedderDown:
        pass
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range({rounds} * 5):
    begun.acquire()
""")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_importing_and_making_one_loads_neither_numpy_nor_onnxruntime() -> None:
    ended = run(
        "import sys; from memolith.retrieval.embedding.minilm import MiniLM; MiniLM(); "
        "print([name for name in ('numpy', 'onnxruntime') if name in sys.modules])"
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "[]")
