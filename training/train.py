"""Trains the model of the package and the judge of deep search, on one GPU, in about 21 minutes.

1. A first bi-encoder, by contrast: the passage of a question against those of the other questions.
2. It proposes hard negatives: what it takes for near, and is not the answer.
3. The judge, a cross-encoder, learns to tell the answer from these.
4. The bi-encoder of the package starts anew and learns the same contrast, with the hard negatives,
   and to give the same order as the judge, with its vectors and with those of its tokens.
"""

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from training import evaluate
from training.encoder import (
    DEVICE,
    BiEncoder,
    Judge,
    Texts,
    encode,
    inner_mask,
    late_interaction,
)

SEED = 7
NOTES = Path(__file__).parents[1] / "bench" / "notes"
CONVERSATIONS = "locomo_dev"
"""The set that late interaction and the judge are measured on."""

QUESTION_TOKENS = 64
PASSAGE_TOKENS = 160
PAIR_TOKENS = 208
TEMPERATURE = 0.04
TOKEN_TEMPERATURE = 0.05
OFTEN = {"written": 3}
"""Sources whose lines come up so many times in a round: few, and most like what people store."""

RUN_OF_LINES = 8
"""Lines that follow each other come from one document: together they are hard to tell apart."""

GIVEN_NEGATIVES = 3
MINED_NEGATIVES = 6
NEGATIVES = GIVEN_NEGATIVES + MINED_NEGATIVES
NEAREST = 30
"""So many of the nearest passages of a question are looked at for hard negatives."""

MOST_DRAWN_FROM = 16
"""The hard negatives of a question are drawn from so many of the nearest."""

SKIPPED_NEAREST = 1
"""The very nearest passage that is not marked as right is often right all the same."""

KEEP_PLACES = 4.0
"""How much it counts that texts keep their places among each other."""

KEPT_PASSAGES = 128
"""So many passages of a batch are compared for that."""

VERDICT_TEMPERATURE = 1.5
TOKEN_CONTRAST = 0.5
"""How much it counts that the tokens tell the answer from its hard negatives."""

RIGHT_OR_WRONG = 0.2
"""How much it counts that a verdict is above 0 for what answers, and below for what does not."""

PART_BYTES = 14_000_000
"""The trained weights are written in files of at most this size."""


class Line(NamedTuple):
    """A question, what answers it, and what does not."""

    question: int
    right: list[int]
    wrong: list[int]


Sources = dict[str, list[Line]]

Mined = dict[str, list[list[int]]]
"""For each line of each source, the passages that it is told apart from."""


def read_lines(path: Path, texts: Texts, most_per_source: int) -> Sources:
    """The lines of each source, in the order of the file."""
    sources: Sources = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in file:
            line = json.loads(row)
            lines = sources[line["s"]]
            if line.get("q") and line.get("p") and len(lines) < most_per_source:
                question = texts.number(line["q"])
                right = [texts.number(text) for text in line["p"]]
                wrong = [texts.number(text) for text in line.get("n") or ()]
                lines.append(Line(question, right, wrong))
    texts.tokenise()
    return dict(sources)


def batches(sources: Sources, size: int, pick: random.Random) -> Iterator[tuple[str, list[int]]]:
    """One round over all lines: batches of one source, of short runs of lines."""
    planned = []
    for source, lines in sources.items():
        rounds = range(OFTEN.get(source, 1))
        places = list(chain.from_iterable(places_in_runs(len(lines), pick) for _ in rounds))
        for start in range(0, len(places), size):
            batch = places[start : start + size]
            if len(batch) >= size // 8:
                planned.append((source, batch))
    pick.shuffle(planned)
    yield from planned


def places_in_runs(count: int, pick: random.Random) -> list[int]:
    """All places from 0 on, in another order that leaves short runs together."""
    runs = [
        range(start, min(start + RUN_OF_LINES, count)) for start in range(0, count, RUN_OF_LINES)
    ]
    pick.shuffle(runs)
    return list(chain.from_iterable(runs))


