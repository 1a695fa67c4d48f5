"""Reads the published files of a folder into records, each on its side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from nightjar.benchmarks.classification.formats import FORMS, Form, sentences
from nightjar.benchmarks.classification.labels import LABELS
from nightjar.benchmarks.classification.sides import Sentence, Side, divided, with_dev
from nightjar.benchmarks.question import Record, Refused
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown


def load(folder: Path, encodings: Mapping[str, str] | None = None) -> Iterator[Record | Refused]:
    """The rows of the data sets whose files are in `folder`, task by task; a missing set is skipped.

    A record's parts are `text` and `side` (train, dev, test, rest), its reference is the name of its label.
    `encodings`: pattern of a file's path in `folder`, such as "*.pos", to its encoding. Raises NightjarError if no set
    is there, one is not complete or there in two forms, a pattern matches no file, or a file cannot be read.
    """
    encodings = encodings or {}
    present = [form for task in LABELS if (form := _form(folder, task))]
    if not present:
        known = ", ".join(form.required[-1] for form in FORMS)
        raise NightjarError("no data set of classification", folder, f"put one in it, such as {known}")
    files = [part.file for form in present for part in form.parts]
    for pattern in encodings:
        if not any(fnmatchcase(file, pattern) for file in files):
            what = f"ingest.classification.encodings has {shown(pattern)}, which matches no file"
            raise NightjarError(what, folder, f"files are {', '.join(files)}")
    for form in present:
        yield from _records(folder, form, encodings)


def _form(folder: Path, task: str) -> Form | None:
    """The form in which the task's set is there; None if it is not. Raises NightjarError for several, or a part."""
    forms = [form for form in FORMS if form.task == task]
    found = [form for form in forms if any((folder / part.file).exists() for part in form.parts)]
    if len(found) > 1:
        files = " and ".join(form.required[0] for form in found)
        raise NightjarError(f"{task} is there in two forms, {files}", folder, "remove one of them")
    for name in found[0].required if found else ():
        if not (folder / name).exists():
            have = next(part.file for part in found[0].parts if (folder / part.file).exists())
            raise NightjarError(f"{have} is there without {name}", folder, f"add {name}, or remove {have}")
    return found[0] if found else None


def _records(folder: Path, form: Form, encodings: Mapping[str, str]) -> Iterator[Record | Refused]:
    by_side: dict[Side | None, list[Sentence]] = {}
    for part in form.parts:
        if (folder / part.file).exists():
            good = by_side.setdefault(part.side, [])
            for row in sentences(folder, form, part, encodings):
                if isinstance(row, Refused):
                    yield row
                else:
                    good.append(row)
    for side, found in _sides(form, by_side).items():
        for it in found:
            parts = {"text": it.text, "side": side}
            yield Record(form.task, it.id, it.file, parts, (it.label,))


def _sides(form: Form, by_side: Mapping[Side | None, list[Sentence]]) -> dict[Side, list[Sentence]]:
    if None in by_side:
        return divided(by_side[None], form.sizes, by_side.get("train"))
    found: dict[Side, list[Sentence]] = {side: rows for side, rows in by_side.items() if side}
    return found if "dev" in found else found | with_dev(found["train"])
