"""Makes docs/why/measurements.md and its charts from the result files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from bench.peers.charts import Bar, bar_chart
from bench.peers.environments import ROOT
from bench.peers.lines import (
    LINES,
    OWN,
    Known,
    Line,
    figures_of,
    questions_asked,
    recall_lines,
)
from bench.peers.registry import NOT_RUN, PEERS
from bench.peers.results import FOLDER, Figures

PAGE = ROOT / "docs" / "why" / "measurements.md"
PICTURES = ROOT / "docs" / "pictures"
REMARKS = Path(__file__).with_name("remarks.toml")
CHARTS = {
    "measured-start.svg": ("CPU seconds until the client has its tools (less is better)", "CPU s to the list of tools"),
    "measured-writers.svg": ("Eight processes write at once: share of the writes that is there afterwards", "8 writers: kept of what was asked"),
    "measured-recall.svg": ("Evidence among the first ten hits, LoCoMo, turn level", "locomo_dev turn, turn@10"),
}  # fmt: skip
LEAST_BARS = 3
BUSY = 0.15
"""If others used a larger share of the processors before a measure began, it is told: its seconds
are not those of a quiet machine."""
GROUPS = {
    "Install and start": LINES[:5],
    "Writes": LINES[5:10],
    "Search as it grows": LINES[10:25],
    "What is kept": LINES[25:31],
    "Questions without an answer": LINES[31:],
}
INTRO = """\
# Measured beside other memories

Made by `make bench-peers` from the result files in `bench/peers/results`; do not edit it by hand. Anybody can repeat it:
the harness installs each program in an environment of its own, starts it, and asks it through its own interface. All have
the same published weights of all-MiniLM-L6-v2, and memolith is measured with its own model as well.

