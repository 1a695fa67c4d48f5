"""The benchmarks that models are evaluated on: one folder each, and generic code that works on any of them.

`registry.load_benchmark(name)` is a benchmark, `registry.names()` lists them. `score_files` and `compare_files` score
and compare predictions in files. In memory, `scores.score` scores answers, and `aggregate.aggregate` and
`aggregate.compare` make the tables of intervals and paired tests. docs/extending.md adds a benchmark of your own.

The files of every folder: `tasks` (names and labels), `formats` (`load`, the data sets' files), `questions` and
`prompts` (settings, questions, what a model reads), `metrics` (`score`), `scoring` (the whole benchmark), `published`
(tables of the paper), `report`.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.benchmarks.benchmark import Benchmark
    from nightjar.benchmarks.file_scoring import compare_files, score_files
    from nightjar.benchmarks.question import Question, Record, Refused
    from nightjar.benchmarks.question_set import Files, Task
    from nightjar.statistics.metric import Metric

__all__ = [
    "Benchmark",
    "Files",
    "Metric",
    "Question",
    "Record",
    "Refused",
    "Task",
    "compare_files",
    "score_files",
]

__getattr__, __dir__ = lazy(__name__)
