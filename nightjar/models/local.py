"""The models of this process: a causal one on the decode engine, and an encoder-decoder in batches.

Modules that import torch are imported when a model answers: the capabilities of the classes are asked long before that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from nightjar.models.completions import Completion
from nightjar.models.interface import Capability, Decoding, Model, Request, Score
from nightjar.models.tokenizer import Tokenizer

if TYPE_CHECKING:
    from nightjar.models.engine.language_model import LanguageModel
    from nightjar.models.engine.sampling import Sampling
    from nightjar.models.engine.sequences import Prompt


class LocalModel(Model):
    """A model of this process.

    `batch_size` sequences are decoded together, with at most `batch_tokens` in memory. `window` is the largest number
    of tokens of a running text that are read at once.
    """

    # The engine that needs no mention.
    engine: ClassVar[str]

    def __init__(
        self, lm: LanguageModel, batch_size: int, batch_tokens: int | None = None, window: int = 2048
    ) -> None:
        self.lm: LanguageModel = lm
        self.tokenizer: Tokenizer = lm.tokenizer
        self.batch_size, self.batch_tokens = batch_size, batch_tokens
        self.window = max(2, min(window, lm.positions or window))
        self.identity = {
            "sha256": lm.sha256,
            "adapter_sha256": lm.adapter_sha256,
            "window": self.window,
            **self.facts(),
        }

    def facts(self) -> Mapping[str, Any]:
        """Name the engine, where it is not the usual one."""
        return {} if self.lm.engine == self.engine else {"engine": str(self.lm.engine)}

    def generate(
        self, requests: Mapping[int, Request], numbers: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        from nightjar.models.engine.generation import stream
        from nightjar.models.engine.sampling import Sampling, generator_for

        sampling = None
        if decoding.temperature:
            sampling = Sampling(
                decoding.temperature,
                lambda number: generator_for(decoding.seed, requests[number].sha256),
                decoding.top_p,
            )
        chosen = set(numbers)
        for prompts in self._groups(requests, chosen):
            for number, text in stream(
                self.lm, prompts, sampling, decoding.controller, None, self.batch_size, self.batch_tokens
            ):
                if number in chosen:
                    yield number, text

    def _groups(self, requests: Mapping[int, Request], numbers: set[int]) -> Iterator[list[Prompt]]:
        """Group the prompts in the order in which they are answered; those of a group are answered together.

        The shared prefixes are those of all requests: they do not depend on which are answered now.
        """
        from nightjar.models.engine.generation import arrange_prompts

        all_numbers = list(requests)
        order, shared = arrange_prompts(self.lm, [requests[number].ids for number in all_numbers])
        prompts = (
            _prompt(all_numbers[place], requests[all_numbers[place]], shared[place]) for place in order
        )
        yield from self._grouped(list(prompts), numbers)

    @abstractmethod
    def _grouped(self, prompts: list[Prompt], numbers: set[int]) -> Iterator[list[Prompt]]:
        """Yield the groups that have a prompt of one of these numbers."""

    def _sampling(self, requests: Mapping[int, Request], count: int, decoding: Decoding) -> Sampling:
        """Return the draws of samples: sample n of a request uses the generator of the row number * count + n."""
        from nightjar.models.engine.sampling import Sampling, generator_for

        def generator(row: int) -> Any:
            return generator_for(decoding.seed, f"{requests[row // count].sha256} {row % count}")

        return Sampling(decoding.temperature, generator, decoding.top_p)


class CausalModel(LocalModel):
    """A causal model: a prefix that prompts share is computed once, and a text does not depend on those beside it."""

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "sample", "score", "tools", "steer"})
    title: ClassVar[str] = "a causal model"
    engine: ClassVar[str] = "rows"

    def _grouped(self, prompts: list[Prompt], numbers: set[int]) -> Iterator[list[Prompt]]:
        yield [prompt for prompt in prompts if prompt.number in numbers]

    def sample(
        self, requests: Mapping[int, Request], numbers: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        from nightjar.models.engine.sample_trees import stream_samples

        draws = self._sampling(requests, count, decoding)
        prompts = (_prompt(number, requests[number]) for number in numbers)
        return stream_samples(self.lm, prompts, count, draws, self.batch_size, self.batch_tokens)

    def score(
        self, requests: Mapping[int, tuple[str, Sequence[str]]], numbers: Sequence[int]
    ) -> Iterator[tuple[int, list[Score]]]:
        from nightjar.models.engine.log_probabilities import continuation_sums, encode_continuation, text_loss

        running_texts = {
            number for number, (prompt, texts) in requests.items() if not prompt and len(texts) == 1
        }
        prompted = [number for number in requests if number not in running_texts]
        rows = [
            [encode_continuation(self.tokenizer, requests[number][0], text) for text in requests[number][1]]
            for number in prompted
        ]
        place = {number: at for at, number in enumerate(prompted)}
        chosen = [place[number] for number in numbers if number not in running_texts]
        for at, sums in continuation_sums(self.lm, rows, chosen) if chosen else ():
            lengths = (len(one.ids) - one.first for one in rows[at])
            yield prompted[at], list(map(Score, sums, lengths))
        for number in sorted(running_texts.intersection(numbers)):
            ids = self.tokenizer.continuation(requests[number][1][0])
            yield number, [Score(-text_loss(self.lm, ids, self.window), max(len(ids) - 1, 0))]


class EncoderDecoderModel(LocalModel):
    """An encoder-decoder. In its last bits a text depends on the others of its batch: a run that resumes answers whole
    batches again."""

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "sample"})
    title: ClassVar[str] = "an encoder-decoder"
    engine: ClassVar[str] = "padded"

    def _grouped(self, prompts: list[Prompt], numbers: set[int]) -> Iterator[list[Prompt]]:
        from nightjar.models.engine.encoder_decoder import batches

        for batch in batches(prompts, self.batch_size, self.batch_tokens):
            if any(prompt.number in numbers for prompt in batch):
                yield batch

    def sample(
        self, requests: Mapping[int, Request], numbers: Sequence[int], count: int, decoding: Decoding
    ) -> Iterator[tuple[int, list[Completion]]]:
        from nightjar.models.engine.generation import stream

        draws = self._sampling(requests, count, decoding)
        for number in numbers:
            rows = range(number * count, (number + 1) * count)
            prompts = (_prompt(row, requests[number]) for row in rows)
            texts = dict(stream(self.lm, prompts, draws, None, None, self.batch_size, self.batch_tokens))
            yield number, [texts[row] for row in rows]


def _prompt(number: int, request: Request, shared: int = 0) -> Prompt:
    from nightjar.models.engine.sequences import Prompt

    return Prompt(number, request.ids, request.max_new_tokens, request.stop, shared)
