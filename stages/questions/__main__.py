"""python -m stages.questions BENCHMARK: data/questions/BENCHMARK, one row a question, from its card."""

import json
from itertools import groupby
from pathlib import Path

from nightjar.core import contracts, paths, tables
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents, safe_name
from stages._runtime.stage import Stage, main

SIDES = {"train": contracts.TRAIN_QUESTIONS, "dev": contracts.DEV_QUESTIONS, "test": contracts.QUESTIONS}


def run(stage: Stage) -> None:
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.capabilities import Training
    from nightjar.benchmarks.question import Question, Sources

    registry.check(stage.params)
    card = registry.card(stage.item)
    group = stage.params.benchmarks[card.name]
    data = Path(group.data)
    split = group.split or data
    settings = registry.settings(card, group.settings())
    output = paths.QUESTIONS / card.name
    sources, seed = Sources(data, split), stage.params.seed
    sides: dict[str, list[Question]] = {side: [] for side in SIDES}
    sides["test"] += card.questions(sources, settings, seed)
    if training := card.capability(Training):
        for own, question in training.questions(sources, settings, seed):
            sides[own].append(question)
    if not sides["train"] and not sides["dev"]:  # no system of the benchmark trains on its own data
        sides = {"test": sides["test"]}
    counts = {side: len(found) for side, found in sides.items()}
    if empty := [side for side, count in counts.items() if not count]:
        what = f"{card.name} has no {' and no '.join(empty)} questions"
        raise NightjarError(what, data, "check its data and its settings")
    tasks: dict[str, int] = {}
    with tables.ArtifactWriter(output) as writer:
        identity = {"name": card.name, "version": card.version, "code": contents(Path(group.code))}
        (writer.folder("card") / "card.json").write_text(
            json.dumps(identity, indent=2) + "\n", encoding="utf-8"
        )
        for side, questions in sides.items():
            questions.sort(
                key=lambda question: question.task_id
            )  # stable: a task's questions keep their order
            for task, found in groupby(questions, key=lambda question: question.task_id):
                rows = [question.row() for question in found]
                number = writer.write(SIDES[side], rows, part=safe_name(task))
                if side == "test":
                    tasks[task] = number
    stage.reads(data, *([split] if split != data else []))
    stage.writes(output)
    stage.count(sum(counts.values()), sum(counts.values()))
    stage.details |= {"card": {"name": card.name, "version": card.version}, "tasks": tasks}
    if len(counts) > 1:
        stage.details["sides"] = counts


if __name__ == "__main__":
    main("questions", run)
