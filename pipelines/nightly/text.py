"""A night in words: one line, and a page of Markdown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from nightjar.core.display import number, p
from nightjar.core.errors import NightjarError
from pipelines.project.text import interval, plain, table

# The order in which verdicts are reported.
ORDER = ("worse", "better", "unchanged", "not comparable")
SHOWN = 3

Row = Mapping[str, Any]


def words(verdicts: Iterable[Row], *columns: str) -> dict[tuple[str, ...], str]:
    """One word for every combination of values of `columns`: the first of ORDER that occurs among its verdicts."""
    found: dict[tuple[str, ...], str] = {}
    for row in verdicts:
        key = tuple(row[name] for name in columns)
        found[key] = min(found.get(key, ORDER[-1]), row["verdict"], key=ORDER.index)
    return found


def benchmarks(verdicts: Iterable[Row]) -> dict[str, str]:
    """One word for every benchmark."""
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
            f"{row['system']} {_track(row)} {row['metric']} {row.get('reason') or difference(row)}"
            for row in rows
        )
    reasons = _some(row["reason"] for row in rows if row["reason"])
    systems = _some(f"{row['system']} {_track(row)}" for row in rows)
    return f"{systems}{f' ({reasons})' if reasons else ''}" if named else reasons


def _some(texts: Iterable[str]) -> str:
    """The first of the different texts, and how many more there are."""
    found = list(dict.fromkeys(texts))
    more = [f"{len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join([*found[:SHOWN], *more])


def difference(row: Row) -> str:
    """A difference in the unit of its metric with its interval; empty where there is none."""
    return "" if row["value"] is None else f"{number(row['value'], 2, True)} {interval(row, 2, True)}"


def _track(row: Row) -> str:
    """The title of a track by the card of its benchmark; its name where there is no card."""
    from nightjar.benchmarks import registry

    with contextlib.suppress(NightjarError):  # of a package that is not installed any more, or broken
        return registry.card(row["benchmark"]).track_title(row["track"])
    return str(row["track"])


def cell_texts(row: Row) -> dict[str, str]:
    """A verdict as a row of a table."""
    changes = "" if row["better"] is None else f"{row['better']} / {row['worse']} / {row['equal']}"
    return {
        "system": row["system"],
        "track": _track(row),
        **{name: str(row[name]) for name in ("metric", "n")},
        **{name: "" if row[name] is None else number(row[name], 2) for name in ("before", "now")},
        "difference": difference(row),
        "p": "" if row["p_corrected"] is None else p(row["p_corrected"]),
        "better/worse/equal": changes,
        "verdict": row["verdict"] + (f": {row['reason']}" if row["reason"] else ""),
    }


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
    for benchmark, word in benchmarks(verdicts).items():
        rows = [cell_texts(row) for row in verdicts if row["benchmark"] == benchmark]
        lines += ["", f"### {benchmark}: {word}", "", *table(rows)]
    return "\n".join(lines) + "\n"
