"""Make the training pairs from public repositories.

    python -m training.make_pairs --out pairs.jsonl.gz

fetches every repository of sources.toml into `--clones` (a folder that may already hold some or
all of them), builds the lines source by source, and writes them in the order of the table. The
same commits give the same file, byte for byte. `training.train` draws its own order of the lines.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.sources import BUILDERS
from training.sources.pair import Pair, usable
from training.sources.repository import (
    FolderRepository,
    Repository,
    SourceError,
    clone,
    open_repository,
)
from training.sources.table import TABLE_FILE, Source, read_table
from training.sources.text import content_words, sentences

PROJECT = Path(__file__).parents[1]
DEFAULT_CLONES = PROJECT / ".cache" / "training" / "clones"
DEFAULT_OUT = PROJECT / ".cache" / "training" / "pairs.jsonl.gz"
SEED = 20
MIN_EVALUATION_WORDS = 5


@dataclass(frozen=True)
class Outcome:
    """What became of one source."""

    source: Source
    pairs: tuple[Pair, ...]
    found: int
    """How many pairs there were before the number was cut to the limit of the table."""
    in_evaluation: int
    """How many pairs were dropped because an evaluation set holds a sentence of theirs."""
    seconds: float

    def __str__(self) -> str:
        negatives = sum(len(pair.negatives) for pair in self.pairs) / max(1, len(self.pairs))
        told = (
            f"{self.source.name:<20} {len(self.pairs):>6,} lines, {negatives:.1f} negatives a line"
        )
        if self.found > len(self.pairs):
            told += f", drawn from {self.found:,}"
        if self.in_evaluation:
            told += f", {self.in_evaluation} dropped as in an evaluation set"
        if len(self.pairs) != self.source.lines:
            told += f" (the table says {self.source.lines:,})"
        return f"{told}, {self.seconds:.1f} s"


def fingerprint(text: str) -> str:
    """What two texts have in common that differ in case, marks and spaces alone."""
    return " ".join(content_words(text))


def fingerprints(text: str) -> set[str]:
    """The fingerprint of a text and of each of its sentences, without those of a few words."""
    found = {fingerprint(text)}
    found.update(fingerprint(sentence) for sentence in sentences(text))
    return {words for words in found if words.count(" ") + 1 >= MIN_EVALUATION_WORDS}


def evaluation_folders() -> list[Path]:
    """What the benchmarks read: MEMOLITH_BENCH_DATA or `shared/data`, and the notes in `bench`."""
    named = os.environ.get("MEMOLITH_BENCH_DATA")
    data = Path(named) if named else PROJECT.parent / "shared" / "data"
    return [data / "retrieval", PROJECT / "bench" / "notes"]


def evaluation_texts(folders: Sequence[Path]) -> set[str]:
    """The fingerprints of every text in the evaluation sets that are at hand."""
    texts: set[str] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.suffix == ".json":
                texts.update(_strings(json.loads(path.read_text(encoding="utf-8"))))
            elif path.suffix == ".toml":
                texts.update(_strings(tomllib.loads(path.read_text(encoding="utf-8"))))
    return {found for text in texts for found in fingerprints(text)}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def local_folder(source: Source, clones: Path) -> Path | None:
    """Where the repository of a source already lies, if it does."""
    owner, _, name = source.repository.partition("/")
    for folder in (clones / f"{owner}+{name}", clones / owner / name, clones / name):
        if folder.is_dir():
            return folder
    return None


def build_source(source: Source, clones: Path, any_commit: bool, seen: set[str]) -> Outcome:
    """Every usable pair of a source, up to its limit; fetches its repository where needed."""
    started = time.monotonic()
    if source.folder:
        pairs = _pairs(source, FolderRepository(TABLE_FILE.parent / source.folder))
    else:
        folder = local_folder(source, clones)
        if folder is None:
            folder = clones / source.repository.replace("/", "+")
            clone(source.url, source.commit, folder)
        with open_repository(folder, "HEAD" if any_commit else source.commit) as repository:
            pairs = _pairs(source, repository)
    kept = [pair for pair in pairs if not _in_evaluation(pair, seen)]
    chosen = _drawn(kept, source)
    seconds = time.monotonic() - started
    return Outcome(source, tuple(chosen), len(kept), len(pairs) - len(kept), seconds)


def _pairs(source: Source, repository: Repository) -> list[Pair]:
    cut = (usable(pair) for pair in BUILDERS[source.name](repository))
    unique = {(pair.question, pair.passages): pair for pair in cut if pair is not None}
    return list(unique.values())


def _in_evaluation(pair: Pair, seen: set[str]) -> bool:
    texts = (pair.question, *pair.passages)
    return any(not seen.isdisjoint(fingerprints(text)) for text in texts)


def _drawn(pairs: list[Pair], source: Source) -> list[Pair]:
    """As many pairs as the table allows, in their old order."""
    if source.max_lines is None or len(pairs) <= source.max_lines:
        return pairs
    chance = random.Random(f"{SEED} {source.name}")
    return [pairs[number] for number in sorted(chance.sample(range(len(pairs)), source.max_lines))]


def write(outcomes: Sequence[Outcome], path: Path) -> str:
    """Write the lines; returns the digest of the uncompressed text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    # No file name and no time inside, so that equal lines give an equal file.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for outcome in outcomes:
            for pair in outcome.pairs:
                line = json.dumps(pair.as_line(outcome.source.name), ensure_ascii=False) + "\n"
                digest.update(line.encode())
                packed.write(line.encode())
    return digest.hexdigest()


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    arguments = argparse.ArgumentParser(prog="python -m training.make_pairs", description=__doc__)
    arguments.add_argument("--out", type=Path, default=DEFAULT_OUT, help="the file to write")
    arguments.add_argument(
        "--clones",
        type=Path,
        default=DEFAULT_CLONES,
        help="folder with clones or bare git directories; what is missing is fetched into it",
    )
    arguments.add_argument(
        "--any-commit",
        action="store_true",
        help="read the newest commit at hand instead of the one that the table names",
    )
    arguments.add_argument("--only", nargs="*", default=[], help="names of single sources")
    arguments.add_argument(
        "--evaluation",
        type=Path,
        action="append",
        help="folder with evaluation sets (JSON, TOML) whose texts must not be in the data",
    )
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Build every source; 1 when one of them could not be built."""
    options = parser().parse_args(argv)
    seen = evaluation_texts(options.evaluation or evaluation_folders())
    print(f"{len(seen):,} texts of evaluation sets are left out")
    outcomes = []
    failed = 0
    for source in read_table():
        if options.only and source.name not in options.only:
            continue
        try:
            outcome = build_source(source, options.clones, options.any_commit, seen)
        except SourceError as error:
            failed += 1
            print(f"{source.name:<20} not built: {error}", flush=True)
            continue
        print(outcome, flush=True)
        outcomes.append(outcome)
    digest = write(outcomes, options.out)
    lines = sum(len(outcome.pairs) for outcome in outcomes)
    negatives = sum(len(pair.negatives) for outcome in outcomes for pair in outcome.pairs)
    print(f"{lines:,} lines, {negatives:,} negatives in {options.out}, sha256 of the text {digest}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
