"""The tasks of tool_use and their groups, in the order of the paper's tables 3 to 8."""

from __future__ import annotations

from nightjar.benchmarks.tool_use import (
    asdiv,
    dateset,
    lama,
    mawps,
    mlqa,
    natural_questions,
    running_text,
    svamp,
    templama,
    trivia_qa,
    web_questions,
)

NAME = "tool_use"
FACTS, MATH, OPEN, MULTILINGUAL, TEMPORAL, TEXT = (
    "facts",
    "math",
    "question answering",
    "multilingual question answering",
    "temporal",
    "language modelling",
)
LAMA = (lama.SQUAD, lama.GOOGLE_RE, lama.TREX)
MATHS = (asdiv.NAME, svamp.NAME, mawps.NAME)
OPENS = (web_questions.NAME, natural_questions.NAME, trivia_qa.NAME)
TEMPORALS = (templama.NAME, dateset.NAME)
TEXTS = (running_text.WIKITEXT, running_text.HELD_OUT)
GROUPS = {
    **dict.fromkeys(LAMA, FACTS),
    **dict.fromkeys(MATHS, MATH),
    **dict.fromkeys(OPENS, OPEN),
    **dict.fromkeys(mlqa.TASKS, MULTILINGUAL),
    **dict.fromkeys(TEMPORALS, TEMPORAL),
    **dict.fromkeys(TEXTS, TEXT),
}
