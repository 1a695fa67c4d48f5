"""Predictions of readers: one for each task, which scores the words of every answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from nightjar.benchmarks.question import questions_of
from nightjar.benchmarks.reader_inputs import Read, check_form, pool_of, with_demonstrations, with_passages
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest, safe_name
from nightjar.models.engine.loading import prepare
from nightjar.models.reader import (
    AGAIN,
    PASS_TOKENS,
    RECORD,
    ReaderTokenizer,
    UntrainedReader,
    all_answers,
    answer_scores,
    encode_inputs,
    load,
    read_record,
    restore_weights,
)
from nightjar.models.tokenizer import like_length
from nightjar.params.readers import ReaderRecipe
from nightjar.predict.predictor import Job, Predictor, Row, about


class ReaderPredictor(Predictor):
    """Answers of the readers in `weights`."""

    def __init__(self, job: Job) -> None:
        job.check_kind((job.weights / RECORD).is_file(), "readers")
        self._job, self.questions = job, job.questions
        record, self._recipe = read_record(job.weights)
        _check_evidence(job, record)
        if missing := sorted({one.task_id for one in self.questions} - record["tasks"].keys()):
            what = f"the recipe {record['recipe']} has no reader of the task {missing[0]}"
            raise NightjarError(what, job.weights, AGAIN)
        prepare(job.seed, job.threads)
        self._base = load(Path(record["base"]), self._recipe.decoder_layers)
        if self._base.sha256 != record["base_sha256"]:
            raise NightjarError("the readers were trained on another base model", record["base"], AGAIN)
        self._read = read = _inputs(job, self._recipe, self._base.tokens)
        self._ids = ids = [one.ids(self._base.tokens, self._recipe.text_maxlength) for one in read]
        self.keys = len(read)
        question_ids = zip(self.questions, ids, read, strict=True)
        questions_digest = digest(
            {"all": [[*one.key, text_ids, list(it.prior)] for one, text_ids, it in question_ids]}
        )
        self.cache_key = job.cache_key(base=self._base.sha256, readers=record, questions=questions_digest)

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        job, requested = self._job, set(numbers)
        for task in dict.fromkeys(self.questions[number].task_id for number in numbers):
            # Whole tasks, because an answer may depend on its batch in the last bits of its score.
            task_numbers = [number for number, one in enumerate(self.questions) if one.task_id == task]
            sha256 = restore_weights(self._base.reader, self._recipe.trains, job.weights / safe_name(task))
            texts = job.card.reader_targets(task)
            for number, name, seconds in _answers(
                self._base, self._recipe, task_numbers, self._ids, self._read, texts
            ):
                if number in requested:
                    written = {"answers": [name], "text": name, "calls": [], "new_tokens": 0}
                    yield number, {**written, "seconds": seconds, "adapter_sha256": sha256}

    def about(self, number: int) -> Row:
        text = "\n".join(self._read[number].texts)
        return about(text, sum(map(len, self._ids[number])), self._base.sha256)


def _answers(
    base: UntrainedReader,
    recipe: ReaderRecipe,
    numbers: Sequence[int],
    ids: Sequence[list[list[int]]],
    read: Sequence[Read],
    texts: Mapping[str, str],
) -> Iterator[tuple[int, str, float]]:
    """Number, answer and seconds of the questions of one task, in batches of like length."""
    targets = base.tokens.targets(texts, base.reader.start).to(base.device)
    half = recipe.precision == "bfloat16"
    for batch in like_length([sum(map(len, ids[number])) for number in numbers], PASS_TOKENS):
        batch_numbers, started = [numbers[place] for place in batch], time.monotonic()
        with torch.inference_mode(), torch.autocast(base.device.type, torch.bfloat16, enabled=half):
            states = iter(
                encode_inputs(base.reader, [one for number in batch_numbers for one in ids[number]])
            )
            taken = [[next(states) for _ in ids[number]] for number in batch_numbers]
            priors = (
                [read[number].prior for number in batch_numbers] if recipe.fusion == "rag_sequence" else None
            )
            scores = answer_scores(
                base.reader, taken, priors, targets, all_answers(targets, len(batch_numbers))
            )
        seconds = round((time.monotonic() - started) / len(batch_numbers), 6)
        for number, place in zip(batch_numbers, scores.argmax(dim=1).tolist(), strict=True):
            yield number, targets.names[place], seconds


def _inputs(job: Job, recipe: ReaderRecipe, tokens: ReaderTokenizer) -> list[Read]:
    """Return the inputs of the readers for each question: passages, or labelled examples of its task."""
    card, questions, seed = job.card, job.questions, recipe.seed
    check_form(card, recipe.form)
    if not recipe.shots_per_label:
        return with_passages(
            card,
            recipe.form,
            questions,
            job.evidence if recipe.passages else None,
            job.system.index,
            "test",
            recipe.passages,
            recipe.temperature,
        )
    train = questions_of(tables.read_rows(job.source, contracts.TRAIN_QUESTIONS))
    pools = {
        task: pool_of(
            [one for one in train if one.task_id == task],
            list(card.reader_targets(task)),
            recipe.shots_per_label,
            seed,
        )
        for task in dict.fromkeys(one.task_id for one in questions)
    }
    return with_demonstrations(card, recipe.form, questions, pools, seed, tokens, recipe.text_maxlength)


def _check_evidence(job: Job, record: Mapping[str, Any]) -> None:
    """Raise NightjarError if a system reads other evidence than its readers were trained with."""
    system = job.system.model_dump()
    for key, trained in (("benchmark", "benchmark"), ("evidence", "evidence"), ("index", "index")):
        if system[key] != record.get(trained):
            what = f"the readers of {record['recipe']} were trained with {record.get(trained)}"
            raise NightjarError(what, job.key(key), f"set {job.key(key)} to it")
