"""The texts of causal language models; `stages.prompts.model_text` has both kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.params import Encoding
from stages.prompts.encoding import Tokenizer
from stages.prompts.model_text import evidence_block, model_input, model_target

__all__ = ["evidence_block", "prompt", "target"]


def prompt(
    task: Mapping[str, Any],
    instance_input: str,
    options: Encoding,
    tokenizer: Tokenizer,
    passages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """What a causal model reads before its answer."""
    return model_input(task, instance_input, options, tokenizer, passages, encoder_decoder=False)


def target(text: str) -> str:
    """The answer as it follows the prompt."""
    return model_target(text, encoder_decoder=False)
