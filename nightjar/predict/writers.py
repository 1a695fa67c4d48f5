"""Writers of answers: one class for each way in which a model calls tools.

A model without tools writes as it does (`PlainWriter`). A model of this machine is steered token by token
(`SteeredWriter`). A chat model calls tools as functions (`ChatWriter`). A model that only continues texts writes its
calls as text (`TextWriter`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.interface import Decoding, Model, Request, answer_in_threads
from nightjar.models.tokenizer import Tokenizer
from nightjar.params.predict import PredictBenchmark
from nightjar.predict.conversation import converse, tokens_of
from nightjar.predict.predictor import FAILURE, Row
from nightjar.tools import Calls, Toolbox
from nightjar.tools.decode import controller_for
from nightjar.tools.text_decode import WrittenText
from nightjar.tools.text_decode import answer as answer_by_text
from nightjar.tools.toolbox import Answered

# The largest count of tokens that a table of predictions can hold.
MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Writer(ABC):
    """Writes the answers to `requests` with a model, which calls the tools of `toolbox`."""

    model: Model
    tokenizer: Tokenizer
    requests: Mapping[int, Request]
    settings: PredictBenchmark
    toolbox: Toolbox
    decoding: Decoding

    @abstractmethod
    def write(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        """Yield number and row of these requests, as they are answered.

        A row has answers, text, calls and new_tokens of contracts.PREDICTIONS.
        """

    def row(self, answered: Answered, prompt_tokens: int | None) -> Row:
        """Return the columns of contracts.PREDICTIONS that an answer decides.

        `prompt_tokens` are those that the model counted; None if it counted none.
        """
        if answered.tokens > MOST_TOKENS:
            what = "the counts of an answer's requests are too large"
            raise NightjarError(what, "new_tokens", "see the server's log")
        prediction = answered.prediction
        row = {
            "answers": [before_full_stop(prediction) if self.settings.cut_at_full_stop else prediction],
            "text": answered.text,
            "calls": [{"tool": c.tool, "input": c.input, "result": c.result} for c in answered.calls],
            "new_tokens": answered.tokens,
            **({} if prompt_tokens is None else {"prompt_tokens": prompt_tokens}),
        }
        return unless_failed(row, answered.failure)


class PlainWriter(Writer):
    """Writes without tools."""

    def write(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        for number, text in self.model.generate(self.requests, numbers, self.decoding):
            tokens = tokens_of(text, self.tokenizer)
            answered = Answered(text.text, text.text.strip(), (), tokens, text.failure)
            yield number, self.row(answered, text.prompt_tokens)


@dataclass(frozen=True)
class SteeredWriter(Writer):
    """Writes with a model of this machine, whose calls are begun and ended token by token.

    With `calls` "disabled" the model must not begin a call.
    """

    calls: Calls

    def write(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        assert self.model.lm is not None
        settings, requests = self.settings, self.requests
        controller = controller_for(
            self.model.lm, self.toolbox, self.calls, settings.call_top_k, settings.max_calls
        )
        for number in numbers:
            request = requests[number]
            controller.enter(number, request.ids, request.day, request.forbidden)
        steered = replace(self.decoding, controller=controller)
        for number, text in self.model.generate(requests, numbers, steered):
            answered = controller.answered(number, text.text, tokens_of(text, self.tokenizer))
            yield number, self.row(answered, text.prompt_tokens)


class TextWriter(Writer):
    """Writes with a model that only continues texts; its calls are cut out of what it writes."""

    def write(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        return answer_in_threads(self._write_one, numbers, self.model.at_once)

    def _write_one(self, number: int) -> Row:
        request, texts = self.requests[number], list[Completion]()

        def continue_text(prompt: str, tokens: int) -> WrittenText:
            ids = self.tokenizer.encode(prompt)
            extended = replace(request, prompt=prompt, ids=ids, max_new_tokens=tokens)
            ((_, text),) = self.model.generate({number: extended}, [number], self.decoding)
            texts.append(text)
            return WrittenText(text.text, tokens_of(text, self.tokenizer), text.cut)

        answered = answer_by_text(
            continue_text,
            lambda text: len(self.tokenizer.continuation(text)),
            request.prompt,
            request.max_new_tokens,
            self.toolbox.without(request.forbidden),
            self.settings.max_calls,
            request.day,
        )
        failure = next((text.failure for text in texts if text.failure), "")
        return self.row(replace(answered, failure=failure), texts[0].prompt_tokens)


class ChatWriter(Writer):
    """Writes with a chat model, which calls tools as functions."""

    def write(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        if self.model.at_once > 1:
            # Each request by itself: its answer is recorded while others still call tools.
            for _, row in answer_in_threads(
                lambda number: next(self._rows([number])), numbers, self.model.chat.at_once
            ):
                yield row
        else:
            yield from self._rows(numbers)

    def _rows(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        requests = {number: self.requests[number] for number in numbers}
        replies = converse(
            self.model, requests, self.toolbox, self.settings.max_calls, self.decoding, self.tokenizer
        )
        for number, answered, prompt_tokens in replies:
            yield number, self.row(answered, prompt_tokens)


def writer_for(
    model: Model,
    tokenizer: Tokenizer,
    requests: Mapping[int, Request],
    settings: PredictBenchmark,
    toolbox: Toolbox,
    calls: Calls,
    decoding: Decoding,
) -> Writer:
    """Return the writer for a model.

    `calls`: "on", the model calls the tools of `toolbox`; "disabled", it must not begin a call; "off", as it writes.
    """
    parts = (model, tokenizer, requests, settings, toolbox, decoding)
    if calls == "off" or (calls == "disabled" and "chat" in model.can):
        return PlainWriter(*parts)
    if "chat" in model.can:
        return ChatWriter(*parts)
    return SteeredWriter(*parts, calls) if "steer" in model.can else TextWriter(*parts)


def unless_failed(row: Row, failure: str) -> Row:
    """Return the row of an answer; without answers, and with the failure, where the model gave none."""
    return {**row, "answers": [], FAILURE: failure} if failure else row


def before_full_stop(text: str) -> str:
    """Return the stripped text before its first full stop: the published GPT-3 setting (run_gpt3.py)."""
    return text.strip().partition(".")[0]
