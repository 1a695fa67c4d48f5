"""python -m stages.retrieve BENCHMARK: data/retrieve/BENCHMARK, passages of data/index as evidence."""

from pathlib import Path

from nightjar.core.harness import Stage, main

INDEX, QUESTIONS, SPLIT = Path("data/index"), Path("data/questions"), Path("data/split")
OUTPUT = Path("data/retrieve")
ENCODER = Path("models/base/sentence_encoder")


def run(stage: Stage) -> None:
    from stages.retrieve.evidence import write_evidence
    from stages.retrieve.retriever import Retriever

    settings = stage.params.retrieve
    questions = QUESTIONS / stage.item
    split = SPLIT if Path(settings.benchmarks[stage.item]) == SPLIT else None
    retriever = Retriever(INDEX, ENCODER, settings.retriever, stage.params.threads)
    facts = write_evidence(retriever, questions, split, OUTPUT / stage.item, settings.passages)
    stage.reads(INDEX, questions, *([split] if split else []), ENCODER)
    stage.writes(OUTPUT / stage.item)
    stage.count(facts.queries, facts.answered, facts.rejected)
    stage.details.update(retriever=settings.retriever, evidence=facts.evidence)
    if settings.retriever != "bm25":
        from nightjar.search.dense import FAISS_VERSION

        stage.details["faiss"] = FAISS_VERSION


if __name__ == "__main__":
    main(
        "retrieve",
        run,
        items=lambda params: params.retrieve.benchmarks,
        packages=("pyarrow", "torch", "transformers", "bm25s"),
        threads=True,
    )
