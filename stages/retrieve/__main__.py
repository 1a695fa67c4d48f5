"""python -m stages.retrieve BENCHMARK: data/retrieve/BENCHMARK, passages of data/index for its questions."""

from pathlib import Path

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.core import paths
from stages._runtime.stage import StageRun, main
from stages.retrieve.retrieved_evidence import sources, write_evidence
from stages.retrieve.retriever import Retriever


def run(stage: StageRun) -> None:
    settings = stage.params.retrieve.benchmarks[stage.item]
    card = load_question_set(stage.item)
    split = paths.SPLIT if Path(settings.training) == paths.SPLIT else None
    sides = sources(card, paths.QUESTIONS / card.name, split)
    retriever = Retriever(paths.INDEX, paths.SENTENCE_ENCODER, settings.retriever, stage.params.threads)
    facts = write_evidence(retriever, card, sides, paths.RETRIEVED / card.name, settings)
    stage.reads(paths.INDEX, paths.QUESTIONS / card.name, *([split] if split else []), paths.SENTENCE_ENCODER)
    stage.writes(paths.RETRIEVED / card.name)
    stage.count(facts.queries, facts.answered, facts.rejected)
    stage.details.update(
        retriever=settings.retriever,
        found=facts.rows,
        left_out=facts.left_out,
        equal_to_test=facts.equal_to_test,
    )
    if settings.retriever != "bm25":
        from nightjar.search.dense import FAISS_VERSION

        stage.details["faiss"] = FAISS_VERSION


if __name__ == "__main__":
    main(
        "retrieve",
        run,
        packages=("pyarrow", "torch", "transformers"),
        threads=True,
    )
