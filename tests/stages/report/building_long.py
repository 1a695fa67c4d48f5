"""Add the tasks on long documents to the project of building.py, with made-up answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Asking, Question
from nightjar.benchmarks.scores import score
from nightjar.benchmarks.zeroscrolls.prompts import built
from nightjar.benchmarks.zeroscrolls.questions import naive
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from tests.nightjar.benchmarks.zeroscrolls.words import Words
from tests.stages.report.building import facts, prediction, write_evaluated
from tests.stages.report.building_others import add_benchmark

CARD = registry.card(NAME)
# Questions of a task: every third document is longer than a prompt of LIMIT tokens.
N, LIMIT, SHORT, LONG = 24, 120, 20, 200
# A task with fewer questions than an interval needs.
FEW, N_FEW = "squality", 9
REFERENCES = {
    "rouge": "w1 w2 w3 and the w4 of w5",
    "f1": "w7 w8",
    "accuracy": "B",
    "exponential_similarity": "60%",
    "concordance": "2, 1, 3",
}
# Of each kind an answer in the form that is asked for, and one in another that is right if the form is forgiven.
ANSWERS = {
    "rouge": ("w1 w2 w3", "w1 w2\nw3"),
    "f1": ("w7", "The answer is w7 w8. It is said in the text that w9 came after w8, and that is why."),
    "accuracy": ("B", "option b <b>"),
    "exponential_similarity": ("55%", "about 60 percent of them"),
    "concordance": ("1, 2, 3", "Summary 2 > Summary 1 > Summary 3"),
}
# Every how manieth answer of a system has the form.
SYSTEMS = {"untuned": 4, "tk_instruct": 2}


def questions() -> list[Question]:
    """N questions of each task, N_FEW of FEW."""
    return [_question(task, number) for task in TASKS for number in range(N_FEW if task == FEW else N)]


def _question(task: str, number: int) -> Question:
    document = " ".join(f"w{at}" for at in range(SHORT if number % 3 else LONG))
    example = built(TASKS[task], document, f"Who is <w{number}>?" if TASKS[task].query else "", 3)
    parts, references = example.parts(), (REFERENCES[TASKS[task].kind],)
    return Question(
        NAME, task, f"{task}-{number}", parts, references, track=task, dataset=NAME, file="long.jsonl"
    )


def add_long() -> None:
    """Add the benchmark to the project: parameters, facts and artifacts, with its baseline."""
    add_benchmark(CARD, list(SYSTEMS))
    asked = questions()
    facts(f"ingest@{NAME}", ["my/long"], [f"data/ingest/{NAME}"], len(asked), len(asked))
    facts(f"questions@{NAME}", [f"data/ingest/{NAME}"], [f"data/questions/{NAME}"], len(asked), len(asked))
    options: Any = SimpleNamespace(max_source_length=LIMIT)
    asking = Asking(options, Words())
    prompts = [CARD.prompt(one, asking) for one in asked]
    given: Mapping[str, Callable[[int, Question], str]] = {
        "naive": lambda at, one: naive(one, 1),
        **{system: _answerer(every) for system, every in SYSTEMS.items()},
    }
    predicted, scores = {}, []
    for system, answer in given.items():
        answers = [answer(at, one) for at, one in enumerate(asked)]
        scores.append(score(CARD, system, asked, [[it] for it in answers]))
        if system in SYSTEMS:
            predicted[system] = [
                {
                    **prediction(system, one, it, []),
                    "prompt": text,
                    "prompt_tokens": len(Words().encode(text)),
                }
                for one, it, text in zip(asked, answers, prompts, strict=True)
            ]
    write_evaluated(CARD, asked, scores, list(SYSTEMS), predicted)


def _answerer(every: int) -> Callable[[int, Question], str]:
    return lambda at, one: ANSWERS[TASKS[one.task_id].kind][0 if at % every == 0 else 1]
