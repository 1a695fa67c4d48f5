"""Score anybody's predictions, and compare two sets of them: what `nightjar score` and `compare` call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks import answers_and_references, registry
from nightjar.benchmarks.aggregate import (
    Ints,
    by_track,
    category_name,
    difference,
    group,
    interval,
    reported_mean,
)
from nightjar.benchmarks.average import mean_difference, mean_score
from nightjar.benchmarks.benchmark import Benchmark, Progress
from nightjar.benchmarks.evaluation_folder import prompting_of
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import SystemScores, nothing_to_score, score
from nightjar.core import paths
from nightjar.core.arguments import AnyPath
from nightjar.core.errors import NightjarError
from nightjar.core.files import check_output, write_lines
from nightjar.statistics import Bootstrap, estimate
from nightjar.statistics.bootstrap import SAMPLES

_NO_ANSWER: list[str] = []
# Columns of a flat table of differences that are those of `aggregate.difference`.
_TESTED = ("low", "high", "p", "better", "worse", "equal")


def score_files(
    benchmark: str,
    predictions: AnyPath,
    references: AnyPath | None = None,
    details: AnyPath | None = None,
    samples: int = SAMPLES,
    encoder: AnyPath | None = None,
) -> dict[str, Any]:
    """Scores of predictions against references: files or artifact folders as `files` reads them.

    Returns {"benchmark", "tracks", "n", "missing", "metrics", "by_category", "by_task", "intervals"}. `tracks` are
    those of the references, sorted. `metrics` holds each metric of the card in its unit with 4 decimals, over all
    instances; so does every entry of `by_category` and `by_task`, beside its own `n`; a category also names the
    `metric` that is published for it. `intervals` repeats metrics, by_category and by_task with [low, high] in place of
    each value, or None below 20 instances: intervals over instances at the `confidence` beside them, exact for
    proportions, else bootstrapped from so many `samples` (0: no intervals). Levels that the card does not report are
    empty.

    If several tracks occur, "by_track" gives {"n", "metrics", "by_category", "by_task", "intervals"} of each alone.
    Where each task is a track, "by_track" is always there, and `metrics` and `intervals` have the main metric of each
    task under the name of the task. The mean of tasks that the leaderboard shows is there too, under the name of its
    metric, and "average" has its {"metric", "n", "value", "low", "high"}.
    A reference without a prediction scores as an empty answer, or is left out where the card says so; it is counted in
    `missing`.

    `details`, if given, gets one JSON line an instance, in the order of the references: id, task, category, track,
    the parts of its metrics, `missing`, and what `Benchmark.details` adds. It is written whole or not at all.

    `encoder` is the folder of a sentence encoder; without it, metrics that need one have no values.

    Raises NightjarError for an unknown benchmark, if no question has a reference, for `details` that must not be
    written, for an encoder that cannot be loaded or that no metric needs, and with file and line for what `files`
    refuses.
    """
    card = registry.load_benchmark(benchmark)
    predictions = Path(predictions)
    references, details, encoder = (None if it is None else Path(it) for it in (references, details, encoder))
    inputs = [predictions, references or paths.QUESTIONS / card.name]
    answers_and_references.check_pipes(inputs)
    if details is not None:
        check_output(details, inputs)
    questions = answers_and_references.read_references(card, references)
    answers = answers_and_references.read_answers(card, predictions, questions)
    if nothing := nothing_to_score(card, questions, str(predictions)):
        raise nothing
    # After the files are checked: an encoder takes long to load.
    if encoder is not None:
        card = card.with_encoder(encoder)
    scored = score(card, "", questions, answers)
    bootstrap = Bootstrap(samples=samples) if samples else None
    tracks = by_track(scored)
    result: dict[str, Any] = {
        "benchmark": benchmark,
        "tracks": list(tracks),
        "n": len(questions),
        "missing": answers.count(None),
        **_tables(card, scored, range(len(questions)), bootstrap),
    }
    if len(tracks) > 1 or card.files.by_task:
        result["by_track"] = {
            track: {"n": len(places), **_tables(card, scored, places, bootstrap)}
            for track, places in tracks.items()
        }
        if card.files.by_task:
            result |= _by_task(card, result["by_track"])
            mean = reported_mean(card, [scored])
            if mean and (mean_row := mean_score(card, mean, scored, tracks, bootstrap)):
                result["average"] = {"metric": mean.name} | mean_row
                _add_average(result)
    if details is not None:
        _write_details(card, details, scored, questions, answers, inputs)
    return result


def compare_files(
    benchmark: str, a: AnyPath, b: AnyPath, references: AnyPath | None = None, samples: int = SAMPLES
) -> dict[str, Any]:
    """Two prediction sets on the same ids: is a better than b, by how much, and could it be chance?

    Returns {"benchmark", "tracks", "n", "missing": {"a", "b"}, "prompts": {"a", "b"}, "confidence", "metrics",
    "by_category"}. `prompts` say whether and how each system was asked through a chat template, as far as facts of the
    stage predict stand beside its predictions (else None). `metrics`
    gives for each metric {"a", "b", "value", "low", "high", "p", "better", "worse", "equal", "n", "significant"}:
    both values, their difference a - b in the unit of the metric, its paired bootstrap interval, the two-sided p of
    the permutation test (both None below 20 instances), and how many instances a does better, worse and equally well
    on. `by_category` has the same of each category, with the `metric` that is published for it; its p-values are not
    corrected for their number. If several tracks occur, "by_track" gives both of each track alone. What has no
    prediction scores as empty, and is counted. "average" has the same of the mean of tasks that the leaderboard shows,
    and names its "metric".
    Raises NightjarError as `score_files` does.
    """
    card = registry.load_benchmark(benchmark)
    a, b, references = Path(a), Path(b), None if references is None else Path(references)
    answers_and_references.check_pipes([a, b, references])
    questions = answers_and_references.read_references(card, references)
    answers = {
        name: answers_and_references.read_answers(card, path, questions)
        for name, path in (("a", a), ("b", b))
    }
    if nothing := nothing_to_score(card, questions):
        raise nothing
    ours, theirs = (score(card, name, questions, texts) for name, texts in answers.items())
    bootstrap = Bootstrap(samples=samples)
    tracks = by_track(ours)
    result: dict[str, Any] = {
        "benchmark": benchmark,
        "tracks": list(tracks),
        "n": len(questions),
        "missing": {name: texts.count(None) for name, texts in answers.items()},
        "prompts": {"a": prompting_of(a), "b": prompting_of(b)},
        "confidence": bootstrap.confidence,
        **_differences(card, ours, theirs, range(len(questions)), bootstrap),
    }
    if len(tracks) > 1:
        result["by_track"] = {
            track: _differences(card, ours, theirs, places, bootstrap) for track, places in tracks.items()
        }
    mean = reported_mean(card, [ours, theirs])
    if mean and (tested := mean_difference(card, mean, (ours, theirs), tracks, bootstrap)):
        means = {scored.system: mean_score(card, mean, scored, tracks, None) for scored in (ours, theirs)}
        values = {name: row["value"] for name, row in means.items() if row}
        result["average"] = {"metric": mean.name} | values | tested
    return result


def parts(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `score_files` or `compare_files` gave, track by track: the numbers that are published."""
    return result["by_track"] if "by_track" in result else {result["tracks"][0]: result}


