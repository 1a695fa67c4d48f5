"""python -m stages.systems: data/systems/BENCHMARK.json, the names of the systems that answer a benchmark's questions.

DVC makes a stage of each entry of predict.systems, so that the systems of all benchmarks are one group of params.yaml.
Stage evaluate depends on the file of its benchmark instead of that group: a system of one benchmark does not affect the
others.
"""

import json

from nightjar.core import paths
from nightjar.core.files import replacing
from stages._runtime.stage import StageRun, main


def run(stage: StageRun) -> None:
    predict, rows = stage.params.predict, 0
    with replacing(stage.folder / paths.SYSTEMS) as folder:
        folder.mkdir()
        for benchmark in stage.params.benchmarks:
            names = predict.of(benchmark)
            (folder / f"{benchmark}.json").write_text(json.dumps({"systems": names}) + "\n", encoding="utf-8")
            rows += len(names)
    stage.writes(paths.SYSTEMS)
    stage.count(len(predict.systems), rows)


if __name__ == "__main__":
    main("systems", run)
