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
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE, parse, read_text
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown
from nightjar.core.params import Params, validate
from pipelines.clone.baseline import Baseline, baseline
from pipelines.clone.workspace import Workspace, remove, saved
from pipelines.execution.profiles import edited
from pipelines.execution.results import Result
from pipelines.graph import graph as graphs
from pipelines.process.lock import rebuild_lock
from pipelines.project import places
from pipelines.project.stage_name import StageName
from pipelines.study import kinds as study_kinds
from pipelines.study import scores as study_scores


@dataclass(frozen=True)
class Point:
    """One experiment of a study: its value as shown, what it sets, its name, and the point it is compared with.

    `axes` is the value alone, or (trained with, evaluated with).
    """

    label: str
    axes: tuple[str, ...]
    settings: Mapping[str, Any]
    name: str
    against: str | None


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
        done = saved(root, self.start.commit, [point.name for point in self.points])
        return [
            point
            for point in self.points
            if point.name not in done or not study_scores.is_there(root, done[point.name], self)
        ]


def plan(
    root: Path,
    kind: str,
    values: Sequence[str],
    recipe: str | None = None,
    evaluated: Sequence[str] = (),
    encodings: study_kinds.Flags | None = None,
    weights: Callable[[Path], str] | None = None,
    benchmark: str | None = None,
) -> Study:
    """The study of `values` (none: the published grid, as far as the data allow). Runs nothing.

    `benchmark` is the first of the parameters if none is given, `recipe` that of `kinds.default_system`. `encodings`
    has the flags of every named encoding, `weights` returns the sha256 of a model directory. Raises NightjarError for a
    value that is not available, an unknown benchmark, a recipe without a prediction stage and a missing input.
    """
    start = baseline(root)
    text = read_text(root / PARAMS_FILE)
    params = validate(parse(text, root / PARAMS_FILE)).model_dump(mode="json")
    benchmark, recipe, parts = _chosen(params, kind, benchmark, recipe)
    if evaluated and kind != "encodings":
        raise NightjarError("only a study of encodings has it", "--evaluated", "leave it out")
    if kind == "encodings":
        chosen = study_kinds.encodings(values, evaluated, encodings or {}, benchmark)
    elif kind == "models":
        chosen = study_kinds.models(root, values, weights)
    else:
        chosen = study_kinds.choices(root, kind, params, benchmark, recipe, values)
    if "dvc.yaml" not in start.known:
        raise NightjarError("not in Git", root / "dvc.yaml", "commit it: a study works in a clone")
    target = str(StageName.predict(benchmark, recipe))
    inputs = graphs.inputs(root, target, start.known | {PARAMS_FILE.as_posix()})
    points = []
    for it in chosen:
        whole = study_kinds.overlaid(params, it.settings)
        validate(whole)
        decides = json.dumps([start.digest, inputs, target, whole], sort_keys=True)
        digest = sha256(decides.encode()).hexdigest()[:10]
        slug = re.sub(r"[^A-Za-z0-9_]+", "-", "-on-".join(it.axes)).strip("-_").lower()[-60:].lstrip("-_")
        points.append(Point(it.label, it.axes, it.settings, f"{kind}-{slug}-{digest}", it.against))
    return Study(kind, benchmark, recipe, "-".join([kind, *parts]), start, text, inputs, tuple(points))


def _chosen(
    params: Mapping[str, Any], kind: str, benchmark: str | None, recipe: str | None
) -> tuple[str, str, list[str]]:
    """The benchmark and the recipe, and those of both that are not the default."""
    names = list(params["benchmarks"])
    if not names:
        raise NightjarError("there are no benchmarks", PARAMS_FILE, "add one to the group benchmarks")
    if benchmark is not None and benchmark not in names:
        what = f"no benchmark {shown(benchmark)}"
        raise NightjarError(what, "--benchmark", f"params.yaml has: {', '.join(names)}")
    benchmark = benchmark or names[0]
    default = study_kinds.default_system(kind, list(params["predict"]["systems"].values()), benchmark)
    recipe = recipe or default
    if recipe is None:
        what = f"no system of {benchmark} is trained"
        raise NightjarError(what, "--recipe", "name one of predict.systems")
    others = [name for name, usual in ((benchmark, names[0]), (recipe, default)) if name != usual]
    return benchmark, recipe, others


def run(root: Path, study: Study, tell: Callable[[str], None], wait: bool = False) -> dict[str, str]:
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
        with Workspace(root, study.start) as workspace:
            for number, point in enumerate(missing, start=1):
                tell(f"[{number}/{len(missing)}] {study.kind}: {point.label} ({point.name})")
                began = time.monotonic()
                logs = root / places.STUDY_LOGS / point.name
                if error := _run(workspace, study, point, logs, tell):
                    failed[point.label] = f"{error} (see {logs.relative_to(root)})"
                    tell(f"    failed: {failed[point.label]}")
                else:
                    tell(f"    {time.monotonic() - began:.1f} s")
    return failed


def _run(workspace: Workspace, study: Study, point: Point, logs: Path, tell: Callable[[str], None]) -> str:
    """Run a point and save its experiment, unless a stage fails or an input changes; returns why not."""

    begun: set[str] = set()

    def listen(result: Result) -> None:
        if result.state == "waiting":
            tell(f"    {result.stage} {result.why}")
        elif result.lines and result.stage not in begun:
            begun.add(result.stage)
            tell(f"    {result.stage} …")
        elif result.moved:
            tell(f"    {result.stage}: {result.state}, {result.seconds:.1f} s")

    if error := _moved(workspace, study):
        return error
    stop = threading.Event()
    results = workspace.run(study.target, edited(study.params, point.settings), logs, listen, stop)
    if bad := [result for result in results.values() if result.state == "failed"]:
        return f"{bad[0].stage}: {bad[0].error}"
    if error := _moved(workspace, study):
        return error
    settings = ", ".join(f"{key}={value}" for key, value in point.settings.items())
    message = f"nightjar study {study.kind}: {settings}"
    workspace.save(point.name, study.target, message, logs / "exp-save.log", stop)
    return ""


def _moved(workspace: Workspace, study: Study) -> str:
    """What is wrong if an input is no longer what the points are named after; empty if all are."""
    try:
        now = workspace.inputs(study.target)
    except NightjarError as error:
        return str(error)
    moved = sorted(path for path in {*now, *study.inputs} if now.get(path) != study.inputs.get(path))
    return f"{moved[0]} changed since the study was started; start it again" if moved else ""
