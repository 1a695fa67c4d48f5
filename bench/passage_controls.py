"""Rankings that show what a reader makes of its passages: those of other questions, and those of the right label.

    python -m bench.passage_controls --output data/pgra/controls [--benchmark classification] [--seed 42]

Reads the stages ingest, questions, index, retrieve and rerank of the project. Writes two artifacts, which a recipe of
readers may name as its evidence:

    DIR/shuffled   each question has the reranked passages of another question of its task and side
    DIR/labelled   the retrieved passages that are training or dev sentences with the question's own label, best first

A reader that loses nothing with the first does not read its passages. One that gains with the second alone reads them,
and the reranked ones are the wrong ones. Prints how many questions of each task have labelled passages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.harness import options
from nightjar.benchmarks import records
from nightjar.core import contracts, paths
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter, read_rows
from nightjar.search.rankings import Passages

Rows = list[dict[str, Any]]
QUESTION_TABLES = {
    "train": contracts.TRAIN_QUESTIONS,
    "dev": contracts.DEV_QUESTIONS,
    "test": contracts.QUESTIONS,
}
# Passages of a question that a control keeps.
KEPT = 32


def shuffled(rankings: Rows, seed: int) -> Iterator[dict[str, Any]]:
    """Yield each question's row with the passages of another question of its task and side, drawn by the seed.

    The passages of a single question of a side stay its own.
    """
    groups: dict[tuple[str, str], Rows] = {}
    for row in rankings:
        groups.setdefault((row["split"], row["task_id"]), []).append(row)
    for rows in groups.values():
        order = random.Random(seed).sample(range(len(rows)), len(rows))
        for place, number in enumerate(order):
            # The next one of a random circle: nobody gets its own.
            donor = rows[order[(place + 1) % len(order)]]
            yield rows[number] | {"passages": donor["passages"], "scores": donor["scores"]}


def labelled(
    rankings: Rows,
    answers: Mapping[tuple[str, str, str], str],
    labels: Mapping[tuple[str, str], str],
    passages: Passages,
) -> Iterator[dict[str, Any]]:
    """Yield each question's row with those of its passages whose text has the question's label in its task.

    `answers` has the label of a question by side, task and id; `labels` that of a text by task and text.
    """
    for row in rankings:
        answer = answers[row["split"], row["task_id"], row["id"]]
        texts = passages.texts(row["passages"])
        places = [
            place
            for place, text in enumerate(texts)
            if labels.get((row["task_id"], " ".join(text.split()))) == answer
        ][:KEPT]
        yield row | {name: [row[name][place] for place in places] for name in ("passages", "scores")}


def labels_of(benchmark: str) -> dict[tuple[str, str], str]:
    """Return the label of each training and dev sentence by task and text; of none that has two labels."""
    labels: dict[tuple[str, str], set[str]] = {}
    for sentence in records.questions(benchmark, paths.INGESTED / benchmark):
        if sentence.parts["side"] != "test":
            key = sentence.task_id, " ".join(str(sentence.parts["text"]).split())
            labels.setdefault(key, set()).add(sentence.references[0])
    return {key: next(iter(texts)) for key, texts in labels.items() if len(texts) == 1}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--benchmark", default="classification")
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    benchmark = arguments.benchmark
    try:
        reranked = read_rows(paths.RERANKED / benchmark, contracts.RANKINGS)
        with ArtifactWriter(arguments.output / "shuffled") as writer:
            writer.write(contracts.RANKINGS, list(shuffled(reranked, arguments.seed)))
        answers = {
            (side, row["task_id"], row["id"]): row["references"][0]
            for side, contract in QUESTION_TABLES.items()
            for row in read_rows(paths.QUESTIONS / benchmark, contract)
        }
        retrieved = read_rows(paths.RETRIEVED / benchmark, contracts.RANKINGS)
        rows = list(labelled(retrieved, answers, labels_of(benchmark), Passages(paths.INDEX)))
        with ArtifactWriter(arguments.output / "labelled") as writer:
            writer.write(contracts.RANKINGS, rows)
    except NightjarError as error:
        parser.error(str(error))
    for task in dict.fromkeys(row["task_id"] for row in rows):
        counts = [len(row["passages"]) for row in rows if row["task_id"] == task]
        print(f"{task}: {sum(map(bool, counts)):,} of {len(counts):,} questions have labelled passages")


if __name__ == "__main__":
    main()
