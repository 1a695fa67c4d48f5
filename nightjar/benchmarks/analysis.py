"""Analyses of a benchmark's questions that are no scores of predictions: what `nightjar analyse` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.benchmarks.capabilities import Analysis, Progress
from nightjar.core.errors import NightjarError


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
    analyses = {one.name: one for one in card.capabilities_of(Analysis)}
    analysis = analyses.get(name)
    if analysis is None:
        known = ", ".join(analyses) or "none"
        raise NightjarError(f"{benchmark} has no analysis of that name", repr(name), f"its analyses: {known}")
    if encoder is not None and not analysis.encoder:
        raise NightjarError(f"the analysis {name} uses no encoder", encoder, "leave the encoder out")
    files.check_pipes([references, file])
    questions = files.read_references(card, references)
    if nothing := nothing_to_score(card, questions):
        raise nothing
    found = analysis.run(questions, file, encoder, progress)
    return {"benchmark": benchmark, "analysis": name, "title": analysis.title, **found}
