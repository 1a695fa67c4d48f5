"""Finished prompts of lm-evaluation-harness, answered by a model of Nightjar and written in the same form.

A line of samples has the arguments of its requests: a prompt with a continuation, whose log-likelihood is computed, or
a prompt with settings, after which a text is written. A metric is computed only where two things hold: the settings of
the task in `results_DATE.json` name nothing but filters and metrics that are here, and our formula gives what the file
itself says of its own answers, line by line, with a 0 and a 1 among them. Other answers are written without that
metric. So nothing is scored that only the Python functions of a task can score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.harness.lm_eval_samples import HASHES, Line, arguments_of, lines
from nightjar.harness.samples import NO_FILTER, is_number
from nightjar.models.interface import Capability, Decoding, Model, Request

FORM = (
    "give samples of a task whose answers are greedy texts or continuations (generate_until, multiple_choice)"
)
# Of lm-evaluation-harness, where the settings name none.
MOST_NEW_TOKENS = 256
KEPT_KEYS = ("doc_id", "doc", "target", "arguments")
# Settings of a generation that are read, or that do not change a greedy text; and values that change nothing.
GREEDY_SETTINGS = {"until", "max_gen_toks", "max_new_tokens", "do_sample", "temperature", "top_p", "top_k"}
NEUTRAL = {"num_beams": 1, "repetition_penalty": 1, "num_return_sequences": 1}


class PromptUnit(NamedTuple):
    """One request to a model: a text after a prompt, or the log-likelihoods of `texts` after it.

    `places` are the numbers of the arguments of the document that it answers.
    """

    prompt: str
    texts: tuple[str, ...]
    places: tuple[int, ...]
    stop: tuple[str, ...] = ()
    max_new_tokens: int = 0

    @property
    def needs(self) -> Capability:
        """The ability of a model that answers it."""
        return "score" if self.texts else "generate"


class PromptedDocument(NamedTuple):
    """A document: its line for each filter, and the units that answer its arguments."""

    where: str
    lines: Sequence[Line]
    arguments: Sequence[Sequence[Any]]
    units: Sequence[PromptUnit]


def read_documents(file: Path) -> list[PromptedDocument]:
    """Read the requests of a file of samples. Raises NightjarError for those that no model of ours can answer."""
    by_id: dict[str, list[tuple[str, Line]]] = {}
    for where, line in lines(file):
        by_id.setdefault(str(line["doc_id"]), []).append((where, line))
    documents = []
    for placed_lines in by_id.values():
        where, first = placed_lines[0]
        for place, line in placed_lines[1:]:
            if line["arguments"] != first["arguments"]:
                raise NightjarError(f"other requests than the same document in {where}", place, FORM)
        arguments = arguments_of(first, where)
        documents.append(
            PromptedDocument(where, [line for _, line in placed_lines], arguments, _units(arguments, where))
        )
    if not documents:
        raise NightjarError("no sample", file, FORM)
    return documents


def _units(arguments: Sequence[Sequence[Any]], where: str) -> list[PromptUnit]:
    by_prompt: dict[str, list[int]] = {}
    units = []
    for place, (prompt, *settings) in enumerate(arguments):
        if len(settings) != 1:
            what = "a running text, of which this harness and Nightjar count other tokens"
            raise NightjarError(what if not settings else "a request of more than a text", where, FORM)
        if isinstance(settings[0], str):
            if not prompt or not settings[0]:
                raise NightjarError("an empty prompt or continuation", where, FORM)
            by_prompt.setdefault(prompt, []).append(place)
        elif isinstance(settings[0], dict):
            units.append(_generation(prompt, settings[0], place, where))
        else:
            raise NightjarError("a request without a continuation or settings", where, FORM)
    for prompt, places in by_prompt.items():
        units.append(PromptUnit(prompt, tuple(arguments[place][1] for place in places), tuple(places)))
    return units


def _generation(prompt: str, settings: Mapping[str, Any], place: int, where: str) -> PromptUnit:
    until = settings.get("until") or []
    until = [until] if isinstance(until, str) else until
    limit = settings.get("max_gen_toks", settings.get("max_new_tokens", MOST_NEW_TOKENS))
    if not isinstance(until, list) or not all(isinstance(it, str) for it in until):
        raise NightjarError("until is no list of texts", where, FORM)
    if type(limit) is not int or not 0 < limit <= 1_000_000:
        raise NightjarError(f"max_gen_toks is {limit!r}", where, "give a number of tokens")
    temperature = settings.get("temperature", 1 if settings.get("do_sample") else 0)
    if settings.get("do_sample", True) and temperature != 0:
        raise NightjarError("answers are drawn by chance (do_sample, temperature)", where, FORM)
    for name in sorted(settings.keys() - GREEDY_SETTINGS):
        if settings[name] != NEUTRAL.get(name):
            raise NightjarError(f"the setting {quote_short(name)} is not one of ours", where, FORM)
    return PromptUnit(prompt, (), (place,), tuple(filter(None, until)), limit)


def answers(
    model: Model, units: Sequence[PromptUnit], numbers: Sequence[int]
) -> Iterator[tuple[int, list[Any]]]:
    """Yield the number of each of the units `numbers`, and its texts or log-likelihoods, as they finish."""
    texts = {place: unit for place, unit in enumerate(units) if unit.needs == "generate"}
    if wanted_texts := [number for number in numbers if number in texts]:
        requests = {place: _request(model, unit) for place, unit in texts.items()}
        for number, completion in model.generate(requests, wanted_texts, Decoding()):
            if completion.failure:
                raise NightjarError(
                    completion.failure, units[number].prompt[-60:], "start it again; it resumes"
                )
            yield number, [completion.text]
    scored = {place: (unit.prompt, unit.texts) for place, unit in enumerate(units) if unit.needs == "score"}
    if wanted_scores := [number for number in numbers if number in scored]:
        for number, scores in model.score(scored, wanted_scores):
            yield number, [it.logprob for it in scores]


def _request(model: Model, unit: PromptUnit) -> Request:
    ids = model.tokenizer.encode(unit.prompt) if model.tokenizer else ()
    return Request(unit.prompt, ids, unit.max_new_tokens, unit.stop)


# A formula: the value of a metric, of the arguments and the answers of a document, its target, and its filter's answer.
Formula = Callable[[Sequence[Sequence[Any]], Sequence[Any], str], float | None]


def _target_place(arguments: Sequence[Sequence[Any]], target: str) -> int | None:
    """Return the number of the choice that is the target: a number, or the text of a choice."""
    if target.isdecimal() and int(target) < len(arguments):
        return int(target)
    choices = [str(it[1]).strip() for it in arguments]
    return choices.index(target.strip()) if target.strip() in choices else None


def _accuracy(arguments: Sequence[Sequence[Any]], responses: Sequence[Any], target: str) -> float | None:
    return _hit(arguments, responses, target, [1.0] * len(arguments))


def _accuracy_by_length(
    arguments: Sequence[Sequence[Any]], responses: Sequence[Any], target: str
) -> float | None:
    """Return accuracy with log-likelihoods divided by the characters of the choice, without the blank before it."""
    return _hit(arguments, responses, target, [float(len(str(it[-1]).removeprefix(" "))) for it in arguments])


def _hit(
    arguments: Sequence[Sequence[Any]], responses: Sequence[Any], target: str, lengths: Sequence[float]
) -> float | None:
    place = _target_place(arguments, target)
    if place is None or not all(isinstance(it, float) for it in responses) or not all(lengths):
        return None
    values = [response / length for response, length in zip(responses, lengths, strict=True)]
    return float(values.index(max(values)) == place)


def _exact_match(arguments: Sequence[Sequence[Any]], responses: Sequence[Any], target: str) -> float | None:
    return float(responses[0] == target) if len(responses) == 1 and isinstance(responses[0], str) else None


FORMULAS: Mapping[str, Formula] = {
    "acc": _accuracy,
    "acc_norm": _accuracy_by_length,
    "exact_match": _exact_match,
}
# The functions of filters of texts that are known here, by their names in lm-evaluation-harness 0.4.
FILTERS = ("take_first", "remove_whitespace")
# The keys of a metric in the settings of a task that do not change the value of a document.
METRIC_KEYS = {"metric", "aggregation", "higher_is_better"}


class Scoring(NamedTuple):
    """The filter and the metrics of one filter's lines that our formulas can compute."""

    filter: Callable[[str], str] | None
    metrics: tuple[str, ...]


