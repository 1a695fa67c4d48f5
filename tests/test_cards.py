"""Everything generic works from the cards: it names no benchmark, and no dataset but where that dataset is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightjar.benchmarks import registry

ROOT = Path(__file__).parents[1]
GENERIC = (
    "pipelines/**/*.py",
    "stages/predict/*.py",
    "stages/evaluate/*.py",
    "stages/questions/*.py",
    "stages/retrieve/*.py",
    "nightjar/benchmarks/*.py",
    "nightjar/core/**/*.py",
    "nightjar/predict/*.py",
    "nightjar/statistics/*.py",
)
# The table of Nightjar's own cards.
OWN = "nightjar/benchmarks/folders.py"
# Benchmarks whose names are ordinary words, which prose may use as such.
ORDINARY = {"classification"}
# One whose name is a word of the code, too: it counts as a whole string, and in the path of its folder.
OF_THE_CODE = {"reading"}
DATASET = "natural_instructions"
# The parameters of the dataset, two commands for files in its format, and the
# card of an exported model, which names the data of its training.
OF_THE_DATASET = {
    "nightjar/core/paths.py",
    "pipelines/commands/model_card.py",
    "nightjar/params/inputs.py",
    "pipelines/commands/encode.py",
    "pipelines/commands/ingest.py",
}


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without the examples of commands in help texts."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("      nightjar "):
            yield number, line


def named(file: Path, name: str) -> list[int]:
    """The lines that name a benchmark; an ordinary word counts only where it is written as in code."""
    if name in OF_THE_CODE:
        whole = re.compile(rf"[\"']{name}[\"']|benchmarks[./]{name}\b")
        return [number for number, line in lines(file) if whole.search(line)]
    word = re.compile(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])")
    prose = re.compile(rf"(?<![\"'/@.-]){name}(?![\"'/@.-])")
    return [
        number
        for number, line in lines(file)
        if word.search(prose.sub("", line) if name in ORDINARY else line)
    ]


@pytest.mark.parametrize("pattern", GENERIC)
def test_no_benchmark_is_named(pattern: str) -> None:
    files = sorted(ROOT.glob(pattern))
    assert files
    told = [
        f"{path}:{number}: {name}"
        for file in files
        if (path := file.relative_to(ROOT).as_posix()) != OWN
        for name in registry.OWN
        for number in named(file, name)
    ]
    assert told == []


def test_the_registry_names_benchmarks_in_its_table_alone() -> None:
    file = ROOT / OWN
    text = file.read_text(encoding="utf-8")
    table = text[text.index("\nOWN = {") : text.index("\n}\n", text.index("\nOWN = {"))]
    first = text[: text.index(table)].count("\n") + 1
    inside = range(first, first + table.count("\n") + 1)
    assert all(number in inside for name in registry.OWN for number in named(file, name))


@pytest.mark.parametrize("pattern", GENERIC)
def test_the_dataset_is_named_only_where_it_is_meant(pattern: str) -> None:
    files = [file for file in ROOT.glob(pattern) if file.relative_to(ROOT).as_posix() not in OF_THE_DATASET]
    assert [str(file) for file in files if any(DATASET in line for _, line in lines(file))] == []
