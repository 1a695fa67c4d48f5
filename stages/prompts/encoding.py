"""The input text of a Super-NaturalInstructions instance (facts 1.6 to 1.8: Tk-Instruct's text-only form).

    source = task name + definition + positive examples + negative examples + task input

Every field is stripped and closed with a full stop unless its last character is ASCII punctuation, so a
Chinese full stop is followed by an ASCII one. The blanks before "Positive Example", "Output:" and
"Explanation:" belong to the published text.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from stages.errors import NightjarError
from stages.params import Encoding

CUE = "Now complete the following example -"


class Tokenizer(Protocol):
    """What decides lengths: ids without special tokens, and the text of ids."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...


@dataclass(frozen=True)
class Encoded:
    """The input of one instance, in the part that its task decides and the part that the instance decides.

    When the text had to be cut, `truncated` is set, the whole cut text stands in `prefix` and `suffix` is
    empty. The counts tell how many examples found room.
    """

    prefix: str
    suffix: str
    truncated: bool
    positive_examples: int
    negative_examples: int

    @property
    def source(self) -> str:
        return self.prefix + self.suffix


def encode(task: Mapping[str, Any], instance_input: str, options: Encoding, tokenizer: Tokenizer) -> Encoded:
    """The input text of an instance with this input.

    `task` has the keys of contracts.TASKS that matter here: task_id, definition (a list, of which the first
    counts, or a string), positive_examples and negative_examples. Lengths are in tokens of `tokenizer`.

    Examples are added in order, positive ones first; the first that does not fit ends its kind, later ones
    are not tried. The length that is checked joins the examples with blanks and leaves the task name out, as
    published, although the text has no such blanks. A text still too long loses its end, cue included.

    Raises NightjarError if the task has no definition and one is asked for.
    """
    task_name = f"{task['task_id']}. " if options.task_name else ""
    definition = _definition(task) if options.definition else ""
    task_input = _closed(f"{CUE}\nInput: {instance_input.strip()}") + "\nOutput: "
    lengths = _Lengths(tokenizer)

    def fitting(kind: str, examples: list[Mapping[str, Any]], before: str) -> list[str]:
        chosen: list[str] = []
        for number, example in enumerate(examples, start=1):
            text = _example(kind, number, example, options.explanation)
            tried = definition + before + " ".join(chosen) + text + task_input
            if len(lengths.ids(tried)) > options.max_source_length:
                break
            chosen.append(text)
        return chosen

    positives = fitting("Positive", task["positive_examples"][: options.positive_examples], "")
    negatives = fitting(
        "Negative", task["negative_examples"][: options.negative_examples], " ".join(positives)
    )
    prefix = task_name + definition + "".join(positives) + "".join(negatives)
    ids = lengths.ids(prefix + task_input)
    truncated = len(ids) > options.max_source_length
    if truncated:
        prefix, task_input = tokenizer.decode(ids[: options.max_source_length]), ""
    return Encoded(prefix, task_input, truncated, len(positives), len(negatives))


class _Lengths:
    """Token ids, remembering the last text: with one or two examples the last check is the final text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._last: tuple[str, list[int]] | None = None

    def ids(self, text: str) -> list[int]:
        if self._last is None or self._last[0] != text:
            self._last = (text, self._tokenizer.encode(text))
        return self._last[1]


def _closed(text: str) -> str:
    return text if text[-1] in string.punctuation else text + "."


def _definition(task: Mapping[str, Any]) -> str:
    value = task["definition"]
    if not value and not isinstance(value, str):
        raise NightjarError(
            "the task has no definition", task["task_id"], "add one, or switch encoding.definition off"
        )
    first = value if isinstance(value, str) else value[0]
    return _closed(f"Definition: {first.strip()}") + "\n\n"


def _example(kind: str, number: int, example: Mapping[str, Any], with_explanation: bool) -> str:
    lines = [
        f" {kind} Example {number} -",
        _closed(f"Input: {example['input'].strip()}"),
        _closed(f" Output: {example['output'].strip()}"),
    ]
    # An empty explanation still gets its line; only a missing one (null in the tables) does not.
    if with_explanation and example.get("explanation") is not None:
        lines.append(_closed(f" Explanation: {example['explanation'].strip()}"))
    return "\n".join(lines) + "\n\n"