def scorings(documents: Sequence[PromptedDocument], task_settings: Mapping[str, Any]) -> dict[str, Scoring]:
    """Return for each filter of a file the filter and the metrics that give what the file says of its own answers.

    `task_settings` are those of the results of the run; without them no text is scored.
    """
    by_filter: dict[str, list[tuple[PromptedDocument, Line]]] = {}
    for document in documents:
        for line in document.lines:
            by_filter.setdefault(str(line.get("filter")), []).append((document, line))
    return {
        name: _scoring(pairs, _text_filter(name, task_settings), task_settings)
        for name, pairs in by_filter.items()
    }


def _text_filter(name: str, task_settings: Mapping[str, Any]) -> Callable[[str], str] | None:
    """Return the filter of that name in the settings of a task; None for one that is not known here."""
    filters = task_settings.get("filter_list")
    if not filters:
        return str if name == NO_FILTER else None
    named = (
        [it for it in filters if isinstance(it, dict) and it.get("name") == name]
        if isinstance(filters, list)
        else []
    )
    steps = named[0].get("filter") if named else None
    # A step with settings of its own is another one.
    if not isinstance(steps, list) or not all(
        step in [{"function": function} for function in FILTERS] for step in steps
    ):
        return None
    return str.strip if {"function": "remove_whitespace"} in steps else str


