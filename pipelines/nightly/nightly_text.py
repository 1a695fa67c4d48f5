"""A night in words: one line, and a page of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.score_table import difference_text, number_text, track_title
from nightjar.core.display import counted_as, first_few, p
from pipelines.project.text import plain, table

# The order in which verdicts are reported.
ORDER = ("worse", "better", "unchanged", "not comparable")

Row = Mapping[str, Any]


def words(verdicts: Iterable[Row], *columns: str) -> dict[tuple[str, ...], str]:
    """Return one word for every combination of values of `columns`: the first of ORDER among its verdicts."""
    firsts: dict[tuple[str, ...], str] = {}
    for row in verdicts:
        key = tuple(row[name] for name in columns)
        firsts[key] = min(firsts.get(key, ORDER[-1]), row["verdict"], key=ORDER.index)
    return firsts


def benchmarks(verdicts: Iterable[Row]) -> dict[str, str]:
    return {benchmark: word for (benchmark,), word in words(verdicts, "benchmark").items()}


def message(verdicts: Sequence[Row], reference: Row | None) -> str:
    """Return the verdicts in one line: of each benchmark one entry for each system that did not stay the same.

    Its entry has the first of its scores with the verdict; `mean_verdicts.judge_all` puts the main ones first.
    """
    if reference is None:
        return counts(verdicts, compared=False)
    parts = []
    systems = words(verdicts, "benchmark", "system", "track")
    for benchmark, word in benchmarks(verdicts).items():
        details = []
        for verdict in (verdict for verdict in ORDER if verdict != "unchanged"):
            rows = [
                row
                for row in verdicts
                if row["benchmark"] == benchmark
                and row["verdict"] == verdict == systems[benchmark, row["system"], row["track"]]
            ]
            if text := _entries(rows, named=verdict != word):
                details.append(text if verdict == word else f"{verdict}: {text}")
        parts.append(f"{benchmark}: {word}" + (f" ({'; '.join(details)})" if details else ""))
    return f"{'; '.join(parts)}; against {reference['run']}"


def _entries(rows: Sequence[Row], named: bool) -> str:
    """Return an entry a system. Of scores that are not comparable it has the systems, if `named`, and reasons."""
    if not rows or rows[0]["verdict"] != "not comparable":
        by_system: dict[str, list[Row]] = {}
        for row in rows:
            by_system.setdefault(row["system"], []).append(row)
        return "; ".join(map(_entry, by_system.values()))
    reasons = _first_texts(row["reason"] for row in rows if row["reason"])
    systems = _first_texts(f"{row['system']} {track_title(row)}" for row in rows)
    return f"{systems}{f' ({reasons})' if reasons else ''}" if named else reasons


def _entry(rows: Sequence[Row]) -> str:
    """Return the first of a system's scores with one verdict, and how many more there are."""
    first, more = rows[0], len(rows) - 1
    change = first.get("reason") or difference_text(first, 1)
    text = f"{first['system']} {track_title(first)} {first['metric']} {change}"
    return f"{text} and {more} more" if more else text


def _first_texts(texts: Iterable[str]) -> str:
    return first_few(list(dict.fromkeys(texts)), "; ")


# The columns of `groups` with numbers.
NUMBERS = ("n", "before → now", "p")


def groups(verdicts: Iterable[Row], benchmark: str | None = None) -> dict[str, list[dict[str, str]]]:
    """Return the scores that became worse or better, as rows of a table for each benchmark and verdict.

    Of a `benchmark` that is named, all scores are returned.
    """
    tables: dict[str, list[dict[str, str]]] = {}
    listed = ORDER if benchmark else ORDER[:2]
    for row in sorted(verdicts, key=lambda row: ORDER.index(row["verdict"])):
        if row["verdict"] in listed and benchmark in (None, row["benchmark"]):
            values = [
                "–" if row[name] is None else number_text(row, row[name], 1) for name in ("before", "now")
            ]
            tables.setdefault(f"{row['benchmark']}: {row['verdict']}", []).append(
                {
                    "system": row["system"],
                    "track and metric": f"{track_title(row)}, {row['metric']}",
                    "n": str(row["n"]),
                    "before → now": " → ".join(values),
                    "difference": " ".join(filter(None, [difference_text(row, 1), row["reason"]])),
                    "p": "" if row["p_corrected"] is None else p(row["p_corrected"]),
                }
            )
    return tables


def counts(verdicts: Sequence[Row], compared: bool = True) -> str:
    """Return how many scores have each verdict; of a run that was not `compared`, how many scores there are."""
    if verdicts and not compared:
        return f"first run: {counted_as(len(verdicts), 'score')} recorded, nothing to compare with yet"
    numbers = Counter(row["verdict"] for row in verdicts)
    return ", ".join(f"{numbers[word]:,} {word}" for word in ORDER if numbers[word]) or "no scores"


def contents(verdicts: Iterable[Row]) -> list[dict[str, Any]]:
    """Return a row for each benchmark: how many scores it has of each verdict."""
    by_benchmark: dict[str, Counter[str]] = {}
    for row in verdicts:
        by_benchmark.setdefault(row["benchmark"], Counter())[row["verdict"]] += 1
    return [
        {"benchmark": name} | {word: numbers[word] for word in ORDER}
        for name, numbers in by_benchmark.items()
    ]


def markdown(facts: Row, verdicts: list[dict[str, Any]]) -> str:
    """Return the page of a night: its state, the run that it is compared with, if any, and a table a benchmark."""
    hardware = {"cpu": "unknown", "cores": "unknown"} | facts["hardware"]
    gpus = ", ".join(hardware.get("gpus") or ()) or "none"
    lines = [f"## Nightly {facts['run']}: {facts['state']}", "", plain(facts["message"]), ""]
    lines.append(f"- commit `{facts['commit'][:12]}`, dvc.lock `{facts['lock_sha256'][:12]}`")
    if facts["changed"]:
        lines.append(f"- files that differ from the commit: {', '.join(facts['changed'])}")
    lines.append(f"- {hardware['cpu']}, {hardware['cores']} cores; GPUs: {gpus}")
    if facts["against"]:
        lines.append(f"- compared with {facts['against']}, the last good run")
    if any(row["p_corrected"] is not None for row in verdicts):
        lines.append("- p is corrected for all comparisons (Holm); values are in the units of their metrics")
    # A first run has nothing to compare with: none of its scores has a verdict.
    for benchmark in benchmarks(verdicts) if facts["against"] else ():
        for title, rows in groups(verdicts, benchmark).items():
            lines += ["", f"### {title}", "", *table(rows)]
    return "\n".join(lines) + "\n"
