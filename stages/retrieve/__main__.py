"""python -m stages.retrieve: data/retrieve, evidence for every instance of data/split out of data/index."""

from pathlib import Path

from nightjar.core.harness import Stage, main

INDEX, SPLIT, OUTPUT = Path("data/index"), Path("data/split"), Path("data/retrieve")
ENCODER = Path("models/base/sentence_encoder")


def run(stage: Stage) -> None:
    from stages.retrieve.evidence import write_evidence
    from stages.retrieve.retriever import Retriever

    settings = stage.params.retrieve
    retriever = Retriever(INDEX, ENCODER, settings.retriever, stage.params.threads)
    facts = write_evidence(retriever, SPLIT, OUTPUT, settings.passages)
    stage.reads(INDEX, SPLIT, ENCODER)
    stage.writes(OUTPUT)
    stage.count(facts.queries, facts.answered, facts.rejected)
    stage.details.update(retriever=settings.retriever, evidence=facts.evidence)
    if settings.retriever != "bm25":
        from nightjar.search.dense import FAISS_VERSION

        stage.details["faiss"] = FAISS_VERSION


if __name__ == "__main__":
    main("retrieve", run, packages=("pyarrow", "torch", "transformers", "bm25s"), threads=True)
