"""The training of an extractive reader: AdamW on the log-likelihood of the answers among all spans of a window.

Devlin et al. 2019 (section 4.2) learn the first and the last token apart, and find the best pair only in prediction.
Here the pairs are learnt (the joint objective of Fajcik et al. 2021, Rethinking the objectives of extractive question
answering): the first token of one answer and the last of another are then no span. All answers of a question are right,
by the sum of their probabilities (Clark and Gardner 2018, Simple and effective multi-paragraph reading comprehension).
A window without a whole answer, and a passage without one, learn "no answer".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file

from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.core.files import flush, remove
from nightjar.models.directory.headers import refusing
from nightjar.models.extractive_reader import (
    LONGEST_ANSWER,
    ExtractiveReader,
    PassageWindow,
    span_scores,
    titled_passage,
)
from nightjar.models.tokenizer import like_length
from nightjar.params.readers import QaReader
from nightjar.text.f1 import normalised
from stages._runtime.stage import log

# As published (google-research/bert, optimization.py), but that biases and norms decay as well.
WEIGHT_DECAY, CLIP, WARMUP = 0.01, 1.0, 0.1
# Batches of so many are sorted by length, so that little is padded; their order is random.
POOL = 32
# Tokens that are learnt from at once, padding included; a larger batch is read in parts, so that memory has a bound. 32
# windows of the longest are fewer.
TOKENS = 16_384
# Lines of the log with a loss.
SHOWN = 20


class SpanExample(NamedTuple):
    """A question, its passage with its title, its answers ("" for none), and the spans of characters that are right."""

    question: str
    passage: str
    answers: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class Target(NamedTuple):
    """A window, and the first and the last tokens that are to be pointed at; none for no answer."""

    window: PassageWindow
    spans: tuple[tuple[int, int], ...]


def examples(reader: ExtractiveReader, questions: Sequence[Question], source: Path) -> list[SpanExample]:
    """Return the examples of questions. Raises NightjarError if one has no passage, or not the part `spans`."""
    example_list = []
    for question in questions:
        parts = question.parts
        if not all(isinstance(parts.get(name), str) for name in ("title", "passage", "question")):
            raise NightjarError(
                "its questions have no passage", source, "name a benchmark whose questions have one"
            )
        if "spans" not in parts:
            what = "its questions do not say where the answers are"
            fix = "give them the part spans: the first character of each answer and the one after its last"
            raise NightjarError(what, source, fix)
        passage = titled_passage(parts["title"], parts["passage"])
        before = len(passage) - len(parts["passage"])
        spans = tuple((before + start, before + end) for start, end in parts["spans"])
        example_list.append(SpanExample(parts["question"], passage, question.references, spans))
    return example_list


class Fit:
    """The training of one reader. The folder `work` keeps the weights after each epoch, and the newest moments.

    An epoch counts once it is recorded, after its scores. So the moments before it stay until the next begins.
    """

    def __init__(
        self,
        reader: ExtractiveReader,
        recipe: QaReader,
        seed: int,
        train: Sequence[SpanExample],
        dev: Sequence[SpanExample],
        work: Path,
    ) -> None:
        self.reader, self.recipe, self.seed, self.dev, self.work = reader, recipe, seed, dev, work
        self.targets = [target for one in train for target in _targets(reader, one)]
        self.steps = math.ceil(len(self.targets) / recipe.batch_size)
        self.optimizer = torch.optim.AdamW(
            reader.model.parameters(), lr=recipe.learning_rate, weight_decay=WEIGHT_DECAY
        )

    def epoch(self, number: int) -> dict[str, Any]:
        """Train the epoch of that number, from 0; its mean loss, in nats a window, and the scores on the dev side."""
        if number:
            self._resume(number - 1)
            remove(self._file("moments", number - 2))
        torch.manual_seed(self.seed * 1000 + number)
        model, total, losses = self.reader.model.train(), self.steps * self.recipe.epochs, []
        for step, batch in enumerate(self._batches(number), start=number * self.steps):
            warmup = max(1, round(WARMUP * total))
            factor = min((step + 1) / warmup, (total - step) / max(1, total - warmup))
            for group in self.optimizer.param_groups:
                group["lr"] = self.recipe.learning_rate * factor
            losses.append(self.learn(batch))
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if (step + 1) % max(1, total // SHOWN) == 0:
                log.info("step %d of %d, loss %.3f", step + 1, total, losses[-1])
        model.eval()
        if not math.isfinite(sum(losses)):
            raise NightjarError(
                "the loss is no finite number", f"epoch {number + 1}", "lower the learning rate"
            )
        self._save(number)
        return {"loss": round(sum(losses) / len(losses), 4), **self.scores()}

    def learn(self, batch: Sequence[Target]) -> float:
        """Add the gradient of a batch, in parts of at most TOKENS tokens; returns its mean loss."""
        total = 0.0
        for part in like_length([len(one.window.ids) for one in batch], TOKENS):
            loss = self._loss([batch[place] for place in part]) * (len(part) / len(batch))
            loss.backward()
            total += loss.item()
        return total

    def scores(self) -> dict[str, float]:
        """The share of dev questions that are answered exactly, and of those with an answer alone."""
        spans = self.reader.spans([(example.question, example.passage) for example in self.dev])
        right = [
            normalised(span.text if span.score > 0 else "") in map(normalised, example.answers)
            for example, span in zip(self.dev, spans, strict=True)
        ]
        answered = [is_right for example, is_right in zip(self.dev, right, strict=True) if example.spans]
        return {
            "dev_exact_match": round(sum(right) / max(1, len(right)), 4),
            "dev_exact_match_with_answer": round(sum(answered) / max(1, len(answered)), 4),
        }

    def restore(self, number: int) -> None:
        """The weights after an epoch. Raises NightjarError if they are missing or damaged."""
        weights = self._read("weights", number)
        with torch.no_grad():
            for name, parameter in self._named().items():
                parameter.copy_(weights[name])

    def _loss(self, batch: Sequence[Target]) -> torch.Tensor:
        device = self.reader.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.recipe.precision == "bfloat16"):
            starts, ends = self.reader.logits([one.window for one in batch])
        rows = zip(starts, ends, batch, strict=True)
        return torch.stack([span_loss(start, end, one) for start, end, one in rows]).mean()

    def _batches(self, epoch: int) -> Iterator[list[Target]]:
        """All windows once, in batches of like length."""
        generator = torch.Generator().manual_seed(self.seed * 1000 + epoch)
        order, size = torch.randperm(len(self.targets), generator=generator).tolist(), self.recipe.batch_size
        for pool in (order[first : first + POOL * size] for first in range(0, len(order), POOL * size)):
            pool.sort(key=lambda place: len(self.targets[place].window.ids))
            batches = [pool[first : first + size] for first in range(0, len(pool), size)]
            for place in torch.randperm(len(batches), generator=generator).tolist():
                yield [self.targets[number] for number in batches[place]]

    def _file(self, kind: str, epoch: int) -> Path:
        return self.work / f"{kind}-{epoch}.safetensors"

    def _named(self) -> dict[str, torch.nn.Parameter]:
        return dict(self.reader.model.named_parameters())

    def _save(self, epoch: int) -> None:
        weights = {name: parameter.detach().contiguous() for name, parameter in self._named().items()}
        moments = {
            f"{name}.{key}": value
            for name, parameter in self._named().items()
            for key, value in self.optimizer.state[parameter].items()
        }
        self.work.mkdir(parents=True, exist_ok=True)
        for kind, tensors in (("moments", moments), ("weights", weights)):
            save_file(tensors, self._file(kind, epoch))
            flush(self._file(kind, epoch))

    def _read(self, kind: str, epoch: int) -> dict[str, torch.Tensor]:
        file, fix = self._file(kind, epoch), f"remove {self.work} and run it again"
        if not file.is_file():
            raise NightjarError(
                f"the {kind} of epoch {epoch + 1}, which an earlier run trained, are missing", file, fix
            )
        with refusing("damaged", file, fix):
            return load_file(file)

    def _resume(self, epoch: int) -> None:
        """Weights and moments after an epoch. Raises NightjarError if they are missing or damaged."""
        self.restore(epoch)
        named = self._named()
        for key, value in self._read("moments", epoch).items():
            name, _, what = key.rpartition(".")
            parameter = named[name]
            # AdamW counts its steps on the CPU; the moments lie beside the weights.
            self.optimizer.state[parameter][what] = value if what == "step" else value.to(parameter.device)


def span_loss(start: torch.Tensor, end: torch.Tensor, target: Target) -> torch.Tensor:
    """Return the loss of a window's logits, in nats: less the log-probability of its answers."""
    scores = span_scores(start, end, target.window.places)
    # The score of "no answer" is 0.
    total = torch.cat([scores.new_zeros(1), scores.flatten()]).logsumexp(0)
    if not target.spans:
        return total
    right = torch.tensor(target.spans, device=scores.device) - target.window.places.start
    return total - scores[right[:, 0], right[:, 1]].logsumexp(0)


def _targets(reader: ExtractiveReader, example: SpanExample) -> Iterator[Target]:
    for window in reader.windows(example.question, example.passage):
        answer_tokens = {tokens for span in example.spans if (tokens := window.tokens(*span))}
        # Of an answer that is too long for a span its beginning is learnt.
        yield Target(
            window,
            tuple((first, min(last, first + LONGEST_ANSWER - 1)) for first, last in sorted(answer_tokens)),
        )