A line is left out where nobody has been measured, and a cell is empty where a program has no such thing, did not get so
far within its time, or failed; the [reasons](#what-could-not-be-measured) are below. The best of each line is bold.
"""
METHOD = """\
## How it is measured

- **Start**: from starting the process to the answered list of tools, at a second start; for a library, until it can be
  asked. Tokens are those of name, description and arguments of all tools, by o200k. Sizes are without byte code; those of
  programs that download their model on first use are without it (MiniLM: 91 MB), memolith's contains its own.
- **Writes** are acknowledged ones, one after the other. *Loaded* is the quickest way that a program offers for many texts,
  until they can be searched.
- **Search**: made-up sentences, every question asked once; one text in a hundred has the tag of the filtered search.
- **What is kept**: processes write to one store at the same time; a new process then lists what is there. What was refused
  is not lost, so both shares are given. For kill -9 the process ends while it writes.
- **Questions without an answer** are asked about the notes in `bench/notes/team.toml` and `assistant.toml`, which nothing
  was trained on or fitted to. memolith calls hits `strong`, `likely` or `weak`; it is sure of those that are not weak.
  Programs that say nothing of the kind are taken at their word for every hit.
- **Recall** is the share of the evidence among the first hits. No language model reads or judges: reader and judge alone
  move scores by five to ten points, and nobody can repeat them exactly. Of LoCoMo, the development conversations are used.
  *turn*: a note for each turn; *session*: a note for each session; *conversation*: each session through the tool for
  conversations, which only memolith has among these. Of XQuAD six languages, all 240 paragraphs and the questions that the
  time allows, spread over the articles (`MEMOLITH_BENCH_XQUAD` names the folder of its published files).
  The sets that memolith's model was trained on (`training/sources.toml`) are left out. The weights of memolith's score were
  fitted with `locomo_dev`, `xquad_en` and `xquad_zh` among other material, so its figures on these are not held out; the
  others have nothing that was fitted to them. LongMemEval is published where this machine could not fetch it.
- Every measure has a budget of seconds. A program that does not get through it in time has no figure there.
"""


def load_results(folder: Path = FOLDER) -> dict[str, Figures]:
    """What is known of each peer, in the order of the registry."""
    return {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in PEERS
        if (folder / f"{name}.json").is_file()
    }


def page_text(known: Known) -> str:
    """The whole page."""
    parts = [INTRO]
    if not known:
        parts.append("Nothing has been measured on a quiet machine yet.\n")
    else:
        parts.append(conditions(known))
        parts += [
            f"![{title}](../pictures/{file})\n" for file, title in shown_charts(known).items()
        ]
        for title, lines in {**GROUPS, "Recall on public sets": recall_lines(known)}.items():
            parts += [f"## {title}\n", table(known, lines)] if table(known, lines) else []
        parts += [questions_text(known), behaviour(known), not_first(known)]
    parts += [METHOD, failures(known), others()]
    return "\n".join(part for part in parts if part)


def questions_text(known: Known) -> str:
    """How many questions the recall is about."""
    asked = questions_asked(known)
    if not asked:
        return ""
    counts = ", ".join(f"{name} {count}" for name, count in asked.items())
    return f"Questions asked: {counts}. Who did not get through them in time has no figure.\n"


def conditions(known: Known) -> str:
    """Versions, days and the machine."""
    outcomes = [outcome for results in known.values() for outcome in results["measures"].values()]
    days = sorted({outcome["day"] for outcome in outcomes})
    machine = outcomes[0]["machine"]
    busy = sum(outcome["busy"] > BUSY for outcome in outcomes)
    text = (
        f"Measured {' to '.join(dict.fromkeys((days[0], days[-1])))} on {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, {machine['system']}."
    )
    if busy:
        text += (
            f" **{busy} of {len(outcomes)} measures began while the machine was busy with other "
            "work**: plan with CPU times, counts and shares, not with milliseconds."
        )
    rows = [
        f"| [{results['title']}]({results['link']}) | {results['version']} | {results['search']} "
        f"| {results['bulk']} | {results['notes']} |"
        for name, results in known.items()
        if name not in OWN
    ]
    rows = [
        f"| {results['title']} | {results['version']} | {results['search']} | {results['bulk']} "
        f"| {results['notes']} |"
        for name, results in known.items()
        if name in OWN
    ] + rows
    head = "| | version | searches by | loads by | |\n|---|---|---|---|---|"
    return "\n".join([text, "", head, *rows, ""])


def table(known: Known, lines: Sequence[Line]) -> str:
    """A row per peer and a column per line; empty if nobody has a figure."""
    columns = [line for line in lines if line.values(known)]
    if not columns:
        return ""
    rows = [
        "| | " + " | ".join(line.name for line in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for name, results in known.items():
        cells = [cell(line, known, name) for line in columns]
        rows.append(f"| {results['title']} | " + " | ".join(cells) + " |")
    return "\n".join([*rows, ""])


def cell(line: Line, known: Known, name: str) -> str:
    """A figure, bold if no other is better."""
    values = line.values(known)
    if name not in values:
        return ""
    best = (min if line.less_is_better else max)(values.values())
    shown = f"{values[name]:,.{line.digits}f}"
    return f"**{shown}**" if values[name] == best and len(values) > 1 else shown


def behaviour(known: Known) -> str:
    """What happens when something goes wrong, in words."""
    rows = []
    for results in known.values():
        cells = [
            offline_words(figures_of(results, "offline")),
            deleted_words(figures_of(results, "deleted")),
            hostile_words(figures_of(results, "hostile")),
            refusal_words(figures_of(results, "writers8")),
        ]
        if any(cells):
            rows.append(f"| {results['title']} | " + " | ".join(cells) + " |")
    if not rows:
        return ""
    head = "| | right after the installation, without a network | its data folder is deleted while it runs | hostile texts and questions | eight writers |"
    return "\n".join(["## When something goes wrong\n", head, "|---|---|---|---|---|", *rows, ""])


def offline_words(figures: Figures | None) -> str:
    """What works without a network."""
    if figures is None:
        return ""
    if "failed_at" in figures:
        return f"fails at the first {figures['failed_at']}"
    found = [word for word in ("words", "meaning") if figures[f"found_by_{word}"]]
    return "finds by " + " and ".join(found) if found else "stores, but does not find"


def deleted_words(figures: Figures | None) -> str:
    """What becomes of a write."""
    if figures is None:
        return ""
    if figures["write"] == "refused":
        return "refuses the next write"
    return "acknowledges the next write and " + ("keeps it" if figures["kept"] else "loses it")


def hostile_words(figures: Figures | None) -> str:
    """How many were taken."""
    if figures is None:
        return ""
    words = (
        f"takes {figures['taken']} of {figures['texts']} texts, keeps {figures['kept']}; "
        f"answers {figures['answered']} of {figures['questions']} questions"
    )
    return words + (f"; ended {figures['ended']} times" if figures["ended"] else "")


def refusal_words(figures: Figures | None) -> str:
    """How many writes were acknowledged, found and refused."""
    if figures is None:
        return ""
    words = f"{figures['acknowledged']} acknowledged, {figures['found']} found"
    return words + (f", {figures['refused']} refused" if figures["refused"] else "")


def not_first(known: Known) -> str:
    """Every line where a peer is ahead, and what was done about it."""
    remarks = tomllib.loads(REMARKS.read_text(encoding="utf-8"))["lines"]
    rows = []
    for line in [*LINES, *recall_lines(known)]:
        ahead = line.ahead_of_us(known)
        if ahead:
            own = line.values(known)[OWN[0]]
            names = ", ".join(
                f"{known[name]['title']} {value:,.{line.digits}f}" for name, value in ahead.items()
            )
            remark = remarks.get(line.name, "not looked into yet")
            rows.append(f"| {line.name} | {own:,.{line.digits}f} | {names} | {remark} |")
    if not rows:
        return ""
    head = "| line | memolith | ahead | what was done, or why it stays |\n|---|---|---|---|"
    return "\n".join(["## Where memolith is not first\n", head, *rows, ""])


def failures(known: Known) -> str:
    """What could not be measured, with the reason that was printed."""
    rows = [
        f"- {results['title']}, {measure}: {plain(outcome['failed'])}"
        for results in known.values()
        for measure, outcome in results["measures"].items()
        if "failed" in outcome
    ]
    for results in known.values():
        figures = figures_of(results, "offline") or {}
        if "failed_at" in figures:
            rows.append(f"- {results['title']}, without a network: {plain(figures['reason'])}")
    listed = rows or ["- Nothing has failed in the results so far."]
    return "\n".join(["## What could not be measured\n", *listed, ""])


def plain(reason: str) -> str:
    """A reason as one line of Markdown."""
    return "`" + " ".join(reason.replace("`", "'").split()) + "`"


def others() -> str:
    """Memories that cannot be run under these conditions."""
    rows = [f"- {name}: {reason}" for name, reason in NOT_RUN.items()]
    return "\n".join(["These were not run:\n", *rows, ""])


def chart(known: Known, title: str, name: str) -> str:
    """The chart of a line; empty if too few have a figure."""
    line = {line.name: line for line in [*LINES, *recall_lines(known)]}.get(name)
    values = line.values(known) if line else {}
    if line is None or len(values) < LEAST_BARS:
        return ""
    ordered = sorted(values.items(), key=lambda entry: entry[1], reverse=not line.less_is_better)
    bars = [
        Bar(known[name]["title"], value, f"{value:,.{max(line.digits, 2)}f}", name in OWN)
        for name, value in ordered
    ]
    return bar_chart(title, bars)


def shown_charts(known: Known) -> dict[str, str]:
    """The files of the charts that can be drawn, with their titles."""
    return {file: title for file, (title, name) in CHARTS.items() if chart(known, title, name)}


def page_files(known: Known) -> dict[Path, str]:
    """Everything that is written."""
    charts = {
        PICTURES / file: chart(known, title, CHARTS[file][1])
        for file, title in shown_charts(known).items()
    }
    return {PAGE: page_text(known), **charts}


def write_page() -> None:
    """Write the page and its charts."""
    for path, text in page_files(load_results()).items():
        path.write_text(text, encoding="utf-8")
