"""Studies: one command runs the same graph at several values of one setting, each as a DVC experiment.

A point's experiment has a name made of the study, the value and a digest of all that decides its result (commit,
changed files, parameters, target). A second start finds the experiments that are done and runs the rest. Grids are
those of the paper (facts 1.8 and 1.11: table 4, figure 5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from nightjar.core.config import LARGEST, MOST_SHOWN, PARAMS_FILE, parse, read_text
from nightjar.core.errors import NightjarError
from nightjar.core.params import Params, validate
from pipelines.clone.baseline import Baseline, baseline
from pipelines.clone.workspace import Ran, Workspace, remove, saved
from pipelines.execution.profiles import edited
from pipelines.graph import graph as graphs
from pipelines.process.lock import rebuild_lock
from pipelines.project import places
from pipelines.study import kinds as study_kinds
from pipelines.study import scores as study_scores

SPLIT, INGEST = Path("data/split"), Path("data/ingest")
# Weights that no stage of the graph trained.
BASE = Path("models/base")
LOGS = places.STUDY_LOGS
PUBLISHED = {
    "tasks": (8, 32, 128, 256, 512, 757),
    "instances": (8, 32, 64, 128, 256, 512),
}
# Toolformer's table 9 (facts 3.11): a call starts where its marker is among so many of the likeliest tokens.
CALLS = ("0", "1", "3", "10")
# Tk-Instruct's mixed training is an encoding to train with only.
MIXED = "tk_instruct"
ENCODINGS = ("def", "pos2", "def_pos2", "def_pos2_neg2", "def_pos2_neg2_expl", MIXED)

MODELS = "give directories, hub:NAME or package:NAME"

Flags = Mapping[str, Mapping[str, Any]]


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
    """What is to be run: the points in the order of the runs, each after the one it is compared with.

    Everything that a point's name is made from is fixed here: later changes of the project do not reach its run.
    """

    kind: str
    benchmark: str
    recipe: str
    # The folder of its results, unless another is named.
    name: str
    start: Baseline
    # The text of params.yaml, and the hashes of the inputs that Git does not have.
    params: str
    inputs: Mapping[str, str]
    points: tuple[Point, ...]

    @property
    def target(self) -> str:
        """The last stage that every point runs."""
        return f"predict@{self.benchmark}-{self.recipe}"

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
    encodings: Flags | None = None,
    weights: Callable[[Path], str] | None = None,
    benchmark: str | None = None,
) -> Study:
    """The study of `values` (none: the published grid, as far as the data allow). Runs nothing.

    `benchmark` is the first of the parameters if none is given, `recipe` the first system of it that was trained, for
    the kinds of `study_kinds` as `default_system` says.
    `encodings` gives the flags of every named encoding, `weights` the sha256 of a model directory. Raises NightjarError
    for a value that is not available, an unknown benchmark, a recipe without a prediction stage and a missing input.
    """
    start = baseline(root)
    text = read_text(root / PARAMS_FILE)
    checked = validate(parse(text, root / PARAMS_FILE))
    benchmark, recipe, parts = _chosen(checked, kind, benchmark, recipe)
    params = checked.model_dump(mode="json")
    _need_once(values, "--values")
    _need_once(evaluated, "--evaluated")
    if evaluated and kind != "encodings":
        raise NightjarError("only a study of encodings has it", "--evaluated", "leave it out")
    if kind in ("tasks", "instances"):
        made = _counts(root, kind, values, str(params["split"]["track"]))
    elif kind == "calls":
        made = _calls(values or CALLS, benchmark)
    elif kind == "models":
        made = _models(root, values, weights)
    elif kind in study_kinds.KINDS:
        key = study_kinds.key_of(params, kind, benchmark, recipe)
        made = _one_key(root, kind, values, text, key, study_kinds.cleared(params, kind, benchmark))
    else:
        made = _encodings(values, evaluated, encodings or {}, benchmark)
    target = f"predict@{benchmark}-{recipe}"
    if "dvc.yaml" not in start.known:
        raise NightjarError("not in Git", root / "dvc.yaml", "commit it: a study works in a clone")
    inputs = graphs.inputs(root, target, start.known | {PARAMS_FILE.as_posix()})
    points = []
    for label, axes, settings, against in made:
        whole = [start.digest, inputs, target, _overlaid(params, settings)]
        digest = sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:10]
        slug = re.sub(r"[^A-Za-z0-9_]+", "-", "-on-".join(axes)).strip("-_").lower()[-60:].lstrip("-_")
        points.append(Point(label, axes, settings, f"{kind}-{slug}-{digest}", against))
    name = "-".join([kind, *parts])
    return Study(kind, benchmark, recipe, name, start, text, inputs, tuple(points))


def _chosen(
    params: Params, kind: str, benchmark: str | None, recipe: str | None
) -> tuple[str, str, list[str]]:
    """The benchmark and the recipe, and those of both that are not the default."""
    names = list(params.benchmarks)
    if not names:
        raise NightjarError("there are no benchmarks", PARAMS_FILE, "add one to the group benchmarks")
    if benchmark is not None and benchmark not in names:
        what = f"no benchmark {_short(benchmark)!r}"
        raise NightjarError(what, "--benchmark", f"params.yaml has: {', '.join(names)}")
    benchmark = benchmark or names[0]
    systems = [one for one in params.predict.systems.values() if one.benchmark == benchmark]
    default = next((one.system for one in systems if Path(one.weights).parent != BASE), None)
    if kind in study_kinds.KINDS:
        listed = [one.model_dump() for one in systems]
        default = study_kinds.default_system(kind, listed, benchmark) or default
    recipe = recipe or default
    if recipe is None:
        what = f"no system of {benchmark} is trained"
        raise NightjarError(what, "--recipe", "name one of predict.systems")
    others = [name for name, usual in ((benchmark, names[0]), (recipe, default)) if name != usual]
    return benchmark, recipe, others


Made = list[tuple[str, tuple[str, ...], dict[str, Any], str | None]]


def _counts(root: Path, kind: str, values: Sequence[str], track: str) -> Made:
    """Numbers of training tasks, or of instances of each; ascending, compared with the smallest."""
    numbers = sorted(_number(value) for value in values)
    _need_once([str(number) for number in numbers], "--values")
    tasks = {
        row["task_id"]
        for row in tables.read_rows(root / SPLIT, contracts.SPLIT_TASKS)
        if row["track"] == track and row["role"] == "train"
    }
    tasks -= {part for part, rows in tables.part_rows(root / SPLIT, contracts.DEV).items() if rows}
    if kind == "tasks":
        key, there, of = "split.train_tasks", len(tasks), "training tasks"
    else:
        rows = tables.part_rows(_ingested(root), contracts.INSTANCES)
        key, of = "split.train_instances_per_task", "instances in the largest training task"
        there = max((rows.get(task, 0) for task in tasks), default=0)
    if not numbers:
        numbers = [value for value in PUBLISHED[kind] if value <= there]
        if kind == "tasks" and there and there not in numbers:
            numbers.append(there)  # the published grid ends with all of them, too
    if not numbers or numbers[-1] > there:
        what = f"{numbers[-1] if numbers else PUBLISHED[kind][0]} is more than there is"
        raise NightjarError(what, "--values", f"there are {there} {of}")
    first = str(numbers[0])
    return [
        (str(number), (str(number),), {key: number}, None if str(number) == first else first)
        for number in numbers
    ]


def _one_key(
    root: Path, kind: str, values: Sequence[str], text: str, key: str, cleared: Mapping[str, None]
) -> Made:
    """The values of one key, compared with the first; `cleared` holds for all of them.

    Raises NightjarError for a value that is not allowed.
    """
    found = study_kinds.values_of(root, kind, values, _number)
    if len(found) < len(values):
        _need_once([str(_number(value)) for value in values], "--values")
    for value in found.values():
        edited(text, {key: value, **cleared})
    first = next(iter(found))
    return [
        (label, (label,), {key: value, **cleared}, None if label == first else first)
        for label, value in found.items()
    ]


def _calls(values: Sequence[str], benchmark: str) -> Made:
    """How many of the likeliest next tokens may start a call; ascending, compared with the smallest. 0: no calls."""
    numbers = sorted(0 if value.strip("0") == "" and value else _number(value) for value in values)
    _need_once([str(number) for number in numbers], "--values")
    first, key = str(numbers[0]), f"predict.{benchmark}.call_top_k"
    return [
        (str(number), (str(number),), {key: number}, None if str(number) == first else first)
        for number in numbers
    ]


def _ingested(root: Path) -> Path:
    """The artifact of the dataset of tasks. Raises NightjarError if there is none."""
    found = sorted((root / INGEST).glob(f"*/{contracts.INSTANCES.name}"))
    if not found:
        raise NightjarError("no ingested instances", root / INGEST, "run nightjar rebuild split")
    return found[0].parent


def _number(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not value.strip("0"):
        what = f"{_short(value)!r} is not a number"
        raise NightjarError(what, "--values", "give numbers from 1, such as 4,8,16")
    if len(value.lstrip("0")) > len(str(LARGEST)):  # Python refuses to read thousands of digits
        raise NightjarError(f"{_short(value)} is more than there is", "--values", f"the most is {LARGEST}")
    return int(value)


def _need_once(values: Sequence[str], option: str) -> None:
    if doubled := sorted({value for value in values if list(values).count(value) > 1}):
        raise NightjarError(f"{_short(doubled[0])} is given twice", option, "give every value once")


def _short(value: str) -> str:
    """So much of a value as fits into a line."""
    return value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}…"


def _models(root: Path, values: Sequence[str], weights: Callable[[Path], str] | None) -> Made:
    """Language models in the order given, compared with the first. The weights of a directory are pinned."""
    if not values:
        raise NightjarError("no models", "--values", MODELS)
    made: Made = []
    for value in values:
        kind, _, name = value.partition(":")
        source, pinned = value, None
        if kind not in ("hub", "package"):
            folder = root / value
            if not _is_file(folder / "config.json"):
                raise NightjarError("no model there (no config.json)", _short(value), MODELS)
            source, pinned = str(folder.resolve()), weights(folder) if weights else None
        elif not name:
            raise NightjarError(f"{value} names no model", "--values", MODELS)
        settings = {"models.language_model.source": source, "models.language_model.sha256": pinned}
        made.append((value, (value,), settings, None if value == values[0] else values[0]))
    return made


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or with a zero byte
        return False


def _encodings(values: Sequence[str], evaluated: Sequence[str], flags: Flags, benchmark: str) -> Made:
    """Trained with × evaluated with. A training's own encoding (or the first) comes first, for comparison."""
    trained = tuple(values) or ENCODINGS
    tested = tuple(evaluated) or tuple(name for name in trained if name != MIXED)
    for name in (*trained, *tested):
        if name not in flags:
            raise NightjarError("no such encoding", repr(_short(name)), f"encodings are {', '.join(flags)}")
    if not tested or MIXED in tested:
        what = f"{MIXED} draws its encodings: there is none to evaluate with"
        raise NightjarError(what, "--evaluated", "name others, such as --evaluated def,def_pos2")
    made: Made = []
    for training in trained:
        own = training if training in tested else tested[0]
        for testing in (own, *(name for name in tested if name != own)):
            settings = {f"encoding.{key}": value for key, value in flags[training].items()}
            settings[f"predict.{benchmark}.encoding"] = testing
            against = None if testing == own else f"{training} on {own}"
            made.append((f"{training} on {testing}", (training, testing), settings, against))
    return made


