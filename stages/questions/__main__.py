"""python -m stages.questions BENCHMARK: data/questions/BENCHMARK, one row a question, from its card."""

import json
from itertools import groupby
from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from nightjar.core.harness import Stage, main
from nightjar.core.journal import contents


def run(stage: Stage) -> None:
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.card import Sources

    registry.check(stage.params)
    card = registry.card(stage.item)
    group = stage.params.benchmarks[card.name]
    data, split = Path(group.data), Path(group.split)
    settings = registry.settings(card, group.settings())
    output = Path("data/questions") / card.name
    questions = list(card.questions(Sources(data, split), settings, stage.params.seed))
    if not questions:
        raise NightjarError(f"{card.name} has no questions", data, "check its data and its settings")
    tasks: dict[str, int] = {}
    with tables.ArtifactWriter(output) as writer:
        identity = {"name": card.name, "version": card.version, "code": contents(Path(group.code))}
        (writer.folder("card") / "card.json").write_text(
            json.dumps(identity, indent=2) + "\n", encoding="utf-8"
        )
        questions.sort(key=lambda question: question.task_id)  # stable: a task's questions keep their order
        for task, found in groupby(questions, key=lambda question: question.task_id):
            tasks[task] = writer.write(
                contracts.QUESTIONS, [question.row() for question in found], part=safe_name(task)
            )
    stage.reads(data, *([split] if split != data else []))
    stage.writes(output)
    stage.count(len(questions), len(questions))
    stage.details |= {"card": {"name": card.name, "version": card.version}, "tasks": tasks}


if __name__ == "__main__":
    main("questions", run, items=lambda params: params.benchmarks)