class Schedule:
    """The rate of learning: up over the first steps, then down in a line until the time is over."""

    def __init__(self, module: torch.nn.Module, rate: float, seconds: float) -> None:
        trained = [weight for weight in module.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01)
        self._trained = trained
        self._rate = rate
        self._seconds = seconds
        self._started = time.monotonic()
        self.steps = 0
        self._loss = 0.0

    @property
    def share(self) -> float:
        """How much of the time is over."""
        return (time.monotonic() - self._started) / self._seconds

    def step(self, loss: torch.Tensor) -> None:
        """Learn from a loss."""
        rate = self._rate * min(1.0, (self.steps + 1) / 80) * max(0.02, 1 - self.share)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained, 1.0)
        self.optimizer.step()
        self.steps += 1
        if self.steps % 20 == 0:
            self._loss = loss.item() if self.steps == 20 else 0.9 * self._loss + 0.1 * loss.item()
        if self.steps % 200 == 0:
            print(f"  step {self.steps}, loss {self._loss:.3f}, {self.share:.0%}", flush=True)


def batches_until_over(
    schedule: Schedule, sources: Sources, size: int, pick: random.Random
) -> Iterator[tuple[str, list[int]]]:
    """Round after round, until the time is over."""
    while schedule.share < 1:
        for batch in batches(sources, size, pick):
            if schedule.share >= 1:
                return
            yield batch


def known_right(lines: Sequence[Line], columns: Sequence[int]) -> torch.Tensor:
    """Which columns answer the question of a row, though another passage was taken for it."""
    places: dict[int, list[int]] = defaultdict(list)
    for column, number in enumerate(columns):
        places[number].append(column)
    mask = torch.zeros((len(lines), len(columns)), dtype=torch.bool)
    for row, line in enumerate(lines):
        for number in line.right:
            for column in places.get(number, ()):
                mask[row, column] = True
        mask[row, row] = False
    return mask.to(DEVICE)


def contrast(
    questions: torch.Tensor, passages: torch.Tensor, also_right: torch.Tensor
) -> torch.Tensor:
    """The loss of telling the passage of a question from all others of the batch, both ways."""
    logits = (questions @ passages.T / TEMPERATURE).masked_fill(also_right, -1e4)
    right = torch.arange(len(questions), device=DEVICE)
    back = logits[:, : len(questions)].T
    return functional.cross_entropy(logits, right) + 0.5 * functional.cross_entropy(back, right)


def places_kept(
    texts: Texts, old: BiEncoder, numbers: Sequence[int], vectors: torch.Tensor
) -> torch.Tensor:
    """How far texts moved among each other, from where the old model has them."""
    numbers = numbers[:KEPT_PASSAGES]
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        before, _ = old(*texts.batch(numbers, PASSAGE_TOKENS))
    now = vectors[: len(numbers)]
    return functional.mse_loss(now @ now.T, before @ before.T)


def first_bi_encoder(texts: Texts, sources: Sources, seconds: float) -> BiEncoder:
    """The model that proposes hard negatives."""
    pick = random.Random(SEED)
    model = BiEncoder()
    old = BiEncoder()
    old.eval()
    schedule = Schedule(model, 4e-5, seconds)
    for source, places in batches_until_over(schedule, sources, 512, pick):
        model.train()
        lines = [sources[source][place] for place in places]
        right = [pick.choice(line.right) for line in lines]
        wrong = [pick.choice(line.wrong) for line in lines if line.wrong]
        batch = read_batch(model, texts, lines, right + wrong)
        loss = contrast(batch.questions, batch.passages, known_right(lines, right + wrong))
        kept = places_kept(texts, old, right, batch.passages)
        schedule.step(loss + KEEP_PLACES * kept)
    print(f"first bi-encoder: {schedule.steps} steps", flush=True)
    return model


class Batch(NamedTuple):
    """Questions and passages as a model reads them: the vector of each, and those of its tokens."""

    questions: torch.Tensor
    question_tokens: torch.Tensor
    question_mask: torch.Tensor
    passages: torch.Tensor
    passage_tokens: torch.Tensor
    passage_mask: torch.Tensor


