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
    from nightjar.models.completions import Completion
    from nightjar.models.engine.generation import generate as generate_text
    from nightjar.models.engine.generation import stream
    from nightjar.models.engine.language_model import LanguageModel
    from nightjar.models.engine.loading import load as load_model
    from nightjar.models.engine.loading import prepare
    from nightjar.models.engine.log_probabilities import continuation_logprobs, logprobs_at
    from nightjar.models.engine.sample_trees import stream_samples
    from nightjar.models.engine.sampling import Sampling, generator_for
    from nightjar.models.engine.sequences import Prompt
    from nightjar.models.interface import ChatReply, Decoding, Message, Model, Request, Score, ToolCall
    from nightjar.models.tokenizer import Tokenizer, load_tokenizer

__all__ = [
    "ChatReply",
    "Completion",
    "Decoding",
    "LanguageModel",
    "Message",
    "Model",
    "Prompt",
    "Request",
    "Sampling",
    "Score",
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
