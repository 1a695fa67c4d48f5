"""Predictions of one system: the untuned model, or one trained by a recipe, which says what its prompts carry."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.card import Asking, Card, Question
from nightjar.core.params import Encoding, PredictBenchmark
from nightjar.lm.forward import Prefix, common_length, prefill
from nightjar.lm.load import LanguageModel
from nightjar.lm.sample import Sampling, generator_for
from nightjar.lm.tokenizer import Tokenizer
from nightjar.tools import Calls, Toolbox, answer


@dataclass(frozen=True)
class Asked:
    """A question as the model reads it: the prompt and its ids."""

    question: Question
    prompt: str
    ids: list[int]

    @property
    def sha256(self) -> str:
        """Of the prompt's text."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()


def ask(
    card: Card,
    tokenizer: Tokenizer,
    questions: Sequence[Question],
    evidence: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
    passages: int,
    options: Encoding,
) -> list[Asked]:
    """The prompt of every question, in their order, with at most `passages` of its evidence."""
    asked = []
    for question in questions:
        found = evidence.get(question.key, ())[:passages]
        text = card.prompt(question, Asking(options, tokenizer, found, tokenizer.encoder_decoder))
        ids = tokenizer.encode(text)
        if tokenizer.encoder_decoder:
            # A text that was cut to length may have more tokens when read again: it is cut once more (facts 1.7).
            ids = tokenizer.fit(ids, options.max_source_length)
        asked.append(Asked(question, text, ids))
    return asked


def stops(card: Card, task_id: str, settings: PredictBenchmark) -> list[str]:
    """The texts that end an answer to a question of the task."""
    return list(card.task(task_id).stop) or settings.stop


def limit(card: Card, task_id: str, settings: PredictBenchmark) -> int:
    """The most tokens of an answer to a question of the task."""
    own = card.task(task_id).max_new_tokens
    return settings.max_new_tokens if own is None else min(own, settings.max_new_tokens)


def answering(
    lm: LanguageModel,
    card: Card,
    asked: Sequence[Asked],
    batches: Sequence[Sequence[int]],
    settings: PredictBenchmark,
    toolbox: Toolbox,
    calls: Calls,
    seed: int,
) -> Callable[[int], list[dict[str, Any]]]:
    """A function that answers the batch of a number: for each of its rows answers, text, calls, new_tokens, seconds.

    `batches` are those of `batches.plan`, `calls` is as in `answer`; the calendar gives the question's day, and no
    result where it has none. `seconds` are those of a batch divided by its rows. An answer does not depend on which
    batches were answered before.
    """
    shared = _Shared(lm, asked)

    def answer_batch(number: int) -> list[dict[str, Any]]:
        rows = batches[number]
        started = time.monotonic()
        base = shared.of(asked[rows[0]].question.task_id)
        given = _answer(lm, card, [asked[row] for row in rows], settings, toolbox, calls, seed, base)
        seconds = (time.monotonic() - started) / len(rows)
        return [{**row, "seconds": round(seconds, 6)} for row in given]

    return answer_batch


def in_order(
    batches: Sequence[Sequence[int]], given: Iterable[Sequence[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The answers of all batches in the order of the questions."""
    found = {
        row: answer
        for rows, answers in zip(batches, given, strict=True)
        for row, answer in zip(rows, answers, strict=True)
    }
    return [found[row] for row in sorted(found)]


class _Shared:
    """What all prompts of a task begin with, computed once a task.

    It depends on the questions alone, not on which batches are still to be answered: a resumed run computes the same.
    """

    def __init__(self, lm: LanguageModel, asked: Sequence[Asked]) -> None:
        self.lm = lm
        self.task_id: str | None = None
        self.base: Prefix | None = None
        self.prompts: dict[str, list[list[int]]] = {}
        for one in asked:
            self.prompts.setdefault(one.question.task_id, []).append(one.ids)

    def of(self, task_id: str) -> Prefix | None:
        if self.lm.encoder_decoder:
            return None
        if task_id != self.task_id:
            prompts = self.prompts[task_id]
            length = min(common_length(prompts), min(map(len, prompts)) - 1) if len(prompts) > 1 else 0
            self.task_id = task_id
            self.base = prefill(self.lm, prompts[0][:length]) if length > 0 else None
        return self.base


def _answer(
    lm: LanguageModel,
    card: Card,
    asked: Sequence[Asked],
    settings: PredictBenchmark,
    toolbox: Toolbox,
    calls: Calls,
    seed: int,
    base: Prefix | None,
) -> list[dict[str, Any]]:
    sampling = None
    if settings.temperature > 0:
        generators = [generator_for(seed, one.sha256) for one in asked]
        sampling = Sampling(settings.temperature, generators, settings.top_p)
    # An encoder-decoder's batch has questions of several tasks: the longest limit and all stop strings hold for it.
    tasks = list(dict.fromkeys(one.question.task_id for one in asked))
    forbidden = {name for task in tasks for name in card.task(task).forbidden_tools}
    answers = answer(
        lm,
        [one.ids for one in asked],
        toolbox.without(forbidden),
        calls=calls,
        days=[one.question.day for one in asked],
        max_new_tokens=max(limit(card, task, settings) for task in tasks),
        stop=list(dict.fromkeys(mark for task in tasks for mark in stops(card, task, settings))),
        top_k=settings.call_top_k,
        max_calls=settings.max_calls,
        sampling=sampling,
        base=base,
    )
    return [
        {
            "answers": [
                before_full_stop(given.prediction) if settings.cut_at_full_stop else given.prediction
            ],
            "text": given.text,
            "calls": [{"tool": c.tool, "input": c.input, "result": c.result} for c in given.calls],
            "new_tokens": given.tokens,
        }
        for given in answers
    ]


def before_full_stop(text: str) -> str:
    """What stands before the first full stop of the stripped text: the published GPT-3 setting (facts 1.9)."""
    return text.strip().partition(".")[0]


def table_row(asked: Asked, given: Mapping[str, Any], lm: LanguageModel) -> dict[str, Any]:
    """A row of contracts.PREDICTIONS without benchmark and system."""
    question = asked.question
    return {
        "track": question.track,
        "category": question.category,
        "task_id": question.task_id,
        "id": question.id,
        **{name: given[name] for name in ("answers", "text", "calls", "new_tokens")},
        "prompt": asked.prompt,
        "prompt_sha256": asked.sha256,
        "prompt_tokens": len(asked.ids),
        "model_sha256": lm.sha256,
        "adapter_sha256": lm.adapter_sha256,
    }
