"""python -m stages.questions BENCHMARK: data/questions/BENCHMARK, one row a question, from its card."""

from pathlib import Path

from nightjar.benchmarks import question_artifact, question_registry
from nightjar.benchmarks.question_set import check_settings
from nightjar.core import paths
from stages._runtime.stage import StageRun, main


def run(stage: StageRun) -> None:
    card = question_registry.load_question_set(stage.item)
    group = stage.params.benchmarks[card.name]
    data, output, code = Path(group.data), paths.QUESTIONS / card.name, Path(group.code)
    settings = check_settings(card, group.settings())
    with question_artifact.opened(card, data, group.split) as (sources, refused):
        counts, tasks = question_artifact.write_questions(
            card,
            sources,
            settings,
            stage.params.seed,
            output,
            code if code != paths.NONE else None,
            refused=refused,
        )
    stage.reads(data, *([group.split] if group.split else []))
    stage.writes(output)
    total = sum(counts.values())
    stage.count(total + len(refused), total, len(refused))
    stage.details |= {"card": {"name": card.name, "version": card.version}, "tasks": tasks}
    if len(counts) > 1:
        stage.details["sides"] = counts


if __name__ == "__main__":
    main("questions", run, benchmarks=True)
