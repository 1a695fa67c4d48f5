"""Add to the project of building.py: tasks on long documents and benchmarks of the tests' own, with made-up answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import Asking, Question
from nightjar.benchmarks.scores import match_rows, score
from nightjar.benchmarks.zeroscrolls.prompts import built
from nightjar.benchmarks.zeroscrolls.questions import naive
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from tests.nightjar.benchmarks.zeroscrolls.words import Words
from tests.stages.report import made, made_lists
from tests.stages.report.building import NAME as SAMPLE
from tests.stages.report.building import add_system, change_params, facts, prediction, write_evaluated

BENCHMARK = registry.load_benchmark(NAME)
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
    add_benchmark(BENCHMARK, list(SYSTEMS))
    asked = questions()
    facts(f"ingest@{NAME}", ["my/long"], [f"data/ingest/{NAME}"], len(asked), len(asked))
    facts(f"questions@{NAME}", [f"data/ingest/{NAME}"], [f"data/questions/{NAME}"], len(asked), len(asked))
    options: Any = SimpleNamespace(max_source_length=LIMIT)
    asking = Asking(options, Words())
    prompts = [BENCHMARK.prompt(one, asking) for one in asked]
    given: Mapping[str, Callable[[int, Question], str]] = {
        "naive": lambda at, one: naive(one, 1),
        **{system: _answerer(every) for system, every in SYSTEMS.items()},
    }
    predicted, scores = {}, []
    for system, answer in given.items():
        answers = [answer(at, one) for at, one in enumerate(asked)]
        scores.append(score(BENCHMARK, system, asked, [[it] for it in answers]))
        if system in SYSTEMS:
            predicted[system] = [
                {
                    **prediction(system, one, it, []),
                    "prompt": text,
                    "prompt_tokens": len(Words().encode(text)),
                }
                for one, it, text in zip(asked, answers, prompts, strict=True)
            ]
    write_evaluated(BENCHMARK, asked, scores, list(SYSTEMS), predicted)


def _answerer(every: int) -> Callable[[int, Question], str]:
    return lambda at, one: ANSWERS[TASKS[one.task_id].kind][0 if at % every == 0 else 1]


def add_benchmark(card: Benchmark, systems: Sequence[str]) -> None:
    """List a benchmark of the tests' own, its dataset and its systems in params.yaml; facts of its first stages."""
    (dataset,) = card.datasets
    data = f"data/ingest/{dataset}"

    def change(values: dict[str, Any]) -> None:
        values["benchmarks"][card.name] = {"code": card.name, "data": data} | dict.fromkeys(
            ("split", "encoder"), "data/none"
        )
        values["predict"][card.name] = copy.deepcopy(values["predict"][SAMPLE])
        values["ingest"][dataset] = {"path": f"my/{card.name}", "code": f"my/{card.name}"}
        for system in systems:
            add_system(values, card.name, system)

    change_params(change)


def add_made() -> None:
    """Add the benchmark of made.py to the project: parameters, facts and artifacts."""
    add_benchmark(made.BENCHMARK, made.SYSTEMS)
    facts("ingest@made_files", ["my/made"], ["data/ingest/made_files"], 33, 32, files=1)
    source = [f"data/questions/{made.NAME}"]
    facts(f"questions@{made.NAME}", ["data/ingest/made_files"], source, 32, 32)
    questions = list(made.BENCHMARK.questions(None, None, 0))  # type: ignore[arg-type]
    predicted, scores = {}, []
    for number, system in enumerate(made.SYSTEMS):
        answers = [
            one.references[0] if at % 4 <= number else f"{system} is wrong about {one.id}"
            for at, one in enumerate(questions)
        ]
        predicted[system] = [
            prediction(system, *pair, made.CALLS if system == made.CALLS_TOOL and at == 24 else [])
            for at, pair in enumerate(zip(questions, answers, strict=True))
        ]
        scores.append(score(made.BENCHMARK, system, questions, [[answer] for answer in answers]))
    write_evaluated(made.BENCHMARK, questions, scores, made.SYSTEMS, predicted)


def add_lists() -> None:
    """Add the benchmark of made_lists.py to the project: parameters, facts and artifacts."""
    card, asked = made_lists.BENCHMARK, list(made_lists.BENCHMARK.questions(None, None, 0))  # type: ignore[arg-type]
    add_benchmark(card, list(made_lists.ANSWERS))
    source = [f"data/questions/{card.name}"]
    remarks = {"label: easy": 9, "odd <b>": 2}
    facts(f"ingest@{made_lists.DATASET}", ["my/lists"], ["data/ingest/made_lists"], 24, 24, remarks=remarks)
    facts(f"questions@{card.name}", ["data/ingest/made_lists"], source, 24, 24)
    predicted, scores, matches = {}, [], []
    for system, answer in made_lists.ANSWERS.items():
        given = [answer(number) for number in range(len(asked))]
        scores.append(score(card, system, asked, [some or [] for some in given]))
        matches += match_rows(card, system, asked, given)
        predicted[system] = [
            {**prediction(system, one, "", []), "answers": some}
            for one, some in zip(asked, given, strict=True)
            if some is not None
        ]
    write_evaluated(card, asked, scores, list(made_lists.ANSWERS), predicted, matches)
