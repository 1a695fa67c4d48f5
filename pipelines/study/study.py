"""Studies: one command runs the same graph at several values of one setting, each as a DVC experiment.

The name of a point's experiment is made of the study, the value and a digest of all that decides its result (commit,
changed files, parameters, target). A second start finds the experiments that are done and runs the rest.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from nightjar.core.config import PARAMS_FILE, parse, read_text
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown
from nightjar.core.params import Params, validate
from pipelines.clone.baseline import Baseline, baseline
from pipelines.clone.clone import Clone, remove, saved
from pipelines.execution.profiles import edited, put
from pipelines.execution.results import Result
from pipelines.graph import graph as graphs
from pipelines.process.lock import rebuild_lock
from pipelines.project import places
from pipelines.project.stage_name import StageName
from pipelines.run.run import Run
from pipelines.study.kinds import Point, default_system, points
from pipelines.study.scores import is_there


@dataclass(frozen=True)
class Study:
    """What a study runs: the points in the order of the runs, each after the one it is compared with.

    Everything that a point's name is made from is fixed here: later changes of the project do not reach its run.
    `name` is the folder of its results unless another is given, `params` the text of params.yaml, and `inputs` has the
    hashes of the inputs that Git does not have.
    """

    kind: str
    benchmark: str
    recipe: str
    name: str
    start: Baseline
    params: str
    inputs: Mapping[str, str]
    points: tuple[Point, ...]

    @cached_property
    def settings(self) -> Params:
        """The parameters."""
        return validate(parse(self.params, PARAMS_FILE))

    @property
    def target(self) -> str:
        """The last stage that every point runs."""
        return str(StageName.predict(self.benchmark, self.recipe))

    def missing(self, root: Path) -> list[Point]:
        """The points without an experiment, or whose files DVC no longer has."""
        done = saved(root, self.start.commit, [it.name for it in self.points])
        return [it for it in self.points if it.name not in done or not is_there(root, done[it.name], self)]


def plan(
    root: Path,
    kind: str,
    values: Sequence[str],
    recipe: str | None = None,
    evaluated: Sequence[str] = (),
    benchmark: str | None = None,
) -> Study:
    """The study of `values` (none: the published grid, as far as the data allow). Runs nothing.

    If none is given, `benchmark` is the first of the parameters that has a system for the study, `recipe` that of
    `kinds.default_system`. Raises NightjarError for a value that is not available, an unknown benchmark, a recipe
    without a prediction stage and a missing input.
    """
    from nightjar.benchmarks import registry

    start = baseline(root)
    text = read_text(root / PARAMS_FILE)
    params = validate(parse(text, root / PARAMS_FILE)).model_dump(mode="json")
    benchmarks = list(params["benchmarks"])
    systems = list(params["predict"]["systems"].values())
    first = next((it for it in benchmarks if default_system(kind, systems, it)), next(iter(benchmarks), ""))
    benchmark = first if benchmark is None else benchmark
    if benchmark not in benchmarks:
        fix = f"params.yaml has: {', '.join(benchmarks)}"
        raise NightjarError(f"no benchmark {shown(benchmark)}", "--benchmark", fix)
    registry.card(benchmark)  # an error of the card is reported before anything runs
    usual = default_system(kind, systems, benchmark)
    recipe = recipe or usual
    if recipe is None:
        what = f"no system of {benchmark} is trained"
        raise NightjarError(what, "--recipe", "name one of predict.systems, or another --benchmark")
    chosen = points(root, kind, params, benchmark, recipe, values, evaluated)
    target = str(StageName.predict(benchmark, recipe))
    inputs = graphs.inputs(root, target, start.known | {PARAMS_FILE.as_posix()})
    named = []
    for point in chosen:
        whole = deepcopy(params)
        put(whole, point.settings, PARAMS_FILE, "name a benchmark, and a recipe, that the setting is for")
        validate(whole)
        decides = json.dumps([start.digest, inputs, target, whole], sort_keys=True)
        digest = sha256(decides.encode()).hexdigest()[:10]
        slug = re.sub(r"[^a-z0-9_]+", "-", "-on-".join(point.axes).lower())[-60:].strip("-")
        named.append(replace(point, name=f"{kind}-{slug}-{digest}"))
    others = [name for name, usually in ((benchmark, first), (recipe, usual)) if name != usually]
    return Study(kind, benchmark, recipe, "-".join([kind, *others]), start, text, inputs, tuple(named))


def run(
    root: Path,
    study: Study,
    tell: Callable[[str], None],
    execute: Callable[[Run], dict[str, Result]],
    wait: bool = False,
) -> dict[str, str]:
    """Run the points that are missing, one after another; returns those that failed with the reason.

    `tell` gets a line for every step. A point that fails does not stop the others. Raises NightjarError if a rebuild or
    another study is running and `wait` is not set.
    """
    failed: dict[str, str] = {}
    with rebuild_lock(root, wait):
        remove(root)
        missing = study.missing(root)
        tell(f"{len(study.points)} experiments, {len(study.points) - len(missing)} of them done already")
        if not missing:
            return failed
        if names := [name for name in study.start.untracked if name != "dvc.lock"]:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            tell(f"Not in Git, so not in the study: {', '.join(names[:3])}{more}")
        with Clone(root, study.start) as clone:
            for number, point in enumerate(missing, start=1):
                tell(f"[{number}/{len(missing)}] {study.kind}: {point.label} ({point.name})")
                began = time.monotonic()
                logs = root / places.STUDY_LOGS / point.name
                try:
                    _run(clone, study, point, logs, tell, execute)
                    tell(f"    {time.monotonic() - began:.1f} s")
                except NightjarError as error:
                    failed[point.label] = f"{error} (see {logs.relative_to(root)})"
                    tell(f"    failed: {failed[point.label]}")
    return failed


def _run(
    clone: Clone,
    study: Study,
    point: Point,
    logs: Path,
    tell: Callable[[str], None],
    execute: Callable[[Run], dict[str, Result]],
) -> None:
    """Run a point and save its experiment. Raises NightjarError if a stage fails or an input changes."""
    begun: set[str] = set()

    def listen(result: Result) -> None:
        if result.state == "waiting":
            tell(f"    {result.stage} {result.why}")
        elif result.lines and result.stage not in begun:
            begun.add(result.stage)
            tell(f"    {result.stage} …")
        elif result.changed:
            tell(f"    {result.stage}: {result.state}, {result.seconds:.1f} s")

    _check_inputs(clone, study)
    stop = threading.Event()
    results = clone.run(execute, study.target, edited(study.params, point.settings), logs, listen, stop)
    if bad := next((it for it in results.values() if it.state == "failed"), None):
        raise NightjarError(bad.error, bad.stage, "correct it and start the study again")
    _check_inputs(clone, study)
    settings = ", ".join(f"{key}={value}" for key, value in point.settings.items())
    message = f"nightjar study {study.kind}: {settings}"
    clone.save(point.name, study.target, message, logs / "exp-save.log", stop)


def _check_inputs(clone: Clone, study: Study) -> None:
    """Raise NightjarError if an input is no longer what the points are named after."""
    now = clone.inputs(study.target)
    if moved := sorted(path for path, _ in now.items() ^ study.inputs.items()):
        raise NightjarError("it changed since the study was started", moved[0], "start the study again")