def _is_plain(metric: str, task_settings: Mapping[str, Any]) -> bool:
    """Return true if a metric has no settings of its own; that of texts has some, so the run must say it has none."""
    listed = task_settings.get("metric_list")
    if not isinstance(listed, list):
        return bool(task_settings) or metric != "exact_match"
    entries = [it for it in listed if isinstance(it, dict) and it.get("metric") == metric]
    return len(entries) == 1 and entries[0].keys() <= METRIC_KEYS


def _scoring(
    pairs: Sequence[tuple[PromptedDocument, Line]],
    text_filter: Callable[[str], str] | None,
    task_settings: Mapping[str, Any],
) -> Scoring:
    own_responses = [_responses(line) for _, line in pairs]
    filtered = [_filtered(line) for _, line in pairs]
    if text_filter and any(
        _apply(text_filter, texts) != other for texts, other in zip(own_responses, filtered, strict=True)
    ):
        text_filter = None
    metrics = []
    for name in pairs[0][1].get("metrics") or ():
        formula = FORMULAS.get(name)
        values = [line.get(name) for _, line in pairs]
        if formula is None or text_filter is None or not _is_plain(name, task_settings):
            continue
        if not all(map(is_number, values)) or not {0, 1} <= set(values):
            continue
        computed = [
            formula(document.arguments, responses, str(line.get("target")))
            for (document, line), responses in zip(pairs, filtered, strict=True)
        ]
        if computed == values:
            metrics.append(name)
    return Scoring(text_filter, tuple(metrics))


def _responses(line: Line) -> list[Any]:
    """Return the answers in a line as it has them before any filter: texts, or log-likelihoods."""
    responses = line.get("resps")
    firsts = (
        [it[0] if isinstance(it, list) and it else it for it in responses]
        if isinstance(responses, list)
        else []
    )
    return [_answer(it) for it in firsts]


def _filtered(line: Line) -> list[Any]:
    responses = line.get("filtered_resps")
    return [_answer(it) for it in responses] if isinstance(responses, list) else []


def _answer(response: Any) -> Any:
    """Return a text, or the number of a log-likelihood that is written as ["-1.5", "False"]."""
    if isinstance(response, list) and response:
        try:
            return float(response[0])
        except (TypeError, ValueError):
            return None
    return response


def _apply(text_filter: Callable[[str], str], responses: Sequence[Any]) -> list[Any]:
    return [text_filter(it) if isinstance(it, str) else it for it in responses]


def answered_lines(
    documents: Sequence[PromptedDocument], responses: Sequence[Sequence[Any]], scoring: Mapping[str, Scoring]
) -> Iterator[Line]:
    """Yield the lines of the answers, in the form of the file; `responses` are those of each document's arguments."""
    for document, document_responses in zip(documents, responses, strict=True):
        for line in document.lines:
            text_filter, metrics = scoring[str(line.get("filter"))]
            filtered = [] if text_filter is None else _apply(text_filter, document_responses)
            target = str(line.get("target"))
            yield {
                **{key: line[key] for key in KEPT_KEYS if key in line},
                "resps": [[_written(it)] for it in document_responses],
                "filtered_resps": [_written(it) for it in filtered],
                "filter": line.get("filter"),
                "metrics": list(metrics),
                **{key: line[key] for key in HASHES if key in line},
                **{name: FORMULAS[name](document.arguments, filtered, target) for name in metrics},
            }


def _written(response: Any) -> Any:
    return [repr(response)] if isinstance(response, float) else response
