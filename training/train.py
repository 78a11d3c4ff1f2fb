"""Trains the model of the package and the judge of deep search, on one GPU, in about ten minutes.

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
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
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
QUESTION_TOKENS = 64
PASSAGE_TOKENS = 160
PAIR_TOKENS = 208
TEMPERATURE = 0.04
TOKEN_TEMPERATURE = 0.05
RUN_OF_LINES = 8
"""Lines that follow each other come from one document: together they are hard to tell apart."""

GIVEN_NEGATIVES = 3
MINED_NEGATIVES = 6
SKIPPED_NEAREST = 1
"""The very nearest passage that is not marked as right is often right all the same."""

KEEP_PLACES = 4.0
"""How much it counts that texts keep their places among each other."""


class Line(NamedTuple):
    """A question, what answers it, and what does not."""

    question: int
    right: list[int]
    wrong: list[int]


Sources = dict[str, list[Line]]


def read_lines(path: Path, texts: Texts, most_per_source: int) -> Sources:
    """The lines of each source, in the order of the file."""
    sources: Sources = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in file:
            line = json.loads(row)
            if line.get("q") and line.get("p") and len(sources[line["s"]]) < most_per_source:
                sources[line["s"]].append(
                    Line(
                        texts.number(line["q"]),
                        [texts.number(text) for text in line["p"]],
                        [texts.number(text) for text in line.get("n") or ()],
                    )
                )
    texts.tokenise()
    return dict(sources)


def batches(sources: Sources, size: int, pick: random.Random) -> Iterator[tuple[str, list[int]]]:
    """One round over all lines: batches of one source, of short runs of lines."""
    planned = []
    for source, lines in sources.items():
        runs = [
            list(range(start, min(start + RUN_OF_LINES, len(lines))))
            for start in range(0, len(lines), RUN_OF_LINES)
        ]
        pick.shuffle(runs)
        places = [place for run in runs for place in run]
        for start in range(0, len(places), size):
            batch = places[start : start + size]
            if len(batch) >= size // 8:
                planned.append((source, batch))
    pick.shuffle(planned)
    yield from planned


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


def contrast(asked: torch.Tensor, told: torch.Tensor, also_right: torch.Tensor) -> torch.Tensor:
    """The loss of telling the passage of a question from all others of the batch, both ways."""
    logits = (asked @ told.T / TEMPERATURE).masked_fill(also_right, -1e4)
    right = torch.arange(len(asked), device=DEVICE)
    back = logits[:, : len(asked)].T
    return functional.cross_entropy(logits, right) + 0.5 * functional.cross_entropy(back, right)


def places_kept(told: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """How far texts moved among each other."""
    return functional.mse_loss(told @ told.T, before @ before.T)


def first_bi_encoder(texts: Texts, sources: Sources, seconds: float) -> BiEncoder:
    """The model that proposes hard negatives."""
    pick = random.Random(SEED)
    model = BiEncoder()
    old = BiEncoder()
    old.eval()
    schedule = Schedule(model, 4e-5, seconds)
    while schedule.share < 1:
        for source, places in batches(sources, 512, pick):
            if schedule.share >= 1:
                break
            model.train()
            lines = [sources[source][place] for place in places]
            right = [pick.choice(line.right) for line in lines]
            wrong = [pick.choice(line.wrong) for line in lines if line.wrong]
            with torch.autocast(DEVICE, torch.bfloat16):
                asked, _ = model(*texts.batch([line.question for line in lines], QUESTION_TOKENS))
                told, _ = model(*texts.batch(right + wrong, PASSAGE_TOKENS))
                with torch.no_grad():
                    before, _ = old(*texts.batch(right[:128], PASSAGE_TOKENS))
            loss = contrast(asked, told, known_right(lines, right + wrong))
            schedule.step(loss + KEEP_PLACES * places_kept(told[: len(before)], before))
    print(f"first bi-encoder: {schedule.steps} steps", flush=True)
    return model


@torch.no_grad()
def mine(
    model: BiEncoder, texts: Texts, sources: Sources, pick: random.Random
) -> dict[str, list[list[int]]]:
    """For each line the passages that it is told apart from: given ones, and what is near."""
    mined = {}
    for source, lines in sources.items():
        pool = list(dict.fromkeys(number for line in lines for number in line.right + line.wrong))
        passages = encode(model, texts, pool, PASSAGE_TOKENS).half()
        questions = encode(model, texts, [line.question for line in lines], QUESTION_TOKENS).half()
        lists = []
        for start in range(0, len(lines), 2048):
            some = lines[start : start + 2048]
            near = (questions[start : start + 2048] @ passages.T).topk(min(30, len(pool))).indices
            for line, columns in zip(some, near.tolist(), strict=True):
                right = set(line.right)
                found = [pool[column] for column in columns if pool[column] not in right]
                found = found[SKIPPED_NEAREST:]
                taken = pick.sample(line.wrong, min(GIVEN_NEGATIVES, len(line.wrong)))
                more = [number for number in found if number not in taken]
                more = pick.sample(more[:16], min(MINED_NEGATIVES, len(more[:16])))
                wrong = taken + more
                while len(wrong) < GIVEN_NEGATIVES + MINED_NEGATIVES:
                    wrong.append(pick.choice(pool))
                lists.append(wrong[: GIVEN_NEGATIVES + MINED_NEGATIVES])
        mined[source] = lists
    return mined


def train_judge(
    texts: Texts, sources: Sources, mined: dict[str, list[list[int]]], seconds: float
) -> Judge:
    """The cross-encoder: the answer against its hard negatives."""
    pick = random.Random(SEED + 1)
    judge = Judge()
    schedule = Schedule(judge, 8e-5, seconds)
    width = 1 + GIVEN_NEGATIVES + MINED_NEGATIVES
    while schedule.share < 1:
        for source, places in batches(sources, 128, pick):
            if schedule.share >= 1:
                break
            judge.train()
            pairs = []
            for place in places:
                line = sources[source][place]
                for passage in [pick.choice(line.right), *mined[source][place]]:
                    pairs.append((line.question, passage))
            with torch.autocast(DEVICE, torch.bfloat16):
                scores = judge(*texts.pair_batch(pairs, QUESTION_TOKENS, PAIR_TOKENS))
            scores = scores.view(-1, width)
            right = torch.zeros(len(scores), dtype=torch.long, device=DEVICE)
            each = functional.one_hot(right, width).float()
            loss = functional.cross_entropy(scores, right)
            schedule.step(loss + 0.2 * functional.binary_cross_entropy_with_logits(scores, each))
    print(f"judge: {schedule.steps} steps", flush=True)
    return judge


@torch.no_grad()
def judged(
    judge: Judge, texts: Texts, sources: Sources, mined: dict[str, list[list[int]]]
) -> dict[str, torch.Tensor]:
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
    mined: dict[str, list[list[int]]],
    verdicts: dict[str, torch.Tensor],
    seconds: float,
) -> BiEncoder:
    """The model of the package: contrast, the judge's order, and vectors of tokens."""
    pick = random.Random(SEED + 2)
    model = BiEncoder()
    old = BiEncoder()
    old.eval()
    schedule = Schedule(model, 5e-5, seconds)
    width = 1 + GIVEN_NEGATIVES + MINED_NEGATIVES
    while schedule.share < 1:
        for source, places in batches(sources, 256, pick):
            if schedule.share >= 1:
                break
            model.train()
            lines = [sources[source][place] for place in places]
            right = [line.right[0] for line in lines]
            wrong = [number for place in places for number in mined[source][place]]
            with torch.autocast(DEVICE, torch.bfloat16):
                asked_ids, asked_mask = texts.batch(
                    [line.question for line in lines], QUESTION_TOKENS
                )
                asked, asked_tokens = model(asked_ids, asked_mask)
                told_ids, told_mask = texts.batch(right + wrong, PASSAGE_TOKENS)
                told, told_tokens = model(told_ids, told_mask)
                with torch.no_grad():
                    before, _ = old(*texts.batch(right[:128], PASSAGE_TOKENS))
            loss = contrast(asked, told, known_right(lines, right + wrong))
            # The lists of each question: its answer, then its hard negatives.
            count = len(lines)
            columns = torch.empty((count, width), dtype=torch.long, device=DEVICE)
            columns[:, 0] = torch.arange(count, device=DEVICE)
            columns[:, 1:] = count + torch.arange(count * (width - 1), device=DEVICE).view(
                count, -1
            )
            teacher = verdicts[source][torch.tensor(places, device=DEVICE)]
            cosines = torch.einsum("qd,qpd->qp", asked, told[columns])
            matches = late_interaction(
                asked_tokens.float(),
                inner_mask(asked_mask),
                told_tokens.float()[columns],
                inner_mask(told_mask)[columns],
            )
            wanted = functional.softmax(teacher / 1.5, dim=1)
            for scores, temperature in ((cosines, TEMPERATURE), (matches, TOKEN_TEMPERATURE)):
                own = functional.log_softmax(scores / temperature, dim=1)
                loss = loss + functional.kl_div(own, wanted, reduction="batchmean")
            in_row = torch.zeros(count, dtype=torch.long, device=DEVICE)
            loss = loss + 0.5 * functional.cross_entropy(matches / TOKEN_TEMPERATURE, in_row)
            schedule.step(loss + KEEP_PLACES * places_kept(told[: len(before)], before))
    print(f"final bi-encoder: {schedule.steps} steps", flush=True)
    return model


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
    """Write what was trained, without the table of words, in files of at most 14 MB."""
    parts: list[dict[str, np.ndarray]] = [{}]
    size = 0
    for key, weight in module.state_dict().items():
        if "word_embeddings" in key or "position_ids" in key:
            continue
        array = weight.detach().to(torch.float16).cpu().numpy()
        if size + array.nbytes > 14_000_000:
            parts.append({})
            size = 0
        parts[-1][key.removeprefix("network.")] = array
        size += array.nbytes
    for number, part in enumerate(parts):
        np.savez(out / f"{name}.{number}.npz", **part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--sets", type=Path, help="folder of the sets to evaluate with")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, nargs=3, default=(60, 170, 190))
    parser.add_argument("--lines", type=int, default=60_000, help="most lines of one source")
    options = parser.parse_args()
    started = time.monotonic()
    torch.manual_seed(SEED)
    torch.set_float32_matmul_precision("high")
    texts = Texts()
    sets = {}
    if options.sets:
        for name in ("locomo_dev", "xquad_en"):
            sets[name] = evaluate.collections(options.sets / f"{name}.json", texts)
    sources = read_lines(options.pairs, texts, options.lines)

    def tell(what: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {what}", flush=True)

    def figures(what: str, model: BiEncoder) -> None:
        for name, one in sets.items():
            tell(f"{what:24} {name:12} {evaluate.by_meaning(model, texts, one)}")

    tell(f"{sum(map(len, sources.values()))} lines, {len(texts.texts)} texts")
    figures("base", BiEncoder())
    first = first_bi_encoder(texts, sources, options.seconds[0])
    figures("first", first)
    mined = mine(first, texts, sources, random.Random(SEED))
    tell("mined")
    judge = train_judge(texts, sources, mined, options.seconds[1])
    save(judge, options.out, "judge")
    for share in (0.1, 1.0) if sets else ():
        got = evaluate.with_judge(first, judge, texts, sets["locomo_dev"], share)
        tell(f"judge, share {share:<10}  locomo_dev   {got}")
    verdicts = judged(judge, texts, sources, mined)
    tell("judged")
    final = final_bi_encoder(texts, sources, mined, verdicts, options.seconds[2])
    save(final, options.out, "bi")
    for share in (1.0, 0.8, 0.6):
        mixed = averaged(final, share)
        figures(f"final, {share} new", mixed)
        if sets:
            got = evaluate.with_tokens(mixed, texts, sets["locomo_dev"], 0.5)
            tell(f"  with tokens              locomo_dev   {got}")


if __name__ == "__main__":
    main()
