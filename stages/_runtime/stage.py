"""Frame of every stage's `python -m stages.<stage> [item]`: parameters in, errors as one line, facts out.

The facts of a run (rows in, out and rejected, what it read and wrote, versions, seed) are a DVC metric in
data/metrics. Seconds are not among them: with a clock inside, two equal runs would differ. Those of good runs go to the
local history, which `nightjar plan` reads, unless a driver times the whole run. The machine is among the
facts of stages that run a model: what a model computes depends on it, and it remains with the result where DVC restores
that on another machine.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from nightjar import params as params_module
from nightjar.core import artifact_rules, paths, startup
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import write_text
from nightjar.params import Params
from stages._runtime import history, machine, stage_items
from stages._runtime.checkpoint import Checkpoint, Shard
from stages._runtime.declared_settings import declared_view
from stages._runtime.standard_streams import log_to_stderr, protect

log = logging.getLogger("nightjar")

# What is done, how many of these, and of how many (None: nobody knows).
Show = Callable[[str, int, int | None], None]


@dataclass
class StageRun:
    """One run of one stage: its name, its parameters, and the facts it collects on the way.

    `folder` is where questions, predictions, scores, the report, facts and checkpoints of the run are; a path in it is
    named in the facts from there. Everything else is read in the current folder, the project.
    """

    name: str
    params: Params
    # The share of the work that this run does; it writes no artifact then, only its part of the checkpoint.
    shard: Shard | None = None
    folder: Path = Path()
    rows_in: int = 0
    rows_out: int = 0
    rows_rejected: int = 0
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    # Called with what is done, how many of these, and of how many; without it, lines are logged.
    show: Show | None = None

    @property
    def item(self) -> str:
        """Name after the @ of the stage's name: a dataset, a tool, a recipe."""
        return self.name.partition("@")[2]

    def reads(self, *paths: Path) -> None:
        self.inputs.extend(map(self._named, paths))

    def writes(self, *paths: Path) -> None:
        self.outputs.extend(map(self._named, paths))

    def _named(self, path: Path) -> str:
        return (path.relative_to(self.folder) if path.is_relative_to(self.folder) else path).as_posix()

    @contextlib.contextmanager
    def run_resumable(
        self,
        cache_key: Mapping[str, Any],
        units: int | Sequence[str],
        compute: Callable[[Sequence[int]], Iterable[tuple[int, Any]]],
        unit: str,
        size: Callable[[int], int] = lambda number: 1,
        lasts: Callable[[Any], bool] = lambda value: True,
    ) -> Iterator[Iterable[Any] | None]:
        """The values of all units in order: those that an earlier run recorded, and the others, computed now.

        `cache_key` is all that decides the values. `units` is their number, or the key of each, by which a later run
        with others finds it. `compute` gives the values of the numbers asked for in any order; each is recorded at
        once in the checkpoint of this key, unless it does not last: a later run computes it again. Messages count
        `unit`s, such as "texts", of which a unit has `size`. The checkpoint is removed when the block ends without an
        error. A shard computes its share and gets None: only the run that publishes has all values.
        """
        keys = None if isinstance(units, int) else units
        count = units if isinstance(units, int) else len(units)
        with Checkpoint(
            self.name, cache_key, self.shard, self.folder / paths.CHECKPOINTS, keys
        ) as checkpoint:
            todo = checkpoint.todo(count)
            if recorded := sum(map(size, checkpoint)):
                log.info("%d of %d %s were done before", recorded, sum(map(size, range(count))), unit)
            progress = StageProgress(unit, sum(map(size, todo)), self.show)
            passing = dict[int, Any]()
            for number, value in compute(todo):
                if lasts(value):
                    checkpoint.add(number, value)
                else:
                    passing[number] = value
                progress.add(size(number))
            if self.shard:
                yield None
            else:
                yield (passing[it] if it in passing else checkpoint[it] for it in range(count))
                checkpoint.remove()

    def count(self, rows_in: int, rows_out: int, rejected: int = 0) -> None:
        """Account for the rows. Raises NightjarError unless rows in = rows out + rows rejected."""
        if rows_in != rows_out + rejected:
            what = f"{rows_in} rows went in, but {rows_out} came out and {rejected} were rejected"
            raise NightjarError(what, self.name, "this is a fault of the stage: please report it")
        self.rows_in, self.rows_out, self.rows_rejected = rows_in, rows_out, rejected


class StageProgress:
    """Shows how many of `total` units are done; without `show` it logs them, about ten times and at the end."""

    def __init__(self, unit: str, total: int, show: Show | None = None) -> None:
        self.unit, self.total, self.done, self.show = unit, total, 0, show
        if show:
            show(unit, 0, total)

    def add(self, number: int = 1) -> None:
        before, self.done = self.done, self.done + number
        if self.show:
            self.show(self.unit, self.done, self.total)
        elif self.done >= self.total or self.done * 10 // self.total > before * 10 // self.total:
            log.info("%d of %d %s", self.done, self.total, self.unit)