def _overlaid(params: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(params))
    for key, value in settings.items():
        *groups, last = key.split(".")
        group = whole
        for name in groups:
            group = group[name]
        group[last] = value
    return whole


def run(root: Path, study: Study, tell: Callable[[str], None], wait: bool = False) -> dict[str, str]:
    """Run the points that are missing, one after another; returns those that failed with the reason.

    `tell` hears a line for every step. A point that fails does not stop the others. Raises NightjarError if a
    rebuild or another study is running and `wait` is not set.
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
                ran = _run(root, workspace, study, point, tell)
                if ran.code:
                    log = LOGS / f"{point.name}.log"
                    failed[point.label] = f"{ran.error} (see {log})"
                    tell(f"    failed: {failed[point.label]}")
                else:
                    tell(f"    {_summary(ran)}, {ran.seconds:.1f} s")
    return failed


def _run(root: Path, workspace: Workspace, study: Study, point: Point, tell: Callable[[str], None]) -> Ran:
    log = root / LOGS / f"{point.name}.log"
    log.unlink(missing_ok=True)
    params = edited(study.params, point.settings)
    if error := _moved(workspace, study):
        return Ran(2, 0.0, {}, error)
    ran = workspace.repro(
        study.target,
        params,
        log,
        begun=lambda stage: tell(f"    {stage} …"),
        waits=lambda stage, message: tell(f"    {stage} {message}"),
    )
    if ran.code == 0 and (error := _moved(workspace, study)):
        return Ran(2, ran.seconds, ran.stages, error)
    if ran.code == 0:
        settings = ", ".join(f"{key}={value}" for key, value in point.settings.items())
        workspace.save(point.name, study.target, f"nightjar study {study.kind}: {settings}", log)
    return ran


def _moved(workspace: Workspace, study: Study) -> str:
    """What is wrong if an input is no longer what the points are named after; empty if all are."""
    try:
        now = workspace.inputs(study.target)
    except NightjarError as error:
        return str(error)
    moved = sorted(path for path in {*now, *study.inputs} if now.get(path) != study.inputs.get(path))
    return f"{moved[0]} changed since the study was started; start it again" if moved else ""


def _summary(ran: Ran) -> str:
    states: dict[str, list[str]] = {}
    for stage, state in ran.stages.items():
        states.setdefault(state, []).append(stage)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "nothing to run"
