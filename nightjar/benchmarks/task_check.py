"""The check of a task file and its rows, line by line (`nightjar tasks --check`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.benchmarks import own_task
from nightjar.benchmarks.own_task import Fault
from nightjar.benchmarks.question import Question, Record
from nightjar.benchmarks.source_rows import plain_rows
from nightjar.core.errors import NightjarError
from nightjar.text.rouge import is_english


def check_task_file(path: Path, *, allow_outside: bool = False) -> dict[str, Any]:
    """Return the faults of a task file and its rows, and the first question as a model gets it.

    "faults" have line, what and fix; "rejected" file, row, id, reason and raw of what is refused; "errors" is the
    number of both. "cross_lingual" counts the questions whose rouge_l takes the cross-lingual tokens. `allow_outside`
    as in `own_task.read`.
    """
    file, _, faults = own_task.read(path, allow_outside=allow_outside)
    rejected: list[dict[str, Any]] = []
    records: list[Record] = []
    example: dict[str, Any] | None = None
    if file and not faults:
        try:
            card = own_task.task_benchmark(path, allow_outside=allow_outside)
            data = path.parent / file.data
            for row, record in zip(plain_rows(data), card.load(data), strict=True):
                if isinstance(record, Record):
                    records.append(record)
                else:
                    rejection = {"id": record.id, "reason": record.reason, "raw": record.raw}
                    rejected.append({"file": record.file, "row": row.number, **rejection})
        except NightjarError as error:  # examples or data that cannot be read
            faults = [Fault(1, f"{error.what} ({error.where})", error.fix)]
        if not records and not faults:
            faults = [Fault(1, "no row can be used", f"correct the templates, or {file.data}")]
    cross_lingual = 0
    if records and file and "rouge_l" in own_task.metric_names(file):
        cross_lingual = sum(not is_english(record.references) for record in records)
    if records:
        first = records[0]
        question = Question(card.name, first.task_id, first.id, first.parts, first.references)
        task = card.task(first.task_id)
        example = {"id": first.id, "prompt": card.prompt(question, None)}  # type: ignore[arg-type]
        choices = [it.text for it in card.choices(question)]
        example |= {"choices": choices} if choices else {"stop": list(task.stop)}
        example |= {"references": list(first.references)}
    return {
        "file": str(path),
        "name": file.name if file else None,
        "questions": len(records),
        "cross_lingual": cross_lingual,
        "errors": len(faults) + len(rejected),
        "faults": [record._asdict() for record in faults],
        "rejected": rejected,
        "example": example,
    }
