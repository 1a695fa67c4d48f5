"""ProtoQA (Boratko et al. 2020): a ranked list of answers to a question that has several."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from nightjar.benchmarks.capabilities import Analysis, EncoderMetrics, Explain, Matching, Scoring, Tracks
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import PublishedTable, read
from nightjar.benchmarks.protoqa.analyses import assess, compare_clusterings, coverage
from nightjar.benchmarks.protoqa.encoder import encoder_similarity
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
from nightjar.benchmarks.protoqa.questions import QUESTION_CARD
from nightjar.benchmarks.protoqa.report import labelled_questions
from nightjar.benchmarks.protoqa.similarity import SIMILARITIES
from nightjar.benchmarks.question import DEFAULT_TRACK
from nightjar.benchmarks.sections import ReportSections

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
_MAIN_SIMILARITY, _, _MAIN_RULE = MAIN.partition("/")
_MATCHING = Matching(
    dict(sorted(_TITLES.items(), key=lambda it: it[0] != _MAIN_SIMILARITY)),
    matches,
    partial(counted_answers, rule=next(rule for rule in RULES if rule.name == _MAIN_RULE)),
)

_NOTES = {
    "exact_match": "Shares of what the best list reaches, from 0 to 1. Published values are those of table 3, on the "
    "102 test questions, whose answers are not public. The published row human is of 30 further answers to each "
    "question, grouped and ranked by count; the row single human is of table 9.",
    ENCODER: "The paper's encoder is RoBERTa, and its values of max incorrect 1, 3 and 5 equal those of max answers. "
    "Ours count nearly the whole list there, because nearly every answer has a cluster.",
}
_PUBLISHED = read(Path(__file__).with_name("published.toml"))
_KNOWN = _PUBLISHED.rows[0].metrics
# Table 3 for each similarity. Similarities that the paper has no values for have our rows alone.
_PAPERS = replace(
    _PUBLISHED,
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


def _with_encoder(folder: Path) -> Scoring:
    similarity = encoder_similarity(folder)
    return Scoring(
        partial(score, encoder=similarity),
        (
            Explain(partial(explained, encoder=similarity)),
            replace(_MATCHING, matches=partial(matches, encoder=similarity)),
        ),
    )


CARD = Card.of(
    QUESTION_CARD,
    metrics=tuple(sorted(_METRICS, key=lambda metric: metric.name != MAIN)),
    score=score,
    capabilities=(
        Tracks({DEFAULT_TRACK: "ranked lists"}),
        _MATCHING,
        ReportSections(partial(labelled_questions, MEANINGS)),
        Explain(explained),
        EncoderMetrics(_with_encoder),
        Analysis("assessments", "Similarities against people (table 4)", assess, encoder=True),
        Analysis("clusterings", "BLANC of two clusterings of the same strings", compare_clusterings),
        Analysis("concept_net", "Answers that ConceptNet connects with their question", coverage),
        _PAPERS,
    ),
)
