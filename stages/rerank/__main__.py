"""python -m stages.rerank BENCHMARK: data/rerank/BENCHMARK, the rankings of data/retrieve in the order of a model.

A run that was killed resumes after the last texts that it recorded.
"""

from importlib.metadata import version
from pathlib import Path

from nightjar.benchmarks.question_registry import load_question_set
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.identity import digest
from stages._runtime.checkpoint import code_of
from stages._runtime.stage import StageRun, main

PACKAGES = ("pyarrow", "torch", "transformers")


def run(stage: StageRun) -> None:
    from nightjar.models.engine.loading import device_name, load, prepare
    from stages.rerank.reranking import BATCH_TOKENS, embedded, read_tasks, write

    settings, card = stage.params.rerank, load_question_set(stage.item)
    if not card.has_reranking:
        raise NightjarError(
            f"{card.name} has no texts for a reranker", "rerank.benchmarks", "remove it from the list"
        )
    source, ranked, output = (
        paths.QUESTIONS / card.name,
        paths.RETRIEVED / card.name,
        paths.RERANKED / card.name,
    )
    model = Path(settings.benchmarks[card.name].model)
    tasks = read_tasks(card, source, ranked, paths.INDEX, settings.candidates)
    prepare(0, stage.params.threads)  # nothing is drawn
    lm = load(model, settings.precision)
    cache_key = {
        "model": lm.sha256,
        "settings": [settings.max_tokens, settings.precision, BATCH_TOKENS],
        "machine": [device_name(), stage.params.threads],
        "card": [card.name, card.version],
        "code": [
            code_of("rerank"),
            *map(version, PACKAGES),
        ],
        "texts": digest(
            {task.name: [card.reranking_prefixes(task.queries[0].question), task.texts] for task in tasks}
        ),
    }
    sizes = [len(places) for task in tasks for places in task.units]
    with stage.run_resumable(
        cache_key,
        len(sizes),
        lambda todo: embedded(lm, card, tasks, settings, todo),
        "texts",
        sizes.__getitem__,
    ) as units:
        if units is None:
            return
        facts = write(tasks, units, settings.keep, output)
    stage.reads(paths.INDEX, source, ranked, model)
    stage.writes(output)
    count = sum(len(task.queries) for task in tasks)
    stage.count(count, count)
    stage.details.update(model=lm.sha256, tasks=facts)


if __name__ == "__main__":
    main(
        "rerank",
        run,
        packages=PACKAGES,
        threads=True,
        shards=True,
    )
