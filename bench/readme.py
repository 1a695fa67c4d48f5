"""The README's table of scores, written from the report of the rebuilt sample project.

    python -m bench.readme

Reads data/report/headline.json, keeps the numbers of the table in docs/sample-scores.csv as they are stored, and
replaces the table in README.md. A test compares the README with the table that this file gives.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nightjar.core.display import number
from nightjar.core.files import write_text
from nightjar.statistics import MINIMUM

README, KEPT, REPORT = Path("README.md"), Path("docs/sample-scores.csv"), Path("data/report/headline.json")
COLUMNS = {
    "ROUGE-L": ("supernatinst", "default", "rougeL"),
    "exact match": ("supernatinst", "default", "exact_match"),
    "SVAMP": ("tool_use", "svamp", "accuracy"),
    "ASDiv": ("tool_use", "asdiv", "accuracy"),
}
SYSTEMS = {
    "copy_input": "copy_input: the instance's input",
    "copy_demo": "copy_demo: the first example's output",
    "untuned": "untuned model",
    "tk_instruct": "tk_instruct: fine-tuned on 27 other tasks",
    "combined": "combined: the same, with tool calls and evidence",
    "supervised": "supervised: tuned on other instances of the test tasks",
    "toolformer_disabled": "toolformer, its calls disabled",
    "toolformer": "toolformer: fine-tuned on documents with tool calls",
}
HEAD = ("system", "column", "n", "value", "low", "high")

Row = Mapping[str, str]


def rows(report: Path) -> Iterator[dict[str, str]]:
    """The numbers of the table in a report's headline.json, as texts."""
    found = {(it["benchmark"], it["track"], it["system"]): it for it in json.loads(report.read_text())}
    for system in SYSTEMS:
        for column, (benchmark, track, metric) in COLUMNS.items():
            entry = found.get((benchmark, track, system), {})
            if metric in entry:
                ends = {end: entry[f"{metric}_{end}"] for end in ("low", "high")}
                told = {"n": entry["n"], "value": entry[metric]} | ends
                shown = {name: "" if it is None else str(it) for name, it in told.items()}
                yield {"system": system, "column": column} | shown


def table(kept: Sequence[Row]) -> str:
    """The table in Markdown."""
    cells = {(row["system"], row["column"]): _cell(row) for row in kept}
    lines = [f"| system | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for system, title in SYSTEMS.items():
        shown = (cells.get((system, column), "") for column in COLUMNS)
        lines.append(f"| {title} " + "".join(f"| {cell} " if cell else "| " for cell in shown) + "|")
    return "\n".join(lines) + "\n"


def _cell(row: Row) -> str:
    value, *ends = (number(float(row[name]), 1) for name in ("value", "low", "high") if row[name])
    return f"{value} [{', '.join(ends)}]" if ends else f"{value} n<{MINIMUM}"


def read(path: Path = KEPT) -> list[Row]:
    """The numbers that were kept."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Keep the numbers, and replace the table."""
    lines = [",".join(HEAD), *(",".join(row[name] for name in HEAD) for row in rows(REPORT))]
    write_text(KEPT, "\n".join(lines) + "\n")
    text = README.read_text(encoding="utf-8")
    start = text.index(f"| system | {next(iter(COLUMNS))} |")
    write_text(README, text[:start] + table(read()) + text[text.index("\n\n", start) + 1 :])


if __name__ == "__main__":
    main()
