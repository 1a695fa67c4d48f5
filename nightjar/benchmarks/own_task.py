"""A task of one's own: a card made from a short YAML file, with the data beside it (docs/extending.md).

Prompt, references and choices are templates of a row (`templates`). A row that does not fit them is refused with the
reason, like a row of any benchmark. The few-shot examples of `examples` come before every prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError

from nightjar.benchmarks import records
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
from nightjar.benchmarks.question_set import Choice, Task, TaskSource
from nightjar.benchmarks.source_rows import ENDINGS, InvalidRow, objects, plain, plain_rows, text
from nightjar.benchmarks.source_rows import records as records_of
from nightjar.benchmarks.templates import InvalidTemplate, Template
from nightjar.core.config import Count, Item, Name, Positive, StrictModel, parse, problems_of, read_text
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.statistics import matthews
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

SUFFIXES = (".yaml", ".yml")
KEYS = "docs/extending.md has every key"
# Between the examples of a prompt.
BETWEEN = "\n\n"
# Number of an answer that is none of the choices, for Matthews correlation.
NO_CHOICE = -1

Texts = list[Name]
_METRICS = (
    Metric("exact_match", "exact match", right=True),
    Metric("normalised_match", "exact match without case and punctuation", right=True),
    Metric("f1", "F1"),
    Metric("rouge_l", "ROUGE-L"),
    Metric("accuracy", "accuracy", right=True),
    Metric("matthews", "Matthews correlation", ("predicted", "gold"), matthews, range=(-100.0, 100.0)),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _METRICS}
MetricName = Annotated[str, records.one_of(METRICS, "metrics")]


class YamlTask(StrictModel):
    """The keys of a task file. `data` and a file of `examples` are named from the folder of the task file.

    `id`, `prompt`, and the texts of `references` and `choices` are templates. `references` or `choices` that are one
    template give a list of the row. Without `id`, a row has its number. `metric`: accuracy with choices, else
    exact_match, if none is named; the first one is the main metric.
    """

    name: Item
    version: Count = 1
    title: str = ""
    source: str = ""
    data: Name
    id: Name | None = None
    prompt: Name
    references: Name | Annotated[Texts, Field(min_length=1)]
    choices: Name | Annotated[Texts, Field(min_length=2)] | None = None
    metric: MetricName | Annotated[list[MetricName], Field(min_length=1)] | None = None
    stop: Texts = Field(default_factory=list)
    max_new_tokens: Positive = 32
    examples: Name | list[dict[str, Any]] = Field(default_factory=list)


class Fault(NamedTuple):
    """A fault in a line of a task file, and its fix."""

    line: int
    what: str
    fix: str


@dataclass(frozen=True)
class Templates:
    """The templates of a task file; `choices` is None for texts that a model writes."""

    id: Template | None
    prompt: Template
    references: Template | list[Template]
    choices: Template | list[Template] | None


class Filled(NamedTuple):
    """The texts that the templates make of a row."""

    prompt: str
    references: tuple[str, ...]
    choices: tuple[str, ...]


def read(path: Path, *, allow_outside: bool = False) -> tuple[YamlTask | None, Templates | None, list[Fault]]:
    """A task file, its templates, and all that is wrong with it. Raises NightjarError if it is no YAML.

    Unless `allow_outside`, a file of rows that is outside of its folder is wrong, by a link too: a task file may come
    from anybody, and rows become prompts, perhaps for a server.
    """
    if not path.is_file():
        raise NightjarError("no such task file", path, "name a file such as my.yaml")
    source = read_text(path)
    values = parse(source, path)
    lines = source.splitlines()

    def line(key: str) -> int:
        numbers = (number for number, it in enumerate(lines, 1) if re.match(rf"['\"]?{re.escape(key)}\b", it))
        return next(numbers, 1)

    if not isinstance(values, dict):
        return None, None, [Fault(1, "not a mapping of keys to values", KEYS)]
    try:
        file = YamlTask.model_validate(values)
    except ValidationError as error:
        problems = problems_of(error, YamlTask.model_fields, KEYS)
        return None, None, sorted(Fault(line(key), what, fix) for key, what, fix in problems)
    faults: list[Fault] = []

    def template(key: str, source: str) -> Template:
        try:
            return Template(source, key)
        except InvalidTemplate as error:
            faults.append(Fault(line(key), f"{key} is no template: {error}", "correct it"))
            return Template("", key)

    def templates(key: str, source: str | list[str]) -> Template | list[Template]:
        return template(key, source) if isinstance(source, str) else [template(key, one) for one in source]

    parsed_templates = Templates(
        template("id", file.id) if file.id else None,
        template("prompt", file.prompt),
        templates("references", file.references),
        templates("choices", file.choices) if file.choices else None,
    )
    named = metric_names(file)
    if needs := [name for name in named if name in ("accuracy", "matthews") and not file.choices]:
        faults.append(Fault(line("metric"), f"{needs[0]} needs choices", "add choices, or name exact_match"))
    fixed = isinstance(parsed_templates.choices, list) and all(
        one.constant for one in parsed_templates.choices
    )
    if "matthews" in named and file.choices and not fixed:
        faults.append(
            Fault(line("choices"), "matthews needs the same choices in each row", "list them as texts")
        )
    for key, name in (("data", file.data), ("examples", file.examples)):
        if not isinstance(name, str):
            continue
        data = path.parent / name
        if not data.is_file():
            faults.append(Fault(line(key), f"no file {data}", "name one from the task file's folder"))
        elif not allow_outside and not data.resolve().is_relative_to(path.parent.resolve()):
            what = f"{key} is outside of the task file's folder: {name}"
            fix = "put it beside the task file, or allow it: --allow-outside, in Python allow_outside=True"
            faults.append(Fault(line(key), what, fix))
        elif not name.endswith(ENDINGS):
            faults.append(Fault(line(key), f"{name} is no file of rows", f"name one of {', '.join(ENDINGS)}"))
    return file, parsed_templates, faults


def metric_names(file: YamlTask) -> list[str]:
    """The metrics of a task, each once."""
    named = file.metric or ("accuracy" if file.choices else "exact_match")
    return [named] if isinstance(named, str) else list(dict.fromkeys(named))


def task_benchmark(path: Path, *, allow_outside: bool = False) -> Benchmark:
    """Return the benchmark of a task file; `allow_outside` as in `read`.

    Raises NightjarError, with file and line, for the first thing that is wrong with it.
    """
    try:
        status = path.stat()
    except OSError:
        raise NightjarError("no such task file", path, "name a file such as my.yaml") from None
    if not allow_outside:  # not cached: a link may change
        _check(path, read(path)[2])
    return _task_benchmark(path, status.st_mtime_ns, status.st_size)


def _check(path: Path, faults: Sequence[Fault]) -> None:
    """Raise NightjarError for the first of the faults."""
    if faults:
        first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise NightjarError(f"{first.what}{more}", f"{path}:{first.line}", first.fix)


@lru_cache(maxsize=32)
def _task_benchmark(path: Path, changed: int, size: int) -> Benchmark:
    file, templates, faults = read(path, allow_outside=True)
    _check(path, faults)
    assert file and templates
    return TaskBenchmark(path, file, templates)


class TaskBenchmark(Benchmark):
    """The benchmark that a task file describes: its templates write the texts of each row."""

    def __init__(self, path: Path, file: YamlTask, templates: Templates) -> None:
        self.file, self.templates = file, templates
        self.name, self.version = file.name, file.version
        self.title, self.source = file.title or file.name, file.source or path.name
        kind: Literal["choose", "generate"] = "choose" if file.choices else "generate"
        self.tasks = {file.name: Task(self.title, kind, file.max_new_tokens, tuple(file.stop))}
        self._metrics = metric_names(file)
        self.metrics = tuple(METRICS[name] for name in self._metrics)
        example_files = [path.parent / file.examples] if isinstance(file.examples, str) else []
        self.task_source = TaskSource(path, contents(path, *example_files), path.parent / file.data)
        examples = file.examples
        listed = plain_rows(path.parent / examples) if isinstance(examples, str) else plain(objects(examples))
        self.examples = []
        for row in listed:
            try:
                if row.fault:
                    raise InvalidRow(row.fault)
                self.examples.append(self.filled_in(row.value))
            except InvalidRow as error:
                where = examples if isinstance(examples, str) else "examples"
                raise NightjarError(
                    f"example {row.number}: {error}", f"{path}, {where}", "correct it"
                ) from None

    def filled_in(self, row: Mapping[str, Any]) -> Filled:
        """A row as it is asked. Raises InvalidRow if it does not fit the templates."""
        templates = self.templates
        prompt = templates.prompt.text(row)
        if not prompt.strip():
            raise InvalidRow("prompt is blank")
        references = _texts("references", templates.references, row)
        choices = () if templates.choices is None else _texts("choices", templates.choices, row)
        if choices and len(set(choices)) < max(2, len(choices)):
            raise InvalidRow(f"{len(choices)} choices, of which {len(set(choices))} differ")
        if choices and (unknown := [one for one in references if one not in choices]):
            raise InvalidRow(f"the reference {unknown[0]!r} is none of the choices {', '.join(choices)}")
        return Filled(prompt, references, choices)

    def load(self, path: Path) -> Iterator[Record | Refused]:
        """The rows of the file `path`, or of the file of that name in the folder `path`."""
        file = path / Path(self.file.data).name if path.is_dir() else path

        def record(row: Mapping[str, Any], id: str) -> Record:
            return Record(self.file.name, id, file.name, row, self.filled_in(row).references)

        template = self.templates.id
        key = (lambda row: text(template.text(row), "id")) if template else None
        rows = list(plain_rows(file))
        for row, outcome in zip(rows, records_of(file.name, rows, key, record), strict=True):
            yield replace(outcome, line=row.line) if isinstance(outcome, Record) else outcome

    def questions(self, sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
        """Return the questions of the rows that were read."""
        return records.questions(self.name, sources.data)

    def query(self, parts: Mapping[str, Any]) -> str:
        """Write the prompt of a row."""
        return self.filled_in(parts).prompt

    def prompt(self, question: Question, asking: Asking) -> str:
        """The examples with their first references, and the prompt of the question."""
        return self.with_examples(self._of(question))

    def with_examples(self, filled_in: Filled) -> str:
        """The prompt of a row after the examples."""
        examples = [
            f"{example.prompt}{_after(example.prompt)}{example.references[0]}"
            for example in self._examples(filled_in)
        ]
        return BETWEEN.join([*examples, filled_in.prompt])

    def turns(self, question: Question, asking: Asking) -> tuple[list[tuple[str, str]], str]:
        """The examples as turns of a chat, and the prompt."""
        filled_in = self._of(question)
        examples = self._examples(filled_in)
        return [(example.prompt.strip(), example.references[0]) for example in examples], filled_in.prompt

    def _examples(self, filled_in: Filled) -> list[Filled]:
        """The examples without the question itself, whose answer would be in its own prompt."""
        question = _content(filled_in)
        return [example for example in self.examples if _content(example) != question]

    def choices(self, question: Question) -> tuple[Choice, ...]:
        """The choices of a question; a blank comes before their texts unless the prompt ends with one."""
        if not self.file.choices:
            return ()
        filled_in = self._of(question)
        return tuple(Choice(one, f"{_after(filled_in.prompt)}{one}") for one in filled_in.choices)

    def _of(self, question: Question) -> Filled:
        try:
            return self.filled_in(question.parts)
        except InvalidRow as error:
            where = f"{self.file.name} {question.id}"
            raise NightjarError(str(error), where, "make the questions again from this task file") from None

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """The parts of the metrics from the first answer of each question; NaN for a question without references."""
        scores = {
            part: np.full(len(questions), np.nan) for name in self._metrics for part in METRICS[name].parts
        }
        places = [place for place, question in enumerate(questions) if question.references]
        texts = ["".join(answers[place][:1]) for place in places]
        references = [questions[place].references for place in places]
        for name, values in self._parts(texts, references).items():
            if name in scores:
                scores[name][places] = values
        return scores

    def _parts(self, answers: Sequence[str], references: Sequence[tuple[str, ...]]) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        pairs = list(zip(answers, references, strict=True))
        if "exact_match" in self._metrics:
            parts["exact_match"] = [
                answer.strip() in {text.strip() for text in texts} for answer, texts in pairs
            ]
        if {"normalised_match", "rouge_l"} & set(self._metrics) and pairs:
            from nightjar.text.rouge import score_by_script

            parts["normalised_match"], parts["rouge_l"] = score_by_script(answers, references)
        if "f1" in self._metrics:
            from nightjar.text.f1 import f1, words

            parts["f1"] = [max(f1(answer, text, words) for text in texts) for answer, texts in pairs]
        if "accuracy" in self._metrics:
            parts["accuracy"] = [answer in texts for answer, texts in pairs]
        if "matthews" in self._metrics and isinstance(self.file.choices, list):
            numbers = {name: number for number, name in enumerate(self.file.choices)}
            parts["predicted"] = [numbers.get(answer, NO_CHOICE) for answer in answers]
            parts["gold"] = [numbers.get(texts[0], NO_CHOICE) for texts in references]
        return parts


def _content(row: Filled) -> tuple[str, frozenset[str]]:
    """The content of a question without blanks at its ends and the order of its choices."""
    return row.prompt.strip(), frozenset(row.choices)


def _after(prompt: str) -> str:
    return "" if prompt[-1:].isspace() else " "


def _texts(key: str, templates: Template | list[Template], row: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that templates make of a row; one template may give a list."""
    values = [it.text(row) for it in templates] if isinstance(templates, list) else templates.value(row)
    listed = values if isinstance(values, list) else [values]
    if any(value is None for value in listed):
        raise InvalidRow(f"{key}: a value is null")
    texts = tuple(map(str, listed))
    if not texts or not all(map(str.strip, texts)):
        raise InvalidRow(f"{key}: a text is blank" if texts else f"{key} are empty")
    return texts
