"""What models are evaluated on: one folder a benchmark with its card, and what works from any card.

`registry.card(name)` is the card of a benchmark, `registry.names()` lists them. `score_files` and `compare_files` score
and compare predictions in files. In memory, `scores.score` scores answers, and `aggregate.aggregate` and
`aggregate.compare` make the tables of intervals and paired tests. docs/extending.md adds a benchmark of your own.

The files of every folder: `card`, `tasks` (names and labels), `formats` (`load`, the data sets' files), `questions` and
`prompts` (settings, questions, what a model reads), `metrics` (`score`), `published` (tables of the paper), `report`.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.benchmarks.card import Card, Choice, Files, Metric, Task
    from nightjar.benchmarks.papers import Papers, Published
    from nightjar.benchmarks.question import Asking, Question, Record, Refused, Sources
    from nightjar.benchmarks.score import compare_files, score_files

__all__ = [
    "Asking",
    "Card",
    "Choice",
    "Files",
    "Metric",
    "Papers",
    "Published",
    "Question",
    "Record",
    "Refused",
    "Sources",
    "Task",
    "compare_files",
    "score_files",
]

__getattr__, __dir__ = lazy(__name__)
