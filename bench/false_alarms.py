"""How often unchanged models would be called better or worse by a nightly verdict.

    python -m bench.false_alarms [--scores data/evaluate/supernatinst] [--nights 2000] [--alpha 0.01]

Greedy decoding on one machine gives the same answers every night, and then no verdict can be false. Here the models are
noisy instead: in either of two runs a share of the answers is drawn anew, from the answers that the project's systems
really gave to the same instance, with their real scores. The two runs are exchangeable, so every verdict but
"unchanged" is false. A night has four systems with three metrics each. Prints, for each share of noise and number of
instances, the share of nights with any false verdict and with a false "worse", each with its exact 95% interval.
Needs an evaluated project.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.scores import from_rows
from nightjar.benchmarks.text.metrics import METRICS
from nightjar.core import contracts, tables
from nightjar.statistics.verdict import Rule, binomial_interval, simulated_night, summary

SYSTEMS = 4
SETTINGS = ((50, 0.2), (192, 0.02), (192, 0.2), (192, 1.0), (1000, 0.2))


def pool(folder: Path) -> NDArray[np.float64]:
    """Scores of the answers that were given to each instance: instances x systems x metrics."""
    systems = [
        one
        for one in from_rows(tables.read_rows(folder, contracts.INSTANCE_SCORES))
        if one.system not in ("copy_input", "copy_demo")
    ]
    places = [at for at, key in enumerate(systems[0].keys) if key.track == "default"]
    found = [np.stack([one.parts[metric][places] for metric in METRICS], axis=1) for one in systems]
    return np.stack(found, axis=1)


def nights(
    answers: NDArray[np.float64], instances: int, share: float, number: int, rule: Rule
) -> tuple[int, int]:
    """How many of `number` simulated nights had any false verdict, and how many a false "worse"."""
    rng = np.random.default_rng([instances, round(1000 * share)])
    moved = worse = 0
    for _ in range(number):
        drawn = rng.integers(0, len(answers), size=instances)
        chosen = answers if instances == len(answers) else answers[drawn]
        word = summary(simulated_night([chosen] * SYSTEMS, share, rng, rule))
        moved += word != "unchanged"
        worse += word == "worse"
    return moved, worse


def told(hits: int, trials: int) -> str:
    low, high = binomial_interval(hits, trials)
    return f"{100 * hits / trials:.2f}% [{100 * low:.2f}, {100 * high:.2f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scores", type=Path, default=Path("data/evaluate/supernatinst"))
    parser.add_argument("--nights", type=int, default=2000)
    parser.add_argument("--alpha", type=float, default=0.01)
    given = parser.parse_args(arguments)
    answers = pool(given.scores)
    rule = Rule.of(given.alpha, 1, 1000, 0)
    distinct = np.mean([len(np.unique(one, axis=0)) for one in answers])
    print(f"{len(answers)} instances, {answers.shape[1]} answers each, {distinct:.1f} of them distinct")
    print(f"{given.nights} nights, {SYSTEMS} systems x {len(METRICS)} metrics, alpha {given.alpha}")
    for instances, share in SETTINGS:
        moved, worse = nights(answers, instances, share, given.nights, rule)
        print(
            f"{instances} instances, {100 * share:g}% of answers drawn anew: any false verdict "
            f"{told(moved, given.nights)}, worse {told(worse, given.nights)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
