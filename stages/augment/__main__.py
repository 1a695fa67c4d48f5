"""python -m stages.augment calculator|calendar: data/augment/<tool>, every candidate call and whether it is kept."""

from pathlib import Path
from typing import Any

from stages import contracts, tables
from stages.harness import Stage, log, main

CORPUS, SPLIT, MODEL = Path("data/ingest/corpus"), Path("data/split"), Path("models/base/language_model")


def run(stage: Stage) -> None:
    from stages.augment.annotate import Annotator, Settings
    from stages.augment.texts import choose, from_documents, from_instances
    from stages.lm.load import load, prepare

    tool, params = stage.item, stage.params.augment
    documents = from_documents(tables.read_rows(CORPUS, contracts.DOCUMENTS))
    targets = from_instances(tables.read_rows(SPLIT, contracts.TRAIN))
    chosen = choose(tool, documents, params.max_documents, stage.params.seed)
    chosen += choose(tool, targets, params.max_targets, stage.params.seed)

    prepare(stage.params.seed, stage.params.threads)
    lm = load(MODEL, params.precision)
    settings = Settings(
        getattr(params, tool),
        params.temperature,
        params.max_call_tokens,
        params.max_text_tokens,
        stage.params.seed,
    )
    annotator = Annotator(lm, tool, settings)
    rows: list[dict[str, Any]] = []
    for number, text in enumerate(chosen, start=1):
        rows.extend(annotator.candidates(text))
        if number % 10 == 0 or number == len(chosen):
            kept = sum(row["status"] == "kept" for row in rows)
            log.info("%d of %d texts, %d candidates, %d kept", number, len(chosen), len(rows), kept)

    output = Path("data/augment") / tool
    with tables.ArtifactWriter(output) as writer:
        writer.write(contracts.CANDIDATES, rows)
    stage.reads(CORPUS, SPLIT, MODEL)
    stage.writes(output)
    kept = sum(row["status"] == "kept" for row in rows)
    stage.count(rows_in=len(rows), rows_out=kept, rejected=len(rows) - kept)
    stage.details["texts"] = {"corpus": len(documents), "train": len(targets), "annotated": len(chosen)}
    statuses = sorted({row["status"] for row in rows})
    stage.details["candidates"] = {
        status: sum(row["status"] == status for row in rows) for status in statuses
    }


if __name__ == "__main__":
    main("augment", run, items=("calculator", "calendar"), packages=("torch", "transformers"), threads=True)
