"""ProtoQA (Boratko et al. 2020): a ranked list of answers to a question that has several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightjar.benchmarks.benchmark import Analysis, Benchmark, Match
from nightjar.benchmarks.papers import PublishedTable
from nightjar.benchmarks.protoqa.analyses import PUBLISHED, assess, compare_clusterings, coverage
from nightjar.benchmarks.protoqa.encoder_similarity import EncoderSimilarity, encoder_similarity
from nightjar.benchmarks.protoqa.filters import MEANINGS
from nightjar.benchmarks.protoqa.metrics import (
    ENCODER,
    RULES,
    Rule,
    counted_answers,
    explained,
    matches,
    metric_name,
    score,
)
from nightjar.benchmarks.protoqa.questions import ProtoQAQuestions
from nightjar.benchmarks.protoqa.report import labelled_questions
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from nightjar.benchmarks.question import DEFAULT_TRACK, Question
from nightjar.benchmarks.sections import Evaluated, Section
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

_TITLES = {
    "exact_match": "exact match",
    "wordnet": "WordNet",
    "longest_common_substring": "longest common substring",
    "longest_common_subsequence": "longest common subsequence",
    ENCODER: "sentence encoder",
}
# So many that a mean of fractions is not changed by more than 1e-12.
_DECIMALS = 15


def _in_words(rule: Rule) -> str:
    return rule.name.replace("_", " ").replace("@", " ")


_METRICS = [
    Metric(
        metric_name(similarity, rule),
        f"{_TITLES[similarity]}, {_in_words(rule)}",
        range=(0.0, 1.0),
        scale=1.0,
        decimals=_DECIMALS,
    )
    for similarity in (*SIMILARITIES, ENCODER)
    for rule in RULES
]
MAIN = "wordnet/max_incorrect@3"
_MAIN_SIMILARITY, _, _MAIN_RULE_NAME = MAIN.partition("/")
_SIMILARITY_TITLES = dict(sorted(_TITLES.items(), key=lambda it: it[0] != _MAIN_SIMILARITY))
_MAIN_RULE = next(rule for rule in RULES if rule.name == _MAIN_RULE_NAME)

_NOTES = {
    "exact_match": "Shares of what the best list reaches, from 0 to 1. Published values are those of table 3, on the "
    "102 test questions, whose answers are not public. The published row human is of 30 further answers to each "
    "question, grouped and ranked by count; the row single human is of table 9.",
    ENCODER: "The paper's encoder is RoBERTa, and its values of max incorrect 1, 3 and 5 equal those of max answers. "
    "Ours count nearly the whole list there, because nearly every answer has a cluster.",
}
_KNOWN = PUBLISHED.rows[0].metrics
# Table 3 for each similarity. Similarities that the paper has no values for have our rows alone.
_PAPERS = replace(
    PUBLISHED,
    tables=tuple(
        PublishedTable(
            f"{'Table 3' if metric_name(similarity, RULES[0]) in _KNOWN else 'Not in the paper'}: {title}",
            (DEFAULT_TRACK,),
            _NOTES.get(similarity, ""),
            metrics={
                metric_name(similarity, rule): _in_words(rule)
                for rule in RULES
                if metric_name(_MAIN_SIMILARITY, rule) in _KNOWN
            },
            # The system of ours whose lists come from people.
            reference="human",
        )
        for similarity, title in _TITLES.items()
    ),
)


class ProtoQA(ProtoQAQuestions, Benchmark):
    """ProtoQA: ranked lists, matched to clusters of people's answers by several similarities.

    With `encoder`, also by that of a sentence encoder.
    """

    metrics = tuple(sorted(_METRICS, key=lambda metric: metric.name != MAIN))
    tracks = {DEFAULT_TRACK: "ranked lists"}  # noqa: RUF012
    similarities = _SIMILARITY_TITLES
    analyses = (
        Analysis("assessments", "Similarities against people (table 4)", assess, encoder=True),
        Analysis("clusterings", "BLANC of two clusterings of the same strings", compare_clusterings),
        Analysis("concept_net", "Answers that ConceptNet connects with their question", coverage),
    )
    papers = _PAPERS

    def __init__(self, encoder: EncoderSimilarity | None = None) -> None:
        self._encoder = encoder

    def with_encoder(self, folder: Path) -> ProtoQA:
        """Return the benchmark that compares answers by the encoder in `folder` too."""
        return ProtoQA(encoder_similarity(folder))

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compute the share of the best list's worth by each similarity and rule."""
        return score(questions, answers, encoder=self._encoder)

    def details(self, question: Question, answers: Sequence[str]) -> Mapping[str, Any]:
        """Return each answer as it was compared, with its cluster by each similarity."""
        return explained(question, answers, encoder=self._encoder)

    def match_answers(self, question: Question, answers: Sequence[str]) -> Mapping[str, Sequence[Match]]:
        """Match the answers to the clusters by each similarity."""
        return matches(question, answers, encoder=self._encoder)

    def counted_answers(self, matches: Sequence[Match]) -> int:
        """Count the answers before the last incorrect one that the main metric allows."""
        return counted_answers(matches, _MAIN_RULE)

    def report_sections(self, evaluated: Evaluated) -> Sequence[Section]:
        """Make the section about labelled questions."""
        return labelled_questions(MEANINGS, evaluated)


BENCHMARK = ProtoQA()
