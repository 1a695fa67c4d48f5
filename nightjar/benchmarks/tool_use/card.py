"""Toolformer's evaluations: SVAMP, ASDiv, WebQuestions and Dateset, each a track of its own."""

from __future__ import annotations

from nightjar.benchmarks.card import Card, Files, Metric, Published, Task
from nightjar.benchmarks.tool_use import asdiv, dateset, svamp, web_questions
from nightjar.benchmarks.tool_use.load import load
from nightjar.benchmarks.tool_use.questions import NAME, Settings, prompt, questions
from nightjar.benchmarks.tool_use.scoring import score

# Enough for what is read of an answer: a number, 20 words, 5 words. What follows a line of math is no answer to it;
# the other prompts do not end within a sentence, so that an answer to them may begin with a line break.
TASKS = {
    svamp.NAME: Task("SVAMP", max_new_tokens=32, stop=("\n",)),
    asdiv.NAME: Task("ASDiv", max_new_tokens=32, stop=("\n",)),
    web_questions.NAME: Task("WebQuestions", max_new_tokens=64, forbidden_tools=frozenset({"QA"})),
    dateset.NAME: Task("Dateset", max_new_tokens=24),
}
# Tables 4, 5 and 7 (facts 3.11): SVAMP, ASDiv, WebQuestions, Dateset.
_RESULTS = {
    "GPT-J": (5.2, 7.5, 18.5, 3.9),
    "GPT-J + CC": (5.0, 9.6, 18.4, 2.9),
    "Toolformer (disabled)": (6.3, 14.8, 18.9, 5.9),
    "Toolformer": (29.4, 40.4, 26.3, 27.3),
    "OPT (66B)": (4.9, 6.0, 18.6, 1.3),
    "GPT-3 (175B)": (10.0, 14.0, 29.0, 0.8),
}
_SOURCE = "Schick et al. 2023, tables 4, 5 and 7"

CARD = Card(
    name=NAME,
    version=1,
    title="Toolformer's evaluations",
    source="Schick et al. 2023, arXiv 2302.04761",
    datasets=(NAME,),
    metrics=(Metric("accuracy", "accuracy"),),
    questions=questions,
    prompt=prompt,
    score=score,
    right="accuracy",
    files=Files(
        prediction='write {"task": "svamp", "id": "...", "prediction": "..."}',
        reference='write {"task": "svamp", "id": "...", "references": ["..."]}',
    ),
    settings=Settings,
    load=load,
    tasks=TASKS,
    tracks={name: task.title for name, task in TASKS.items()},
    levels=("overall",),
    published=tuple(
        Published(system, dict(zip(TASKS, values, strict=True)), _SOURCE)
        for system, values in _RESULTS.items()
    ),
)
