"""A benchmark of the tests' own whose questions have clusters and labels, and whose answers are ranked lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.benchmarks.benchmark import Benchmark, Match
from nightjar.benchmarks.papers import Papers, Published, PublishedTable
from nightjar.benchmarks.protoqa.report import labelled_questions
from nightjar.benchmarks.question import DEFAULT_TRACK, Asking, Question, Sources
from nightjar.benchmarks.question_set import Files
from nightjar.benchmarks.sections import Evaluated, Section
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

NAME, DATASET = "lists", "made_lists"
N = 24
ATTACK = "<script>alert(1)</script>"
# A right-to-left override, which turns the text after it round.
TURNED = "\u202eturned"
LONG = "x" * 2**20
CLUSTERS = (
    {"id": "rain", "count": 20, "answers": ["rain", "a shower", f"rain {ATTACK}"]},
    {"id": "snow", "count": 60, "answers": ["snow"]},
    {"id": "frogs", "count": 20, "answers": ["frogs"]},
)


def _people(number: int) -> list[str]:
    return ["snow", "rain"]


def _untuned(number: int) -> list[str] | None:
    """One list with every oddity, one empty, one missing; the others have one right answer at the second place."""
    odd = ["mud", "snow", "the snow", ATTACK, TURNED, LONG, " ", *[f"more {at}" for at in range(40)]]
    return {0: odd, 1: [], 2: None}.get(number, ["mud", "rain"])


ANSWERS: Mapping[str, Callable[[int], list[str] | None]] = {"untuned": _untuned, "people": _people}


SIMILARITIES: Mapping[str, Callable[[str, str], bool]] = {"same": str.__eq__, "inside": str.__contains__}


SKY, TRACK = {DEFAULT_TRACK: 0.5}, (DEFAULT_TRACK,)
# "first 9" is a column of the paper that is not evaluated.
FIRST = {f"same/{most}": f"first {most}" for most in (1, 3, 9)}
TITLES = {"same/3": "equal, first 3", "same/1": "equal, first 1", "inside/3": "contained, first 3"}


class MadeLists(Benchmark):
    """Ranked lists that are matched to clusters."""

    name = NAME
    version = 1
    title = "Lists & Co"
    source = "Nobody 2031"
    datasets = (DATASET,)
    metrics = tuple(Metric(name, title, range=(0.0, 1.0), scale=1.0) for name, title in TITLES.items())
    files = Files(by_task=False)
    tracks = {DEFAULT_TRACK: "ranked lists"}  # noqa: RUF012
    similarities = {"same": "equal", "inside": "contained"}  # noqa: RUF012
    papers = Papers(
        (Published("Lister 9B", SKY, "Nobody 2031, table 3", {"same/1": 0.25, "same/3": 0.5}),),
        (
            PublishedTable("Table 3: equal", TRACK, "Nobody counted.", metrics=FIRST, reference="people"),
            PublishedTable("Table 4: nothing", TRACK, metrics={"other/1": "first 1"}),
            PublishedTable(
                "Not in the paper: contained", TRACK, metrics={"inside/3": "first 3"}, reference="nobody"
            ),
        ),
    )

    def questions(self, sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
        """N questions with the same clusters, of which every third is easy."""
        for number in range(N):
            text = f"What falls from sky number <{number}>? {ATTACK}"
            labels = ["easy"] if number % 3 == 0 else []
            parts = {"question": text, "clusters": list(CLUSTERS), "labels": labels}
            yield Question(NAME, "sky", f"sky-{number}", parts, ("snow",), dataset=DATASET, file="sky.jsonl")

    def match_answers(self, question: Question, answers: Sequence[str]) -> Mapping[str, Sequence[Match]]:
        """Each cluster goes to the first answer that is similar to it."""
        found: dict[str, list[Match]] = {}
        for name, similar in SIMILARITIES.items():
            taken: set[str] = set()
            for answer in answers:
                clusters = question.parts["clusters"]
                close = [it["id"] for it in clusters if any(similar(answer, one) for one in it["answers"])]
                free = [id for id in close if id not in taken]
                taken.update(free[:1])
                match = Match(free[0], free[0]) if free else Match(None, close[0] if close else None)
                found.setdefault(name, []).append(match)
        return found

    def counted_answers(self, found: Sequence[Match]) -> int:
        """The first three."""
        return min(3, len(found))

    def score(self, asked: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """The share of people whose cluster was found: by the first 3 answers, and by the first."""
        found = {name: np.zeros(len(asked)) for name in ("same/3", "same/1", "inside/3")}
        for place, (question, given) in enumerate(zip(asked, answers, strict=True)):
            counts = {it["id"]: it["count"] / 100 for it in question.parts["clusters"]}
            for name, some in self.match_answers(question, given).items():
                for most in (1, 3):
                    if (metric := f"{name}/{most}") in found:
                        having = [match.cluster for match in some[:most] if match.cluster is not None]
                        found[metric][place] = sum(counts[id] for id in having)
        return found

    def prompt(self, question: Question, asking: Asking) -> str:
        """The question alone."""
        return str(question.parts["question"])

    def report_sections(self, evaluated: Evaluated) -> list[Section]:
        """The sections of labelled questions."""
        return labelled_questions({"easy": "every third question", "hard": "no question"}, evaluated)


BENCHMARK = MadeLists()
