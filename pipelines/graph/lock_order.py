"""The order of the entries in dvc.lock: stages that run side by side leave the order of `dvc repro`.

DVC keeps the place of an entry that exists and appends a new one when its stage ends. `remember` records the entries
that a rebuild finds, and `place` gives a new one its place among those that were added since, by DVC's plan. The record
is removed when a rebuild has finished, so a rebuild that was interrupted and then finished leaves the file of a single
one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path

from dvc.repo import Repo
from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
from dvc.stage import PipelineStage
from dvc.utils.serialize import load_yaml

from nightjar.core.files import write_text
from nightjar.core.json_text import recorded
from pipelines.graph.graph import Graph
from pipelines.project import places
from pipelines.project.stage_name import StageName


def remember(graph: Graph, targets: Iterable[str]) -> None:
    """Record the entries that a rebuild of `targets` finds, or that the interrupted rebuild found before."""
    before, found = _record(graph.root), {"targets": list(targets)}
    for name in graph.stages:
        path = graph.root / Path(StageName.of(name).file).with_suffix(".lock")
        file = path.relative_to(graph.root).as_posix()
        if file not in found:
            entries = list(load_yaml(path).get("stages") or ()) if path.is_file() else []
            kept = before.get(file, entries)
            found[file] = kept if entries[: len(kept)] == kept else entries
    write_text(graph.root / places.LOCK_ORDER, json.dumps(found))


def forget(root: Path) -> None:
    """Remove the record: the rebuild has finished."""
    (root / places.LOCK_ORDER).unlink(missing_ok=True)


def place(repo: Repo, path: Path, name: str, names: list[str]) -> int:
    """The index of the new entry `name` among `names`, the entries of the lock file `path`.

    It follows those that were found and those that DVC runs before it. Without a record it is the last.
    """
    root = Path(repo.root_dir)
    record = _record(root)
    found = record.get(path.relative_to(root).as_posix())
    if found is None or names[: len(found)] != found:  # no rebuild, or another dvc.lock
        return len(names)
    rank = _ranks(repo, tuple(record.get("targets", ())))
    own = rank.get((path, name), len(rank))
    later = (at for at in range(len(found), len(names)) if rank.get((path, names[at]), 0) > own)
    return next(later, len(names))


def _record(root: Path) -> dict[str, list[str]]:
    values = recorded(root / places.LOCK_ORDER)
    return {key: list(map(str, names)) for key, names in values.items() if isinstance(names, list)}


@functools.cache
def _ranks(repo: Repo, targets: tuple[str, ...]) -> dict[tuple[Path, str], int]:
    """The place of each stage in the plan of `dvc repro`. DVC takes up to a second to build its graph."""
    plan = plan_repro(get_active_graph(repo.index.graph), collect_stages(repo, targets))
    return {
        (Path(it.path).with_suffix(".lock"), it.name): at
        for at, it in enumerate(plan)
        if isinstance(it, PipelineStage)
    }
