"""Steps of the calls of QA: do the passages, the result and the answer have a reference?

    python -m bench.call_steps --predictions data/predict/tool_use/toolformer --tasks lama_trex,lama_google_re
        [--sample 50 --output FILE]

Reads predictions of tool_use, the project's questions, and the index of the tool. Prints a Markdown table with a row
for each task and one for all: questions, those with a call of QA that gave a result, and of these the share in percent
whose passages and result have a reference as a run of whole words, and whose answer is right. The call is the first one
of the answer.
--output writes so many of the calls, drawn by the seed, as CSV: what a person reads to say whether the question asks
for the missing part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bench.harness import options
from nightjar import params
from nightjar.benchmarks import records
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.tool_use import metrics
from nightjar.core import contracts, paths
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read_rows
from nightjar.params.groups import ALL_TOOLS
from nightjar.tools.passage_store import PassageSearch
from nightjar.tools.question_answering import QuestionAnsweringSettings, passage_line
from nightjar.tools.tool import ToolRequest

BENCHMARK, QA = "tool_use", "QA"
STEPS = ["in_passages", "in_result", "right"]
COLUMNS = ["task", "id", "prompt", "question", "result", "answer", "references", *STEPS]


def has_any(text: str, references: Iterable[str]) -> bool:
    """Return whether one of the references is a run of whole words of the text."""
    return any(metrics.has_words(text, reference) for reference in references)


def steps(
    questions: Sequence[Question],
    predictions: Sequence[Mapping[str, Any]],
    search: PassageSearch,
    passages: int,
) -> pd.DataFrame:
    """Return a row for each prediction: its first call of QA, and which STEPS have a reference.

    Without a call these are missing.
    """
    by_key = {question.key: question for question in questions}
    rows = []
    for prediction in predictions:
        question = by_key[prediction["task_id"], prediction["id"]]
        row = {"task": question.task_id, "id": question.id, "prompt": prediction["prompt"]}
        call = next((call for call in prediction["calls"] if call["tool"] == QA), None)
        if call is not None:
            request = ToolRequest(call["input"], None, prediction["prompt"])
            texts = [
                passage_line((passage.title, passage.text)) for passage in search.find(request, passages)
            ]
            row |= {"question": call["input"], "result": call["result"], "answer": prediction["text"]}
            row |= {"references": " | ".join(question.references)}
            row |= {
                "in_passages": has_any("\n".join(texts), question.references),
                "in_result": has_any(call["result"] or "", question.references),
                "right": bool(metrics.score([question], [prediction["answers"]])["accuracy"][0]),
            }
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def lines(table: pd.DataFrame) -> Iterator[str]:
    """The lines of the table."""
    yield "| task | questions | with a call of QA | passages have it | result has it | answer is right |"
    yield "|---|---:|---:|---:|---:|---:|"
    for task, rows in [*table.groupby("task"), ("all", table)]:
        calls = rows.dropna(subset="question")
        shares = [f"{100 * calls[step].astype(float).mean():.1f}" if len(calls) else "–" for step in STEPS]
        yield f"| {task} | {len(rows)} | {len(calls)} | {' | '.join(shares)} |"


def main() -> None:
    """Print the table, and write the sample."""
    parser = options(__doc__)
    parser.add_argument("--predictions", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tasks", type=lambda text: text.split(","), required=True, metavar="TASK,...")
    parser.add_argument("--sample", type=int, default=50, metavar="N")
    parser.add_argument("--output", type=Path, metavar="FILE")
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    try:
        questions = records.read_questions(paths.QUESTIONS / BENCHMARK)
        predictions = [
            row
            for row in read_rows(arguments.predictions, contracts.PREDICTIONS)
            if row["task_id"] in arguments.tasks
        ]
        if absent := set(arguments.tasks) - {row["task_id"] for row in predictions}:
            raise NightjarError(
                f"no predictions of {min(absent)}", arguments.predictions, "give tasks that were asked"
            )
        settings = params.load().tools[ALL_TOOLS]["question_answering"]
        passages = QuestionAnsweringSettings.model_validate(settings).passages
        table = steps(questions, predictions, PassageSearch.load(paths.INDEX), passages)
    except NightjarError as error:
        parser.error(str(error))
    print("\n".join(lines(table)))
    if arguments.output:
        calls = table.dropna(subset="question")
        drawn = calls.sample(min(arguments.sample, len(calls)), random_state=arguments.seed)
        drawn.to_csv(arguments.output, index=False)


if __name__ == "__main__":
    main()
