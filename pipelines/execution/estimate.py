"""How long the stages of a graph are expected to take, by their runs here before.

seconds = start + (seconds of a run - start) × (rows now / rows of that run), where `start` are the seconds in which a
stage starts (see core/cost.py). The estimate is the median over the latest runs, its range from the least to the
largest of them, and wider by a factor. Where nothing supports a number, it is unknown, with the reason.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.core import cost, history
from nightjar.core.files import metrics_file
from pipelines.graph.changes import State
from pipelines.graph.graph import Graph

# What the range is wider by: equal work takes that much more or less on a busy machine. Beyond FAR times the rows that
# were measured it is FAR_SPREAD.
SPREAD, FAR_SPREAD = 1.5, 3.0
FAR = 10.0
# Stages in these states take time.
AHEAD: tuple[State, ...] = ("would run", "follows")


@dataclass(frozen=True)
class Span:
    """Expected seconds, and the ends of their range."""

    seconds: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def __str__(self) -> str:
        return f"{duration(self.seconds)} ({duration(self.low)} to {duration(self.high)})"


@dataclass(frozen=True)
class Expected(Span):
    """The time of a stage, and the rows it is for; or why nothing is known, in `unknown`."""

    rows: float | None = None
    unknown: str = ""


@dataclass(frozen=True)
class Estimate:
    """What is expected of the stages that would run or may have to: one after the other, and by the clock with `jobs`
    at once. `known` counts those of which a time is known; `unknown` names the others, which are in neither.
    """

    whole: Span = Span()
    clock: Span = Span()
    jobs: int | None = None
    known: int = 0
    unknown: Sequence[str] = ()


def estimates(graph: Graph) -> dict[str, Expected]:
    """What is expected of each stage, were it to run now. Raises NightjarError for a broken params.yaml."""
    from nightjar.core.config import PARAMS_FILE, read_optional  # here, not above: it takes long to load

    runs, params = history.runs(graph.root), read_optional(graph.root / PARAMS_FILE)
    return {name: _expected(graph, name, runs.get(name, []), params) for name in graph.stages}


def _expected(graph: Graph, name: str, runs: Sequence[history.Run], params: Mapping[str, Any]) -> Expected:
    # Another project may have stages of the same names.
    ours = metrics_file(name).as_posix() in graph.stages[name].metrics
    known = cost.of(name, params) if ours else None
    if not runs:
        return Expected(unknown="not run here before")
    if known is None:
        return _scaled([history.Run(run.seconds, 1.0) for run in runs], 1.0, 0.0)
    now = cost.settings(known, params)
    alike = [run for run in runs if run.settings == now and run.size]
    if not alike:
        return Expected(unknown=_unlike(runs[-1], now))
    makers = [graph.stages[stage] for stage, _ in known.rows if stage in graph.stages]
    if after := dict.fromkeys(stage.name for stage in makers if stage.state != "up to date"):
        return Expected(unknown=f"known after {', '.join(after)}")
    size = cost.size(graph.root, known, params)
    if size is None:
        return Expected(unknown="the number of rows is not known")
    found = _scaled(alike, size, known.start)
    return Expected(found.seconds, found.low, found.high, size if known.rows else None)


def _unlike(last: history.Run, now: Mapping[str, Any]) -> str:
    if last.settings is None or last.settings == now:
        return "run before the number of rows was recorded"
    changed = [key for key, value in now.items() if key not in last.settings or last.settings[key] != value]
    return f"no run with this {changed[0]}" if changed else "no run with these parameters"


def _scaled(runs: Sequence[history.Run], size: float, start: float) -> Expected:
    """The expected seconds for `size` rows, by runs whose size is known."""
    latest = runs[-history.LATEST :]
    values, sizes = [], [run.size or size for run in latest]
    for run, rows in zip(latest, sizes, strict=True):
        fixed = min(start, run.seconds)
        values.append(fixed + (run.seconds - fixed) * size / rows)
    far = size > FAR * max(sizes) or size * FAR < min(sizes)
    spread = FAR_SPREAD if far else SPREAD
    return Expected(statistics.median(values), min(values) / spread, max(values) * spread)


def whole(graph: Graph, expected: Mapping[str, Expected], jobs: int | None) -> Estimate:
    """The time of all stages of the graph together.

    Raises NightjarError for settings that a rebuild would refuse.
    """
    if not graph.changed():
        return Estimate()
    # Here, not above: with nothing to do the settings are not needed, and take long to load.
    from nightjar.core.config import PARAMS_FILE
    from nightjar.core.driver_params import load_rebuild
    from pipelines.execution import preflight, resources
    from pipelines.execution.schedule import simulate

    settings = load_rebuild(graph.root / PARAMS_FILE)
    needs = resources.needs(graph, settings)
    preflight.check(graph)
    ahead = [name for name, stage in graph.stages.items() if stage.state in AHEAD]
    if not ahead:
        return Estimate()
    limits = resources.limits(settings, jobs)
    upstream = {name: graph.stages[name].upstream for name in ahead}
    total, clock = [], []
    for end in ("seconds", "low", "high"):
        seconds = {name: float(getattr(it, end)) for name, it in expected.items()}
        total.append(sum(seconds[name] for name in ahead))
        clock.append(simulate(upstream, seconds, limits, needs))
    unknown = [name for name in ahead if expected[name].unknown]
    return Estimate(Span(*total), Span(*clock), limits.jobs, len(ahead) - len(unknown), unknown)


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two or more, such as `95 s`, `12 min` and `3.5 h`."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} h"
