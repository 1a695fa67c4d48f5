"""A night in words: one line, and a page of Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from nightjar.core.display import number, p
from pipelines.graph.graph import some
from pipelines.project.text import interval, plain, table, track_title

# The order in which verdicts are reported.
ORDER = ("worse", "better", "unchanged", "not comparable")

Row = Mapping[str, Any]


def words(verdicts: Iterable[Row], *columns: str) -> dict[tuple[str, ...], str]:
    """One word for every combination of values of `columns`: the first of ORDER that occurs among its verdicts."""
    found: dict[tuple[str, ...], str] = {}
    for row in verdicts:
        key = tuple(row[name] for name in columns)
        found[key] = min(found.get(key, ORDER[-1]), row["verdict"], key=ORDER.index)
    return found


def benchmarks(verdicts: Iterable[Row]) -> dict[str, str]:
    return {benchmark: word for (benchmark,), word in words(verdicts, "benchmark").items()}


def message(verdicts: list[dict[str, Any]], good: Row | None) -> str:
    """The verdicts in one line: one for each system of a benchmark on a track; unchanged ones are not listed."""
    parts = []
    systems = words(verdicts, "benchmark", "system", "track")
    for benchmark, word in benchmarks(verdicts).items():
        details = []
        for other in (word for word in ORDER if word != "unchanged"):
            rows = [
                row
                for row in verdicts
                if row["benchmark"] == benchmark
                and row["verdict"] == other == systems[benchmark, row["system"], row["track"]]
            ]
            if text := _listed(rows, named=other != word):
                details.append(text if other == word else f"{other}: {text}")
        parts.append(f"{benchmark}: {word}" + (f" ({'; '.join(details)})" if details else ""))
    return "; ".join(parts) + (f"; against {good['run']}" if good else "")


def _listed(rows: list[dict[str, Any]], named: bool) -> str:
    """The scores with one verdict. Of scores that are not comparable the systems, if they are `named`, and reasons."""
    if not rows or rows[0]["verdict"] != "not comparable":
        return _some(
            f"{row['system']} {track_title(row)} {row['metric']} {row.get('reason') or difference(row)}"
            for row in rows
        )
    reasons = _some(row["reason"] for row in rows if row["reason"])
    systems = _some(f"{row['system']} {track_title(row)}" for row in rows)
    return f"{systems}{f' ({reasons})' if reasons else ''}" if named else reasons


def _some(texts: Iterable[str]) -> str:
    return some(list(dict.fromkeys(texts)), "; ")


def difference(row: Row) -> str:
    """A difference in the unit of its metric with its interval; empty where there is none."""
    return "" if row["value"] is None else f"{number(row['value'], 2, True)} {interval(row, 2, True)}"


# The columns of `groups` with numbers.
NUMBERS = ("n", "before → now", "p")


def groups(verdicts: Iterable[Row], benchmark: str | None = None) -> dict[str, list[dict[str, str]]]:
    """The scores that became worse or better, as rows of a table for each benchmark and verdict; of a `benchmark` all
    of its scores.
    """
    found: dict[str, list[dict[str, str]]] = {}
    words = ORDER if benchmark else ORDER[:2]
    for row in sorted(verdicts, key=lambda row: ORDER.index(row["verdict"])):
        if row["verdict"] in words and benchmark in (None, row["benchmark"]):
            values = ["–" if row[name] is None else number(row[name], 2) for name in ("before", "now")]
            found.setdefault(f"{row['benchmark']}: {row['verdict']}", []).append(
                {
                    "system": row["system"],
                    "track and metric": f"{track_title(row)}, {row['metric']}",
                    "n": str(row["n"]),
                    "before → now": " → ".join(values),
                    "difference": " ".join(filter(None, [difference(row), row["reason"]])),
                    "p": "" if row["p_corrected"] is None else p(row["p_corrected"]),
                }
            )
    return found


def counts(verdicts: Iterable[Row]) -> str:
    found = Counter(row["verdict"] for row in verdicts)
    return ", ".join(f"{found[word]:,} {word}" for word in ORDER if found[word]) or "no scores"


def contents(verdicts: Iterable[Row]) -> list[dict[str, Any]]:
    """A row for each benchmark: how many scores it has of each verdict."""
    found: dict[str, Counter[str]] = {}
    for row in verdicts:
        found.setdefault(row["benchmark"], Counter())[row["verdict"]] += 1
    return [{"benchmark": name} | {word: words[word] for word in ORDER} for name, words in found.items()]


def markdown(facts: Row, verdicts: list[dict[str, Any]]) -> str:
    """The page of a night: its state, the run that it is compared with, and a table a benchmark."""
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
    for benchmark in benchmarks(verdicts):
        for title, rows in groups(verdicts, benchmark).items():
            lines += ["", f"### {title}", "", *table(rows)]
    return "\n".join(lines) + "\n"