def _facts(stage: StageRun, packages: tuple[str, ...], model: bool) -> Mapping[str, Any]:
    """The facts of a run; with `model`, a model ran, and the machine is among them."""
    return {
        "stage": stage.name,
        "inputs": stage.inputs,
        "outputs": stage.outputs,
        # What the checks hold the artifacts against later, whatever became of them.
        "tables": {
            path: artifact_rules.inventory(stage.folder / path)
            for path in stage.outputs
            if artifact_rules.is_artifact(stage.folder / path)
        },
        "rows_in": stage.rows_in,
        "rows_out": stage.rows_out,
        "rows_rejected": stage.rows_rejected,
        **({"seed": stage.params.seed} if "seed" in vars(stage.params) else {}),
        "versions": {name: version(name) for name in ("nightjar", *packages)},
        # Only the report reads the facts of these stages, so no other stage runs again on another machine.
        **({"machine": machine.describe()} if model else {}),
        **stage.details,
    }


def main(
    folder: str,
    run: Callable[[StageRun], None],
    packages: tuple[str, ...] = ("pyarrow",),
    threads: bool = False,
    shards: bool = False,
    benchmarks: bool = False,
) -> None:
    """Run a stage from its `__main__.py` and exit: 0 if all is well, 2 with one line on bad input.

    An item follows the stage's name where dvc.yaml has items for it. `packages` are those whose versions belong to the
    facts. With `threads`, the stage runs models (`before_models`). With `shards`, `--shard I/N`
    may follow: the run does that share of the work and writes neither artifact nor facts. With `benchmarks`, the stage
    works for one, and the settings of all are checked before. The stage sees the settings alone that dvc.yaml declares
    for it.
    """
    protect()
    startup.collect_seldom()
    log_to_stderr()
    started = time.monotonic()
    name, shard = folder, None
    try:
        arguments = sys.argv[1:]
        if shards and len(arguments) > 1 and arguments[-2] == "--shard":
            shard = Shard.parse(arguments[-1])
            arguments = arguments[:-2]
        params = params_module.load()
        allowed = stage_items.items(params).get(folder)
        if bool(arguments) if allowed is None else len(arguments) != 1 or arguments[0] not in allowed:
            expected = "no argument" if allowed is None else f"one of {', '.join(allowed)}"
            raise NightjarError(
                f"{' '.join(arguments)!r} is not allowed", f"stages.{folder}", f"give {expected}"
            )
        name = folder if allowed is None else f"{folder}@{arguments[0]}"
        if benchmarks:
            from nightjar.benchmarks import registry  # it takes long to load, and most stages do without it

            registry.check(params)
        stage = StageRun(name, declared_view(params, name), shard)
        if not sys.stderr.isatty():
            os.environ.setdefault("TQDM_DISABLE", "1")  # redraws of a bar are noise in a log
        if threads:
            before_models(params)
            os.environ["HF_HUB_OFFLINE"] = "1"
        carry_out(stage, run, packages, threads)
    except NightjarError as error:
        _fail(error)
    except OSError as error:
        reported = from_os_error(error, name)
        if reported is None:
            raise
        _fail(reported)
    if not shard and not os.environ.get(history.TIMED):
        history.append(Path(), name, time.monotonic() - started)


def before_models(params: Params) -> None:
    """Set the threads of numerical libraries, before they are loaded: the order of floating-point sums depends on it,
    and so do the bytes of a trained model.
    """
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(params.threads)))
    os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_DISABLE_TELEMETRY="1")


def carry_out(
    stage: StageRun, run: Callable[[StageRun], None], packages: tuple[str, ...], models: bool
) -> None:
    """Run a stage and write its facts; with `models`, the machine is among them. A shard has no facts."""
    started = time.monotonic()
    run(stage)
    if stage.shard:
        log.info("%s: shard %s done, %.1f s", stage.name, stage.shard, time.monotonic() - started)
        return
    facts = json.dumps(_facts(stage, packages, models), indent=2, sort_keys=True) + "\n"
    write_text(stage.folder / paths.metrics_file(stage.name), facts)
    counts = f"{stage.rows_in} rows in, {stage.rows_out} out, {stage.rows_rejected} rejected"
    log.info("%s: %s, %.1f s", stage.name, counts, time.monotonic() - started)


def _fail(error: NightjarError) -> NoReturn:
    print(f"nightjar: {error}", file=sys.stderr)
    raise SystemExit(2)
