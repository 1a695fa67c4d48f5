"""A benchmark of the tests' own: two tracks, one metric, no categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import Papers, Published, PublishedCalls, PublishedTable
from nightjar.benchmarks.question import Asking, Question, Sources
from nightjar.benchmarks.sections import (
    Evaluated,
    Interval,
    Intervals,
    PlotAxis,
    PlotPoint,
    Points,
    Section,
    Value,
)
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

NAME = "made"
TRACKS = {"sums": "Sums of two", "days": "Days of the week"}
SYSTEMS = ("untuned", "tk_instruct")
# The calls of the answer to the first question of the second track, and the system that made them.
CALLS_TOOL = "tk_instruct"
CALLS = [{"tool": "Clock", "input": "now", "result": "noon"}] * 2
# The benchmark's own section.
TEMPLATE = """<p><code>code</code>, <strong>bold</strong> {{ text }}</p>
{{ table(texts("system") + numbered("answers", "half"), rows, caption) }}
<details><summary>Folded</summary>
{% for plot in plots %}
{{ figure(plot) }}
{% endfor %}
</details>
"""


class MadeTracks(Benchmark):
    """Two tracks with one metric."""

    name = NAME
    version = 1
    title = "Made & Co"
    source = "Nobody 2030"
    datasets = ("made_files",)
    metrics = (Metric("accuracy", "accuracy", range=(0.0, 1.0), scale=1.0, right=True),)
    tracks = TRACKS
    papers = Papers(
        (
            Published("Guesser 9B", {"sums": 0.125, "days": 0.5}, "Nobody 2030, table 1", average=0.3125),
            Published("Thinker 9B", {"sums": 0.75}, "Nobody 2030, table 1"),
            Published("Later", {"sums": 0.875}, "a note of 2031"),
            Published("Guesser 1B", {"sums": 0.25, "days": 0.25}, "Nobody 2030, table 1"),
            Published("Caller 9B", {"days": 0.625}, "Nobody 2030, table 2"),
        ),
        (
            PublishedTable("Table 2: days", ("days", "nights"), "Nobody asked at night."),
            PublishedTable(
                "Table 3: by call",
                ("days",),
                calls=(PublishedCalls("days", "Caller 9B, k = 3", 0.625, 0.75, None, 87.5),),
            ),
            PublishedTable("Table 4: nights", ("nights",)),
        ),
    )

    def questions(self, sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
        """24 questions of one track, 8 of the other; the answer is the reference."""
        for track, count in zip(TRACKS, (24, 8), strict=True):
            for number in range(count):
                parts = {"question": f"What is {track} number <{number}>?"}
                yield Question(
                    NAME, track, f"{track}-{number}", parts, (f"{track} is {number}",), track=track
                )

    def score(self, asked: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """1 for the reference, else 0."""
        right = [
            bool(given) and given[0] in one.references for one, given in zip(asked, answers, strict=True)
        ]
        return {"accuracy": np.array(right, dtype=float)}

    def prompt(self, question: Question, asking: Asking) -> str:
        """The question alone."""
        return str(question.parts["question"])

    def report_sections(self, found: Evaluated) -> list[Section]:
        """How many answers each system gave, as a text, a table and plots."""
        metric = found.card.metrics[0]
        counts = {system: len(found.predictions(system, ["id"])) for system in found.systems}
        points = {system: [PlotPoint(n, 0.5, f"{system} & {n}")] for system, n in counts.items()}
        axes = PlotAxis("answers", 0, 100), PlotAxis("<score>", 0, 1)
        plots = (
            Points(
                "own-points", "Own points", *axes, points, ("system", "n"), list(counts.items()), joined=True
            ),
            Intervals(
                "own-intervals",
                "Own intervals",
                [("all", "", metric, {SYSTEMS[0]: Interval(0.5, 0.25, 0.75)})],
            ),
        )
        rows = [(system, n, Value(metric, 0.5, 0.25, 0.75)) for system, n in counts.items()]
        values = {"text": "& <b>", "caption": "Own <table>", "rows": rows, "plots": plots}
        return [Section("own", "Own <section>", TEMPLATE, values)]


BENCHMARK = MadeTracks()
