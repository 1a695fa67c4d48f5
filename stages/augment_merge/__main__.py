"""python -m stages.augment_merge: data/augment_merge, the texts that carry tool calls."""

from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.harness import Stage, main
from stages.augment_merge.merge import Key, best_calls, limit_texts, merged_texts

AUGMENT, OUTPUT = Path("data/augment"), Path("data/augment_merge")
CORPUS, SPLIT = Path("data/ingest/corpus"), Path("data/split")


def run(stage: Stage) -> None:
    # By the parameters: the artifact of a tool that they no longer name may still be there.
    tools = stage.params.augment.tools
    candidates = [row for tool in tools for row in tables.read_rows(AUGMENT / tool, contracts.CANDIDATES)]
    kept = [row for row in candidates if row["status"] == "kept"]
    best = best_calls(kept)
    chosen = limit_texts(best, stage.params.augment.examples_per_tool)

    bodies: dict[Key, str] = {}
    for row in tables.read_rows(CORPUS, contracts.DOCUMENTS, ["id", "text"]):
        bodies["corpus", None, row["id"], 0] = row["text"].strip()
    for row in tables.read_rows(SPLIT, contracts.TRAIN, ["task_id", "id", "outputs"]):
        for target, output in enumerate(row["outputs"]):
            bodies["train", row["task_id"], row["id"], target] = output.strip()
    merged = merged_texts(chosen, bodies)

    with tables.ArtifactWriter(OUTPUT) as writer:
        writer.write(contracts.CALLS_MERGED, merged)
    stage.reads(*(AUGMENT / tool for tool in tools), CORPUS, SPLIT)
    stage.writes(OUTPUT)
    written = sum(len(row["tools"]) for row in merged)
    # Rows here are kept calls: in, those written into a text, and those that a better one at their place replaced.
    stage.count(rows_in=len(kept), rows_out=written, rejected=len(kept) - written)
    stage.details["reasons"] = {
        "a better call at the same place": len(kept) - len(best),
        "beyond the limit of texts": len(best) - len(chosen),
    }
    stage.details["texts"] = {
        source: sum(row["source"] == source for row in merged) for source in ("corpus", "train")
    }


if __name__ == "__main__":
    main("augment_merge", run)
