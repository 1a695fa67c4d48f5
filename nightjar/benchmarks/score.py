"""Score anybody's predictions, and compare two sets of them: what `nightjar score` and `compare` call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.aggregate import category_name, difference, places
from nightjar.benchmarks.supernatinst import files
from nightjar.benchmarks.text import metrics
from nightjar.core.contracts import category_metric
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_lines
from nightjar.statistics.bootstrap import Bootstrap, percent

BENCHMARKS = ("supernatinst",)
SEED, SAMPLES, CONFIDENCE = 42, 1000, 0.95

Rows = Sequence[Mapping[str, Any]]
# Every metric of some rows, in their order.
Values = Mapping[str, NDArray[np.float64]]


def score_files(
    benchmark: str,
    predictions: Path,
    references: Path | None = None,
    details: Path | None = None,
    samples: int = SAMPLES,
) -> dict[str, Any]:
    """Scores of predictions against references: files or artifact folders as `files` reads them.

    Returns {"benchmark", "tracks", "n", "missing", "metrics", "by_category", "by_task", "intervals"}. `tracks` are
    those of the references, sorted. `metrics` holds exact_match, rouge1 and rougeL as percentages with 4 decimals,
    means over all instances; so does every entry of `by_category` and `by_task`, beside its own `n`; a category also
    names the `metric` that is published for it. Categories are named in the published form (textual_entailment),
    tasks as the references name them. `intervals` repeats metrics, by_category and by_task with [low, high] in place
    of each value, or None below MINIMUM instances: bootstrap intervals over instances at the `confidence` beside them,
    from so many `samples` (0: no intervals).

    Rows whose track is "xlingual" are scored in the cross-lingual form. If both tracks occur, `metrics`,
    `by_category` and `by_task` are means over the rows of both, each row in its track's form, and "by_track"
    gives {"n", "metrics", "by_category", "by_task", "intervals"} of each alone: those are the published numbers.
    A reference without a prediction scores as the empty text and is counted in `missing`.

    `details`, if given, gets one JSON line an instance, in the order of the references: id, task_id,
    task_category, track and its metrics from 0 to 1, and `missing`. It is written whole or not at all.

    Raises NightjarError for an unknown benchmark, for `details` that must not be written, and with file and line for
    what `files` refuses.
    """
    _check_benchmark(benchmark)
    inputs = [predictions, references or files.SPLIT]
    files.check_pipes(inputs)
    if details is not None:
        check_output(details, inputs)
    rows = files.read_references(references)
    given = files.read_predictions(predictions, rows)
    values = _score(rows, given)
    bootstrap = Bootstrap(SEED, samples, CONFIDENCE) if samples else None
    tracks = sorted({row["track"] for row in rows})
    result: dict[str, Any] = {
        "benchmark": benchmark,
        "tracks": tracks,
        "n": len(rows),
        "missing": len(rows) - len(given),
        **_tables(rows, values, bootstrap),
    }
    if len(tracks) > 1:
        result["by_track"] = {}
        for track in tracks:
            chosen = _of_track(rows, track)
            own = [rows[place] for place in chosen]
            tables = _tables(own, _at(values, chosen), bootstrap, track)
            result["by_track"][track] = {"n": len(own), **tables}
    if details is not None:
        _write_details(details, rows, values, given, inputs)
    return result


def compare_files(
    benchmark: str, a: Path, b: Path, references: Path | None = None, samples: int = SAMPLES
) -> dict[str, Any]:
    """Two prediction sets on the same ids: is a better than b, by how much, and could it be chance?

    Returns {"benchmark", "tracks", "n", "missing": {"a", "b"}, "confidence", "metrics", "by_category"}. `metrics` gives
    for each metric {"a", "b", "value", "low", "high", "p", "better", "worse", "equal", "n", "moved"}: both
    means and their difference a - b in percent, its paired bootstrap interval (None below MINIMUM instances), the
    two-sided p of a sign-flip test, whether it counts as seen (`moved`, see `statistics.seen`), and how many
    instances a does better, worse and equally well on. `by_category` has the same of each
    category, with the `metric` that is published for it; its p-values are not corrected for their number. If
    both tracks occur, "by_track" gives both of each track alone. What has no prediction scores as empty, and
    is counted. Raises NightjarError as `score_files` does.
    """
    _check_benchmark(benchmark)
    files.check_pipes([a, b, references])
    rows = files.read_references(references)
    given = [files.read_predictions(path, rows) for path in (a, b)]
    ours, theirs = (_score(rows, answers) for answers in given)
    bootstrap = Bootstrap(SEED, samples, CONFIDENCE)
    tracks = sorted({row["track"] for row in rows})
    result = {
        "benchmark": benchmark,
        "tracks": tracks,
        "n": len(rows),
        "missing": {name: len(rows) - len(answers) for name, answers in zip("ab", given, strict=True)},
        "confidence": CONFIDENCE,
        **_differences(rows, ours, theirs, bootstrap),
    }
    if len(tracks) > 1:
        result["by_track"] = {}
        for track in tracks:
            chosen = _of_track(rows, track)
            own = [rows[place] for place in chosen]
            pair = _at(ours, chosen), _at(theirs, chosen)
            result["by_track"][track] = _differences(own, *pair, bootstrap, track)
    return result


def parts(result: Mapping[str, Any]) -> dict[str, Any]:
    """What `score_files` or `compare_files` returned, track by track: the numbers that are published."""
    return result["by_track"] if "by_track" in result else {result["tracks"][0]: result}


def score_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What `score_files` returned as one flat table, each track alone, with the columns of contracts.SCORES.

    `low` and `high` are None where there is no interval.
    """
    rows = []
    for track, part in parts(result).items():
        cells = [("overall", "overall", part["n"], part["metrics"], part.get("intervals", {}).get("metrics"))]
        for level in ("category", "task"):
            ends = part.get("intervals", {}).get(f"by_{level}", {})
            for name, row in part[f"by_{level}"].items():
                cells.append((level, name, row["n"], row, ends.get(name)))
        for level, name, n, means, interval in cells:
            for metric in metrics.METRICS:
                low, high = (interval and interval[metric]) or (None, None)
                cell = {"track": track, "level": level, "name": name, "metric": metric, "n": n}
                rows.append(cell | {"value": means[metric], "low": low, "high": high})
    return rows


