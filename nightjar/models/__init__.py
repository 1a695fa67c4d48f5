"""Language models: load them, score texts with them, generate with them.

`load_model` reads a directory of weights (after `prepare`, which makes a process repeatable), `load_tokenizer` its
tokenizer alone, without torch where that can be. `generate_text` continues prompts, greedy or sampled; `stream`
takes any number of them, each with its own limit and stop strings, and gives texts as they finish. The modules of
`engine` draw many samples of a prompt, and give the log-probabilities of texts.

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
    from nightjar.models.engine.sequences import Prompt
    from nightjar.models.interface import ChatReply, Model, Request, Score, ToolCall
    from nightjar.models.tokenizer import load_tokenizer

__all__ = [
    "ChatReply",
    "Completion",
    "LanguageModel",
    "Model",
    "Prompt",
    "Request",
    "Score",
    "ToolCall",
    "generate_text",
    "load_model",
    "load_tokenizer",
    "prepare",
    "stream",
]

__getattr__, __dir__ = lazy(__name__)