def read_batch(
    model: BiEncoder, texts: Texts, lines: Sequence[Line], passages: Sequence[int]
) -> Batch:
    """Let a model read the questions of lines, and passages."""
    with torch.autocast(DEVICE, torch.bfloat16):
        ids, question_mask = texts.batch([line.question for line in lines], QUESTION_TOKENS)
        questions, question_tokens = model(ids, question_mask)
        ids, passage_mask = texts.batch(passages, PASSAGE_TOKENS)
        vectors, passage_tokens = model(ids, passage_mask)
    return Batch(questions, question_tokens, question_mask, vectors, passage_tokens, passage_mask)


@torch.no_grad()
def mine(model: BiEncoder, texts: Texts, sources: Sources, pick: random.Random) -> Mined:
    """For each line the passages that it is told apart from: given ones, and what is near."""
    mined = {}
    for source, lines in sources.items():
        pool = passages_of(lines)
        near = nearest(model, texts, lines, pool)
        mined[source] = [
            hard_negatives(line, numbers, pool, pick)
            for line, numbers in zip(lines, near, strict=True)
        ]
    return mined


def passages_of(lines: Sequence[Line]) -> list[int]:
    """The passages of lines, each once, in order."""
    pool: dict[int, None] = {}
    for line in lines:
        pool.update(dict.fromkeys(line.right))
        pool.update(dict.fromkeys(line.wrong))
    return list(pool)


def nearest(
    model: BiEncoder, texts: Texts, lines: Sequence[Line], pool: Sequence[int]
) -> list[list[int]]:
    """For each line the passages of the pool that are nearest to its question."""
    passages = encode(model, texts, pool, PASSAGE_TOKENS).half()
    questions = encode(model, texts, [line.question for line in lines], QUESTION_TOKENS).half()
    found = []
    for some in questions.split(2048):
        columns = (some @ passages.T).topk(min(NEAREST, len(pool))).indices
        for row in columns.tolist():
            found.append([pool[column] for column in row])
    return found


def hard_negatives(
    line: Line, near: Sequence[int], pool: Sequence[int], pick: random.Random
) -> list[int]:
    """Draw what a line is told apart from; where that is too little, any passages are added."""
    right = set(line.right)
    others = [number for number in near if number not in right]
    given = pick.sample(line.wrong, min(GIVEN_NEGATIVES, len(line.wrong)))
    candidates = [number for number in others[SKIPPED_NEAREST:] if number not in given]
    candidates = candidates[:MOST_DRAWN_FROM]
    negatives = given + pick.sample(candidates, min(MINED_NEGATIVES, len(candidates)))
    while len(negatives) < NEGATIVES:
        negatives.append(pick.choice(pool))
    return negatives


def train_judge(texts: Texts, sources: Sources, mined: Mined, seconds: float) -> Judge:
    """The cross-encoder: the answer against its hard negatives."""
    pick = random.Random(SEED + 1)
    judge = Judge()
    schedule = Schedule(judge, 8e-5, seconds)
    for source, places in batches_until_over(schedule, sources, 128, pick):
        judge.train()
        pairs = []
        for place in places:
            line = sources[source][place]
            passages = [pick.choice(line.right), *mined[source][place]]
            pairs += [(line.question, passage) for passage in passages]
        with torch.autocast(DEVICE, torch.bfloat16):
            verdicts = judge(*texts.pair_batch(pairs, QUESTION_TOKENS, PAIR_TOKENS))
        schedule.step(listwise_loss(verdicts.view(len(places), -1)))
    print(f"judge: {schedule.steps} steps", flush=True)
    return judge


def listwise_loss(verdicts: torch.Tensor) -> torch.Tensor:
    """The loss of rows of verdicts, each on an answer and then on its hard negatives."""
    right = torch.zeros(len(verdicts), dtype=torch.long, device=DEVICE)
    wanted = functional.one_hot(right, verdicts.shape[1]).float()
    single = functional.binary_cross_entropy_with_logits(verdicts, wanted)
    return functional.cross_entropy(verdicts, right) + RIGHT_OR_WRONG * single


