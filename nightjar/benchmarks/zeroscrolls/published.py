"""The results of the paper (Shaham et al. 2023): tables 3 and 4."""

from __future__ import annotations

from nightjar.benchmarks.papers import PublishedCurve, PublishedTable, published_rows
from nightjar.benchmarks.zeroscrolls.tasks import TASKS

AVERAGE = "score"
_PAPER = "Shaham et al. 2023"
_COLUMNS = (*TASKS, AVERAGE)
Cells = tuple[float | None, ...]
_: None = None
# System and input length, then the tasks in their order, then the average.
_TABLE_3: dict[str, Cells] = {
    "naive": (22.6, 6.7, 6.7, 10.5, 6.1, 2.1, 26.6, 20.0, 45.0, 50.0, 19.6),
    "human": (_, _, _, 23.6, 67.7, 58.2, 93.5, 74.8, 93.3, _, _),
    "T0pp, 8192": (7.1, 9.6, 7.2, 3.9, 25.0, 18.7, 21.4, 35.3, 15.2, 0.0, 14.3),
    "Flan-T5-xxl, 8192": (17.6, 7.8, 11.0, 8.0, 48.3, 19.3, 75.2, 46.8, 48.7, 16.4, 29.9),
    "Flan-UL2, 8192": (16.1, 11.5, 13.6, 5.7, 56.9, 25.5, 75.6, 51.3, 36.0, 14.0, 30.6),
    "DaVinci003, 4096": (21.7, 16.1, 16.9, 22.0, 52.7, 24.6, 69.0, 33.5, 31.3, 49.5, 33.7),
    "ChatGPT, 4096": (21.3, 16.1, 15.6, 20.4, 49.3, 25.1, 66.6, 27.1, 49.1, 49.8, 34.0),
    "Claude, 8000": (24.2, 16.1, 14.6, 21.0, 52.3, 32.6, 84.8, 36.1, 61.6, 47.4, 39.1),
    "GPT-4, 8192": (26.3, 17.3, 18.5, 22.6, 50.7, 27.6, 89.2, 41.1, 62.8, 60.5, 41.7),
    "CoLT5 (fine-tuned), 16384": (41.0, 20.0, 22.5, _, 53.1, 31.0, 47.0, _, _, _, _),
}
_TABLE_4: dict[str, Cells] = {
    "Flan-T5-s": (7.6, 4.2, 8.3, 3.8, 18.5, 11.6, 34.6, 21.0, 0.0, 0.0, 11.0),
    "Flan-T5-b": (5.4, 5.1, 9.7, 5.6, 14.2, 16.5, 48.4, 26.9, 0.0, 0.3, 13.2),
    "Flan-T5-l": (6.9, 6.8, 9.7, 5.7, 33.6, 20.1, 62.4, 33.1, 48.0, 0.3, 22.7),
    "Flan-T5-xl": (15.2, 7.2, 10.2, 6.6, 46.6, 21.6, 69.6, 42.8, 32.8, 2.2, 25.5),
    "Flan-T5-xxl, 512": (*(_,) * 10, 17.1),
    "Flan-T5-xxl, 1024": (*(_,) * 10, 20.8),
    "Flan-T5-xxl, 2048": (*(_,) * 10, 24.9),
    "Flan-T5-xxl, 4096": (*(_,) * 10, 29.1),
    "Claude, 4096": (23.0, 15.0, 14.3, 20.2, 47.7, 31.7, 76.8, 35.8, 61.1, 37.6, 36.3),
}
# No rows of the tables: their unit is not that of the tasks' metrics.
_JUDGED = (
    "People judged 100 answers of a task. Right were: NarrativeQA, Claude 39 and GPT-4 53; Qasper, Flan-UL2 69 and "
    "GPT-4 80; MuSiQue, Flan-UL2 51 and GPT-4 47. For NarrativeQA, 191 of 200 answers of Claude and 71 of 200 of GPT-4 "
    "had the form of a phrase. For SpaceDigest, people called 8 of 500 reviews wrongly."
)


PUBLISHED = (
    *published_rows(_TABLE_3, _COLUMNS, f"{_PAPER}, table 3"),
    *published_rows(_TABLE_4, _COLUMNS, f"{_PAPER}, table 4"),
)
TABLES = (
    PublishedTable(
        "Table 3",
        _COLUMNS,
        "Published with at most 500 test examples a task, which are not public with their references. The number after "
        f"a system is its length of input in tokens. The score is the mean of the ten tasks. {_JUDGED}",
        source=f"{_PAPER}, table 3",
    ),
    PublishedTable(
        "Table 4: sizes of a model, and lengths of input",
        _COLUMNS,
        "Flan-T5-s to Flan-T5-xl read 8192 tokens. Of Flan-T5-xxl at other lengths only the score is published.",
        source=f"{_PAPER}, table 4",
    ),
)
# By kind of study: the systems that were published at several values, and their rows.
CURVES = tuple(
    PublishedCurve(
        study,
        system,
        f"{_PAPER}, tables 3 and 4",
        {value: it.values for value, row in rows.items() for it in PUBLISHED if it.system == row},
    )
    for study, system, rows in (
        (
            "input_length",
            "Flan-T5-xxl",
            {str(length): f"Flan-T5-xxl, {length}" for length in (512, 1024, 2048, 4096, 8192)},
        ),
        ("input_length", "Claude", {str(length): f"Claude, {length}" for length in (4096, 8000)}),
        (
            "models",
            "Flan-T5",
            {f"Flan-T5-{size}": f"Flan-T5-{size}" for size in ("s", "b", "l", "xl")}
            | {"Flan-T5-xxl": "Flan-T5-xxl, 8192"},
        ),
    )
)
