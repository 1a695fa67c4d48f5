"""python -m stages.contamination: data/contamination, the test texts that are in training texts or evidence as well."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks import registry
from stages._runtime.stage import Stage, log, main
from stages.contamination.build import ANY, Benchmark, build

SPLIT, CORPUS, INDEX = Path("data/split"), Path("data/ingest/corpus"), Path("data/index")
QUESTIONS, RETRIEVED, OUTPUT = Path("data/questions"), Path("data/retrieve"), Path("data/contamination")


def run(stage: Stage) -> None:
    registry.check(stage.params)
    retrieved = stage.params.retrieve.benchmarks
    benchmarks = [
        Benchmark(registry.card(name), QUESTIONS / name, RETRIEVED / name if name in retrieved else None)
        for name in stage.params.benchmarks
    ]
    stage.reads(SPLIT, CORPUS, INDEX)
    stage.reads(*(path for it in benchmarks for path in (it.questions, it.retrieved) if path))
    n = stage.params.contamination.ngram
    facts = build(benchmarks, SPLIT, CORPUS, INDEX, OUTPUT, n)
    stage.writes(OUTPUT)
    asked = sum(it["questions"] for it in facts["benchmarks"].values())
    stage.count(asked, asked)
    stage.details.update(facts)
    for name, it in facts["benchmarks"].items():
        told = (
            f"{it['sides'][ANY]['overlapping']} of {it['questions']} test questions share {n} words in a row"
        )
        told += " (shorter ones: all of them) with a training text"
        if it["evidence"] is not None:
            told += f"; {it['evidence']['reference']} have a reference in their retrieved passages"
        log.info("contamination: %s: %s", name, told)


if __name__ == "__main__":
    main("contamination", run, packages=("numpy", "pyarrow"))
