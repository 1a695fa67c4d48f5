"""python -m stages.contamination: data/contamination, the test texts that are in training texts or evidence as well."""

from __future__ import annotations

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.core import paths
from stages._runtime.stage import StageRun, log, main
from stages.contamination.shared_runs import ANY, BenchmarkTexts, build


def run(stage: StageRun) -> None:
    retrieved = stage.params.retrieve.benchmarks
    benchmarks = [
        BenchmarkTexts(
            load_question_set(name),
            paths.QUESTIONS / name,
            paths.RETRIEVED / name if name in retrieved else None,
        )
        for name in stage.params.benchmarks
    ]
    stage.reads(paths.SPLIT, paths.CORPUS, paths.INDEX)
    stage.reads(
        *(path for benchmark in benchmarks for path in (benchmark.questions, benchmark.retrieved) if path)
    )
    n = stage.params.contamination.ngram
    facts = build(benchmarks, paths.SPLIT, paths.CORPUS, paths.INDEX, paths.CONTAMINATION, n)
    stage.writes(paths.CONTAMINATION)
    count = sum(benchmark["questions"] for benchmark in facts["benchmarks"].values())
    stage.count(count, count)
    stage.details.update(facts)
    for name, benchmark in facts["benchmarks"].items():
        overlapping = benchmark["sides"][ANY]["overlapping"]
        message = f"{overlapping} of {benchmark['questions']} test questions share {n} words in a row"
        message += " (shorter ones: all of them) with a training text"
        if benchmark["evidence"] is not None:
            message += f"; {benchmark['evidence']['reference']} have a reference in their retrieved passages"
        log.info("contamination: %s: %s", name, message)


if __name__ == "__main__":
    main("contamination", run, packages=("numpy", "pyarrow"), benchmarks=True)
