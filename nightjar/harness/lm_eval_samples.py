"""Samples of lm-evaluation-harness: `samples_TASK_DATE.jsonl`, one JSON line a document and filter (--log_samples).

Documents are paired by `doc_hash`, and what was asked and expected by `prompt_hash` and `target_hash`. A document that
a task has several times is numbered. `results_DATE.json` beside the samples names the model and the direction of each
metric. Of several files of a task, as `--output_path` collects them, the latest counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short, recorded
from nightjar.harness.harness_metrics import PERPLEXITIES, loss_parts
from nightjar.harness.samples import (
    MIB,
    NO_FILTER,
    SHOWN_TEXT,
    HarnessRun,
    Sample,
    Subject,
    bounded_lines,
    check_count,
    content_digest,
    is_number,
    json_object,
    tail_text,
)

NAME = "lm-evaluation-harness"
FORM = "give samples of lm-evaluation-harness, written with --log_samples"
FILE_NAME = re.compile(
    r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?))?\.jsonl"
)
LARGEST_RESULTS = 64 * MIB
# The keys of a line that are no metrics; versions before `metrics` had all others.
HASHES = ("doc_hash", "prompt_hash", "target_hash")
LINE_KEYS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", *HASHES}
)

Line = dict[str, Any]


def sample_files(folder: Path) -> dict[str, Path]:
    """Return the latest file of samples of each task in a folder, or in one folder of it.

    Raises NightjarError where several folders have samples: they are runs of several models.
    """
    files = [
        file
        for pattern in ("samples_*.jsonl", "*/samples_*.jsonl")
        for file in sorted(folder.glob(pattern))
        if FILE_NAME.fullmatch(file.name)
    ]
    folders = sorted({file.parent for file in files})
    if len(folders) > 1:
        names = ", ".join(it.relative_to(folder).as_posix() for it in folders[:5])
        what = f"it has the samples of {len(folders)} models ({names})"
        raise NightjarError(what, folder, f"name one of them, such as {folders[0]}")
    latest: dict[str, Path] = {}
    for file in sorted(files, key=_date_of):
        latest[task_of(file)] = file
    return latest


def task_of(file: Path) -> str:
    """Return the task in the name of a file of samples; "samples" for another name."""
    match = FILE_NAME.fullmatch(file.name)
    return match["task"] if match else "samples"


def _date_of(file: Path) -> str:
    match = FILE_NAME.fullmatch(file.name)
    return (match["date"] if match else None) or ""


def read(path: Path) -> HarnessRun:
    """Read a file or a folder of samples."""
    files = sample_files(path) if path.is_dir() else {task_of(path): path}
    samples: dict[Subject, list[Sample]] = {}
    left_out: dict[str, str] = {}
    higher_is_better: dict[str, bool] = {}
    versions: dict[str, str] = {}
    model, count = "", 0
    for task, file in sorted(files.items()):
        results = _results(file)
        model = model or str(results.get("model_name") or "")
        directions = _mapping(_mapping(results.get("higher_is_better")).get(task))
        higher_is_better |= {name: value for name, value in directions.items() if isinstance(value, bool)}
        if (version := _mapping(results.get("versions")).get(task)) is not None:
            versions[task] = str(version)
        for filter_name, sample in _task_samples(file, task, left_out):
            samples.setdefault(Subject(task, filter_name), []).append(sample)
            count += 1
            check_count(count, path)
    if not samples:
        raise NightjarError("no sample", path, FORM)
    folder = path if path.is_dir() else path.parent
    return HarnessRun(
        path, NAME, model or folder.resolve().name, samples, higher_is_better, left_out, versions
    )


def lines(file: Path) -> Iterator[tuple[str, Line]]:
    """Yield the place and the object of each line, checked as far as every reader needs it."""
    seen: set[tuple[str, str]] = set()
    for where, text in bounded_lines(file):
        line = json_object(text, where, FORM)
        if not isinstance(line.get("doc_id"), int | str) or "arguments" not in line:
            raise NightjarError("no doc_id and arguments", where, FORM)
        key = str(line["doc_id"]), _filter_of(line)
        if key in seen:
            what = f"the document {quote_short(key[0], quoted=False)} occurs twice with the filter {key[1]}"
            raise NightjarError(what, where, "remove what was appended, or run the task again")
        seen.add(key)
        yield where, line


def arguments_of(line: Line, where: str) -> list[list[Any]]:
    """Return the arguments of each request: a prompt, and a continuation or the settings of a generation."""
    value = line["arguments"]
    requests = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(requests, list) or not requests:
        raise NightjarError("arguments has no request", where, FORM)
    arguments = [list(it.values()) if isinstance(it, dict) else it for it in requests]
    if not all(isinstance(it, list) and it and isinstance(it[0], str) for it in arguments):
        raise NightjarError("a request without a prompt", where, FORM)
    return arguments


def _task_samples(file: Path, task: str, left_out: dict[str, str]) -> Iterator[tuple[str, Sample]]:
    """Yield the filter and the sample of each line; metrics without a number a document go to `left_out`."""
    occurrences: Counter[tuple[str, ...]] = Counter()
    for where, line in lines(file):
        arguments, filter_name = arguments_of(line, where), _filter_of(line)
        prompt = str(line.get("prompt_hash") or content_digest(arguments[0][0]))
        target = str(line.get("target_hash") or content_digest(str(line.get("target"))))
        document = str(line.get("doc_hash") or content_digest(line.get("doc")))
        number = occurrences[document, filter_name]
        occurrences[document, filter_name] += 1
        yield (
            filter_name,
            Sample(
                f"{document[:16]}#{number}" if number else document[:16],
                1,
                content_digest(prompt, target),
                _values(line, where, task, left_out),
                tail_text(arguments[0][0]),
                str(line.get("target", ""))[:SHOWN_TEXT],
                answer_of(line, arguments)[:SHOWN_TEXT],
            ),
        )


def _values(line: Line, where: str, task: str, left_out: dict[str, str]) -> dict[str, float]:
    """Return the parts of the metrics of a line."""
    names = line.get("metrics")
    if not isinstance(names, list):
        names = [name for name in line if name not in LINE_KEYS]
    values: dict[str, float] = {}
    for name in map(str, names):
        if name not in line:
            raise NightjarError(f"the metric {quote_short(name, quoted=False)} has no value", where, FORM)
        value = line[name]
        if (
            name in PERPLEXITIES
            and isinstance(value, list)
            and len(value) == 2
            and all(map(is_number, value))
        ):
            if value[1] <= 0:
                raise NightjarError(f"{name} of a document without tokens", where, "leave the document out")
            values |= loss_parts(name, *value)
        elif name in PERPLEXITIES and is_number(value) and value <= 0:
            values |= loss_parts(name, value, 1.0)
        elif is_number(value):
            values[name] = float(value)
        elif isinstance(value, int | float) or value is None:
            what = f"the metric {quote_short(name, quoted=False)} is {value}, not a finite number"
            raise NightjarError(what, where, "run the task again, or remove the document from both runs")
        else:
            left_out[f"{task}, {name}"] = "it is no number of one document"
    return values


def answer_of(line: Line, arguments: Sequence[Sequence[Any]]) -> str:
    """Return the answer as people read it: a filtered text, the likeliest choice, or "" for a likelihood alone."""
    answers = line.get("filtered_resps")
    if not isinstance(answers, list) or not answers:
        return ""
    if isinstance(answers[0], str):
        return answers[0]
    likelihoods = [_likelihood(it) for it in answers]
    if len(likelihoods) == len(arguments) > 1 and None not in likelihoods:
        place = likelihoods.index(max(it for it in likelihoods if it is not None))
        return str(arguments[place][1]) if len(arguments[place]) > 1 else str(place)
    return ""


def _likelihood(response: object) -> float | None:
    """Return the log-likelihood of a response, which is written as ["-1.5", "False"]."""
    try:
        return float(response[0])  # type: ignore[index]
    except (TypeError, ValueError, IndexError, KeyError):
        return None


def _filter_of(line: Line) -> str:
    return str(line.get("filter") or NO_FILTER)


def _results(file: Path) -> Mapping[str, Any]:
    """Return the results that were written with a file of samples; empty where there are none that can be read."""
    results = file.with_name(f"results_{_date_of(file)}.json")
    if not results.is_file() or results.stat().st_size > LARGEST_RESULTS:
        return {}
    return recorded(results)


def settings_of(file: Path, task: str) -> Mapping[str, Any]:
    """Return the settings of a task as its run recorded them beside the samples; empty where they are not there."""
    return _mapping(_mapping(_results(file).get("configs")).get(task))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
