"""The input and the target of a model: the published encoding, with retrieved evidence where there is some.

An encoder-decoder gets the source and the raw label of ni_collator.py. A causal model reads both as one running
text, and its tokens carry the blank before a word, so the blank that the source ends with goes to the front of the
target: the text is the same, only the cut lies before the blank instead of behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nightjar.prompts.encoding import PromptTokenizer, encode

if TYPE_CHECKING:
    from nightjar.params.inputs import Encoding


def model_input(
    task: Mapping[str, Any],
    instance_input: str,
    options: Encoding,
    tokenizer: PromptTokenizer,
    passages: Sequence[Mapping[str, Any]],
    encoder_decoder: bool,
) -> str:
    """The text that the model reads before it answers an instance of `task` (as in `encode`) with this input.

    Evidence (rows with `title` and `text`, best first) is put between the examples and the instance. It counts
    against `max_source_length`: examples that no longer fit are left out, as published; where that leaves no room
    for the whole instance, the evidence itself is left out before anything is cut. GPT-2's tokenizer counts in place of
    `tokenizer` if the options say so.
    """
    if options.lengths == "gpt2":
        # Its files are another package's, which only this needs.
        from nightjar.prompts.gpt2_bpe import Gpt2Bpe

        tokenizer = Gpt2Bpe()
    source = _with_evidence(task, instance_input, options, tokenizer, passages)
    return source if encoder_decoder else source.removesuffix(" ")


def model_target(text: str, encoder_decoder: bool) -> str:
    """An answer as a training target: the raw label, or for a causal model as it follows the prompt.

    Which of several references is the label is drawn anew each time, uniformly (ni_collator.py). The published collator
    gives a batch no labels at all if its first instance has no output; ingest refuses such instances, so that case
    does not arise.
    """
    return text if encoder_decoder else f" {text.strip()}"


def evidence_block(passages: Sequence[Mapping[str, Any]]) -> str:
    """Retrieved passages (keys `title`, `text`), best first, as they are put before the instance; "" for none."""
    if not passages:
        return ""
    lines = [
        f"Evidence {rank} - {row['title']}: {row['text']}\n" for rank, row in enumerate(passages, start=1)
    ]
    return "".join(lines) + "\n"


def _with_evidence(
    task: Mapping[str, Any],
    instance_input: str,
    options: Encoding,
    tokenizer: PromptTokenizer,
    passages: Sequence[Mapping[str, Any]],
) -> str:
    block = evidence_block(passages)
    # What a tokenizer adds around a text counts once, with the rest.
    block_tokens = len(tokenizer.encode(block)) - len(tokenizer.encode(""))
    room = options.max_source_length - block_tokens if block else 0
    while room > 0:
        bounded = options.model_copy(update={"max_source_length": room, "trim_input": False})
        encoded = encode(task, instance_input, bounded, tokenizer)
        if encoded.truncated:
            break
        source = encoded.prefix + block + encoded.suffix
        # Where texts meet, tokens may merge or part, so that the whole is a little longer than the sum.
        beyond = len(tokenizer.encode(source)) - options.max_source_length
        if beyond <= 0:
            return source
        room -= beyond
    return encode(task, instance_input, options, tokenizer).source
