"""LAMA (Petroni et al. 2019): statements of SQuAD, Google-RE and T-REx whose last word is to be found.

As for Toolformer, a statement whose mask is not the final token is left out (section 4.2): its row is refused.
Signs may follow the mask, such as a full stop. What the paper does not say, and is chosen here:
- The statements are the masked sentences of the files, not the templates of relations.jsonl, because the paper leaves
  out single examples. A row of SQuAD and Google-RE has one or more sentences of one text, which are joined. A row of
  T-REx is one fact, with sentences of several texts: the first that ends in its mask is taken.
- The reference is `obj_label`; aliases are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.tool_use.rows import JsonObject, Unfit, before_mask, line_records, text
from nightjar.core.errors import NightjarError

FOLDER = "lama"
SQUAD, GOOGLE_RE, TREX = "lama_squad", "lama_google_re", "lama_trex"
MASK = "[MASK]"
# Task: the folder of its files, and the key of the ids.
PARTS = {SQUAD: ("Squad", "id"), GOOGLE_RE: ("Google_RE", "uuid"), TREX: ("TREx", "uuid")}


def load(folder: Path) -> Iterator[Record | Refused]:
    """The statements of the files *.jsonl in folder/lama/Squad, Google_RE and TREx; a missing folder is skipped.

    Raises NightjarError if there is no such file, or one cannot be read.
    """
    found = False
    for task, (name, key) in PARTS.items():
        seen: set[str] = set()
        for path in sorted((folder / FOLDER / name).glob("*.jsonl")):
            found = True
            file = path.relative_to(folder).as_posix()
            yield from line_records(folder, file, key, partial(_record, task, file), seen)
    if not found:
        names = ", ".join(name for name, _ in PARTS.values())
        raise NightjarError("no files *.jsonl of LAMA", folder / FOLDER, f"put at least one of {names} in it")


def _record(task: str, file: str, row: JsonObject, id: str) -> Record:
    statement = _of_evidence(row) if task == TREX else before_mask(_joined(row), MASK)
    return Record(task, id, file, {"text": statement}, (text(row.get("obj_label"), "obj_label"),))


def _joined(row: JsonObject) -> str:
    return " ".join(
        _each(row.get("masked_sentences"), "masked_sentences", lambda one: text(one, "a sentence"))
    )


def _of_evidence(row: JsonObject) -> str:
    """The first sentence that can be completed; for a row without one, why its first sentence cannot."""
    sentences = _each(row.get("evidences"), "evidences", _sentence)
    reasons = []
    for sentence in sentences:
        try:
            return before_mask(sentence, MASK)
        except Unfit as reason:
            reasons.append(reason)
    raise reasons[0]


def _sentence(evidence: object) -> str:
    if not isinstance(evidence, dict):
        raise Unfit("an evidence is not an object")
    return text(evidence.get("masked_sentence"), "masked_sentence")


def _each(value: object, name: str, read: Callable[[object], str]) -> list[str]:
    if not isinstance(value, list) or not value:
        raise Unfit(f"{name} is not a list of at least one text")
    return [read(one) for one in value]