def score_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what `score_files` gave as one flat table, each track alone, with the columns of contracts.SCORES.

    `low` and `high` are None without intervals. The mean of tasks comes last.
    """
    card = registry.load_benchmark(result["benchmark"])
    rows = []
    for track, part in parts(result).items():
        intervals = part.get("intervals", {})
        groups = [("overall", "overall", part["n"], part["metrics"], intervals.get("metrics"))]
        for level in ("category", "task"):
            level_ends = intervals.get(f"by_{level}", {})
            for name, values in part[f"by_{level}"].items():
                groups.append((level, name, values["n"], values, level_ends.get(name)))
        for level, name, n, values, ends in groups:
            for metric in [it.name for it in card.metrics if it.name in values]:
                low, high = (ends and ends[metric]) or (None, None)
                cell = {"track": track, "level": level, "name": name, "metric": metric, "n": n}
                rows.append(cell | {"value": values[metric], "low": low, "high": high})
    if mean := result.get("average"):
        rows.append(_mean_names(mean) | {name: mean[name] for name in ("n", "value", "low", "high")})
    return rows


def difference_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what `compare_files` gave as one flat table, each track alone; `difference` is a - b.

    The mean of tasks comes last.
    """
    card = registry.load_benchmark(result["benchmark"])
    cells = []
    for track, part in parts(result).items():
        groups = [("overall", "overall", part["metrics"])]
        groups += [("category", name, tested) for name, tested in part["by_category"].items()]
        for level, name, by_metric in groups:
            for metric in [it.name for it in card.metrics if it.name in by_metric]:
                names = {"track": track, "level": level, "name": name, "metric": metric}
                cells.append((names, by_metric[metric]))
    if mean := result.get("average"):
        cells.append((_mean_names(mean), mean))
    return [
        names
        | {"n": tested["n"], "a": tested["a"], "b": tested["b"], "difference": tested["value"]}
        | {name: tested[name] for name in _TESTED}
        for names, tested in cells
    ]


