"""The contributors' checks of what a task file says before its instances (facts 1.2: 1, 3, 4, 5, 11, 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stages.ingest.documents import Hierarchy
from stages.ingest.findings import Found
from stages.ingest.json_text import is_text
from stages.ingest.languages import language_names

LISTS = ("Definition", "Source", "URL", "Contributors", "Categories", "Reasoning", "Domains")
LANGUAGES = ("Input_language", "Output_language", "Instruction_language")
EXAMPLES = ("Positive Examples", "Negative Examples")
KEYS = (*LISTS, *LANGUAGES, *EXAMPLES, "Instances")
# Of these the published check looks at the list alone.
FREE = frozenset({"Source", "URL", "Contributors"})
# Keys: an example is checked to have these.
PARTS = ("input", "output", "explanation")
# More than so many are needed, and how many the message asks for.
EXAMPLE_COUNTS = {"Positive Examples": (1, 3), "Negative Examples": (0, 2)}


def is_whole(head: Mapping[str, Any]) -> bool:
    """Whether Arrow's reading of a head leaves nothing open: where it has None, a key may be missing or null."""
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


def check_head(head: Mapping[str, Any], hierarchy: Hierarchy | None, found: Found) -> None:
    """Checks 1, 4, 5, 11 and 12 of a file's keys, and 3 but for its instances; 12 only with a hierarchy."""
    if missing := [key for key in KEYS if key not in head]:
        found.error(1, "a key is missing", missing)
    if old := [key.lower() for key in LANGUAGES if key.lower() in head]:
        found.error(1, "the old spelling of a key", old)
    entries = {key: _entries(head, key, found) for key in (*LISTS, *LANGUAGES)}
    if "Definition" in head and not any(text.strip() for text in entries["Definition"][:1]):
        found.allowed(3, "the definition is blank; nothing asks for a text (ingest refuses the file)")
    for key in EXAMPLES:
        _examples(head, key, found)
    _languages(entries, found)
    if hierarchy is not None:
        _hierarchy(entries, hierarchy, found)


def _entries(head: Mapping[str, Any], key: str, found: Found) -> list[str]:
    """The strings of a list; what is not one is told."""
    value = head.get(key)
    if key in head and not isinstance(value, list):
        found.error(3, f"{key} is not a list", [key])
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if others := [repr(entry) for entry in listed if not isinstance(entry, str)]:
        if key in FREE:
            found.allowed(3, f"{key} has an entry that is not a string; only the list is looked at", others)
        else:
            found.error(3, f"{key} has an entry that is not a string", others)
    return [printable(entry) for entry in listed if isinstance(entry, str)]


def _examples(head: Mapping[str, Any], key: str, found: Found) -> None:
    if key not in head:
        return
    examples = head[key]
    if not isinstance(examples, list):
        found.error(3, f"{key} is not a list", [key])
        return
    floor, asked = EXAMPLE_COUNTS[key]
    count = f"{len(examples)} {key.lower().rstrip('s')}{'' if len(examples) == 1 else 's'}"
    if len(examples) <= floor:
        found.error(4, f"{count}; more than {floor} are wanted")
    elif len(examples) < asked:
        found.allowed(4, f"{count}; more than {floor} are enough, though the published message says {asked}")
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
        found.error(5, problem, places)


def _languages(entries: Mapping[str, list[str]], found: Found) -> None:
    foreign = [name for name in dict.fromkeys(entries["Input_language"]) if name != "English"]
    unnamed = [name for name in foreign if any(name not in text for text in entries["Definition"])]
    if unnamed:
        found.error(11, "a definition does not name the input language", unnamed)
    used = dict.fromkeys(name for key in LANGUAGES for name in entries[key])
    if strange := [name for name in used if name != "English" and name not in language_names()]:
        found.error(11, "not a name of ISO 639", strange)


def _hierarchy(entries: Mapping[str, list[str]], hierarchy: Hierarchy, found: Found) -> None:
    if unknown := [name for name in entries["Categories"] if name not in hierarchy.names]:
        found.error(12, "a category that the hierarchy does not have", unknown)
    for key in ("Domains", "Reasoning"):
        absent = [name for name in entries[key] if name not in hierarchy.text]
        inside = [name for name in entries[key] if name in hierarchy.text and name not in hierarchy.names]
        if absent:
            found.error(12, f"{key}: not in the hierarchy", absent)
        if inside:
            found.allowed(12, f"{key}: in the hierarchy only inside a longer text, which is enough", inside)
