"""python -m stages.contamination: data/contamination, the test texts that are in training texts as well."""

from __future__ import annotations

from pathlib import Path

from nightjar.core.harness import Stage, log, main
from stages.contamination.build import ANY, build

SPLIT, CORPUS, OUTPUT = Path("data/split"), Path("data/ingest/corpus"), Path("data/contamination")


def run(stage: Stage) -> None:
    stage.reads(SPLIT, CORPUS)
    facts = build(SPLIT, CORPUS, OUTPUT, stage.params.contamination.ngram)
    stage.writes(OUTPUT)
    instances, found = facts["instances"], facts["sides"][ANY]["overlapping"]
    stage.count(instances, instances)
    stage.details.update(facts)
    log.info(
        "%d of %d test instances share %d words in a row with a training text",
        found,
        instances,
        facts["ngram"],
    )


if __name__ == "__main__":
    main("contamination", run, packages=("numpy", "pyarrow"))
