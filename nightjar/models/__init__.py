"""Language models: load them, score texts with them, generate with them.

`load_model` reads a directory of weights (after `prepare`, which makes a process repeatable), `load_tokenizer` its
tokenizer alone, without torch where that can be. `generate_text` continues prompts, greedy or by a `Sampling`; `stream`
takes any number of them, each with its own limit and stop strings, and gives texts as they finish. `stream_samples`
draws many samples of each prompt. `continuation_logprobs` gives the log-probabilities of texts.

`Model` is what any backend is to the rest of Nightjar, weights of this process or not; other packages add theirs by the
entry point group `nightjar.models` (docs/extending.md).
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.models.generate import generate as generate_text
    from nightjar.models.generate import stream
    from nightjar.models.load import LanguageModel, prepare
    from nightjar.models.load import load as load_model
    from nightjar.models.model import Decoding, Message, Model, Reply, Request, Score, Text, ToolCall
    from nightjar.models.row import Prompt
    from nightjar.models.samples import Sampling, generator_for, stream_samples
    from nightjar.models.score import continuation_logprobs, logprobs_at
    from nightjar.models.tokenizer import Tokenizer, load_tokenizer

__all__ = [
    "Decoding",
    "LanguageModel",
    "Message",
    "Model",
    "Prompt",
    "Reply",
    "Request",
    "Sampling",
    "Score",
    "Text",
    "Tokenizer",
    "ToolCall",
    "continuation_logprobs",
    "generate_text",
    "generator_for",
    "load_model",
    "load_tokenizer",
    "logprobs_at",
    "prepare",
    "stream",
    "stream_samples",
]

__getattr__, __dir__ = lazy(__name__)