@torch.no_grad()
def judged(judge: Judge, texts: Texts, sources: Sources, mined: Mined) -> dict[str, torch.Tensor]:
    """What the judge says of the first right passage of each line and of its hard negatives."""
    judge.eval()
    verdicts = {}
    for source, lines in sources.items():
        pairs = []
        for line, wrong in zip(lines, mined[source], strict=True):
            pairs += [(line.question, passage) for passage in [line.right[0], *wrong]]
        order = sorted(range(len(pairs)), key=lambda n: len(texts.tokens[pairs[n][1]]))
        scores = torch.empty(len(pairs), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            for start in range(0, len(order), 4096):
                some = order[start : start + 4096]
                batch = texts.pair_batch([pairs[n] for n in some], QUESTION_TOKENS, PAIR_TOKENS)
                scores[torch.tensor(some, device=DEVICE)] = judge(*batch).float()
        verdicts[source] = scores.view(len(lines), -1)
    return verdicts


def final_bi_encoder(
    texts: Texts,
    sources: Sources,
    mined: Mined,
    verdicts: dict[str, torch.Tensor],
    seconds: float,
) -> BiEncoder:
    """The model of the package: contrast, the judge's order, and vectors of tokens."""
    pick = random.Random(SEED + 2)
    model = BiEncoder()
    old = BiEncoder()
    old.eval()
    schedule = Schedule(model, 5e-5, seconds)
    for source, places in batches_until_over(schedule, sources, 256, pick):
        model.train()
        lines = [sources[source][place] for place in places]
        right = [line.right[0] for line in lines]
        wrong = list(chain.from_iterable(mined[source][place] for place in places))
        batch = read_batch(model, texts, lines, right + wrong)
        loss = contrast(batch.questions, batch.passages, known_right(lines, right + wrong))
        loss = loss + distillation(batch, verdicts[source][torch.tensor(places, device=DEVICE)])
        kept = places_kept(texts, old, right, batch.passages)
        schedule.step(loss + KEEP_PLACES * kept)
    print(f"final bi-encoder: {schedule.steps} steps", flush=True)
    return model


def distillation(batch: Batch, verdicts: torch.Tensor) -> torch.Tensor:
    """The loss of not having the judge's order, by vectors and by those of the tokens."""
    columns = columns_of_lists(len(batch.questions), NEGATIVES)
    cosines = torch.einsum("qd,qpd->qp", batch.questions, batch.passages[columns])
    matches = late_interaction(
        batch.question_tokens.float(),
        inner_mask(batch.question_mask),
        batch.passage_tokens.float()[columns],
        inner_mask(batch.passage_mask)[columns],
    )
    wanted = functional.softmax(verdicts / VERDICT_TEMPERATURE, dim=1)
    by_vector = functional.log_softmax(cosines / TEMPERATURE, dim=1)
    by_tokens = functional.log_softmax(matches / TOKEN_TEMPERATURE, dim=1)
    right = torch.zeros(len(matches), dtype=torch.long, device=DEVICE)
    return (
        functional.kl_div(by_vector, wanted, reduction="batchmean")
        + functional.kl_div(by_tokens, wanted, reduction="batchmean")
        + TOKEN_CONTRAST * functional.cross_entropy(matches / TOKEN_TEMPERATURE, right)
    )


def columns_of_lists(questions: int, negatives: int) -> torch.Tensor:
    """Where the passages of each question stand in a batch: its answer, then its hard negatives."""
    answers = torch.arange(questions, device=DEVICE).view(questions, 1)
    others = torch.arange(questions * negatives, device=DEVICE).view(questions, negatives)
    return torch.cat([answers, questions + others], dim=1)


def averaged(model: BiEncoder, share: float) -> BiEncoder:
    """The mean of the model that was trained and the one it came from."""
    made = BiEncoder()
    new = model.state_dict()
    old = made.state_dict()
    mixed = {}
    for name, weight in new.items():
        if name.startswith("tokens."):
            mixed[name] = weight
        else:
            mixed[name] = share * weight + (1 - share) * old[name]
    made.load_state_dict(mixed)
    return made


def save(module: torch.nn.Module, out: Path, name: str) -> None:
    """Write what was trained, without the table of words, in several files."""
    parts: list[dict[str, NDArray[np.float16]]] = [{}]
    size = 0
    for key, weight in module.state_dict().items():
        if "word_embeddings" in key or "position_ids" in key:
            continue
        array = weight.detach().to(torch.float16).cpu().numpy()
        if size + array.nbytes > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][key.removeprefix("network.")] = array
        size += array.nbytes
    for number, part in enumerate(parts):
        np.savez(out / f"{name}.{number}.npz", allow_pickle=False, **part)


