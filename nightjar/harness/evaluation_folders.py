"""Folders of `nightjar evaluate` as runs: a benchmark is a task, and a track takes the place of a filter."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import evaluation_folder
from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.core.identity import qualified
from nightjar.harness.samples import SHOWN_TEXT, HarnessRun, Sample, Subject, content_digest, tail_text

NAME = "nightjar"


def read(folder: Path) -> HarnessRun:
    """Read the scores of every benchmark of an evaluation."""
    system = evaluation_folder.read(folder).name
    samples: dict[Subject, list[Sample]] = {}
    for scored in sorted((folder / paths.SCORES).glob("*")):
        questions = {
            (row["task_id"], row["id"]): row
            for row in tables.read_rows(folder / paths.QUESTIONS / scored.name, contracts.QUESTIONS)
        }
        predicted = tables.read_rows(folder / paths.PREDICTIONS / scored.name / system, contracts.PREDICTIONS)
        answers = {(row["task_id"], row["id"]): row for row in predicted}
        values: dict[tuple[str, str, str], dict[str, float]] = {}
        for row in evaluation_folder.ledger_rows(scored):
            if row["system"] == system:
                values.setdefault((row["track"], row["task_id"], row["id"]), {})[row["metric"]] = row["value"]
        for (track, *key), parts in values.items():
            question, answer = questions.get((key[0], key[1]), {}), answers.get((key[0], key[1]), {})
            prompt_facts = question.get("shared"), question.get("parts"), question.get("references")
            samples.setdefault(Subject(scored.name, track), []).append(
                Sample(
                    qualified({"task_id": key[0], "id": key[1]}),
                    1,
                    content_digest(*prompt_facts) if question else "",
                    parts,
                    tail_text(str(answer.get("prompt") or "")),
                    " | ".join(question.get("references") or ())[:SHOWN_TEXT],
                    " | ".join(answer.get("answers") or ())[:SHOWN_TEXT],
                )
            )
    if not samples:
        raise NightjarError("the evaluation has no scores", folder, "start it again; it resumes")
    return HarnessRun(folder, NAME, system, samples)
