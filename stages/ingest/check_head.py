"""The contributors' checks of what a task file says before its instances (1, 3, 4, 5, 11, 12)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nightjar.core.json_text import is_text
from stages.ingest.documents import Hierarchy
from stages.ingest.task_findings import TaskFindings

LISTS = ("Definition", "Source", "URL", "Contributors", "Categories", "Reasoning", "Domains")
LANGUAGES = ("Input_language", "Output_language", "Instruction_language")
EXAMPLES = ("Positive Examples", "Negative Examples")
KEYS = (*LISTS, *LANGUAGES, *EXAMPLES, "Instances")
# Of these the published check looks at the list alone.
FREE = frozenset({"Source", "URL", "Contributors"})
# Ingest refuses a file of which it can use nothing of these.
NEEDED = frozenset({"Categories", "Source", "Input_language", "Output_language"})
REFUSED = " (ingest refuses the file)"
# Keys: an example is checked to have these.
PARTS = ("input", "output", "explanation")
# More than so many are needed, and how many the message asks for.
EXAMPLE_COUNTS = {"Positive Examples": (1, 3), "Negative Examples": (0, 2)}


def is_whole(head: Mapping[str, Any]) -> bool:
    """Tell whether Arrow's reading of a head leaves nothing open: where it has None, a key may be missing or null."""
    return (
        all(head[key] is not None for key in KEYS if key != "Instances")
        and all(
            example is not None and None not in example.values() for key in EXAMPLES for example in head[key]
        )
        and all(None not in head[key] for key in (*LISTS, *LANGUAGES) if isinstance(head[key], list))
    )


def printable(text: str) -> str:
    """A text that UTF-8 can hold: half characters become their escapes."""
    return text if is_text(text) else text.encode("utf-8", "backslashreplace").decode("utf-8")


def check_head(head: Mapping[str, Any], hierarchy: Hierarchy | None, task_findings: TaskFindings) -> None:
    """Checks 1, 4, 5, 11 and 12 of a file's keys, and 3 but for its instances; 12 only with a hierarchy."""
    missing = [key for key in KEYS if key not in head]
    if needed := [key for key in missing if _refused(head, key)]:
        task_findings.error(1, f"a key is missing{REFUSED}", needed)
    if others := [key for key in missing if key not in needed]:
        task_findings.error(1, "a key is missing", others)
    if old := [key.lower() for key in LANGUAGES if key.lower() in head]:
        task_findings.error(1, "the old spelling of a key", old)
    entries = {key: _entries(head, key, task_findings) for key in (*LISTS, *LANGUAGES)}
    definition = head.get("Definition")
    first = definition[:1] if isinstance(definition, list) else [definition]
    if all(isinstance(text, str) and not text.strip() for text in first):
        task_findings.allowed(3, f"the definition is blank; nothing asks for a text{REFUSED}")
    for key in EXAMPLES:
        _examples(head, key, task_findings)
    _languages(entries, task_findings)
    if hierarchy is not None:
        _hierarchy(entries, hierarchy, task_findings)


def _refused(head: Mapping[str, Any], key: str) -> bool:
    """Tell whether ingest refuses the file for this key: it takes one string for a list, and old spellings."""
    value = head.get(key)
    if value is None and key in LANGUAGES:
        value = head.get(key.lower())
    listed = value if isinstance(value, list) else [value]
    if key == "Definition":
        texts = [entry for entry in listed if is_text(entry)]
        return len(texts) < len(listed) or not texts or not texts[0].strip()
    if key in NEEDED:
        return bool(listed) and not any(map(is_text, listed))
    return key in (*EXAMPLES, "Instances") and not isinstance(value, list)


def _entries(head: Mapping[str, Any], key: str, task_findings: TaskFindings) -> list[str]:
    """The strings of a list; what is not one is reported."""
    value = head.get(key)
    refused = REFUSED if _refused(head, key) else ""
    if key in head and not isinstance(value, list):
        task_findings.error(3, f"{key} is not a list{refused}", [key])
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if others := [repr(entry) for entry in listed if not isinstance(entry, str)]:
        if key in FREE:
            what = f"{key} has an entry that is not a string; only the list is looked at{refused}"
            task_findings.allowed(3, what, others)
        else:
            task_findings.error(3, f"{key} has an entry that is not a string{refused}", others)
    if broken := [printable(entry) for entry in listed if isinstance(entry, str) and not is_text(entry)]:
        task_findings.allowed(3, f"{key} has half a character; any string is enough{refused}", broken)
    return [printable(entry) for entry in listed if isinstance(entry, str)]


def _examples(head: Mapping[str, Any], key: str, task_findings: TaskFindings) -> None:
    if key not in head:
        return
    examples = head[key]
    if not isinstance(examples, list):
        task_findings.error(3, f"{key} is not a list{REFUSED}", [key])
        return
    floor, required = EXAMPLE_COUNTS[key]
    count = f"{len(examples)} {key.lower().rstrip('s')}{'' if len(examples) == 1 else 's'}"
    if len(examples) <= floor:
        task_findings.error(4, f"{count}; more than {floor} are required")
    elif len(examples) < required:
        task_findings.allowed(
            4, f"{count}; more than {floor} are enough, though the published message says {required}"
        )
    wrong: dict[str, list[str]] = {}
    for number, example in enumerate(examples, 1):
        place = f"{key} {number}"
        if not isinstance(example, dict):
            wrong.setdefault("not an object", []).append(place)
            continue
        for part in PARTS:
            if part not in example:
                wrong.setdefault(f"no {part}", []).append(place)
            elif not isinstance(example[part], str):
                wrong.setdefault(f"{part} is not a string", []).append(place)
    for problem, places in wrong.items():
        task_findings.error(5, problem, places)


def _languages(entries: Mapping[str, list[str]], task_findings: TaskFindings) -> None:
    foreign = [name for name in dict.fromkeys(entries["Input_language"]) if name != "English"]
    unnamed = [name for name in foreign if any(name not in text for text in entries["Definition"])]
    if unnamed:
        task_findings.error(11, "a definition does not name the input language", unnamed)
    used = dict.fromkeys(name for key in LANGUAGES for name in entries[key])
    if strange := [name for name in used if name != "English" and name not in language_names()]:
        task_findings.error(11, "not a name of ISO 639", strange)


def _hierarchy(entries: Mapping[str, list[str]], hierarchy: Hierarchy, task_findings: TaskFindings) -> None:
    if unknown := [name for name in entries["Categories"] if name not in hierarchy.names]:
        task_findings.error(12, "a category that the hierarchy does not have", unknown)
    for key in ("Domains", "Reasoning"):
        absent = [name for name in entries[key] if name not in hierarchy.text]
        inside = [name for name in entries[key] if name in hierarchy.text and name not in hierarchy.names]
        if absent:
            task_findings.error(12, f"{key}: not in the hierarchy", absent)
        if inside:
            task_findings.allowed(
                12, f"{key}: in the hierarchy only inside a longer text, which is enough", inside
            )


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
