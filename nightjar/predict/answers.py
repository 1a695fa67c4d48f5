"""Predictions of one system: the untuned model, or one trained by a recipe, which says what its prompts carry."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.question import Asking, Question
from nightjar.core import contracts, tables
from nightjar.core.identity import digest
from nightjar.models.encoder_decoder import batches
from nightjar.models.generate import arrange
from nightjar.models.load import LanguageModel
from nightjar.models.row import Prompt
from nightjar.models.samples import Sampling, generator_for
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.data import Encoding
from nightjar.params.predict import PredictBenchmark
from nightjar.tools import Answered, Calls, Query, Toolbox, answers
from nightjar.tools.by_text import Written

# The passages of each question, best first, by (task_id, id).
Evidence = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


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

    @property
    def digest(self) -> str:
        """Of all that is asked."""
        return digest({"asked": [*self.question.key, self.prompt, self.ids, str(self.question.day)]})


def ask(
    card: Card,
    tokenizer: Tokenizer,
    questions: Sequence[Question],
    evidence: Evidence,
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
            # A text that was cut to length may have more tokens when read again: it is cut once more (ni_collator.py).
            ids = tokenizer.fit(ids, options.max_source_length)
        asked.append(Asked(question, text, ids))
    return asked


def evidence_of(retrieved: Path | None) -> Evidence:
    """The passages of the artifact `retrieved` for test questions; none without an artifact."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    rows = tables.read_rows(retrieved, contracts.EVIDENCE) if retrieved else []
    for row in sorted(rows, key=lambda row: row["rank"]):
        if row["split"] == "test":
            found.setdefault((row["task_id"], row["id"]), []).append(row)
    return found


def stops(card: Card, task_id: str, settings: PredictBenchmark) -> list[str]:
    """The texts that end an answer to a question of the task."""
    return list(card.task(task_id).stop) or settings.stop


def limit(card: Card, task_id: str, settings: PredictBenchmark) -> int:
    """The most tokens of an answer to a question of the task."""
    own = card.task(task_id).max_new_tokens if settings.task_limits else None
    return settings.max_new_tokens if own is None else min(own, settings.max_new_tokens)


def answering(
    lm: LanguageModel,
    card: Card,
    asked: Sequence[Asked],
    settings: PredictBenchmark,
    toolbox: Toolbox,
    calls: Calls,
    seed: int,
) -> Callable[[Sequence[int]], Iterator[tuple[int, dict[str, Any]]]]:
    """A function that answers the questions of given numbers: number, answers, text, calls, new_tokens, seconds.

    They come as they are finished. `calls` is as in `tools.answers`; the calendar gives the question's day, and no
    result where it has none. `seconds` are those since the answer before it. An answer does not depend on which others
    are asked for.
    """
    options: dict[str, Any] = {
        "calls": calls,
        "top_k": settings.call_top_k,
        "max_calls": settings.max_calls,
        "batch_size": settings.batch_size,
        "batch_tokens": settings.batch_tokens,
    }
    if settings.temperature > 0:
        options["sampling"] = Sampling(
            settings.temperature, lambda number: generator_for(seed, asked[number].sha256), settings.top_p
        )
    groups, shared = _groups(lm, card, asked, settings)

    def query(number: int) -> Query:
        one = asked[number]
        task = one.question.task_id
        return Query(
            one.ids,
            limit(card, task, settings),
            stops(card, task, settings),
            one.question.day,
            frozenset(card.task(task).forbidden_tools),
            shared[number],
        )

    def answer_these(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        wanted, last = set(numbers), time.monotonic()
        for group in groups:
            if wanted.isdisjoint(group):
                continue
            own = group if lm.encoder_decoder else [number for number in group if number in wanted]
            for number, given in answers(lm, ((n, query(n)) for n in own), toolbox, **options):
                if number in wanted:
                    now = time.monotonic()
                    yield number, answer_row(given, settings) | {"seconds": round(now - last, 6)}
                    last = now

    return answer_these


def _groups(
    lm: LanguageModel, card: Card, asked: Sequence[Asked], settings: PredictBenchmark
) -> tuple[list[list[int]], list[int]]:
    """The questions in the order in which they are answered, and how many ids each shares with its neighbours.

    For a causal model in one group. An encoder-decoder answers batches, in which a row may depend on the others in its
    last bits: its groups are batches of prompts of like length, and a run that resumes answers them as a whole again.
    """
    order, shared = arrange(lm, [one.ids for one in asked])
    if not lm.encoder_decoder:
        return [order], shared
    prompts = (Prompt(n, asked[n].ids, limit(card, asked[n].question.task_id, settings)) for n in order)
    made = batches(prompts, settings.batch_size, settings.batch_tokens)
    return [[prompt.number for prompt in batch] for batch in made], shared


def answer_row(given: Answered | Written, settings: PredictBenchmark) -> dict[str, Any]:
    """The columns of contracts.PREDICTIONS that an answer decides."""
    return {
        "answers": [before_full_stop(given.prediction) if settings.cut_at_full_stop else given.prediction],
        "text": given.text,
        "calls": [{"tool": c.tool, "input": c.input, "result": c.result} for c in given.calls],
        "new_tokens": given.tokens,
    }


def before_full_stop(text: str) -> str:
    """What stands before the first full stop of the stripped text: the published GPT-3 setting (run_gpt3.py)."""
    return text.strip().partition(".")[0]
