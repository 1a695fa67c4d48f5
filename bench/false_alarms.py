"""Rates of false nightly verdicts on unchanged models, and of declines that are found.

    python -m bench.false_alarms [--scores data/evaluate/supernatinst] [--nights 400] [--alpha 0.01]

Greedy decoding on one machine gives the same answers every night, and then no verdict can be false. Here the models are
noisy instead: in every run a share of the answers is drawn anew, from the answers that the project's systems really
gave to the same instance, with their real scores. The runs are exchangeable, so every verdict but "unchanged" is false.
A night has four systems with three metrics each. For each share of noise and number of instances, prints the share of
nights with any false verdict, with a false "worse", and with a false slow decline over the last nights; then, for one
system that loses answers every night, how often the trend and how often the last step is found. Every share has its
exact 95% interval. Needs an evaluated project.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.harness import options
from nightjar.benchmarks.scores import from_rows
from nightjar.core import contracts, tables
from nightjar.statistics import Contrast, binomial_interval
from nightjar.statistics.metric import Metric
from nightjar.statistics.verdict import Cell, decide, summary
from nightjar.text.rouge import METRICS
from pipelines.nightly import declines

SYSTEMS = 4
SETTINGS = ((50, 0.2), (192, 0.02), (192, 0.2), (192, 1.0), (1000, 0.2))
# Instances, and the share of them that one system loses every night, with 2% of the answers drawn anew.
DECLINES = ((192, 0.005), (192, 0.01), (192, 0.02), (1000, 0.002), (1000, 0.005), (1000, 0.01))
NOISE = 0.02
Floats = NDArray[np.float64]


def pool(folder: Path) -> Floats:
    """Scores of the answers that were given to each instance: instances x systems x metrics."""
    systems = [
        system
        for system in from_rows(tables.read_rows(folder, contracts.INSTANCE_SCORES))
        if system.system not in ("copy_input", "copy_demo")
    ]
    places = [at for at, key in enumerate(systems[0].keys) if key.track == "default"]
    parts = [np.stack([system.parts[metric][places] for metric in METRICS], axis=1) for system in systems]
    return np.stack(parts, axis=1)


def draw_instances(answers: Floats, instances: int, rng: np.random.Generator) -> Floats:
    """The answers to so many instances, drawn with repeats unless it is all of them."""
    return answers if instances == len(answers) else answers[rng.integers(0, len(answers), size=instances)]


def simulated_night(answers: Floats, share: float, rng: np.random.Generator) -> list[Contrast]:
    """The differences between two runs of an unchanged, noisy model: a cell for each metric.

    `answers[i, k]` are the metrics of the k-th answer that the model might give to instance i. In either run it gives
    an answer drawn at random to a `share` of the instances, and the same one to the others: the two runs are
    exchangeable.
    """
    instances, kinds, metrics = answers.shape
    first, second = rng.integers(0, kinds, size=(2, instances))
    second = np.where(rng.random(instances) < share, second, first)
    rows = np.arange(instances)
    before, now = answers[rows, first], answers[rows, second]
    return [Contrast.between(Metric(str(it)), now[:, [it]], before[:, [it]]) for it in range(metrics)]


def nights(answers: Floats, instances: int, share: float, number: int, alpha: float) -> tuple[int, int]:
    """Return how many of `number` simulated nights had any false verdict, and how many a false "worse"."""
    rng = np.random.default_rng([instances, round(1000 * share)])
    changed = worse = 0
    for _ in range(number):
        pool = draw_instances(answers, instances, rng)
        pairs = [pair for _ in range(SYSTEMS) for pair in simulated_night(pool, share, rng)]
        word = summary(decide(pairs, alpha))
        changed += word != "unchanged"
        worse += word == "worse"
    return changed, worse


def series(
    answers: Floats, runs: int, share: float, lost: float, rng: np.random.Generator
) -> dict[Cell, tuple[Metric, list[Floats]]]:
    """The scores of several nights; the first system loses a share `lost` of the instances every night."""
    count, kinds, metrics = answers.shape
    rows, score_series = np.arange(count), dict[Cell, tuple[Metric, list[Floats]]]()
    for system in range(SYSTEMS):
        usual, order = rng.integers(0, kinds, count), rng.random(count)
        scores = []
        for night in range(runs):
            drawn = np.where(rng.random(count) < share, rng.integers(0, kinds, count), usual)
            is_correct = np.greater_equal(order, 0.0 if system else lost * night)
            scores.append(answers[rows, drawn] * is_correct[:, None])
        for metric in range(metrics):
            cell = Cell("made", str(system), "default", str(metric))
            score_series[cell] = Metric(cell.metric), [one[:, [metric]] for one in scores]
    return score_series


def trends(
    answers: Floats, setting: tuple[int, float, float, int], number: int, alpha: float
) -> tuple[int, int]:
    """In how many of `number` series of nights a score declined, and in how many the last step was found worse.

    A setting has the instances, the share drawn anew, the share lost every night, and the nights of a series.
    """
    instances, share, lost, runs = setting
    rng = np.random.default_rng([instances, *(round(1000 * it) for it in (share, lost)), runs])
    declined = stepped = 0
    for _ in range(number):
        score_series = series(draw_instances(answers, instances, rng), runs, share, lost, rng)
        declined += bool(declines.declined(score_series, alpha))
        if lost:
            steps = [
                Contrast.between(measure, scores[-1], scores[-2]) for measure, scores in score_series.values()
            ]
            stepped += summary(decide(steps, alpha)) == "worse"
    return declined, stepped


def percent(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{100 * hits / trials:.2f}% [{100 * low:.2f}, {100 * high:.2f}]"


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--scores", type=Path, default=Path("data/evaluate/supernatinst"))
    parser.add_argument("--nights", type=int, default=400)
    parser.add_argument("--alpha", type=float, default=0.01)
    arguments = parser.parse_args(words)
    answers = pool(arguments.scores)
    distinct = np.mean([len(np.unique(answer_rows, axis=0)) for answer_rows in answers])
    print(f"{len(answers)} instances, {answers.shape[1]} answers each, {distinct:.1f} of them distinct")
    print(f"{arguments.nights} nights, {SYSTEMS} systems x {len(METRICS)} metrics, alpha {arguments.alpha}")
    for instances, share in SETTINGS:
        changed, worse = nights(answers, instances, share, arguments.nights, arguments.alpha)
        rates = []
        for runs in (declines.FEWEST, declines.MOST):
            declined, _ = trends(answers, (instances, share, 0.0, runs), arguments.nights, arguments.alpha)
            rates.append(f"over {runs} nights {percent(declined, arguments.nights)}")
        print(
            f"{instances} instances, {100 * share:g}% of answers drawn anew: any false verdict "
            f"{percent(changed, arguments.nights)}, worse {percent(worse, arguments.nights)}, slow decline "
            f"{', '.join(rates)}",
            flush=True,
        )
    points = 100 * answers.mean(axis=(0, 1))
    print(f"Declines of one system of {points.round(1).tolist()} points; {100 * NOISE:g}% drawn anew")
    for instances, lost in DECLINES:
        declined, stepped = trends(
            answers, (instances, NOISE, lost, declines.MOST), arguments.nights, arguments.alpha
        )
        print(
            f"{instances} instances, {100 * lost:g}% of them lost every night ({lost * points.max():.2f} points): "
            f"found over {declines.MOST} nights {percent(declined, arguments.nights)}, "
            f"by the last step {percent(stepped, arguments.nights)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
