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


def rows(
    root: Path, artifact: Path, table: contracts.Table, where: Any, columns: list[str] | None = None
) -> Rows:
    """The rows of a table that `where` selects; none if the artifact lacks the table."""
    if not (root / artifact / table.name).is_dir():
        return []
    found: Rows = tables.read(root / artifact, table, columns, where).to_pylist()
    return found


def ranked(root: Path, benchmark: str, where: Any) -> Rows:
    """The first MOST passages of each ranking of a test question, as rows of contracts.EVIDENCE; best first.

    `where` selects the question in a table with task_id and id. Beside those columns a row has `artifact`, `before`
    (the rank and score of the first stage, for a passage that was reranked) and `label` (what a reader takes the
    passage for) with `consistent`, whether it is the question's own; each None where it is not known.
    """
    found: Rows = []
    first: dict[int, dict[str, Any]] = {}
    for stage in (RETRIEVE, RERANK):
        folder = stage / benchmark
        for row in rows(root, folder, contracts.RANKINGS, where & (pc.field("split") == "test")):
            labels = _labels(root, benchmark, where, stage.name)
            places = [
                {"rank": rank, "passage": passage, "score": score}
                for rank, (passage, score) in enumerate(
                    zip(row["passages"], row["scores"], strict=True), start=1
                )
            ]
            found += [
                {
                    "artifact": folder.as_posix(),
                    **{name: row[name] for name in ("split", "task_id", "id")},
                    **place,
                    "before": first.get(place["passage"]),
                    **(labels.get(place["passage"]) or {"label": None, "consistent": None}),
                }
                for place in places[:MOST]
            ]
            if stage == RETRIEVE:
                first = {place.pop("passage"): place for place in places}
    wanted = pc.field("passage").isin({row["passage"] for row in found})
    texts = rows(root, INDEX, contracts.PASSAGES, wanted, ["passage", *_GONE]) if found else []
    by_passage = {row["passage"]: row for row in texts}
    return [row | by_passage.get(row["passage"], _GONE) for row in found]


_GONE = {"document_id": "", "title": "", "text": ""}


def _labels(root: Path, benchmark: str, where: Any, ranking: str) -> dict[int, dict[str, Any]]:
    """The labels of passages, and whether they are the question's own, by the numbers of the passages."""
    labelled = rows(
        root, CONSISTENCY / benchmark, contracts.CONSISTENCY, where & (pc.field("ranking") == ranking)
    )
    if not labelled:
        return {}
    asked = rows(root, Path("data/questions", benchmark), contracts.QUESTIONS, where, ["references"])
    own = asked[0]["references"][0] if asked else None
    return {
        passage: {"label": label, "consistent": label == own}
        for row in labelled
        for passage, label in zip(row["passages"], row["labels"], strict=True)
    }