def difference_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What `compare_files` returned as one flat table, each track alone; `difference` is a - b in percent."""
    rows = []
    for track, part in parts(result).items():
        cells = [("overall", "overall", part["metrics"])]
        cells += [("category", name, cell) for name, cell in part["by_category"].items()]
        for level, name, cell in cells:
            for metric in metrics.METRICS:
                told = cell[metric]
                row = {"track": track, "level": level, "name": name, "metric": metric}
                row |= {"n": told["n"], "a": told["a"], "b": told["b"], "difference": told["value"]}
                rows.append(
                    row | {key: told[key] for key in ("low", "high", "p", "better", "worse", "equal")}
                )
    return rows


def _score(rows: Rows, given: Mapping[str, str]) -> Values:
    """Each metric of the rows, each track in its own form; those without an answer as empty texts."""
    values = {metric: np.zeros(len(rows)) for metric in metrics.METRICS}
    for track in sorted({row["track"] for row in rows}):
        chosen = _of_track(rows, track)
        texts = [given.get(rows[place]["id"], "") for place in chosen]
        scores = metrics.score(texts, [rows[place]["references"] for place in chosen], track)
        for metric, of_all in values.items():
            of_all[chosen] = getattr(scores, metric)
    return values


def _of_track(rows: Rows, track: str) -> list[int]:
    """The places of a track's rows."""
    return [place for place, row in enumerate(rows) if row["track"] == track]


def _at(values: Values, chosen: Sequence[int]) -> Values:
    return {metric: of_all[chosen] for metric, of_all in values.items()}


def _tables(rows: Rows, values: Values, bootstrap: Bootstrap | None, *of: str) -> dict[str, Any]:
    tables: dict[str, Any] = {"metrics": {}, "by_category": {}, "by_task": {}}
    intervals: dict[str, Any] = {"metrics": {}, "by_category": {}, "by_task": {}}
    for (level, name), members in places(rows).items():
        means, ends = {}, {}
        for metric, own in _at(values, members).items():
            means[metric] = percent(own)
            if bootstrap:
                low, high = bootstrap.percent_interval(own, *of, level, name, metric)
                ends[metric] = None if low is None else [low, high]
        if level == "overall":
            tables["metrics"], intervals["metrics"] = means, ends
        else:
            published = {"metric": category_metric(name)} if level == "category" else {}
            tables[f"by_{level}"][name] = {"n": len(members), **published, **means}
            intervals[f"by_{level}"][name] = ends
    if bootstrap:
        told = {"confidence": bootstrap.confidence, "samples": bootstrap.samples}
        tables["intervals"] = {**told, **intervals}
    return tables


def _differences(rows: Rows, a: Values, b: Values, bootstrap: Bootstrap, *of: str) -> dict[str, Any]:
    found: dict[str, Any] = {"metrics": {}, "by_category": {}}
    for (level, name), members in places(rows).items():
        if level == "task":
            continue
        entry: dict[str, Any] = {"metric": category_metric(name)} if level == "category" else {}
        for metric in metrics.METRICS:
            mine, other = a[metric][members], b[metric][members]
            both = {"a": percent(mine), "b": percent(other)}
            entry[metric] = both | difference(mine - other, bootstrap, *of, level, name, metric)
        if level == "overall":
            found["metrics"] = entry
        else:
            found["by_category"][name] = entry
    return found


def _check_benchmark(benchmark: str) -> None:
    if benchmark not in BENCHMARKS:
        raise NightjarError("no such benchmark", repr(benchmark), f"there are: {', '.join(BENCHMARKS)}")


def _write_details(
    path: Path, rows: Rows, values: Values, given: Mapping[str, str], inputs: Sequence[Path]
) -> None:
    columns = {metric: of_all.tolist() for metric, of_all in values.items()}
    lines = [
        {
            "id": row["id"],
            "task_id": row["task_id"],
            "task_category": category_name(row["category"]),
            "track": row["track"],
            **{metric: column[place] for metric, column in columns.items()},
            "missing": row["id"] not in given,
        }
        for place, row in enumerate(rows)
    ]
    write_lines(path, lines, inputs)
