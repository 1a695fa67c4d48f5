"""python -m stages.augment TOOL: data/augment/TOOL, every candidate call of one tool and whether it is kept."""

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.harness import Progress, Stage, log, main
from nightjar.core.journal import Journal, code, digest

CORPUS, SPLIT, MODEL = Path("data/ingest/corpus"), Path("data/split"), Path("models/base/language_model")
PACKAGES = ("torch", "transformers")


def run(stage: Stage) -> None:
    from nightjar.lm.load import device_name, load, prepare
    from stages.augment.annotate import Annotator, Settings
    from stages.augment.texts import choose, from_documents, from_instances

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
    decides = {
        "model": lm.sha256,
        "settings": asdict(settings) | {"tool": settings.tool.model_dump()},
        "precision": params.precision,
        "machine": [device_name(), stage.params.threads],
        "code": [
            code("nightjar/lm", "stages/augment", "nightjar/prompts", "nightjar/tools"),
            *map(version, PACKAGES),
        ],
        "texts": digest({"all": [asdict(text) for text in chosen]}),
    }
    with Journal(stage.name, decides, stage.shard) as journal:
        if journal:
            log.info("%d of %d texts were annotated before", len(journal), len(chosen))
        annotator = Annotator(lm, tool, settings)
        todo = journal.todo(len(chosen))
        progress = Progress("texts", len(todo))
        for number in todo:
            journal.add(number, list(annotator.candidates(chosen[number])))
            progress.add()
        if stage.shard:
            return
        rows = [row for number in range(len(chosen)) for row in journal[number]]
        output = Path("data/augment") / tool
        with tables.ArtifactWriter(output) as writer:
            writer.write(contracts.CANDIDATES, rows)
        journal.remove()
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
    items = ("calculator", "calendar")
    main("augment", run, items=items, packages=PACKAGES, threads=True, shards=True)
