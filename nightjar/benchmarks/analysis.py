"""Analyses of a benchmark's questions that are no scores of predictions: what `nightjar analyse` runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core.errors import NightjarError

if TYPE_CHECKING:
    from nightjar.benchmarks.question import Question

# Is called with the bytes of the file that are read, and with all.
Progress = Callable[[int, int], None] | None


@dataclass(frozen=True)
class Analysis:
    """An analysis by its `title`. `run` computes it from the questions, a file, the folder of a sentence encoder or
    None, and a report of progress. It returns plain JSON values: "rows", a table, and facts beside it.

    `encoder`: whether it uses one.
    """

    title: str
    run: Callable[[Sequence[Question], Path, Path | None, Progress], dict[str, Any]]
    encoder: bool = False


def analyse(
    benchmark: str,
    name: str,
    references: Path | None,
    file: Path,
    encoder: Path | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """What the analysis `name` of a benchmark gives for its references (None: those of the stage questions) and a file.

    {"benchmark", "analysis", "title", "rows": [one table], and what else the analysis gives}. Raises NightjarError for
    an unknown benchmark or analysis, for an encoder that it does not use, and for what its reader refuses.
    """
    from nightjar.benchmarks import files, registry
    from nightjar.benchmarks.scores import nothing_to_score

    card = registry.card(benchmark)
    analysis = card.analyses.get(name)
    if analysis is None:
        known = ", ".join(card.analyses) or "none"
        raise NightjarError(f"{benchmark} has no analysis of that name", repr(name), f"its analyses: {known}")
    if encoder is not None and not analysis.encoder:
        raise NightjarError(f"the analysis {name} uses no encoder", encoder, "leave the encoder out")
    files.check_pipes([references, file])
    questions = files.read_references(card, references)
    if nothing := nothing_to_score(card, questions):
        raise nothing
    found = analysis.run(questions, file, encoder, progress)
    return {"benchmark": benchmark, "analysis": name, "title": analysis.title, **found}
