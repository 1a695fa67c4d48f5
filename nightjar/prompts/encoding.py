"""The input text of a Super-NaturalInstructions instance (ni_collator.py: Tk-Instruct's text-only form).

    source = task name + definition + positive examples + negative examples + task input

Every field is stripped and closed with a full stop unless its last character is ASCII punctuation, so a
Chinese full stop is followed by an ASCII one. The blanks before "Positive Example", "Output:" and
"Explanation:" belong to the published text.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.params.inputs import Encoding

CUE = "Now complete the following example -"


class PromptTokenizer(Protocol):
    """Counts lengths in tokens: ids without special tokens, and the text of ids."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...


@dataclass(frozen=True)
class Encoded:
    """The input of one instance, in the part that its task decides and the part that the instance decides.

    `truncated`: the text had to be cut. As published its end is lost; then the whole text is in `prefix`
    and `suffix` is empty. Trimmed (`Encoding.trim_input`), both parts and the cue are there. The counts tell
    how many examples found room.
    """

    prefix: str
    suffix: str
    truncated: bool
    positive_examples: int
    negative_examples: int

    @property
    def source(self) -> str:
        return self.prefix + self.suffix


def encode(
    task: Mapping[str, Any], instance_input: str, options: Encoding, tokenizer: PromptTokenizer
) -> Encoded:
    """The input text of an instance with this input.

    `task` has the keys of contracts.TASKS that matter here: task_id, definition (a list, of which the first
    counts, or a string), positive_examples and negative_examples. Lengths are in tokens of `tokenizer`.

    Examples are added in order, positive ones first; the first that does not fit ends its kind, later ones
    are not tried. The length that is checked joins the examples with blanks and leaves the task name out, as
    published, although the text has no such blanks. A text still too long loses its end, cue included.

    With `options.trim_input` (not published) the cue is never lost. A text that fits is the same as without.
    One that does not loses as little as possible, in this order: the end of the instance input; where even an
    empty input does not fit, the examples, the last one first; the end of the definition; the task name.
    """
    task_name = f"{task['task_id']}. " if options.task_name else ""
    definition = definition_of(task) if options.definition else None
    head = _head(definition)
    task_input = _instance(instance_input.strip())
    # With one or two examples the last check is the final text.
    ids_of = lru_cache(maxsize=1)(tokenizer.encode)

    def fitting(kind: str, examples: list[Mapping[str, Any]], before: str) -> list[str]:
        chosen: list[str] = []
        for number, example in enumerate(examples, start=1):
            text = _example(kind, number, example, options.explanation)
            tried = head + before + " ".join(chosen) + text + task_input
            if len(ids_of(tried)) > options.max_source_length:
                break
            chosen.append(text)
        return chosen

    positives = fitting("Positive", task["positive_examples"][: options.positive_examples], "")
    negatives = fitting(
        "Negative", task["negative_examples"][: options.negative_examples], " ".join(positives)
    )
    prefix = task_name + head + "".join(positives) + "".join(negatives)
    ids = ids_of(prefix + task_input)
    truncated = len(ids) > options.max_source_length
    if truncated and options.trim_input:
        return _trimmed(task_name, definition, positives, negatives, instance_input.strip(), options, ids_of)
    if truncated:
        prefix, task_input = tokenizer.decode(ids[: options.max_source_length]), ""
    return Encoded(prefix, task_input, truncated, len(positives), len(negatives))


def _trimmed(
    task_name: str,
    definition: str | None,
    positives: list[str],
    negatives: list[str],
    instance_input: str,
    options: Encoding,
    ids_of: Callable[[str], list[int]],
) -> Encoded:
    def fits(prefix: str, text: str) -> bool:
        return len(ids_of(prefix + _instance(text))) <= options.max_source_length

    examples = [*positives, *negatives]
    for shown_examples in range(len(examples), -1, -1):
        prefix = task_name + _head(definition) + "".join(examples[:shown_examples])
        text = _longest(instance_input, partial(fits, prefix))
        if text is not None:
            positive = min(shown_examples, len(positives))
            return Encoded(prefix, _instance(text), True, positive, shown_examples - positive)

    def definition_fits(name: str, text: str) -> bool:
        return fits(name + _head(text or None), "")

    for name in (task_name, ""):
        text = _longest(definition or "", partial(definition_fits, name))
        if text is not None:
            prefix = name + _head(text or None)
            return Encoded(
                prefix, _instance(_longest(instance_input, partial(fits, prefix)) or ""), True, 0, 0
            )
    least = len(ids_of(_instance("")))
    raise NightjarError(
        f"{options.max_source_length} tokens leave no room for the answer cue",
        "encoding.max_source_length",
        f"give at least {least}, or switch encoding.trim_input off",
    )


def _longest(text: str, fits: Callable[[str], bool]) -> str | None:
    """The longest beginning of `text` that fits, None if not even the empty one does.

    Found by halving: tokens merge, so a longer text may now and then be a token shorter than a shorter one;
    what is returned was itself checked, and is at most such a merge away from the longest.
    """
    if not fits(""):
        return None
    least, beyond = 0, len(text) + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if fits(text[:middle].strip()):
            least = middle
        else:
            beyond = middle
    return text[:least].strip()


def _closed(text: str) -> str:
    return text if text[-1] in string.punctuation else text + "."


def definition_of(task: Mapping[str, Any]) -> str:
    """The definition of a task."""
    value = task["definition"]
    if not value and not isinstance(value, str):
        raise NightjarError(
            "the task has no definition", task["task_id"], "add one, or switch encoding.definition off"
        )
    first: str = value if isinstance(value, str) else value[0]
    return first.strip()


def _head(definition: str | None) -> str:
    return "" if definition is None else _closed(f"Definition: {definition}") + "\n\n"


def _instance(text: str) -> str:
    return _closed(f"{CUE}\nInput: {text}") + "\nOutput: "


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
