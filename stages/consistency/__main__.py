"""python -m stages.consistency BENCHMARK: data/consistency/BENCHMARK, how many passages have their question's label."""

from pathlib import Path

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.benchmarks.records import read_questions
from nightjar.core import contracts, paths, tables
from nightjar.search.rankings import Passages, read_rankings
from stages._runtime.stage import StageRun, main

# The stages that rank passages, in the order in which they run.
RANKINGS = ("retrieve", "rerank")


def run(stage: StageRun) -> None:
    from nightjar.models.engine.loading import prepare
    from stages.consistency.passage_labels import labeller, means, write_consistency

    card = load_question_set(stage.item)
    settings, source = stage.params.consistency, paths.QUESTIONS / stage.item
    reader, output = Path(settings.benchmarks[stage.item].reader), paths.CONSISTENCY / stage.item
    prepare(0, stage.params.threads)  # nothing is drawn
    folders = {name: paths.DATA / name / stage.item for name in RANKINGS}
    rankings = {name: read_rankings(folder, "test") for name, folder in folders.items()}
    facts = write_consistency(
        read_questions(source),
        rankings,
        Passages(paths.INDEX),
        settings.passages,
        labeller(card, reader),
        output,
    )
    stage.reads(source, *folders.values(), paths.INDEX, reader)
    stage.writes(output)
    stage.count(facts.rows_in, facts.rows_out, facts.rejected)
    stage.details |= {
        "labelled": facts.labelled,
        "consistency": means(tables.read_rows(output, contracts.CONSISTENCY)),
    }


if __name__ == "__main__":
    main(
        "consistency",
        run,
        packages=("pyarrow", "torch", "transformers"),
        threads=True,
        benchmarks=True,
    )
