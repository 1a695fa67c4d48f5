"""Score anybody's predictions from files: what `nightjar score` calls. Nothing of the pipeline is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from stages.contracts import TRACKS
from stages.errors import NightjarError, from_os_error
from stages.evaluate import metrics
from stages.evaluate.aggregate import category_name, group, percent
from stages.tables import write_text

BENCHMARKS = ("supernatinst",)
PREDICTION = 'write {"id": "...", "prediction": "..."}'
REFERENCE = (
    'write {"id": "...", "references": ["..."], "task_id": "...", "task_category": "...", "track": "default"}'
)


def score_files(
    benchmark: str, predictions: Path, references: Path, details: Path | None = None
) -> dict[str, Any]:
    """Scores of JSON Lines {id, prediction} against {id, references, task_id, task_category, track}.

    Returns {"benchmark", "n", "missing", "metrics", "by_category", "by_task"}. `metrics` holds exact_match,
    rouge1 and rougeL as percentages with 4 decimals, means over all instances; so does every entry of
    `by_category` and `by_task`, beside its own `n`. Categories are named in the published form
    (textual_entailment), tasks as the references name them.

    Rows whose track is "xlingual" are scored in the cross-lingual form; a row without a track is "default".
    If both tracks occur, `metrics`, `by_category` and `by_task` are means over the rows of both, each row
    in its track's form, and "by_track" gives {"n", "metrics", "by_category"} of each alone: those are the
    numbers that are published. A reference without a prediction scores as the empty text and is counted in
    `missing`.

    `details`, if given, gets one JSON line an instance, in the order of the references: id, task_id,
    task_category, track and its metrics from 0 to 1, and `missing`. It is written whole or not at all.

    Raises NightjarError, with file and line, for an unknown benchmark, broken lines, ids that are not texts,
    stand twice, or, among the predictions, belong to no reference.
    """
    if benchmark not in BENCHMARKS:
        raise NightjarError("no such benchmark", repr(benchmark), f"there are: {', '.join(BENCHMARKS)}")
    if details is not None:
        _check_details(details, (predictions, references))
    rows = _references(references)
    given = _predictions(predictions, {row["id"] for row in rows})
    for track in sorted({row["track"] for row in rows}):
        chosen = [row for row in rows if row["track"] == track]
        texts = [given.get(row["id"], "") for row in chosen]
        scores = metrics.score(texts, [row["references"] for row in chosen], track)
        for number, row in enumerate(chosen):
            row.update({metric: float(getattr(scores, metric)[number]) for metric in metrics.METRICS})
    result: dict[str, Any] = {
        "benchmark": benchmark,
        "n": len(rows),
        "missing": sum(row["id"] not in given for row in rows),
        **_tables(rows),
    }
    tracks = sorted({row["track"] for row in rows})
    if len(tracks) > 1:
        result["by_track"] = {}
        for track in tracks:
            chosen = [row for row in rows if row["track"] == track]
            tables = _tables(chosen)
            result["by_track"][track] = {
                "n": len(chosen),
                "metrics": tables["metrics"],
                "by_category": tables["by_category"],
            }
    if details is not None:
        _write_details(details, rows, given)
    return result


def _tables(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = {"metrics": {}, "by_category": {}, "by_task": {}}
    for (level, name), members in group(rows).items():
        means = {metric: percent([row[metric] for row in members]) for metric in metrics.METRICS}
        if level == "overall":
            tables["metrics"] = means
        else:
            tables[f"by_{level}"][name] = {"n": len(members), **means}
    return tables


def _lines(path: Path, wanted: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each line that is not blank, where it stands and its object, whose id is a text not seen before."""
    seen: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                where = f"{path}:{number}"
                try:
                    row = orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise NightjarError(f"not JSON ({error.msg})", where, wanted) from None
                if not isinstance(row, dict) or "id" not in row:
                    raise NightjarError("not an object with an id", where, wanted)
                if not isinstance(row["id"], str):
                    raise NightjarError(
                        f"the id {row['id']!r} is not a text", where, "put it in quotation marks"
                    )
                if row["id"] in seen:
                    what = f"the id {row['id']!r} stands in line {seen[row['id']]} already"
                    raise NightjarError(what, where, "give every id once")
                seen[row["id"]] = number
                yield where, row
    except OSError as error:
        raise from_os_error(error, path) or error from None


def _references(path: Path) -> list[dict[str, Any]]:
    rows = []
    for where, row in _lines(path, REFERENCE):
        texts = row.get("references")
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise NightjarError("references is not a list of at least one text", where, REFERENCE)
        for key in ("task_id", "task_category"):
            if not isinstance(row.get(key), str):
                raise NightjarError(f"{key} is missing or not a text", where, REFERENCE)
        track = row.get("track", "default")
        if track not in TRACKS:
            fix = f"allowed are {', '.join(sorted(TRACKS))}"
            raise NightjarError(f"the track is {track!r}", where, fix)
        rows.append(
            {
                "id": row["id"],
                "references": texts,
                "task_id": row["task_id"],
                "category": row["task_category"],
                "track": track,
            }
        )
    if not rows:
        raise NightjarError("no references", path, REFERENCE)
    return rows


def _predictions(path: Path, wanted: set[str]) -> dict[str, str]:
    given = {}
    for where, row in _lines(path, PREDICTION):
        if not isinstance(row.get("prediction"), str):
            raise NightjarError("prediction is missing or not a text", where, PREDICTION)
        if row["id"] not in wanted:
            raise NightjarError(
                f"no reference has the id {row['id']!r}", where, "check that the two files belong together"
            )
        given[row["id"]] = row["prediction"]
    return given


def _check_details(path: Path, inputs: Sequence[Path]) -> None:
    if path.is_dir():
        raise NightjarError("a folder", path, "name a file for the details")
    if any(path.resolve() == other.resolve() for other in inputs):
        raise NightjarError("this is one of the files to read", path, "name another file for the details")


def _write_details(path: Path, rows: Sequence[Mapping[str, Any]], given: Mapping[str, str]) -> None:
    lines = [
        orjson.dumps(
            {
                "id": row["id"],
                "task_id": row["task_id"],
                "task_category": category_name(row["category"]),
                "track": row["track"],
                **{metric: row[metric] for metric in metrics.METRICS},
                "missing": row["id"] not in given,
            }
        ).decode()
        for row in rows
    ]
    try:
        write_text(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise from_os_error(error, path) or error from None
