"""The passages of a question through retrieval and reranking: ranks and scores before and after, and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from nightjar.core import contracts, tables

RETRIEVE, RERANK, CONSISTENCY = Path("data/retrieve"), Path("data/rerank"), Path("data/consistency")
INDEX = Path("data/index")
# Passages of a ranking that are shown; a ranking may have hundreds.
MOST = 16

Rows = list[dict[str, Any]]


def ranked(root: Path, benchmark: str, where: Any) -> Rows:
    """The first MOST passages of each ranking of a test question, as rows of contracts.EVIDENCE; best first.

    `where` selects the question in a table with task_id and id. Beside those columns a row has `artifact`, `before`
    (the rank and score of the first stage, for a passage that was reranked) and `label` (what a reader takes the
    passage for) with `consistent`, whether it is the question's own; each None where it is not known.
    """
    of_test = where & (pc.field("split") == "test")
    found: Rows = []
    first: dict[int, dict[str, Any]] = {}
    for stage in (RETRIEVE, RERANK):
        folder = stage / benchmark
        if not (root / folder / contracts.RANKINGS.name).is_dir():
            continue
        for row in tables.read(root / folder, contracts.RANKINGS, where=of_test).to_pylist():
            pairs = list(zip(row["passages"], row["scores"], strict=True))
            labels = _labels(root, benchmark, where, stage.name)
            found += [
                {
                    "artifact": folder.as_posix(),
                    **{name: row[name] for name in ("split", "task_id", "id")},
                    "rank": rank,
                    "passage": passage,
                    "score": score,
                    "before": first.get(passage),
                    **(labels.get(passage) or {"label": None, "consistent": None}),
                }
                for rank, (passage, score) in enumerate(pairs[:MOST], start=1)
            ]
            if stage == RETRIEVE:
                first = {
                    passage: {"rank": rank, "score": score}
                    for rank, (passage, score) in enumerate(pairs, start=1)
                }
    texts = _texts(root, [row["passage"] for row in found])
    return [row | texts.get(row["passage"], _GONE) for row in found]


_GONE = {"document_id": "", "title": "", "text": ""}


def _texts(root: Path, passages: list[int]) -> dict[int, dict[str, Any]]:
    if not passages or not (root / INDEX / contracts.PASSAGES.name).is_dir():
        return {}
    columns = ["passage", *_GONE]
    rows = tables.read(root / INDEX, contracts.PASSAGES, columns, pc.field("passage").isin(set(passages)))
    return {row.pop("passage"): row for row in rows.to_pylist()}


def _labels(root: Path, benchmark: str, where: Any, ranking: str) -> dict[int, dict[str, Any]]:
    """The labels of passages, and whether they are the question's own, by the numbers of the passages."""
    folder = root / CONSISTENCY / benchmark
    if not (folder / contracts.CONSISTENCY.name).is_dir():
        return {}
    own = where & (pc.field("ranking") == ranking)
    asked = tables.read(root / "data/questions" / benchmark, contracts.QUESTIONS, ["references"], where)
    references = asked["references"].to_pylist()
    return {
        passage: {"label": label, "consistent": bool(references) and label == references[0][0]}
        for row in tables.read(folder, contracts.CONSISTENCY, where=own).to_pylist()
        for passage, label in zip(row["passages"], row["labels"], strict=True)
    }
