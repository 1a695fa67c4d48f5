"""Show the exact input of a task's instances: what `nightjar encode` prints."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nightjar.params.data import Encoding
from nightjar.prompts.encoding import Tokenizer, encode
from nightjar.prompts.encodings import variants


def encode_instance(
    task: Mapping[str, Any], instance: Mapping[str, Any], options: Encoding, tokenizer: Tokenizer, seed: int
) -> dict[str, Any]:
    """{"source", "references"} of an instance, a row of contracts.INSTANCES, of `task`, a row of contracts.TASKS.

    Mixed options draw their encoding by `seed`. Raises NightjarError as `encode` does.
    """
    drawn = random.Random(seed).choice(variants(options))
    source = encode(task, instance["input"], drawn, tokenizer).source
    return {"source": source, "references": instance["outputs"]}


def tsv_lines(
    task: Mapping[str, Any],
    instances: Iterable[Mapping[str, Any]],
    options: Encoding,
    tokenizer: Tokenizer,
    seed: int,
) -> Iterator[str]:
    """The instances of a task (rows as in `encode_instance`) as lines "input TAB label" for the T5 code base
    (Tk-Instruct's ni_collator.py).

    Every run of white space is one blank, so the texts hold neither tabs nor line ends. The label is one of
    the references, drawn uniformly; mixed options draw an encoding before it. `seed` decides both: the same
    rows, options and seed give the same lines. Raises NightjarError as `encode` does.
    """
    chooser = random.Random(seed)
    for instance in instances:
        drawn = chooser.choice(variants(options)) if options.mixed else options
        label = chooser.choice(instance["outputs"])
        source = encode(task, instance["input"], drawn, tokenizer).source
        yield f"{' '.join(source.split())}\t{' '.join(label.split())}"
