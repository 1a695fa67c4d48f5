"""Studies: one command runs the same graph at several values of some settings, each point as a DVC experiment.

The name of a point's experiment is made of the settings, their values and a digest of all that decides its result
(commit, changed files, parameters, inputs, target). A second start runs the points that have no experiment.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nightjar.benchmarks import registry
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, parse, read_text
from nightjar.core.display import counted_as, first_few
from nightjar.core.errors import NightjarError
from nightjar.core.files import write_text
from nightjar.params import validate
from nightjar.params.profile_values import put
from pipelines.graph import repository as graphs
from pipelines.process.lock import rebuild_lock
from pipelines.project.git import Baseline, baseline
from pipelines.project.names import StageName
from pipelines.run.clone import Clone, remove, saved
from pipelines.run.context import RunContext
from pipelines.run.profiles import EVERY_KEY, edited
from pipelines.run.results import End, Result
from pipelines.run.run import Run
from pipelines.study import point_results
from pipelines.study.settings import StudyAxis, axes, chosen, label, settings


@dataclass(frozen=True)
class Point:
    """A point of a study: its value on each axis and as it is shown, what it sets, the hashes of the inputs that Git
    does not have, and the name of its experiment.
    """

    values: Mapping[str, Any]
    label: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, str]
    name: str


@dataclass(frozen=True)
class Study:
    """A study: the points in their order. Each is compared with the first.

    Everything that a point's name is made from is fixed here: later changes of the project do not reach its run.
    `folder` is that of its results, and `params` the text of params.yaml.
    """

    axes: tuple[StudyAxis, ...]
    benchmark: str
    recipe: str
    name: str
    folder: str
    start: Baseline
    params: str
    points: tuple[Point, ...]

    @property
    def target(self) -> str:
        """The last stage that every point runs."""
        return str(StageName.predict(self.benchmark, self.recipe))

    def missing(self, root: Path) -> list[Point]:
        """The points without an experiment, or whose files DVC no longer has."""
        done = saved(root, self.start.commit, [it.name for it in self.points])
        return [
            it
            for it in self.points
            if it.name not in done or not point_results.is_there(root, done[it.name], self)
        ]


def plan(
    root: Path,
    words: Sequence[str],
    benchmark: str | None = None,
    recipe: str | None = None,
    name: str | None = None,
) -> Study:
    """The study of `words`, which `settings.axes` reads: the product of their values. Runs nothing.

    Raises NightjarError for an unknown key, a value that the parameters refuse, a missing input, if no system of
    `benchmark` and `recipe` depends on the settings, and if a file in the folder `name` must not be written.
    """
    varied, start = axes(words), baseline(root)
    text = read_text(root / PARAMS_FILE)
    params = validate(parse(text, root / PARAMS_FILE))
    present, graph = params.model_dump(mode="json"), graphs.outline(root)
    system = chosen(graph, params, varied, benchmark, recipe)
    target = str(StageName.predict(system.benchmark, system.system))
    names = [*(it.partition("=")[0].strip() for it in words), *filter(None, (benchmark, recipe))]
    title = "-".join(names)[:200]
    point_results.check_folder(root, name or title)
    grid = [dict(zip(varied, values, strict=True)) for values in product(*(axis.values for axis in varied))]
    sets = [settings(root, graph, start.tracked_paths, params, values, system) for values in grid]
    all_settings = [deepcopy(present) for _ in sets]
    for settings_at_point, assigned in zip(all_settings, sets, strict=True):
        put(settings_at_point, assigned, "study", EVERY_KEY)
        registry.check(validate(settings_at_point, "study"), "study")
    points = []
    for values, assigned, settings_at_point, read in zip(
        grid, sets, all_settings, _inputs(root, start, target, text, sets), strict=True
    ):
        decides = json.dumps([start.digest, read, target, settings_at_point], sort_keys=True, default=str)
        digest = sha256(decides.encode()).hexdigest()[:10]
        slug = re.sub(r"[^a-z0-9_]+", "-", f"{title[:60]}-{label(values)[-60:]}".lower()).strip("-")
        at = {axis.name: value for axis, value in values.items()}
        points.append(Point(at, label(values), assigned, read, f"{slug}-{digest}"))
    return Study(
        tuple(varied), system.benchmark, system.system, title, name or title, start, text, tuple(points)
    )


def _inputs(
    root: Path, start: Baseline, target: str, params: str, grid: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """The hashes of each point's inputs. A setting with a text may be a path in the graph: then DVC reads the graph of
    each point, in a clone that is made for this.
    """
    if not any(isinstance(it, str | list | dict) for sets in grid for it in sets.values()):
        return [graphs.inputs(root, target, start.tracked_paths | {PARAMS_FILE.as_posix()})] * len(grid)
    hashes = []
    with ExitStack() as opened:
        clone = Clone(root, start)
        clone.shared = ()
        clone.folder = clone.path = (
            Path(opened.enter_context(TemporaryDirectory(prefix="nightjar-"))) / "clone"
        )
        opened.enter_context(clone)
        for sets in grid:
            write_text(clone.path / PARAMS_FILE, edited(params, sets))
            hashes.append(clone.inputs(target))
    return hashes


def run(
    root: Path,
    study: Study,
    say: Callable[[str], None],
    execute: Callable[[Run], dict[str, Result]],
    stop: threading.Event,
    wait: bool = False,
) -> dict[str, str]:
    """Run the points that are missing, one after another, until `stop` is set; returns those that failed with the
    reason.

    `say` gets a line for every step, and `execute` runs the stages of a run. A point that fails does not stop the
    others. Raises NightjarError if a rebuild or another study is running and `wait` is not set.
    """
    failed: dict[str, str] = {}
    with rebuild_lock(root, wait, stop):
        remove(root)
        missing = study.missing(root)
        say(f"{len(study.points)} experiments, {len(study.points) - len(missing)} of them done already")
        if not missing:
            return failed
        if names := [name for name in study.start.untracked if name != "dvc.lock"]:
            say(f"Not in Git, so not in the study: {first_few(names)}")
        with Clone(root, study.start) as clone:
            for number, point in enumerate(missing, start=1):
                if stop.is_set():
                    break
                say(f"[{number}/{len(missing)}] {point.label} ({point.name})")
                began = time.monotonic()
                logs = root / paths.STUDY_LOGS / point.name
                try:
                    _run(clone, study, point, logs, say, execute, stop)
                    say(f"    {time.monotonic() - began:.1f} s")
                except NightjarError as error:
                    failed[point.label] = f"{error} (see {logs.relative_to(root)})"
                    say(f"    failed: {failed[point.label]}")
    return failed


def _run(
    clone: Clone,
    study: Study,
    point: Point,
    logs: Path,
    say: Callable[[str], None],
    execute: Callable[[Run], dict[str, Result]],
    stop: threading.Event,
) -> None:
    """Run a point and save its experiment. Raises NightjarError if a stage fails or an input changes, or at a stop."""
    begun: set[str] = set()

    def listen(result: Result) -> None:
        if result.state == "waiting":
            say(f"    {result.stage} {result.why}")
        elif result.lines and result.stage not in begun:
            begun.add(result.stage)
            say(f"    {result.stage} …")
        elif result.changed:
            say(f"    {result.stage}: {result.state}, {result.seconds:.1f} s")

    params = edited(study.params, point.settings)
    write_text(clone.path / PARAMS_FILE, params)
    _check_inputs(clone, study, point)
    results = clone.run(execute, study.target, params, logs, listen, stop)
    if stop.is_set():
        raise NightjarError("stopped", point.label, "start the study again")
    if bad := next((it for it in results.values() if it.state == "failed"), None):
        raise NightjarError(bad.error, bad.stage, "correct it and start the study again")
    _check_inputs(clone, study, point)
    message = "nightjar study " + " ".join(f"{key}={value}" for key, value in point.settings.items())
    clone.save(point.name, study.target, message, logs / "exp-save.log", stop)


def _check_inputs(clone: Clone, study: Study, point: Point) -> None:
    """Raise NightjarError if an input is no longer what the point is named after."""
    now = clone.inputs(study.target)
    if changed := sorted(path for path, _ in now.items() ^ point.inputs.items()):
        raise NightjarError("it changed since the study was started", changed[0], "start the study again")


def run_study(
    context: RunContext,
    settings: Sequence[str],
    benchmark: str | None,
    recipe: str | None,
    wait: bool,
) -> End:
    """Run a study: see flows.study. A command gives the plan, what is called with each line, and a dictionary for the
    results, as `prepared`.

    Raises NightjarError for a setting that is not available.
    """
    study, say, results_of_study = context.prepared or (
        plan(context.root, settings, benchmark, recipe),
        context.log,
        dict[str, Any](),
    )
    context.name(f"{counted_as(len(study.points), 'point')} of {' '.join(settings)}")
    failed = run(context.root, study, say, context.stages, context.stop, wait)
    if context.stop.is_set():
        return End("cancelled", "stopped; the points that are done are kept")
    results_of_study.update(finish(context.root, study, failed))
    done = len(study.points) - len(failed)
    return End(
        "failed" if failed else "completed", f"{done} of {counted_as(len(study.points), 'point')} done"
    )


def finish(root: Path, study: Study, failed: Mapping[str, str]) -> dict[str, Any]:
    """Collect and write the results of a study; returns them, with their folder."""
    commits = saved(root, study.start.commit, [point.name for point in study.points])
    result = point_results.collect(root, study, commits, failed)
    return result | {"folder": point_results.write(root, study.folder, result).relative_to(root)}
