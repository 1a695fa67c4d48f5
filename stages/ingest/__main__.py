"""python -m stages.ingest DATASET: data/ingest/DATASET, the dataset's own files (ingest.DATASET.path) as tables."""

from __future__ import annotations

from pathlib import Path

from nightjar.core import paths
from nightjar.params.inputs import CorpusSource, DatasetPath, RecordsPath
from stages._runtime.stage import StageRun, main
from stages.ingest.corpus import ingest_corpus
from stages.ingest.datasets import ingest


def run(stage: StageRun) -> None:
    settings: DatasetPath = getattr(stage.params.ingest, stage.item)
    source, output = Path(settings.path), paths.INGESTED / stage.item
    stage.reads(source)
    if isinstance(settings, CorpusSource):
        statistics = ingest_corpus(
            source,
            output,
            max_inputs=settings.max_inputs,
            seed=stage.params.seed,
            encodings=settings.encodings,
            unit=settings.unit,
        )
    else:
        encodings = settings.encodings if isinstance(settings, RecordsPath) else {}
        statistics = ingest(stage.item, source, output, None, encodings)
    stage.writes(output)
    stage.count(statistics.rows_in, statistics.rows_out, statistics.rows_rejected)
    stage.details.update(statistics.facts())


if __name__ == "__main__":
    main("ingest", run)
