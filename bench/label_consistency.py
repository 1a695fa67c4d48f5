"""Label consistency of the first passages of two rankings, and how often a system is right by it.

    python -m bench.label_consistency --benchmark classification --system pgra

Reads data/consistency and data/evaluate. Prints a Markdown table with a row for each track: the questions that
have both rankings, the mean consistency of the retriever and of the reranker in percent, and the difference with its
95% interval over questions. Then, for each share of the reranked passages that have the question's label, how often
SYSTEM is right in percent (n). Repetitions of a system with other seeds (bench/seeds.py) count together.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench.harness import options
from bench.seeds import EVALUATED, repetitions
from nightjar.core import contracts, paths
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.statistics import Bootstrap

QUESTION = ["track", "task_id", "id"]


def right(scores: pd.DataFrame, system: str) -> pd.Series:
    """Return how often the repetitions of a system are right, by question. A system without scores is an error."""
    names = repetitions(sorted(set(scores["system"]))).get(system)
    if names is None:
        raise NightjarError(f"no system {system}", EVALUATED, "give one that was evaluated")
    system_scores = scores[scores["system"].isin(names)]
    wide = system_scores.pivot_table(index=[*QUESTION, "system"], columns="part", values="unscaled")
    wide = wide.reindex(columns=["accuracy", "predicted", "gold"])
    # CoLA has no accuracy, but the label that was given and the right one.
    accuracies = wide["accuracy"].fillna(wide["predicted"].eq(wide["gold"]).astype(float))
    return accuracies.groupby(QUESTION).mean()


def lines(
    scores: pd.DataFrame, consistency: pd.DataFrame, system: str, bootstrap: Bootstrap
) -> Iterator[str]:
    """The lines of the table."""
    by_question = consistency.pivot_table(index=QUESTION[1:], columns="ranking", values="consistent")
    joined = right(scores, system).rename("right").reset_index().join(by_question, on=QUESTION[1:])
    shares = sorted(joined["rerank"].dropna().unique())
    yield f"| track | n | retriever | reranker | difference |{''.join(f' {share:g} |' for share in shares)}"
    yield "|---|---:|---:|---:|---|" + "---:|" * len(shares)
    for track, rows in joined.dropna().groupby("track"):
        first, second = rows["retrieve"].to_numpy(), rows["rerank"].to_numpy()
        low, high = bootstrap.interval_of_difference(second, first)
        means = f"{100 * first.mean():.1f} | {100 * second.mean():.1f} | {100 * (second - first).mean():+.1f}"
        cells = [f"{track} | {len(rows)} | {means} [{100 * low:+.1f}, {100 * high:+.1f}]"]
        for share in shares:
            right_answers = rows[rows["rerank"] == share]["right"]
            cells.append(
                f"{100 * right_answers.mean():.0f} ({len(right_answers)})" if len(right_answers) else "–"
            )
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--system", required=True)
    arguments = parser.parse_args()
    try:
        scores = read(EVALUATED / arguments.benchmark, contracts.INSTANCE_SCORES).to_pandas()
        consistency = read(paths.CONSISTENCY / arguments.benchmark, contracts.CONSISTENCY).to_pandas()
        print(*lines(scores, consistency, arguments.system, Bootstrap()), sep="\n")
    except NightjarError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
