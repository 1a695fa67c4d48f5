"""Toolformer's evaluations (Schick et al. 2023, section 4.2): each task a track of its own."""

from __future__ import annotations

from nightjar.benchmarks.capabilities import Query
from nightjar.benchmarks.card import Card, Metric, Task
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.tool_use import mlqa
from nightjar.benchmarks.tool_use.load import load
from nightjar.benchmarks.tool_use.published import CURVES, PUBLISHED, TABLES
from nightjar.benchmarks.tool_use.questions import Settings, prompt, query, questions
from nightjar.benchmarks.tool_use.scoring import score
from nightjar.benchmarks.tool_use.tasks import NAME
from nightjar.statistics import perplexity

_SEARCH, _READ = frozenset({"WikiSearch"}), frozenset({"QA"})
# Tools are forbidden as in section 4.2. Tokens are enough for what is read of an answer: 5, 10 or 20 words, or a
# number. What follows a line of math is no answer to it. The prompts of questions do not end within a sentence, so that
# an answer to them may begin with an empty line, and ends where the model writes the next prompt itself.
_NEXT = ("\nAnswer the following", "\nYour task is to", "\nDefinition:")
TASKS = {
    "lama_squad": Task("LAMA, SQuAD", max_new_tokens=24, forbidden_tools=_SEARCH),
    "lama_google_re": Task("LAMA, Google-RE", max_new_tokens=24, forbidden_tools=_SEARCH),
    "lama_trex": Task("LAMA, T-REx", max_new_tokens=24, forbidden_tools=_SEARCH),
    "asdiv": Task("ASDiv", max_new_tokens=32, stop=("\n",)),
    "svamp": Task("SVAMP", max_new_tokens=32, stop=("\n",)),
    "mawps": Task("MAWPS", max_new_tokens=32, stop=("\n",)),
    "web_questions": Task("WebQuestions", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    "natural_questions": Task("Natural Questions", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    "trivia_qa": Task("TriviaQA", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    **{
        task: Task(f"MLQA, {language}", max_new_tokens=48, stop=_NEXT)
        for task, language in mlqa.TASKS.items()
    },
    "templama": Task("TempLAMA", max_new_tokens=24),
    "dateset": Task("Dateset", max_new_tokens=24, stop=_NEXT),
    "wikitext": Task("WikiText", kind="perplexity"),
    "held_out": Task("held-out text", kind="perplexity"),
}

CARD = Card(
    name=NAME,
    version=2,
    title="Toolformer's evaluations",
    source="Schick et al. 2023, arXiv 2302.04761",
    datasets=(NAME,),
    metrics=(
        Metric("accuracy", "accuracy", right=True),
        Metric(
            "perplexity",
            "perplexity",
            ("nll", "tokens"),
            perplexity,
            range=(1.0, float("inf")),
            scale=1.0,
            higher_is_better=False,
        ),
    ),
    questions=questions,
    prompt=prompt,
    score=score,
    settings=Settings,
    load=load,
    tasks=TASKS,
    capabilities=(Query(query), Papers(PUBLISHED, TABLES, CURVES)),
)
