"""The published encoding as one running text for causal language models, with retrieved evidence where asked for.

A causal model's tokens carry the blank before a word, so the blank that the published source ends with goes to the
front of the target: the running text is the same, only the cut lies before the blank instead of behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.params import Encoding
from stages.prompts.encoding import Tokenizer, encode


def evidence_block(passages: Sequence[Mapping[str, Any]]) -> str:
    """Retrieved passages (keys `title`, `text`), best first, as they stand before the instance; "" for none."""
    if not passages:
        return ""
    lines = [
        f"Evidence {rank} - {row['title']}: {row['text']}\n" for rank, row in enumerate(passages, start=1)
    ]
    return "".join(lines) + "\n"


def prompt(
    task: Mapping[str, Any],
    instance_input: str,
    options: Encoding,
    tokenizer: Tokenizer,
    passages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """What a causal model reads before its answer. Evidence stands between the examples and the instance.

    The evidence counts against `max_source_length`: examples that no longer fit are left out, as published. If that
    leaves no room at all, the evidence itself is left out.
    """
    block = evidence_block(passages)
    room = options.max_source_length - len(tokenizer.encode(block))
    if block and room > 0:
        encoded = encode(
            task, instance_input, options.model_copy(update={"max_source_length": room}), tokenizer
        )
        if not encoded.truncated:
            return encoded.prefix + block + encoded.suffix.removesuffix(" ")
    return encode(task, instance_input, options, tokenizer).source.removesuffix(" ")


def target(text: str) -> str:
    """The answer as it follows the prompt."""
    return f" {text.strip()}"
