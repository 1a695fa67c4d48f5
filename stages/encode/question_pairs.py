"""From the training questions of a benchmark to token ids: the prompt of each, and the text that its card learns.

The prompt is the one that stage predict gives the model. Questions with the same prompt, such as pairs of one question
and each of its answers, are encoded as one task: stage train packs instances of a task so that their prompt is computed
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Asking, Question, questions_of
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.inputs import Encoding
from stages.encode.encoded_tasks import DEV, EncodingCounts, RecipeEncoder, Unit, write


class QuestionBuild:
    """The work of one recipe that trains on the questions of a benchmark: the training side, then the dev side.

    `source` is the artifact of stage questions. Raises NightjarError for a card that has nothing to learn.
    """

    def __init__(self, source: Path, card: QuestionSet, options: Encoding, tokenizer: Tokenizer) -> None:
        if not card.has_training_targets:
            fix = "use another benchmark, or take the recipe off train.recipes"
            raise NightjarError(f"{card.name} has no texts that a language model learns", source, fix)
        if not (source / contracts.TRAIN_QUESTIONS.name).exists():
            fix = f"give its training data in benchmarks.{card.name}, or take the recipe off train.recipes"
            raise NightjarError(f"{card.name} has no training questions", source, fix)
        self.source, self.card = source, card
        self.encoder = RecipeEncoder(options, 0, tokenizer)
        self.units = [
            Unit(side, contract, part, count)
            for side, contract in (("train", contracts.TRAIN_QUESTIONS), (DEV, contracts.DEV_QUESTIONS))
            for part, count in tables.part_rows(source, contract).items()
        ]

    def encode(self, number: int) -> dict[str, Any]:
        """The unit of that number: its rows of task_id, id, prompts and targets, those refused, and how many were not.

        The task_id is the prompt.
        """
        unit = self.units[number]
        rows: list[list[Any]] = []
        refused: list[list[str]] = []
        for question in questions_of(tables.read_part(self.source, unit.contract, unit.part).to_pylist()):
            encoded = self._encoded(question)
            if isinstance(encoded, str):
                raw = str(question.row()["parts"])
                refused.append([question.dataset, question.file, encoded, raw, question.id])
            else:
                rows.append(encoded)
        return {"targets_with_calls": 0, "rows": rows, "refused": refused, "read": len(rows)}

    def _encoded(self, question: Question) -> list[Any] | str:
        """The row of a question, or the reason why there is none."""
        tokenizer, options = self.encoder.tokenizer, self.encoder.options
        if not question.references:
            return "it has no reference"
        text = self.card.prompt(question, Asking(options, tokenizer, (), tokenizer.encoder_decoder))
        prompt = tokenizer.encode(text)
        if not text:
            return "its prompt is empty"
        if len(prompt) > options.max_source_length:
            return f"its prompt has {len(prompt)} tokens, more than encoding.max_source_length"
        return [text, question.id, [prompt], [self.encoder.target(self.card.training_target(question))]]

    def write(self, output: Path, encoded: Iterable[Mapping[str, Any]]) -> EncodingCounts:
        """Write the artifact `output` from what `encode` gave for every unit, in their order.

        Raises NightjarError if all training questions were refused.
        """
        values = list(encoded)
        sides = {unit.side for unit, one in zip(self.units, values, strict=True) if one["rows"]}
        if "train" not in sides:
            reason = next(row[2] for one in values for row in one["refused"])
            what = f"all training questions are refused, the first one because {reason}"
            raise NightjarError(what, self.source, "check the data of the benchmark, and the encoding")
        return write(output, self.units, values, self.encoder.tokenizer.encoder_decoder)
