"""The functions of the contributors' checks of a task: of its keys, and of the texts of all its instances.

The table of `contributor_checks` says what each of them asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nightjar.benchmarks.supernatinst.checked_task import (
    ALLOWED,
    ERROR,
    EXAMPLES,
    HEAD_KEYS,
    LANGUAGES,
    LISTS,
    REFUSED_FILE,
    WARNING,
    CheckedTask,
    Flaw,
    grouped,
    names_of,
    printable,
    repeats,
)
from nightjar.benchmarks.task_file import blank_texts
from nightjar.core.json_text import is_text

# Of these the published check looks at the list alone.
_FREE = frozenset({"Source", "URL", "Contributors"})
# Ingest refuses a file of which it can use nothing of these.
_NEEDED = frozenset({"Categories", "Source", "Input_language", "Output_language"})
# More than so many are needed, and how many the message asks for.
_EXAMPLE_COUNTS = {"Positive Examples": (1, 3), "Negative Examples": (0, 2)}
FEWEST_INSTANCES, MOST_INSTANCES = 25, 6500
FEW_OUTPUTS, LEAST_ENTROPY = 15, 0.8
SINGLE_OUTPUT_EXEMPT = frozenset({902, 903})
SKEW_EXEMPT = frozenset({"150"})
# As published, but that only the first sign of a link matters: `$-_` are the signs from $ to _.
LINK = r"https?://[a-z!$-_]"


def check_keys(task: CheckedTask) -> Iterator[Flaw]:
    missing = [key for key in (*HEAD_KEYS, "Instances") if key not in task.head]
    refused = [key for key in missing if _refused(task.head, key)]
    yield Flaw(ERROR, f"a key is missing{REFUSED_FILE}", refused)
    yield Flaw(ERROR, "a key is missing", [key for key in missing if key not in refused])
    old_keys = [key.lower() for key in LANGUAGES if key.lower() in task.head]
    yield Flaw(ERROR, "the old spelling of a key", old_keys)


def _refused(head: Mapping[str, Any], key: str) -> str:
    """Return REFUSED_FILE if ingest refuses the file for this key, else an empty text.

    Ingest takes one string for a list, and old spellings.
    """
    value = head.get(key)
    if value is None and key in LANGUAGES:
        value = head.get(key.lower())
    listed = value if isinstance(value, list) else [value]
    if key == "Definition":
        texts = [entry for entry in listed if is_text(entry)]
        refused = len(texts) < len(listed) or not texts or not texts[0].strip()
    elif key in _NEEDED:
        refused = bool(listed) and not any(map(is_text, listed))
    else:
        refused = key in (*EXAMPLES, "Instances") and not isinstance(value, list)
    return REFUSED_FILE if refused else ""


def check_head_types(task: CheckedTask) -> Iterator[Flaw]:
    for key in (*LISTS, *LANGUAGES):
        value, refused = task.head.get(key), _refused(task.head, key)
        if key in task.head and not isinstance(value, list):
            yield Flaw(ERROR, f"{key} is not a list{refused}", [key])
        entries = _entries(task.head, key)
        others = [repr(entry) for entry in entries if not isinstance(entry, str)]
        level, laxity = (ALLOWED, "; only the list is looked at") if key in _FREE else (ERROR, "")
        yield Flaw(level, f"{key} has an entry that is not a string{laxity}{refused}", others)
        broken = [printable(entry) for entry in entries if isinstance(entry, str) and not is_text(entry)]
        yield Flaw(ALLOWED, f"{key} has half a character; any string is enough{refused}", broken)
    definition = task.head.get("Definition")
    first = definition[:1] if isinstance(definition, list) else [definition]
    if all(isinstance(text, str) and not text.strip() for text in first):
        yield Flaw(ALLOWED, f"the definition is blank; nothing asks for a text{REFUSED_FILE}")
    for key in EXAMPLES:
        if key in task.head and not isinstance(task.head[key], list):
            yield Flaw(ERROR, f"{key} is not a list{REFUSED_FILE}", [key])


def _entries(head: Mapping[str, Any], key: str) -> list[Any]:
    """Return the entries of a list; one string counts as a list of it."""
    value = head.get(key)
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []


def _strings(task: CheckedTask, key: str) -> list[str]:
    return [printable(entry) for entry in _entries(task.head, key) if isinstance(entry, str)]


def _example_lists(task: CheckedTask) -> Iterator[tuple[str, list[Any]]]:
    for key in EXAMPLES:
        if isinstance(task.head.get(key), list):
            yield key, task.head[key]


def check_example_count(task: CheckedTask) -> Iterator[Flaw]:
    for key, examples in _example_lists(task):
        floor, required = _EXAMPLE_COUNTS[key]
        count = f"{len(examples)} {key.lower().rstrip('s')}{'' if len(examples) == 1 else 's'}"
        if len(examples) <= floor:
            yield Flaw(ERROR, f"{count}; more than {floor} are required")
        elif len(examples) < required:
            laxity = f"more than {floor} are enough, though the published message says {required}"
            yield Flaw(ALLOWED, f"{count}; {laxity}")


def check_examples(task: CheckedTask) -> Iterator[Flaw]:
    for key, examples in _example_lists(task):
        places = grouped(
            (problem, f"{key} {number}")
            for number, example in enumerate(examples, 1)
            for problem in _example_problems(example)
        )
        yield from (Flaw(ERROR, problem, names) for problem, names in places.items())


def _example_problems(example: Any) -> Iterator[str]:
    if not isinstance(example, dict):
        yield "not an object"
        return
    for part in ("input", "output", "explanation"):
        if part not in example:
            yield f"no {part}"
        elif not isinstance(example[part], str):
            yield f"{part} is not a string"


def check_languages(task: CheckedTask) -> Iterator[Flaw]:
    foreign = [name for name in dict.fromkeys(_strings(task, "Input_language")) if name != "English"]
    definitions = _strings(task, "Definition")
    unnamed = [name for name in foreign if any(name not in text for text in definitions)]
    yield Flaw(ERROR, "a definition does not name the input language", unnamed)
    used = dict.fromkeys(name for key in LANGUAGES for name in _strings(task, key))
    strange = [name for name in used if name != "English" and name not in language_names()]
    yield Flaw(ERROR, "not a name of ISO 639", strange)


def check_hierarchy(task: CheckedTask) -> Iterator[Flaw]:
    hierarchy = task.hierarchy
    if hierarchy is None:
        return
    unknown = [name for name in _strings(task, "Categories") if name not in hierarchy.names]
    yield Flaw(ERROR, "a category that the hierarchy does not have", unknown)
    for key in ("Domains", "Reasoning"):
        outside = [name for name in _strings(task, key) if name not in hierarchy.names]
        absent = [name for name in outside if name not in hierarchy.text]
        yield Flaw(ERROR, f"{key}: not in the hierarchy", absent)
        inside = [name for name in outside if name in hierarchy.text]
        laxity = f"{key}: in the hierarchy only inside a longer text, which is enough"
        yield Flaw(ALLOWED, laxity, inside)


@lru_cache(maxsize=1)
def language_names() -> frozenset[str]:
    """Every name of a language or group of languages in ISO 639-1 to 639-5, without the words
    "(individual language)" and "languages".

    Other and former names count too: tasks were named by the tables of 2016, in which today's Khmer was
    Central Khmer. So a few spellings pass that the published check, bound to those tables, refused.
    """
    from iso639 import iter_langs  # some 50 ms

    return frozenset(
        name.replace("(individual language)", "").replace(" languages", "").strip()
        for language in iter_langs()
        for name in (language.name, *language.other_names())
    )


def check_instance_count(task: CheckedTask) -> Iterator[Flaw]:
    count = task.count or 0
    if not FEWEST_INSTANCES < count <= MOST_INSTANCES:
        limits = f"more than {FEWEST_INSTANCES} and at most {MOST_INSTANCES:,} are wanted"
        yield Flaw(ERROR, f"{count:,} instances; {limits}{'' if count else REFUSED_FILE}")


def check_types(task: CheckedTask) -> Iterator[Flaw]:
    yield from task.instance_flaws
    yield from check_head_types(task)
    texts, laxity = task.texts, "fails (ingest refuses them)"
    blank = blank_texts(texts.inputs) & (pc.binary_length(texts.inputs).to_numpy() > 0)
    yield Flaw(ALLOWED, f"input is blank; only an empty one {laxity}", names_of(texts.names, blank))
    blank_outputs = np.zeros(len(texts.outputs), dtype=bool)
    instances = pc.list_parent_indices(texts.outputs).to_numpy()
    blank_outputs[instances[blank_texts(texts.outputs.flatten())]] = True
    names = names_of(texts.output_names, blank_outputs)
    yield Flaw(ALLOWED, f"an output is blank; only a list without outputs {laxity}", names)


def check_repeated_inputs(task: CheckedTask) -> Iterator[Flaw]:
    message = "an input that an earlier instance has; the outputs are to be merged"
    yield Flaw(ERROR, message, names_of(task.texts.names, repeats(task.texts.inputs)))


def check_links(task: CheckedTask) -> Iterator[Flaw]:
    linked = pc.match_substring_regex(task.texts.inputs, LINK).to_numpy(zero_copy_only=False)
    yield Flaw(WARNING, "a link in the input", names_of(task.texts.names, linked))


def check_single_output(task: CheckedTask) -> Iterator[Flaw]:
    outputs = task.texts.output_counts.field("values")
    if not len(outputs):
        yield Flaw(ERROR, "there is no output")
    elif len(outputs) == 1:
        level, exemption = (
            (ALLOWED, "; the task is exempt by its number") if _may_be_single(task) else (ERROR, "")
        )
        yield Flaw(level, f"all outputs are the same{exemption}", outputs.to_pylist())


def _number(task: CheckedTask) -> str:
    return task.task_id.removeprefix("task").partition("_")[0]


def _may_be_single(task: CheckedTask) -> bool:
    return _number(task).isdecimal() and int(_number(task)) in SINGLE_OUTPUT_EXEMPT


def check_skewed_outputs(task: CheckedTask) -> Iterator[Flaw]:
    counted, fewest = task.texts.output_counts, 1 if _may_be_single(task) else 2
    if not fewest <= len(counted) < FEW_OUTPUTS:
        return
    counts = {row["values"]: row["counts"] for row in counted.to_pylist()}
    entropy = normalised_entropy([counts[value] for value in sorted(counts)])
    if entropy > LEAST_ENTROPY:
        return
    values = sorted(counts, key=lambda value: (-counts[value], value))
    shares = ", ".join(f"{counts[value]:,}" for value in values)
    message = f"{len(counts)} distinct outputs, {shares} times: entropy {entropy:.3f}"
    exempt = _number(task) in SKEW_EXEMPT
    level, exemption = (ALLOWED, "; the task is exempt by its number") if exempt else (ERROR, "")
    yield Flaw(level, f"{message}{exemption}", values)


def normalised_entropy(counts: Sequence[int]) -> float:
    """-sum p log p / log(n) of n counts above zero: 1 if they are equal, NaN for a single one (test_all.py)."""
    if len(counts) < 2:
        return float("nan")
    shares = np.asarray(counts) / sum(counts)
    return float(-(shares * np.log(shares) / np.log(len(counts))).sum())


def check_leaked_examples(task: CheckedTask) -> Iterator[Flaw]:
    examples = task.head.get("Positive Examples")
    inputs = {
        printable(example["input"])
        for example in (examples if isinstance(examples, list) else [])
        if isinstance(example, dict) and isinstance(example.get("input"), str)
    }
    shared = pc.is_in(task.texts.inputs, pa.array(sorted(inputs), pa.string())).to_numpy(zero_copy_only=False)
    yield Flaw(ERROR, "the input of a positive example", names_of(task.texts.names, shared))
