"""Runs of other harnesses in `nightjar compare`: its options, its tables, and its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from nightjar.core import display
from nightjar.core.errors import NightjarError
from nightjar.statistics import too_few
from pipelines.commands.console import say, say_table
from pipelines.commands.options import FILE, OUTPUT, Decorator

COLUMNS = (
    "a",
    "b",
    "task",
    "filter",
    "metric",
    "n",
    "a_value",
    "b_value",
    "value",
    "low",
    "high",
    "p",
    "p_corrected",
    "better",
    "worse",
    "equal",
    "verdict",
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of runs to the command."""
    decorators: Sequence[Decorator] = (
        click.option(
            "--run", "more", type=FILE, multiple=True, metavar="RUN", help="One more run; may be repeated."
        ),
        click.option("--common", is_flag=True, help="Compare the documents and prompts that all runs have."),
        click.option("--any-prompt", is_flag=True, help="Pair documents whatever their prompts are."),
        click.option("--html", type=OUTPUT, metavar="DIR", help="Write a page that compares two runs."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def compare_sources(
    paths: Sequence[Path],
    more: Sequence[Path],
    common: bool,
    any_prompt: bool,
    html: Path | None,
    samples: int,
) -> dict[str, Any]:
    """Read the runs, compare them, and write the page if one is named."""
    from nightjar.harness import compare_runs, read_run

    sources = [*paths, *more]
    if len(sources) < 2:
        raise click.UsageError("give two runs, as --a and --b, or --run for each; or --benchmark")
    if html and len(sources) > 2:
        raise NightjarError("a page compares two runs", html, "name two runs, or leave --html out")
    runs = [read_run(source) for source in sources]
    result = compare_runs(runs, common, any_prompt, texts=html is not None, samples=samples)
    if html:
        _write_page(html, sources, result)
        result["page"] = html / "index.html"
    return result


def _write_page(output: Path, sources: Sequence[Path], result: Mapping[str, Any]) -> None:
    """Write the page of `nightjar compare --against`, on which run a is now and run b before."""
    from nightjar.core.files import folder_output
    from stages.report import comparison

    first, second = (f"{run['name']} ({run['source']})" for run in result["runs"])
    units = {_subject(row): row["unit"] for row in result["scores"]}
    numbers = [
        {**row, "benchmark": row["task"], "track": row["filter"], "system": ""}
        | {"now": row["a_value"], "before": row["b_value"], "unit": units[_subject(row)]}
        for row in result["differences"]
    ]
    compared = {"alpha": result["alpha"], "numbers": numbers, "answers": result["answers"], "prompts": []}
    about = [f"now: {first}. before: {second}. The track is the filter of answers.", *result["notes"]]
    with folder_output(output, sources, comparison.foreign) as folder:
        for name, text in comparison.files(compared, second, about).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def run_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the differences of runs as one flat table."""
    return [{name: row[name] for name in COLUMNS} for row in result["differences"]]


def print_runs(result: Mapping[str, Any]) -> None:
    """Print the differences of two runs, or the scores of several runs and the pairs that differ."""
    names = [run["name"] for run in result["runs"]]
    rows = result["differences"]
    units = {_subject(row): _Unit.of(row) for row in result["scores"]}
    for letter, run in zip("ab", result["runs"], strict=False) if len(names) == 2 else ():
        say(f"{letter}: {run['name']} ({run['harness']})")
    if len(names) == 2:
        say_table([_line(row, units) for row in rows], right=("a", "b"))
    else:
        say_table([_score_line(row) for row in result["scores"]], right=names)
        say()
        different = [row for row in rows if row["verdict"] in ("better", "worse")]
        pairs = [{"a": row["a"], "b": row["b"]} | _line(row, units, values=False) for row in different]
        say_table(pairs, "significant differences, a - b")
        say(f"{len(different)} of {len(rows)} differences are significant.")
    for note in result["notes"]:
        say(note)
    if "page" in result:
        say(f"The comparison: {result['page']}")


class _Unit(NamedTuple):
    """The title of a metric with its unit, and the decimals of its numbers."""

    metric: str
    decimals: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Unit:
        """Return that of a row of scores: 2 decimals for percentages and numbers of 10 and more, 4 for others."""
        if row["unit"]:
            return cls(f"{row['metric']} ({row['unit']})", 2)
        return cls(row["metric"], 2 if max(map(abs, row["values"].values())) >= 10 else 4)


Units = Mapping[tuple[str, str, str], _Unit]


def _subject(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["task"], row["filter"], row["metric"]


def _line(row: Mapping[str, Any], units: Units, values: bool = True) -> dict[str, Any]:
    unit = units[_subject(row)]
    ends = (
        f"[{', '.join(display.number(row[name], unit.decimals, signed=True) for name in ('low', 'high'))}]"
        if row["low"] is not None
        else too_few(row["n"])
    )
    both = {name: display.number(row[f"{name}_value"], unit.decimals) for name in "ab"} if values else {}
    counts = [row[name] for name in ("better", "worse", "equal")]
    return {
        **{"task": row["task"], "filter": row["filter"], "metric": unit.metric, "n": row["n"]},
        **both,
        "a - b": f"{display.number(row['value'], unit.decimals, signed=True)} {ends}",
        "p": _p(row["p"], row["n"]),
        "p (Holm)": _p(row["p_corrected"], row["n"]),
        "better / worse / equal": "–" if None in counts else " / ".join(map(str, counts)),
        "verdict": row["verdict"],
    }


def _score_line(row: Mapping[str, Any]) -> dict[str, Any]:
    unit = _Unit.of(row)
    values = {name: display.number(value, unit.decimals) for name, value in row["values"].items()}
    return {"task": row["task"], "filter": row["filter"], "metric": unit.metric, "n": row["n"]} | values


def _p(value: float | None, n: int) -> str:
    return too_few(n) if value is None else display.p(value)
