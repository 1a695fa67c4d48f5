"""The encodings that were studied, by name, and Tk-Instruct's mixed training (Wang et al. 2022, table 4).

An encoding decides what the prompt has beside the instance input. Its name lists it: `def` the definition,
`pos2` two positive examples, `neg2` two negative ones, `expl` the examples' explanations.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.params.inputs import Encoding
from nightjar.prompts.encoding import PromptTokenizer, encode

# The keys of params.Encoding that an encoding decides; lengths and trimming are none of them.
Flags = Mapping[str, Any]
_NOTHING: Flags = {
    "task_name": False,
    "definition": False,
    "positive_examples": 0,
    "negative_examples": 0,
    "explanation": False,
    "mixed": False,
}


def _flags(**shown_parts: Any) -> Flags:
    return {**_NOTHING, **shown_parts}


NAMED: MappingProxyType[str, Flags] = MappingProxyType(
    {
        "input_only": _flags(),
        "task_name": _flags(task_name=True),
        "def": _flags(definition=True),
        "pos1": _flags(positive_examples=1),
        "pos2": _flags(positive_examples=2),
        "pos4": _flags(positive_examples=4),
        "def_pos1": _flags(definition=True, positive_examples=1),
        "def_pos2": _flags(definition=True, positive_examples=2),
        "def_pos4": _flags(definition=True, positive_examples=4),
        "def_pos2_neg2": _flags(definition=True, positive_examples=2, negative_examples=2),
        "def_pos2_neg2_expl": _flags(
            definition=True, positive_examples=2, negative_examples=2, explanation=True
        ),
        # Mixed training; whatever does not draw (predictions) sees the published default.
        "tk_instruct": _flags(definition=True, positive_examples=2, mixed=True),
    }
)

# What mixed training draws from. Explanations go with positive examples alone here, unlike in the study.
MIXED: tuple[Flags, ...] = (
    NAMED["def"],
    NAMED["pos2"],
    NAMED["def_pos2"],
    NAMED["def_pos2_neg2"],
    _flags(definition=True, positive_examples=2, explanation=True),
)


def named(options: Encoding, name: str) -> Encoding:
    """`options` with what the encoding `name` shows; lengths and trimming stay."""
    if name not in NAMED:
        raise NightjarError("no such encoding", repr(name), f"encodings are {', '.join(NAMED)}")
    return options.model_copy(update=dict(NAMED[name]))


def variants(options: Encoding) -> list[Encoding]:
    """The encodings that training draws from, uniformly, for each instance of each batch.

    Without `options.mixed` there is one, `options` itself. With it there are the five of MIXED, in that order,
    which override every other flag, the task name's too (ni_collator.py). None of them is mixed any more.
    """
    if not options.mixed:
        return [options]
    return [options.model_copy(update=dict(flags)) for flags in MIXED]


def encode_instance(
    task: Mapping[str, Any],
    instance: Mapping[str, Any],
    options: Encoding,
    tokenizer: PromptTokenizer,
    seed: int,
) -> dict[str, Any]:
    """{"source", "references"} of an instance, a row of contracts.INSTANCES, of `task`, a row of contracts.TASKS.

    Mixed options draw their encoding by `seed`.
    """
    drawn = random.Random(seed).choice(variants(options))
    source = encode(task, instance["input"], drawn, tokenizer).source
    return {"source": source, "references": instance["outputs"]}


def tsv_lines(
    task: Mapping[str, Any],
    instances: Iterable[Mapping[str, Any]],
    options: Encoding,
    tokenizer: PromptTokenizer,
    seed: int,
) -> Iterator[str]:
    """The instances of a task (rows as in `encode_instance`) as lines "input TAB label" for the T5 code base
    (Tk-Instruct's ni_collator.py).

    Every run of white space is one blank, so the texts hold neither tabs nor line ends. The label is one of the
    references, drawn uniformly; mixed options draw an encoding before it. `seed` decides both: the same rows, options
    and seed give the same lines.
    """
    chooser = random.Random(seed)
    for instance in instances:
        drawn = chooser.choice(variants(options)) if options.mixed else options
        label = chooser.choice(instance["outputs"])
        source = encode(task, instance["input"], drawn, tokenizer).source
        yield f"{' '.join(source.split())}\t{' '.join(label.split())}"