class Report:
    """Prints how far the training is, and what the models find in the sets at hand."""

    def __init__(self, texts: Texts, folder: Path | None) -> None:
        self._started = time.monotonic()
        self._texts = texts
        self._sets: dict[str, list[evaluate.Collection]] = {}
        if folder is not None:
            for name in (CONVERSATIONS, "xquad_en"):
                self._sets[name] = evaluate.collections(folder / f"{name}.json", texts)
        self._sets["notes"] = evaluate.collections_of_notes(NOTES, texts)

    def tell(self, what: str) -> None:
        """Print a line, with the seconds since the start."""
        print(f"{time.monotonic() - self._started:5.0f} s  {what}", flush=True)

    def by_meaning(self, what: str, model: BiEncoder) -> None:
        """Print what a model finds by itself."""
        for name, collections in self._sets.items():
            found = evaluate.by_meaning(model, self._texts, collections)
            self.tell(f"{what:24} {name:12} {found}")

    def with_judge(self, model: BiEncoder, judge: Judge) -> None:
        """Print what a model finds if the judge reads its best."""
        if CONVERSATIONS in self._sets:
            collections = self._sets[CONVERSATIONS]
            for share in (0.1, 1.0):
                found = evaluate.with_judge(model, judge, self._texts, collections, share)
                self.tell(f"judge, share {share:<10}  {CONVERSATIONS:12} {found}")

    def with_tokens(self, model: BiEncoder) -> None:
        """Print what a model finds with the vectors of its tokens."""
        if CONVERSATIONS in self._sets:
            collections = self._sets[CONVERSATIONS]
            found = evaluate.with_tokens(model, self._texts, collections, 0.5)
            self.tell(f"{'  with tokens':24} {CONVERSATIONS:12} {found}")


def arguments() -> argparse.Namespace:
    """What the caller asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=Path, required=True, help="what training.make_pairs wrote")
    parser.add_argument("--sets", type=Path, help="folder of the sets to evaluate with")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained weights")
    parser.add_argument(
        "--seconds",
        type=float,
        nargs=3,
        default=(90, 300, 780),
        metavar=("FIRST", "JUDGE", "FINAL"),
        help="how long each of the three networks is trained",
    )
    parser.add_argument("--lines", type=int, default=60_000, help="most lines of one source")
    return parser.parse_args()


def main() -> None:
    """Train both networks and write their weights."""
    options = arguments()
    torch.manual_seed(SEED)
    torch.set_float32_matmul_precision("high")
    texts = Texts()
    report = Report(texts, options.sets)
    sources = read_lines(options.pairs, texts, options.lines)
    report.tell(f"{sum(map(len, sources.values()))} lines, {len(texts.texts)} texts")
    report.by_meaning("base", BiEncoder())
    first = first_bi_encoder(texts, sources, options.seconds[0])
    report.by_meaning("first", first)
    mined = mine(first, texts, sources, random.Random(SEED))
    report.tell("mined")
    judge = train_judge(texts, sources, mined, options.seconds[1])
    save(judge, options.out, "judge")
    report.with_judge(first, judge)
    verdicts = judged(judge, texts, sources, mined)
    report.tell("judged")
    final = final_bi_encoder(texts, sources, mined, verdicts, options.seconds[2])
    save(final, options.out, "bi")
    for share in (1.0, 0.8, 0.6):
        mixed = averaged(final, share)
        report.by_meaning(f"final, {share} new", mixed)
        report.with_tokens(mixed)


if __name__ == "__main__":
    main()