def _mean_names(mean: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the row of the mean of tasks."""
    return {"track": mean["metric"], "level": "overall", "name": "overall", "metric": mean["metric"]}


def _by_task(card: Benchmark, by_track: Mapping[str, Any]) -> dict[str, Any]:
    """The main metric of each task, where each task is a track: the first of the card's that it has."""
    names = [metric.name for metric in card.metrics]
    main = {
        track: next(name for name in names if name in part["metrics"])
        for track, part in by_track.items()
        if part["metrics"]
    }
    tables: dict[str, Any] = {"metrics": {track: by_track[track]["metrics"][main[track]] for track in main}}
    first = next(iter(by_track.values()))
    if "intervals" in first:
        ends = {track: by_track[track]["intervals"]["metrics"][main[track]] for track in main}
        tables["intervals"] = {**first["intervals"], "metrics": ends}
    return tables


def _add_average(result: dict[str, Any]) -> None:
    """Put the average beside the tasks' main metrics, under its name."""
    mean = result["average"]
    result["metrics"][mean["metric"]] = mean["value"]
    if "intervals" in result:
        ends = None if mean["low"] is None else [mean["low"], mean["high"]]
        result["intervals"]["metrics"][mean["metric"]] = ends


def _tables(
    card: Benchmark, scores: SystemScores, places: Sequence[int] | Ints, bootstrap: Bootstrap | None
) -> dict[str, Any]:
    tables: dict[str, Any] = {"metrics": {}, "by_category": {}, "by_task": {}}
    all_ends: dict[str, Any] = {"metrics": {}, "by_category": {}, "by_task": {}}
    for (level, name), members in group(scores.keys, places, card.levels).items():
        values_by_metric, ends = {}, {}
        for metric in card.metrics:
            values = scores.of(metric, members)
            if not len(values):
                continue
            values_by_metric[metric.name] = estimate(metric, values)
            if bootstrap:
                low, high = interval(metric, values, bootstrap)
                ends[metric.name] = None if low is None else [low, high]
        if level == "overall":
            tables["metrics"], all_ends["metrics"] = values_by_metric, ends
        else:
            published = {"metric": card.main_metric(name).name} if level == "category" else {}
            tables[f"by_{level}"][name] = {"n": len(members), **published, **values_by_metric}
            all_ends[f"by_{level}"][name] = ends
    if bootstrap:
        how = {"confidence": bootstrap.confidence, "samples": bootstrap.samples}
        tables["intervals"] = {**how, **all_ends}
    return tables


def _differences(
    card: Benchmark,
    ours: SystemScores,
    theirs: SystemScores,
    places: Sequence[int] | Ints,
    bootstrap: Bootstrap,
) -> dict[str, Any]:
    tables: dict[str, Any] = {"metrics": {}, "by_category": {}}
    levels = [level for level in card.levels if level != "task"]
    for (level, name), members in group(ours.keys, places, levels).items():
        entry: dict[str, Any] = {"metric": card.main_metric(name).name} if level == "category" else {}
        for metric in card.metrics:
            values_a, values_b = ours.both(theirs, metric, members)
            if len(values_a):
                both = {"a": estimate(metric, values_a), "b": estimate(metric, values_b)}
                entry[metric.name] = both | difference(metric, values_a, values_b, bootstrap)
        if level == "overall":
            tables["metrics"] = entry
        else:
            tables["by_category"][name] = entry
    return tables


def _write_details(
    card: Benchmark,
    path: Path,
    scores: SystemScores,
    questions: Sequence[Question],
    answers: Sequence[answers_and_references.Answers],
    inputs: Sequence[Path],
) -> None:
    form = card.files
    columns = [(name, values.tolist()) for name, values in scores.parts.items()]
    lines = []
    for place, (id, question) in enumerate(
        zip(answers_and_references.ids(card, questions), questions, strict=True)
    ):
        line: dict[str, Any] = {"id": id, form.task: question.task_id}
        if form.category:
            line |= {form.category: category_name(question.category), "track": question.track}
        line |= {name: values[place] for name, values in columns if values[place] == values[place]}
        line |= {"missing": answers[place] is None}
        line |= card.details(question, answers[place] or _NO_ANSWER)
        lines.append(line)
    write_lines(path, lines, inputs)


def analyse(
    benchmark: str,
    name: str,
    references: Path | None,
    file: Path,
    encoder: Path | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Return what the analysis `name` of a benchmark gives for a file and its references.

    Without `references` they are those of the stage questions. {"benchmark", "analysis", "title", "rows": [one table],
    and what else the analysis gives}.
    """
    card = registry.load_benchmark(benchmark)
    analyses = {one.name: one for one in card.analyses}
    analysis = analyses.get(name)
    if analysis is None:
        names = ", ".join(analyses) or "none"
        raise NightjarError(f"{benchmark} has no analysis of that name", repr(name), f"its analyses: {names}")
    if encoder is not None and not analysis.encoder:
        raise NightjarError(f"the analysis {name} uses no encoder", encoder, "leave the encoder out")
    answers_and_references.check_pipes([references, file])
    questions = answers_and_references.read_references(card, references)
    if nothing := nothing_to_score(card, questions):
        raise nothing
    facts = analysis.run(questions, file, encoder, progress)
    return {"benchmark": benchmark, "analysis": name, "title": analysis.title, **facts}
