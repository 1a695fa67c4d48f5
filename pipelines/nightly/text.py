"""A night in words: one line, and a page of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.project.intervals import interval
from pipelines.project.markdown import plain, table

# What is said first of several verdicts.
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
    """The verdicts in one line, what moved first: one verdict for each system of a benchmark on a track."""
    parts = []
    for benchmark, word in benchmarks(verdicts).items():
        rows = [row for row in verdicts if row["benchmark"] == benchmark]
        told = [_group(rows, other, leads=other == word) for other in ORDER]
        detail = "; ".join(text for text in told if text)
        parts.append(f"{benchmark}: {word}" + (f" ({detail})" if detail else ""))
    return "; ".join(parts) + (f"; against {good['run']}" if good else "")


def _group(rows: list[dict[str, Any]], word: str, leads: bool) -> str:
    """The part of a line for the systems and tracks whose verdict is `word`; empty for none, and for unchanged ones.

    `leads`: `word` is the verdict of the benchmark, which the line has already.
    """
    found = words(rows, "system", "track")
    here = [key for key, verdict in found.items() if verdict == word]
    if not here or word == "unchanged":
        return ""
    own = [row for row in rows if (row["system"], row["track"]) in here and row["verdict"] == word]
    if word == "not comparable":
        texts = list(dict.fromkeys(row["reason"] for row in own if row["reason"]))
        if leads:
            return _some(texts)
        return f"{word}: {_names(here, list(found))}" + (f" ({_some(texts)})" if texts else "")
    texts = [f"{row['system']} {row['track']} {row['metric']} {difference(row)}" for row in own]
    return ("" if leads else f"{word}: ") + _some(texts)


def _some(texts: list[str]) -> str:
    more = [f"{len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return "; ".join([*texts[:SHOWN], *more])


def _names(some: list[tuple[str, ...]], of: list[tuple[str, ...]]) -> str:
    """Some of a benchmark's (system, track): a system alone where all its tracks are meant, else the track as well."""
    whole = {system for system, _ in some if all(key in some for key in of if key[0] == system)}
    tracks: dict[str, list[str]] = {}
    for system, track in some:
        if system not in whole:
            tracks.setdefault(track, []).append(system)
    parts = [", ".join(sorted(whole))] if whole else []
    for track, systems in tracks.items():
        every = len(systems) == sum(other == track for _, other in of)
        parts.append(f"{'all systems' if every else ', '.join(sorted(systems))} on track {track}")
    return ", ".join(parts)


def difference(row: Row) -> str:
    """A difference in the unit of its metric with its interval; empty where there is none."""
    if row["value"] is None:
        return ""
    return f"{row['value']:+.2f} {interval(row, '+.2f')}"


def cell_texts(row: Row) -> dict[str, str]:
    """What a table shows of a verdict."""
    moved = "" if row["better"] is None else f"{row['better']} / {row['worse']} / {row['equal']}"
    return {
        "system": row["system"],
        "track": row["track"],
        "metric": row["metric"],
        "n": str(row["n"]),
        "before": "" if row["before"] is None else f"{row['before']:.2f}",
        "now": "" if row["now"] is None else f"{row['now']:.2f}",
        "difference": difference(row),
        "p": "" if row["p_corrected"] is None else f"{row['p_corrected']:.4f}",
        "better/worse/equal": moved,
        "verdict": row["verdict"] + (f": {row['reason']}" if row["reason"] else ""),
    }


def markdown(facts: Row, verdicts: list[dict[str, Any]]) -> str:
    """The page of a night: its state, what it is compared with, and a table a benchmark."""
    lines = [f"## Nightly {facts['run']}: {facts['state']}", "", plain(facts["message"]), ""]
    lines.append(f"- commit `{facts['commit'][:12]}`, dvc.lock `{facts['lock_sha256'][:12]}`")
    if facts["changed"]:
        lines.append(f"- files that differ from the commit: {', '.join(facts['changed'])}")
    hardware = facts["hardware"]
    gpus = ", ".join(hardware.get("gpus", ())) or "none"
    lines.append(
        f"- {hardware.get('cpu', 'unknown')}, {hardware.get('cores', 'unknown')} cores; GPUs: {gpus}"
    )
    if facts["against"]:
        lines.append(f"- compared with {facts['against']}, the last good run")
    if any(row["p_corrected"] is not None for row in verdicts):
        lines.append(
            "- p is corrected for all comparisons of the night (Holm); values are in the units of their metrics"
        )
    for benchmark, word in benchmarks(verdicts).items():
        rows = [cell_texts(row) for row in verdicts if row["benchmark"] == benchmark]
        lines += ["", f"### {benchmark}: {word}", "", *table(rows)]
    return "\n".join(lines) + "\n"
